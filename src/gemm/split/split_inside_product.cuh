// The split product for narrow C: A comes as it is, and the warps that multiply split it in their registers (TMA and wgmma, sm_90a).
#pragma once
#include <antiphase/core/channel.hpp>
#include <antiphase/core/tile.hpp>
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/cluster.cuh>
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/launch.cuh>
#include <antiphase/device/math.cuh>
#include <antiphase/device/registers.cuh>
#include <antiphase/device/tensor_copy.cuh>
#include <antiphase/device/wgmma.cuh>
#include "src/gemm/split/running_row.cuh"
#include "src/gemm/split/split_epilogue.cuh"
#include "src/gemm/split/split_facts.cuh"
#include "src/gemm/split/split_fragment.cuh"
#include "src/gemm/split/split_product.hpp"
#include "src/gemm/split/split_warpgroup.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// plan --------------------------------------------------------------------------------------------------------------------------
// A block has one tile of C, or a part of K of it. Warpgroup 0 counts, warpgroups 1 and 2 compute, 64 x 128 outputs each, with A from
// registers, and one thread of warpgroup 3 loads, as soon as a slot is free: whoever counts would come to it too late.
//   slot:  load | count (4 warps) | split, multiply (8 warps) | load ...     a stage of 32 k: A in FP32, and the parts of B
// A row's largest element is not known before all of the row has been seen. Its scale is that of the largest so far, and the same for both
// stages of a chunk, so somebody has to look at all of a chunk before any of it is split. A counting thread looks at one row. When it
// outgrows its scale, the chunk says so, and before the warpgroups multiply it they multiply all sums of that row by 2^-d, which is exact,
// and go over to the new scale. The first chunks do that a few times, later ones hardly ever. What the certificate needs of a row is
// collected on the way (docs/accuracy.md), and lies where the epilogue looks for it when the block, or the cluster of blocks that share a
// tile, has come to the end of K.
//
// A computing warp splits 16 k of A while those before are multiplied, into one of two fragments by turns. The last of a chunk's main
// products is in a group before that of the mixed ones, and its sum is promoted under those.
//
// Every sum has its terms in the order of split_product: where no scale changes, the bits are the same.

// How the parts of a block wait for each other, and what they owe each other. A parameter, so that tests can take one away.
template <product_policy P> struct converting_steps {
  static constexpr int computing_warps = 8, counting_warps = 4;
  using ring = channel<mbarrier, P.stages, threads(1), warps(counting_warps), warps(computing_warps)>;
  AP_DEV static void barriers_made() { fence_mbarrier_init(); }
  template <class Ring, class Place> AP_DEV static void wait_for_second_stage(Ring& ring, Place at, int arrived) { ring.wait(at, arrived); }
  template <class Ring, class Place> AP_DEV static void wait_for_counts(Ring& ring, Place at, int counted) { ring.wait(at, counted); }
  AP_DEV static void before_release() { wgmma_wait<1>(); }  // all products but those issued last
  AP_DEV static float of_mixed(float factor) { return factor; }
  AP_DEV static std::uint32_t tiny_when_outgrown(const row_part& row) { return row.nonzeros; }
};

template <product_policy P, class Steps = converting_steps<P>> struct split_inside_product {
  static_assert(valid(P) && P.by == multiplier::split_inside);
  static constexpr int threads = 4 * warpgroup_size, computing_warps = Steps::computing_warps;
  static constexpr shared_kind shared = shared_kind::dynamic;
  static constexpr int cluster = P.cluster;
  static constexpr bool overlaps_previous = true;

  // params ----------------------------------------------------------------------------------------------------------------------
  using params = product_problem;

  // storage ---------------------------------------------------------------------------------------------------------------------
  using shared_by_cluster = shared_tile<P.cluster>;
  static constexpr output_layout output{.width = shared_by_cluster::width, .first_thread = warpgroup_size, .even_rows_first = true};
  using epilogue = split_epilogue<output>;
  static constexpr int end_barrier = epilogue::barrier + 1;
  // Chunks of which anybody may still look at what was found out: those in the ring, and the one that is counted.
  static constexpr int chunks_in_sight = 4;
  static_assert(P.stages < 2 * chunks_in_sight);
  struct slot {
    alignas(1024) split_part a, b;  // a: floats
  };
  struct storage {
    union {
      slot slots[P.stages];
      typename shared_by_cluster::exchange parts;  // when all blocks of the cluster have used theirs
      recompute_storage tail;
    };
    tile_lines lines;
    typename Steps::ring ring;
    uncertain_count uncertain;
    alignas(16) std::uint32_t outgrown[chunks_in_sight][Steps::counting_warps];  // whether any row of the warp has
    std::int16_t top_of[chunks_in_sight][split_tile];                            // the rows' tops from that chunk on, if so
    std::int16_t top[split_tile];  // as far as chunks have been multiplied; at the end, for the cluster's other blocks
  };
  using place = cursor<P.stages>;
  using sums = split_sums;

 private:
  enum event { arrived, counted };  // and then free
  using row = running_row<Steps>;

  AP_DEV static int rank() { return P.cluster == 1 ? 0 : cluster_rank(); }
  AP_DEV static int first_chunk(const params& p, int block) {
    return P.cluster == 1 ? block * p.chunks : shared_by_cluster::first_chunk(block, p.chunks);
  }
  AP_DEV static row_facts& facts_of(const params& p) { return p.rows_of[block_index().x]; }

  // load ------------------------------------------------------------------------------------------------------------------------
  // The block's part of K. One thread.
  AP_DEV static void load(const params& p, storage& s) {
    const int end = 2 * first_chunk(p, rank() + 1);
    place at;
    for (int step = 2 * first_chunk(p, rank()); step < end; ++step, ++at) {
      auto& [a, b] = s.slots[at.index];
      s.ring.acquire(at);
      tensor_load(a, p.a, s.ring.barrier[arrived][at.index], split_step * step, s.lines.top);
      tensor_load(b, p.b, s.ring.barrier[arrived][at.index], 2 * split_step * step, s.lines.left);
      s.ring.commit(at, arrived, bytes{sizeof a + sizeof b});
    }
  }

  // count -----------------------------------------------------------------------------------------------------------------------
  AP_DEV static few_places& list_of(const params& p) {
    row_facts& facts = facts_of(p);
    return P.cluster == 1 ? facts.few[thread_index()] : facts.few_of_part[thread_index()];
  }
  template <class Each> AP_DEV static void for_pieces(const split_part& a, Each each) {
    const row_memory from(a, thread_index());
    AP_ROLLED  // or the code of all warps does not fit the instruction cache
        for (int i = 0; i < split_step / looked_at; ++i) {
      row_piece x;
      from.read(x, i);
      each(x);
    }
  }
  AP_DEV static void look(glance& all, const split_part& a, float scale) {
    for_pieces(a, [&](const row_piece& x) { all.add(x, scale); });
  }
  // The places of the row's first elements that are not zero: `listed` are already.
  AP_DEV static void list(const params& p, const split_part& a, int k, std::uint32_t& listed) {
    for_pieces(a, [&](const row_piece& x) {
      for (int e = 0; e < looked_at; ++e, ++k)
        if (x[e] != 0) list_of(p).k[listed++] = k;
    });
  }
  AP_DEV static void look_again(const params& p, row& mine, const split_part& a, const split_part& b, int chunk) {
    std::uint32_t listed = mine.is.nonzeros;
    typename row::second_look all(mine);
    for_pieces(a, [&](const row_piece& x) { all.add(x); });
    for_pieces(b, [&](const row_piece& x) { all.add(x); });
    mine.count(all);
    if (!mine.few()) return;
    list(p, a, split_chunk * chunk, listed);
    list(p, b, split_chunk * chunk + split_step, listed);
  }
  AP_DEV static row_part count(const params& p, storage& s) {
    const int number = thread_index(), begin = uniform(first_chunk(p, rank())), end = uniform(first_chunk(p, rank() + 1));
    row mine;
    place at;
    for (int chunk = begin; chunk < end; ++chunk) {
      const place one = at++, two = at++;
      const split_part &a = s.slots[one.index].a, &b = s.slots[two.index].a;
      glance all;
      s.ring.wait(one, arrived);
      look(all, a, mine.scale);
      Steps::wait_for_second_stage(s.ring, two, arrived);
      look(all, b, mine.scale);
      const std::uint32_t largest = mine.larger(all.largest());
      const bool grows = mine.outgrows(largest);
      const int growth = grows ? mine.grow(largest) : 0;
      mine.is.largest = largest;
      const int entry = (chunk - begin) % chunks_in_sight;
      const unsigned any = ballot(grows);
      if (any != 0) s.top_of[entry][number] = static_cast<std::int16_t>(row_top::of(mine.is));
      if (lane_index() == 0) s.outgrown[entry][number / warp_size] = any;
      if (mine.told_by(all, growth)) {
        mine.count(all, growth);
      } else if (all.largest() != 0 && largest < line_facts::infinite) {  // otherwise there is nothing to tell
        look_again(p, mine, a, b, chunk);
      }
      s.ring.commit(one, counted, by_warp{});
      s.ring.commit(two, counted, by_warp{});
    }
    return mine.is;
  }

  // At the end of K, for the epilogue.
  AP_DEV static void fill(few_places& few, std::uint32_t nonzeros) {
    for (std::uint32_t i = nonzeros; i < few_nonzeros; ++i) few.k[i] = -1;
  }
  AP_DEV static void tell(const params& p, storage& s, const row_part& is) {
    const int number = thread_index();
    const line_facts by({is.largest, is.nonzeros}, static_cast<int>(p.what.k()));
    row_facts& facts = facts_of(p);
    s.lines.row_scale[number] = s.lines.top + number < p.left.lines ? by.scale_back(is.tiny > 0) : 1;
    const split_line line = by.line(is.tiny, is.size);
    facts.line[number] = line;
    fill(facts.few[number], is.nonzeros);
  }
  // What all blocks of the cluster have found, together. Their parts of K are in order.
  AP_DEV static row_part merged(const params& p) {
    const int number = thread_index();
    row_facts& mine = facts_of(p);
    const row_facts* const all = &mine - rank();
    row_part whole = {};
    for (int i = 0; i < P.cluster; ++i) {
      const std::uint32_t largest = all[i].part[number].largest;
      whole.largest = whole.largest > largest ? whole.largest : largest;
    }
    if (whole.largest >= line_facts::infinite) return whole;
    for (int i = 0; i < P.cluster; ++i) {
      row_part part = all[i].part[number];
      if (part.largest == 0) continue;
      const int top = line_facts::exponent_of(whole.largest);
      part.size = row::rescaled(part.size, top - line_facts::exponent_of(part.largest));
      for (std::uint32_t n = 0; part.nonzeros <= few_nonzeros && n < part.nonzeros; ++n)
        if (whole.nonzeros + n < few_nonzeros) mine.few[number].k[whole.nonzeros + n] = all[i].few_of_part[number].k[n];
      whole.nonzeros += part.nonzeros;
      whole.tiny += top - part.first_top > row::largest_growth ? part.nonzeros : part.tiny;
      whole.size += part.size;
    }
    return whole;
  }

  // compute ---------------------------------------------------------------------------------------------------------------------
  // The two rows that a thread has outputs and elements of. Their tops are looked at so rarely that they have no registers.
  struct row_pair {
    float scale[2] = {1, 1};  // 0 of rows that are not finite: the elements which say so make the sums NaN, which is never certified

    // The rows' tops become `now`. `factor`: what sums of the scales before are multiplied by.
    AP_DEV void grow(std::int16_t* top, const std::int16_t* now, float (&factor)[2]) {
      AP_UNROLL
      for (int i = 0; i < 2; ++i) {
        const int after = now[8 * i];
        factor[i] = row_top::undone(top[8 * i], after);
        scale[i] = row_top::known(after) ? line_facts::power_of_two(top_exponent - after) : 0;
      }
      warp_sync();  // four lanes have the same rows: all have read before one of them writes
      const int row = lane_index() % 4;
      const std::int16_t after = now[8 * (row % 2)];
      if (row < 2) top[8 * row] = after;
      warp_sync();
    }
  };
  AP_DEV static void multiply_rows(sums& sum, const float (&factor)[2]) {
    AP_UNROLL
    for (int i = 0; i < sums_of_a_thread; ++i) sum[i] *= factor[i / 2 % 2];
  }
  AP_DEV static int first_row(int group) {
    int thread = thread_index();
    rematerialise(thread);  // no register for it all the time
    return 64 * group + 16 * (thread / warp_size % 4) + epilogue::row_of_lane(thread % warp_size);
  }
  AP_DEV static bool any_outgrown(const storage& s, int chunk, int group) {
    const std::uint32_t* const of = s.outgrown[chunk % chunks_in_sight];
    return (of[2 * group] | of[2 * group + 1]) != 0;
  }
  // Of rows whose counting warp has told their tops then.
  AP_DEV static void outgrown(storage& s, int chunk, int group, row_pair& rows, sums& sum, sums& mixed) {
    const int entry = chunk % chunks_in_sight, row = first_row(group);
    if (s.outgrown[entry][row / warp_size] == 0) return;
    float factor[2];
    rows.grow(&s.top[row], &s.top_of[entry][row], factor);
    multiply_rows(sum, factor);
    factor[0] = Steps::of_mixed(factor[0]), factor[1] = Steps::of_mixed(factor[1]);
    multiply_rows(mixed, factor);
  }
  AP_DEV static void wait_for_chunk(storage& s, place at) {
    for (int stage = 0; stage < split_chunk / split_step; ++stage, ++at) Steps::wait_for_counts(s.ring, at, counted);  // B came with A
  }
  AP_DEV static void compute(storage& s, int group, int chunks, sums& sum) {
    const fragment_place mine(first_row(group));
    if (lane_index() % 4 == 0) s.top[first_row(group)] = s.top[first_row(group) + 8] = row_top::zero;
    warp_sync();
    const auto a = [&](place slot) -> const split_part& { return s.slots[slot.index].a; };
    const auto b = [&](place slot) -> const split_part& { return s.slots[slot.index].b; };
    row_pair rows;
    split_fragment even, odd;  // of 16 k each
    sums main, mixed = {};
    place at;
    fragment_values x;  // of the fragment to come, read while the Tensor Cores still have its registers
    const auto release_before = [&](place next, bool used) {
      place slot;
      slot.index = (next.index == 0 ? P.stages : next.index) - 1;
      Steps::before_release();
      if (used) s.ring.release(slot, by_warp{});
    };
    // Nothing but Tensor Cores may write the sums while any product is under way, or the compiler lets them wait for each other all the
    // time: hence a loop for as long as no scale changes.
    for (int chunk = 0; chunk < chunks;) {
      wait_for_chunk(s, at);
      if (any_outgrown(s, chunk, group)) outgrown(s, chunk, group, rows, sum, mixed);
      mine.read(x, a(at), 0);
      even.split(x, rows.scale);
      bool same_scale;
      do {
        const place one = at++, two = at++;
        const auto multiply = [&](const split_fragment& fragment, place slot, int k, bool fresh) {
          wgmma_fence();
          multiply_main(main, fragment, b(slot), k, fresh);
          multiply_mixed(mixed, fragment, b(slot), k);
          wgmma_commit();
        };
        multiply(even, one, 0, true);
        mine.read(x, a(one), 16);
        release_before(one, chunk > 0);
        odd.split(x, rows.scale);
        multiply(odd, one, 16, false);
        mine.read(x, a(two), 0);
        wgmma_wait<1>();
        even.split(x, rows.scale);
        multiply(even, two, 0, false);
        mine.read(x, a(two), 16);
        release_before(two, true);
        odd.split(x, rows.scale);
        wgmma_fence();
        multiply_main(main, odd, b(two), 16, false);
        wgmma_commit();
        multiply_mixed(mixed, odd, b(two), 16);
        wgmma_commit();
        same_scale = ++chunk < chunks;
        if (same_scale) {
          wait_for_chunk(s, at);
          same_scale = !any_outgrown(s, chunk, group);
        }
        if (same_scale) {
          mine.read(x, a(at), 0);
          wgmma_wait<2>();
          even.split(x, rows.scale);
        }
        wgmma_wait<1>();  // for the main product
        pin_registers(main);
        AP_UNROLL
        for (int i = 0; i < sums_of_a_thread; ++i) sum[i] += main[i];
      } while (same_scale);
      wgmma_wait<0>();
      pin_registers(mixed);
    }
    AP_UNROLL
    for (int i = 0; i < sums_of_a_thread; ++i) sum[i] += mixed[i] * (1.f / (1 << lo_exponent));
  }
  // To the largest scale of the cluster's blocks, which is exact.
  AP_DEV static void to_shared_scale(storage& s, int group, sums& sum) {
    float factor[2];
    AP_UNROLL
    for (int i = 0; i < 2; ++i) {
      std::int16_t* const mine = &s.top[first_row(group) + 8 * i];
      int largest = row_top::zero;
      for (int block = 0; block < P.cluster; ++block) {
        const int top = *map_shared(mine, block);
        largest = largest > top ? largest : top;
      }
      factor[i] = row_top::undone(*mine, largest);
    }
    multiply_rows(sum, factor);
  }

  // store -----------------------------------------------------------------------------------------------------------------------
  AP_DEV static int first_column() { return rank() * shared_by_cluster::width; }
  // What is asked, with this block's facts where the epilogue looks for those of its rows.
  AP_DEV static product_problem with_own_facts(const params& p, const storage& s) {
    product_problem here = p;
    here.left.line = facts_of(p).line - s.lines.top;
    here.left.few = facts_of(p).few - s.lines.top;
    return here;
  }
  AP_DEV static void store(const params& p, storage& s, const float (&sum)[shared_by_cluster::share]) {
    const product_problem here = with_own_facts(p, s);
    cursor<uncertain_count::turns> turn;
    epilogue{here, s.lines, first_column()}.store(sum, s.uncertain, turn, block_index().x);
  }

 public:
  // kernel ----------------------------------------------------------------------------------------------------------------------
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared>();
    if (thread_index() == 0) {
      s.ring.init();
      Steps::barriers_made();
      s.uncertain = {};
      const tile_place at = grouped_tiles{p.rows, p.columns, 8}.at(p.first + block_index().x / P.cluster);
      s.lines.top = static_cast<int>(at.row) * split_tile;
      s.lines.left = static_cast<int>(at.column) * split_tile;
    }
    block_barrier();
    wait_for_previous_grid();
    const int warpgroup = warp_index() / 4;
    if (warpgroup == 0) {
      release_registers<40>();
      const int number = thread_index();
      s.lines.column_scale[number] = p.right.scale[s.lines.left + number];
      const row_part is = count(p, s);
      if constexpr (P.cluster > 1) {
        facts_of(p).part[number] = is;
        warp_sync();
        cluster_barrier();
        warp_sync();
        tell(p, s, merged(p));
        warp_sync();
        cluster_barrier();
      } else {
        tell(p, s, is);
        warp_sync();
        named_barrier_arrive(end_barrier, 3 * warpgroup_size);
      }
    } else if (warpgroup == 3) {
      release_registers<24>();
      if (thread_index() == threads - warpgroup_size) load(p, s);
      if constexpr (P.cluster > 1) {
        warp_sync();
        cluster_barrier();
        warp_sync();
        cluster_barrier();
      }
    } else {
      request_registers<224>();
      {
        sums sum = {};
        compute(s, warpgroup - 1, first_chunk(p, rank() + 1) - first_chunk(p, rank()), sum);
        if constexpr (P.cluster > 1) {
          warp_sync();
          cluster_barrier();  // nobody needs the ring, and all scales are known
          warp_sync();
          to_shared_scale(s, warpgroup - 1, sum);
          float total[shared_by_cluster::share];
          shared_by_cluster::add_parts(s.parts, thread_index() - warpgroup_size, sum, total);
          store(p, s, total);
        } else {
          named_barrier_sync(end_barrier, 3 * warpgroup_size);
          store(p, s, sum);
        }
      }
      named_barrier_sync(epilogue::barrier, epilogue::computing_threads);
      if (s.uncertain.noted != 0)
        epilogue::recompute(with_own_facts(p, s), s.lines.top, s.lines.left + first_column(), block_index().x, s.tail);
    }
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
