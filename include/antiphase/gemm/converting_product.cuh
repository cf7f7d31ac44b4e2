// The split product for narrow C: A comes as it is, and a warpgroup splits its tiles where they lie in shared memory (TMA and wgmma, sm_90a).
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
#include <antiphase/gemm/split_epilogue.cuh>
#include <antiphase/gemm/split_facts.cuh>
#include <antiphase/gemm/split_product.hpp>
#include <antiphase/gemm/split_warpgroup.cuh>

namespace antiphase::mm {
inline namespace AP_TARGET {

// plan --------------------------------------------------------------------------------------------------------------------------
// A block has one tile of C, or a part of K of it. Warpgroup 0 loads (one thread) and converts, warpgroups 1 and 2 compute, 64 x 128 outputs
// each:
//   slot:  load | convert (4 warps) | multiply (8 warps) | load ...     a stage of 32 k: A in FP32, of the size that its parts will have
//                                                                       in the same place, and the parts of B
// A row's largest element is not known before all of the row has been seen. Its scale is that of the largest so far. A thread converts one
// row; when the row outgrows its scale by a factor of 2^d, the stage says so, and before the warpgroups multiply it they multiply all sums of
// that row by 2^-d, which is exact. The first stages do that a few times, later ones hardly ever.
// What the certificate needs of a row is collected on the way (docs/accuracy.md), and lies where the epilogue looks for it when the block, or
// the cluster of blocks that share a tile, has come to the end of K.
//
// The products of a stage are multiplied in another order than by split_product: main, mixed, main, mixed, so that a scale may change
// between the two stages of a chunk. Every sum still has its terms in the same order: where no scale changes, the bits are the same.

// How the parts of a block wait for each other, and what they owe each other. A parameter, so that tests can take one away.
template <product_policy P> struct converting_steps {
  static constexpr int computing_warps = 8, converting_warps = 4;
  using ring = channel<mbarrier, P.stages, threads(1), warps(converting_warps), warps(computing_warps)>;
  AP_DEV static void barriers_made() { fence_mbarrier_init(); }
  AP_DEV static void parts_written() { fence_async(); }  // Tensor Cores read them next, and the copy engine writes over them then
  template <class Ring, class Place> AP_DEV static void wait_for_parts(Ring& ring, Place at, int arrived, int converted) {
    ring.wait(at, converted);
    ring.wait(at, arrived);  // B's, which nobody has converted
  }
  AP_DEV static float of_mixed(float factor) { return factor; }
  // Of elements that were not tiny when they came; see outgrown().
  AP_DEV static std::uint32_t tiny_now(std::uint32_t nonzeros) { return nonzeros; }
};

template <product_policy P, class Steps = converting_steps<P>> struct converting_product {
  static_assert(valid(P) && P.by == multiplier::converting);
  static constexpr int threads = 3 * warpgroup_size, computing_warps = Steps::computing_warps;
  static constexpr shared_kind shared = shared_kind::dynamic;
  static constexpr int cluster = P.cluster;
  static constexpr bool chained = true;

  // params ----------------------------------------------------------------------------------------------------------------------
  using params = product_problem;

  // storage ---------------------------------------------------------------------------------------------------------------------
  using shared_by_cluster = shared_tile<P.cluster>;
  using epilogue = split_epilogue<output_layout{.width = shared_by_cluster::width, .first_thread = warpgroup_size}>;
  static constexpr int end_barrier = epilogue::barrier + 1;
  // Loads run ahead of the conversion by so many stages. The thread that loads also converts, so it must never wait for a slot that is let
  // go only after a stage that it has not converted yet: a chunk is let go when both stages of the next one have been multiplied.
  static constexpr int ahead = P.stages - 4;
  struct slot {
    alignas(1024) split_part a, b;  // a: floats first
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
    std::uint32_t outgrown[P.stages][Steps::converting_warps];  // whether any row of the warp has outgrown its scale
    std::uint8_t growth[P.stages][split_tile];                  // by what power of two, if so
    std::int16_t top[split_tile];                               // exponents of the rows' largest elements, for the cluster's other blocks
  };
  using place = cursor<P.stages>;
  using sums = split_sums;

 private:
  enum event { arrived, converted };  // and then free
  static constexpr int no_factor = 255;                  // growth: forget what there is
  static constexpr int not_finite = 1000, zero = -1000;  // top: no exponents

  AP_DEV static int rank() { return P.cluster == 1 ? 0 : cluster_rank(); }
  struct work {
    int top, left;             // of the tile
    int first_step, end_step;  // along K
    std::int64_t tile;         // where its notes are
    row_facts* facts;
  };
  AP_DEV static work work_of(const params& p) {
    const std::int64_t number = p.first + block_index().x / P.cluster;
    const tile_place at = grouped_tiles{p.rows, p.columns, 8}.at(number);
    const auto first = [&](int block) { return P.cluster == 1 ? block * p.chunks : shared_by_cluster::first_chunk(block, p.chunks); };
    return {static_cast<int>(at.row) * split_tile, static_cast<int>(at.column) * split_tile, 2 * first(rank()), 2 * first(rank() + 1),
            (number - p.first) * P.cluster + rank(),          p.rows_of + block_index().x};
  }

  // load ------------------------------------------------------------------------------------------------------------------------
  AP_DEV static void load(const params& p, storage& s, const work& w, place& at, int step) {
    auto& [a, b] = s.slots[at.index];
    s.ring.acquire(at);
    tensor_load(a, p.a, s.ring.barrier[arrived][at.index], split_step * step, w.top);
    tensor_load(b, p.b, s.ring.barrier[arrived][at.index], 2 * split_step * step, w.left);
    s.ring.commit(at, arrived, bytes{sizeof a + sizeof b});
    ++at;
  }

  // convert ---------------------------------------------------------------------------------------------------------------------
  using row_values = float[split_step];

  // A row as it comes in: what is known of it, and the scale that follows.
  struct running_row {
    row_part is = {};
    line_facts by{line_range{}, 0};

    // If the next elements make the row's largest so large, what was scaled before has to be multiplied by 2^-growth.
    AP_DEV int outgrown(std::uint32_t largest) {
      const std::uint32_t before = is.largest;
      is.largest = largest;
      if ((largest ^ before) >> 23 == 0 && (largest >= 0x800000u || largest == before)) return 0;  // the same exponent
      const int top = line_facts::exponent_of(largest), growth = top - line_facts::exponent_of(before);
      by = line_facts({largest, 0}, 0);
      if (!by.finite) return no_factor;  // zeros from here on, so that the sum is zero, which is never certified
      if (before == 0) is.first_top = top;
      if (before == 0 || growth == 0) return 0;
      rescale(is, growth);
      if (top - is.first_top > largest_growth) is.tiny = Steps::tiny_now(is.nonzeros);
      return growth < no_factor ? growth : no_factor;
    }
  };
  // Sums of elements that lie further than that below the largest might be rounded when their scale is undone. Counting all of them as tiny
  // is always allowed, and whoever is certified then is so large that such sums do not matter.
  static constexpr int largest_growth = 24;

  // An upper bound stays one.
  AP_DEV static void rescale(row_part& is, int growth) {
    is.size = growth > 31 ? (is.size != 0 ? 1 : 0) : static_cast<std::uint32_t>((is.size + (std::uint64_t{1} << growth) - 1) >> growth);
  }
  AP_DEV static float undone(int growth) { return growth > 126 ? 0 : line_facts::power_of_two(-growth); }

  AP_DEV static std::byte* piece(split_part& a, int row, int number) {  // 16 bytes of the row, as swizzled
    return reinterpret_cast<std::byte*>(&a[row][0]) + 16 * (number ^ (row & 7));
  }
  AP_DEV static void read(row_values& x, split_part& a, int row) {
    AP_UNROLL
    for (int i = 0; i < split_step / 4; ++i) {
      const auto four = load_pack<4>(reinterpret_cast<const float*>(piece(a, row, i)));
      AP_UNROLL
      for (int e = 0; e < 4; ++e) x[4 * i + e] = four.element[e];
    }
  }
  // The largest magnitude, NaN if one is, and the smallest.
  struct extremes {
    float largest, least;
  };
  AP_DEV static extremes find(const row_values& x) {
    constexpr int chains = 4;
    float largest[chains], least[chains];
    AP_UNROLL
    for (int i = 0; i < chains; ++i) largest[i] = larger_magnitude(0, x[i]), least[i] = std::fabs(x[i]);
    AP_UNROLL
    for (int i = chains; i < split_step; ++i) {
      largest[i % chains] = larger_magnitude(largest[i % chains], x[i]);
      least[i % chains] = std::fmin(least[i % chains], std::fabs(x[i]));
    }
    return {larger_magnitude(larger_magnitude(largest[0], largest[1]), larger_magnitude(largest[2], largest[3])),
            std::fmin(std::fmin(least[0], least[1]), std::fmin(least[2], least[3]))};
  }
  // Rare: what is not finite becomes zero, what takes two factors takes the first.
  AP_DEV static void prepare(row_values& x, const line_facts& by) {
    if (by.finite && by.first == 1) return;
    AP_UNROLL
    for (int i = 0; i < split_step; ++i) x[i] = by.finite ? x[i] * by.first : 0;
  }
  // Counts, and enters the first elements that are not zero in the row's list. `least`: of |x|.
  AP_DEV static void count(running_row& row, const row_values& x, float least, few_places* few, int k) {
    if (least >= row.by.not_tiny && row.is.nonzeros >= few_nonzeros) {
      row.is.nonzeros += split_step;
      return;
    }
    std::uint32_t found = row.is.nonzeros;
    if (found < few_nonzeros && row.is.largest != 0) {
      AP_UNROLL
      for (int i = 0; i < split_step; ++i)
        if (x[i] != 0 && found < few_nonzeros) few->k[found++] = k + i;
    }
    AP_UNROLL
    for (int i = 0; i < split_step; ++i) {
      row.is.nonzeros += x[i] != 0;
      row.is.tiny += x[i] != 0 && std::fabs(x[i]) < row.by.not_tiny;
    }
  }
  // In the place of the floats.
  AP_DEV static void split(split_part& a, int row, const row_values& x, const line_facts& by, std::uint32_t& size) {
    AP_UNROLL
    for (int from = 0; from < split_step; from += 8) {
      pack<std::uint32_t, 4> hi, lo;
      float sum = 0x1p23f;  // the last place of 2^23 is 1
      AP_UNROLL
      for (int e = 0; e < 8; e += 2) {
        constexpr float up = 1 << lo_exponent;
        const float one = x[from + e] * by.second, two = x[from + e + 1] * by.second;
        const std::uint32_t both = to_halves(one, two);
        hi.element[e / 2] = both;
        lo.element[e / 2] = to_halves((one - lower_half(both)) * up, (two - upper_half(both)) * up);
        sum = add_rounded_up(add_rounded_up(sum, std::fabs(one), 1), std::fabs(two), 1);
      }
      const int at = from / 16 * 4 + from % 16 / 8;
      store_pack(reinterpret_cast<std::uint32_t*>(piece(a, row, at)), hi);
      store_pack(reinterpret_cast<std::uint32_t*>(piece(a, row, at + 2)), lo);
      size += std::bit_cast<std::uint32_t>(sum) - std::bit_cast<std::uint32_t>(0x1p23f);
    }
  }
  AP_DEV static row_part convert(const params& p, storage& s, const work& w) {
    const int number = thread_index(), warp = number / warp_size;
    few_places* const few = P.cluster == 1 ? &w.facts->few[number] : &w.facts->few_of_part[number];
    running_row row;
    place at, next;
    for (int step = w.first_step; number == 0 && step < w.first_step + ahead && step < w.end_step; ++step) load(p, s, w, next, step);
    for (int step = w.first_step; step < w.end_step; ++step, ++at) {
      if (number == 0 && step + ahead < w.end_step) load(p, s, w, next, step + ahead);
      warp_sync();
      split_part& a = s.slots[at.index].a;
      s.ring.wait(at, arrived);
      row_values x;
      read(x, a, number);
      const extremes found = find(x);
      const int growth =
          row.outgrown(std::bit_cast<std::uint32_t>(larger_magnitude(std::bit_cast<float>(row.is.largest), found.largest)) & 0x7FFFFFFFu);
      const unsigned any = ballot(growth != 0);
      if (any != 0) s.growth[at.index][number] = static_cast<std::uint8_t>(growth);
      if (lane_index() == 0) s.outgrown[at.index][warp] = any;
      prepare(x, row.by);
      count(row, x, found.least * row.by.first, few, split_step * step);
      split(a, number, x, row.by, row.is.size);
      Steps::parts_written();
      s.ring.commit(at, converted, by_warp{});
    }
    for (std::uint32_t i = row.is.nonzeros; i < few_nonzeros; ++i) few->k[i] = -1;
    return row.is;
  }

  // At the end of K, for the epilogue.
  AP_DEV static void tell(const params& p, storage& s, const work& w, const row_part& is) {
    const int number = thread_index();
    const line_facts by({is.largest, is.nonzeros}, static_cast<int>(p.what.k()));
    const bool present = w.top + number < p.left.lines;
    s.lines.row_scale[number] = present ? by.scale_back(is.tiny > 0) : 1;
    w.facts->line[number] = by.line(is.tiny, is.size);
  }
  // What all blocks of the cluster have found, together. Their parts of K are in order.
  AP_DEV static row_part merged(const work& w) {
    const int number = thread_index();
    const row_facts* const all = w.facts - rank();
    row_part whole = all[0].part[number];
    for (int i = 1; i < P.cluster; ++i) whole.largest = whole.largest > all[i].part[number].largest ? whole.largest : all[i].part[number].largest;
    whole.nonzeros = whole.tiny = whole.size = 0;
    const bool finite = whole.largest < line_facts::infinite;
    for (int i = 0; i < P.cluster; ++i) {
      row_part part = all[i].part[number];
      if (!finite || part.largest == 0) continue;
      const int top = line_facts::exponent_of(whole.largest);
      rescale(part, top - line_facts::exponent_of(part.largest));
      for (std::uint32_t n = 0; n < part.nonzeros && n < few_nonzeros; ++n)
        if (whole.nonzeros + n < few_nonzeros) w.facts->few[number].k[whole.nonzeros + n] = all[i].few_of_part[number].k[n];
      whole.nonzeros += part.nonzeros;
      whole.tiny += top - part.first_top > largest_growth ? part.nonzeros : part.tiny;
      whole.size += part.size;
    }
    for (std::uint32_t i = whole.nonzeros; i < few_nonzeros; ++i) w.facts->few[number].k[i] = -1;
    return whole;
  }

  // compute ---------------------------------------------------------------------------------------------------------------------
  // Of the two rows that a thread has outputs of, in all columns of 8.
  struct row_pair {
    float factor[2];
    AP_DEV void multiply(sums& sum) const {
      AP_UNROLL
      for (int i = 0; i < sums_of_a_thread; ++i) sum[i] *= factor[i / 2 % 2];
    }
    AP_DEV void multiply_mixed(sums& sum) const {
      AP_UNROLL
      for (int i = 0; i < sums_of_a_thread; ++i) sum[i] *= Steps::of_mixed(factor[i / 2 % 2]);
    }
  };
  AP_DEV static int first_row(int group) { return 64 * group + 16 * (thread_index() / warp_size % 4) + lane_index() / 4; }
  AP_DEV static row_pair outgrown(const storage& s, place at, int group) {
    const std::uint8_t* const growth = &s.growth[at.index][first_row(group)];
    return {{undone(growth[0]), undone(growth[8])}};
  }
  AP_DEV static bool any_outgrown(const storage& s, place at, int group) {
    const std::uint32_t* const of = s.outgrown[at.index];
    return (of[2 * group] | of[2 * group + 1]) != 0;
  }
  AP_DEV static void compute(storage& s, int group, int chunks, sums& sum) {
    const auto a = [&](place slot) { return s.slots[slot.index].a + 64 * group; };
    const auto b = [&](place slot) -> const split_part& { return s.slots[slot.index].b; };
    sums main, mixed = {};
    place at, held;
    const auto release = [&] {
      s.ring.release(held++, by_warp{});
      s.ring.release(held++, by_warp{});
    };
    for (int chunk = 0; chunk < chunks; ++chunk) {
      const place one = at++, two = at++;
      Steps::wait_for_parts(s.ring, one, arrived, converted);
      if (any_outgrown(s, one, group)) {
        wgmma_wait<0>();
        settle(mixed);
        const row_pair rows = outgrown(s, one, group);
        rows.multiply(sum);
        rows.multiply_mixed(mixed);
      }
      wgmma_fence();
      multiply_main(main, a(one), b(one), true);
      multiply_mixed(mixed, a(one), b(one));
      Steps::wait_for_parts(s.ring, two, arrived, converted);
      if (any_outgrown(s, two, group)) {
        wgmma_commit();
        wgmma_wait<0>();
        settle(main);
        settle(mixed);
        const row_pair rows = outgrown(s, two, group);
        rows.multiply(sum);
        rows.multiply(main);
        rows.multiply_mixed(mixed);
        wgmma_fence();
      }
      multiply_main(main, a(two), b(two), false);
      wgmma_commit();
      multiply_mixed(mixed, a(two), b(two));
      wgmma_commit();
      wgmma_wait<1>();  // for the main product, and all of the chunk before
      settle(main);
      if (chunk > 0) release();
      AP_UNROLL
      for (int i = 0; i < sums_of_a_thread; ++i) sum[i] += main[i];
    }
    wgmma_wait<0>();
    settle(mixed);
    AP_UNROLL
    for (int i = 0; i < sums_of_a_thread; ++i) sum[i] += mixed[i] * (1.f / (1 << lo_exponent));
  }
  // To the largest scale of the cluster's blocks, which is exact.
  AP_DEV static row_pair to_shared_scale(storage& s, int group) {
    row_pair rows;
    AP_UNROLL
    for (int i = 0; i < 2; ++i) {
      std::int16_t* const mine = &s.top[first_row(group) + 8 * i];
      int largest = zero;
      for (int block = 0; block < P.cluster; ++block) {
        const int top = *map_shared(mine, block);
        largest = largest > top ? largest : top;
      }
      rows.factor[i] = largest == not_finite ? 0 : undone(*mine == zero ? 0 : largest - *mine);
    }
    return rows;
  }

 public:
  // kernel ----------------------------------------------------------------------------------------------------------------------
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared>();
    if (thread_index() == 0) {
      s.ring.init();
      Steps::barriers_made();
      s.uncertain = {};
    }
    block_barrier();
    wait_for_previous_grid();
    const work w = work_of(p);
    const int warpgroup = warp_index() / 4;
    if (warpgroup == 0) {
      give_registers<72>();
      const int number = thread_index();
      s.lines.column_scale[number] = p.right.scale[w.left + number];
      if (number == 0) s.lines.top = w.top, s.lines.left = w.left;
      row_part is = convert(p, s, w);
      if constexpr (P.cluster > 1) {
        w.facts->part[number] = is;
        const int top = is.largest >= line_facts::infinite ? not_finite : is.largest == 0 ? zero : line_facts::exponent_of(is.largest);
        s.top[number] = static_cast<std::int16_t>(top);
        warp_sync();
        cluster_barrier();
        warp_sync();
        tell(p, s, w, merged(w));
        warp_sync();
        cluster_barrier();
      } else {
        tell(p, s, w, is);
        warp_sync();
        named_barrier_arrive(end_barrier, threads);
      }
    } else {
      take_registers<216>();
      const int first_column = rank() * shared_by_cluster::width;
      product_problem here = p;  // where the rows' facts are this block's
      here.left.line = w.facts->line - w.top;
      here.left.few = w.facts->few - w.top;
      const epilogue out{here, s.lines, first_column};
      cursor<uncertain_count::turns> turn;
      {
        sums sum = {};
        compute(s, warpgroup - 1, (w.end_step - w.first_step) / 2, sum);
        if constexpr (P.cluster > 1) {
          cluster_barrier();  // nobody needs the ring, and all scales are known
          warp_sync();
          to_shared_scale(s, warpgroup - 1).multiply(sum);
          float total[shared_by_cluster::share];
          shared_by_cluster::add_parts(s.parts, thread_index() - warpgroup_size, sum, total);
          out.store(total, s.uncertain, turn, w.tile);
        } else {
          named_barrier_sync(end_barrier, threads);
          out.store(sum, s.uncertain, turn, w.tile);
        }
      }
      named_barrier_sync(epilogue::barrier, epilogue::computing_threads);
      if (s.uncertain.noted != 0) epilogue::recompute(here, w.top, w.left + first_column, w.tile, s.tail);
    }
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::mm
