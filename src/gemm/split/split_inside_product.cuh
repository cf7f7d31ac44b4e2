// SPDX-License-Identifier: Apache-2.0
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
// A kernel with warp specialisation: a block has one tile of C, or a part of K of it (split-K). Warpgroup 0 counts, warpgroups 1 and 2
// compute, 64 x 128 outputs each, with A from registers. One thread of warpgroup 3 is the producer: a counting warp would load too late.
//   slot:  load | count (4 warps) | split, multiply (8 warps) | load ...     a stage of 32 k: A in FP32, and the parts of B
// A row's largest element is not known before all of the row has been read. So its scale is that of the largest element so far, and both
// stages of a chunk have the same: all of a chunk has to be read before any of it is split. A counting thread reads one row. When the row
// outgrows its scale, the thread marks the chunk; before the warpgroups multiply the chunk, they multiply all sums of that row by 2^-d,
// which is exact, and take the new scale. The first chunks do that a few times, later ones hardly ever. The counting threads also collect
// what the certificate needs of their rows (docs/accuracy.md). At the end of K they store it where the epilogue reads it, for the block or
// for all blocks of the cluster that shares the tile.
//
// A computing warp splits 16 k of A while the 16 k before are multiplied, into one of two fragments by turns. The last main product of a
// chunk is in an earlier group than the mixed products, and its sum is promoted while those run.
//
// Every sum has its terms in the order of split_product: where no scale changes, the bits are the same.

// How the parts of a block wait for each other. A parameter, so that tests can take one wait away.
template <product_policy P> struct split_inside_steps {
  static constexpr int computing_warps = 8, counting_warps = 4;
  using ring = channel<mbarrier, P.stages, threads(1), warps(counting_warps), warps(computing_warps)>;
  AP_DEV static void barriers_made() { fence_mbarrier_init(); }
  template <class Ring, class Place> AP_DEV static void wait_for_second_stage(Ring& ring, Place at, int arrived) { ring.wait(at, arrived); }
  template <class Ring, class Place> AP_DEV static void wait_for_counts(Ring& ring, Place at, int counted) { ring.wait(at, counted); }
  AP_DEV static void before_release() { wgmma_wait<1>(); }  // all products but those issued last
  AP_DEV static float of_mixed(float factor) { return factor; }
  AP_DEV static std::uint32_t tiny_when_outgrown(const row_facts& row) { return row.nonzeros; }
};

template <product_policy P, class Steps = split_inside_steps<P>> struct split_inside_product {
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
  // Chunks whose entries below may still be read: those in the ring, and the one that is counted.
  static constexpr int chunks_in_sight = 4;
  static_assert(P.stages < 2 * chunks_in_sight);
  struct slot {
    alignas(1024) split_part a, b;  // a: floats
  };
  struct storage {
    union {
      slot slots[P.stages];
      typename shared_by_cluster::exchange parts;  // when all blocks of the cluster have used theirs
      recompute_storage<4> tail;
    };
    tile_lines lines;
    typename Steps::ring ring;
    uncertain_tally uncertain;
    alignas(16) std::uint32_t outgrown[chunks_in_sight][Steps::counting_warps];  // whether any row of the warp outgrew its scale
    std::int16_t top_of[chunks_in_sight][split_tile];                            // the rows' tops from that chunk on, if so
    std::int16_t top[split_tile];  // of the chunks multiplied so far; at the end the cluster's other blocks read it
  };
  using slot_cursor = cursor<P.stages>;
  using sums = split_sums;

 private:
  enum event { arrived, counted };  // and then free
  using row = running_row<Steps>;

  AP_DEV static int rank() { return P.cluster == 1 ? 0 : cluster_rank(); }
  AP_DEV static int first_chunk(const params& p, int block) {
    return P.cluster == 1 ? block * p.chunks : shared_by_cluster::first_chunk(block, p.chunks);
  }
  AP_DEV static block_facts& facts_of(const params& p) { return p.facts[block_index().x]; }

  // load ------------------------------------------------------------------------------------------------------------------------
  // The block's part of K. One thread.
  AP_DEV static void load(const params& p, storage& s) {
    const int end = 2 * first_chunk(p, rank() + 1);
    slot_cursor at;
    for (int step = 2 * first_chunk(p, rank()); step < end; ++step, ++at) {
      auto& [a, b] = s.slots[at.index];
      s.ring.acquire(at);
      tensor_load(a, p.tensor_a, s.ring.barrier[arrived][at.index], split_step * step, s.lines.top);
      tensor_load(b, p.tensor_b, s.ring.barrier[arrived][at.index], 2 * split_step * step, s.lines.left);
      s.ring.commit(at, arrived, bytes{sizeof a + sizeof b});
    }
  }

  // count -----------------------------------------------------------------------------------------------------------------------
  AP_DEV static sparse_indices& list_of(const params& p) {
    block_facts& facts = facts_of(p);
    return P.cluster == 1 ? facts.sparse[thread_index()] : facts.sparse_of_part[thread_index()];
  }
  template <class Each> AP_DEV static void for_pieces(const split_part& a, Each each) {
    const row_memory from(a, thread_index());
    AP_ROLLED  // otherwise the code of all warps does not fit the instruction cache
        for (int i = 0; i < split_step / piece_length; ++i) {
      row_piece x;
      from.read(x, i);
      each(x);
    }
  }
  AP_DEV static void summarise(chunk_summary& all, const split_part& a, float scale) {
    for_pieces(a, [&](const row_piece& x) { all.add(x, scale); });
  }
  // Adds the k of nonzero elements to the row's list, which has `listed` already.
  AP_DEV static void list(const params& p, const split_part& a, int k, std::uint32_t& listed) {
    for_pieces(a, [&](const row_piece& x) {
      for (int e = 0; e < piece_length; ++e, ++k)
        if (x[e] != 0) list_of(p).k[listed++] = k;
    });
  }
  AP_DEV static void count_exactly(const params& p, row& mine, const split_part& a, const split_part& b, int chunk) {
    std::uint32_t listed = mine.facts.nonzeros;
    typename row::exact_count all(mine);
    for_pieces(a, [&](const row_piece& x) { all.add(x); });
    for_pieces(b, [&](const row_piece& x) { all.add(x); });
    mine.count(all);
    if (!mine.is_sparse()) return;
    list(p, a, split_chunk * chunk, listed);
    list(p, b, split_chunk * chunk + split_step, listed);
  }
  AP_DEV static row_facts count(const params& p, storage& s) {
    const int number = thread_index(), begin = uniform(first_chunk(p, rank())), end = uniform(first_chunk(p, rank() + 1));
    row mine;
    slot_cursor at;
    for (int chunk = begin; chunk < end; ++chunk) {
      const slot_cursor one = at++, two = at++;
      const split_part &a = s.slots[one.index].a, &b = s.slots[two.index].a;
      chunk_summary all;
      s.ring.wait(one, arrived);
      summarise(all, a, mine.scale);
      Steps::wait_for_second_stage(s.ring, two, arrived);
      summarise(all, b, mine.scale);
      const std::uint32_t largest = mine.larger(all.largest());
      const bool grows = mine.outgrows(largest);
      const int growth = grows ? mine.grow(largest) : 0;
      mine.facts.largest = largest;
      const int entry = (chunk - begin) % chunks_in_sight;
      const unsigned any = ballot(grows);
      if (any != 0) s.top_of[entry][number] = static_cast<std::int16_t>(row_top::of(mine.facts));
      if (lane_index() == 0) s.outgrown[entry][number / warp_size] = any;
      if (mine.covered_by(all, growth)) {
        mine.count(all, growth);
      } else if (all.largest() != 0 && largest < line_facts::infinite) {  // otherwise there is nothing to count
        count_exactly(p, mine, a, b, chunk);
      }
      s.ring.commit(one, counted, by_warp{});
      s.ring.commit(two, counted, by_warp{});
    }
    return mine.facts;
  }

  // At the end of K, for the epilogue.
  AP_DEV static void fill(sparse_indices& indices, std::uint32_t nonzeros) {
    for (std::uint32_t i = nonzeros; i < sparse_nonzeros; ++i) indices.k[i] = -1;
  }
  AP_DEV static void store_facts(const params& p, storage& s, const row_facts& facts) {
    const int number = thread_index();
    const line_facts by({facts.largest, facts.nonzeros}, static_cast<int>(p.what.k()));
    block_facts& block = facts_of(p);
    s.lines.row_scale[number] = s.lines.top + number < p.split_a.lines ? by.scale_back(facts.tiny > 0) : line_scale::padding;
    const split_line line = by.line(facts.tiny, facts.size);
    block.line[number] = line;
    fill(block.sparse[number], facts.nonzeros);
  }
  // Merges what all blocks of the cluster have found out about the row. Their parts of K are in order.
  AP_DEV static row_facts merged(const params& p) {
    const int number = thread_index();
    block_facts& mine = facts_of(p);
    const block_facts* const all = &mine - rank();
    row_facts whole = {};
    for (int i = 0; i < P.cluster; ++i) {
      const std::uint32_t largest = all[i].part[number].largest;
      whole.largest = whole.largest > largest ? whole.largest : largest;
    }
    if (whole.largest >= line_facts::infinite) return whole;
    for (int i = 0; i < P.cluster; ++i) {
      row_facts part = all[i].part[number];
      if (part.largest == 0) continue;
      const int top = line_facts::exponent_of(whole.largest);
      part.size = row::rescaled(part.size, top - line_facts::exponent_of(part.largest));
      for (std::uint32_t n = 0; part.nonzeros <= sparse_nonzeros && n < part.nonzeros; ++n)
        if (whole.nonzeros + n < sparse_nonzeros) mine.sparse[number].k[whole.nonzeros + n] = all[i].sparse_of_part[number].k[n];
      whole.nonzeros += part.nonzeros;
      whole.tiny += top - part.first_top > row::largest_growth ? part.nonzeros : part.tiny;
      whole.size += part.size;
    }
    return whole;
  }

  // compute ---------------------------------------------------------------------------------------------------------------------
  // The two rows of a thread's outputs and elements. Their tops are read so rarely that they have no registers.
  struct row_pair {
    float scale[2] = {1, 1};  // 0 for rows that are not finite: infinity or NaN times 0 makes the sums NaN, which is never certified

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
    rematerialise(thread);  // otherwise it has a register all the time
    return 64 * group + 16 * (thread / warp_size % 4) + epilogue::row_of_lane(thread % warp_size);
  }
  AP_DEV static bool any_outgrown(const storage& s, int chunk, int group) {
    const std::uint32_t* const of = s.outgrown[chunk % chunks_in_sight];
    return (of[2 * group] | of[2 * group + 1]) != 0;
  }
  // Goes over to the tops that the rows' counting warp has stored for that chunk, if it has.
  AP_DEV static void rescale(storage& s, int chunk, int group, row_pair& rows, sums& sum, sums& mixed) {
    const int entry = chunk % chunks_in_sight, row = first_row(group);
    if (s.outgrown[entry][row / warp_size] == 0) return;
    float factor[2];
    rows.grow(&s.top[row], &s.top_of[entry][row], factor);
    multiply_rows(sum, factor);
    factor[0] = Steps::of_mixed(factor[0]), factor[1] = Steps::of_mixed(factor[1]);
    multiply_rows(mixed, factor);
  }
  AP_DEV static void wait_for_chunk(storage& s, slot_cursor at) {
    for (int stage = 0; stage < split_chunk / split_step; ++stage, ++at) Steps::wait_for_counts(s.ring, at, counted);  // B came with A
  }
  AP_DEV static void compute(storage& s, int group, int chunks, sums& sum) {
    const fragment_reader mine(first_row(group));
    if (lane_index() % 4 == 0) s.top[first_row(group)] = s.top[first_row(group) + 8] = row_top::zero;
    warp_sync();
    const auto a = [&](slot_cursor slot) -> const split_part& { return s.slots[slot.index].a; };
    const auto b = [&](slot_cursor slot) -> const split_part& { return s.slots[slot.index].b; };
    row_pair rows;
    split_fragment even, odd;  // of 16 k each
    sums main, mixed = {};
    slot_cursor at;
    fragment_values x;  // of the next fragment, read while the Tensor Cores still use its registers
    const auto release_before = [&](slot_cursor next, bool used) {
      slot_cursor slot;
      slot.index = (next.index == 0 ? P.stages : next.index) - 1;
      Steps::before_release();
      if (used) s.ring.release(slot, by_warp{});
    };
    // Only Tensor Cores may write the sums while a product runs; otherwise the compiler makes every product wait for the one before. Hence
    // the inner loop, which goes on as long as no scale changes.
    for (int chunk = 0; chunk < chunks;) {
      wait_for_chunk(s, at);
      if (any_outgrown(s, chunk, group)) rescale(s, chunk, group, rows, sum, mixed);
      mine.read(x, a(at), 0);
      even.split(x, rows.scale);
      bool same_scale;
      do {
        at.index = uniform(at.index);  // so that places are worked out once for the warp, not by each lane
        const slot_cursor one = at++, two = at++;
        const auto multiply = [&](const split_fragment& fragment, slot_cursor slot, int k, bool fresh) {
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
  // Rescales the sums to the largest top of the cluster's blocks, which is exact.
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
  // The problem with this block's facts where the epilogue reads those of A's rows.
  AP_DEV static product_problem with_own_facts(const params& p, const storage& s) {
    product_problem here = p;
    here.split_a.line = facts_of(p).line - s.lines.top;
    here.split_a.sparse = facts_of(p).sparse - s.lines.top;
    return here;
  }
  AP_DEV static void store(const params& p, storage& s, const float (&sum)[shared_by_cluster::share]) {
    const product_problem here = with_own_facts(p, s);
    cursor<uncertain_tally::turns> turn;
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
      const tile_position at = grouped_tiles{p.rows, p.columns, tile_group}.at(p.first + block_index().x / P.cluster);
      s.lines.top = static_cast<int>(at.row) * split_tile;
      s.lines.left = static_cast<int>(at.column) * split_tile;
    }
    block_barrier();
    wait_for_previous_grid();
    const int warpgroup = warp_index() / 4;
    if (warpgroup == 0) {
      release_registers<40>();
      const int number = thread_index();
      s.lines.column_scale[number] = p.split_b.scale[s.lines.left + number];
      const row_facts facts = count(p, s);
      if constexpr (P.cluster > 1) {
        facts_of(p).part[number] = facts;
        warp_sync();
        cluster_barrier();
        warp_sync();
        store_facts(p, s, merged(p));
        warp_sync();
        cluster_barrier();
      } else {
        store_facts(p, s, facts);
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
      bool by_magnitude = true;
      if (s.uncertain.any != 0)
        epilogue::recompute(with_own_facts(p, s), s.lines.top, s.lines.left + first_column(), block_index().x, s.tail, by_magnitude);
    }
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
