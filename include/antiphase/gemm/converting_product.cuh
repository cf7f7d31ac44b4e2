// The split product for narrow C: A comes as it is, and a warpgroup splits its tiles where they lie in shared memory (TMA and wgmma,
// sm_90a).
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
// A block has one tile of C, or a part of K of it. Warpgroup 0 loads (one thread) and converts, warpgroups 1 and 2 compute, 64 x 128
// outputs each:
//   slot:  load | convert (4 warps) | multiply (8 warps) | load ...     a stage of 32 k: A in FP32, of the size that its parts will have
//                                                                       in the same place, and the parts of B
// A row's largest element is not known before all of the row has been seen. Its scale is that of the largest so far, and the same for both
// stages of a chunk. A thread converts one row; when the row outgrows its scale by a factor of 2^d, the chunk says so, and before the
// warpgroups multiply it they multiply all sums of that row by 2^-d, which is exact. The first chunks do that a few times, later ones
// hardly ever. A row that outgrows its scale in the second stage of a chunk has the first one converted again, from global memory. What the
// certificate needs of a row is collected on the way (docs/accuracy.md), and lies where the epilogue looks for it when the block, or the
// cluster of blocks that share a tile, has come to the end of K.
//
// Every sum has its terms in the order of split_product: where no scale changes, the bits are the same.

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
  AP_DEV static std::uint32_t tiny_when_outgrown(const row_part& row) { return row.nonzeros; }
  // Stages that computing warps may hold while they wait for another one: a chunk is let go when both stages of the next one have been
  // converted and multiplied.
  static constexpr int held = 4;
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
  // go only after a stage that it has not converted yet.
  static constexpr int ahead = P.stages - Steps::held;
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
    std::uint32_t outgrown[P.stages][Steps::converting_warps];  // with a chunk's first stage: whether any row of the warp has
    std::uint8_t growth[P.stages][split_tile];                  // by what power of two, if so
    std::int16_t top[split_tile];                               // exponents of the rows' largest elements, for the cluster's other blocks
  };
  using place = cursor<P.stages>;
  using sums = split_sums;

 private:
  enum event { arrived, converted };                     // and then free
  static constexpr int no_factor = 255;                  // growth: forget what there is
  static constexpr int not_finite = 1000, zero = -1000;  // top: no exponents

  AP_DEV static int rank() { return P.cluster == 1 ? 0 : cluster_rank(); }
  AP_DEV static int first_chunk(const params& p, int block) {
    return P.cluster == 1 ? block * p.chunks : shared_by_cluster::first_chunk(block, p.chunks);
  }
  AP_DEV static row_facts& facts_of(const params& p) { return p.rows_of[block_index().x]; }

  // load ------------------------------------------------------------------------------------------------------------------------
  AP_DEV static void load(const params& p, storage& s, place& at, int step) {
    auto& [a, b] = s.slots[at.index];
    s.ring.acquire(at);
    tensor_load(a, p.a, s.ring.barrier[arrived][at.index], split_step * step, s.lines.top);
    tensor_load(b, p.b, s.ring.barrier[arrived][at.index], 2 * split_step * step, s.lines.left);
    s.ring.commit(at, arrived, bytes{sizeof a + sizeof b});
    ++at;
  }

  // convert ---------------------------------------------------------------------------------------------------------------------
  using row_values = float[split_step];

  // A row as it comes in: what is known of it, and the scale that follows.
  struct running_row {
    row_part is = {};
    float scale = 1, not_tiny = 0;  // of its largest element, as line_facts has them: second, and not_tiny

    // Whether an element so large has another exponent than the largest so far.
    AP_DEV bool outgrows(std::uint32_t largest) const {
      return (largest ^ is.largest) >> 23 != 0 || (largest < 0x800000u && largest != is.largest);
    }
    // If the next elements make the row's largest so large, what was scaled before has to be multiplied by 2^-growth.
    AP_DEV int outgrown(std::uint32_t largest) {
      const std::uint32_t before = is.largest;
      const bool same = !outgrows(largest);
      is.largest = largest;
      if (same) return 0;
      const line_facts by({largest, 0}, 0);
      scale = by.second, not_tiny = by.not_tiny;
      if (!by.finite) return no_factor;  // zeros from here on, so that the sum is zero, which is never certified
      const int top = line_facts::exponent_of(largest), growth = top - line_facts::exponent_of(before);
      if (before == 0) is.first_top = top;
      if (before == 0 || growth == 0) return 0;
      rescale(is, growth);
      if (top - is.first_top > largest_growth) is.tiny = Steps::tiny_when_outgrown(is);
      return growth < no_factor ? growth : no_factor;
    }
    // Whether a factor is not all that there is to its elements.
    AP_DEV bool special() const { return is.largest >= line_facts::infinite || is.largest < two_factors; }
  };
  static constexpr std::uint32_t two_factors = static_cast<std::uint32_t>(top_exponent - 127 + 127)
                                               << 23;  // rows below have an exponent above 127
  // Sums of elements that lie further than that below the largest might be rounded when their scale is undone. Counting all of them as tiny
  // is always allowed, and whoever is certified then is so large that such sums do not matter.
  static constexpr int largest_growth = 24;

  // An upper bound stays one.
  AP_DEV static void rescale(row_part& is, int growth) {
    is.size = growth > 31 ? (is.size != 0 ? 1 : 0) : static_cast<std::uint32_t>((is.size + (std::uint64_t{1} << growth) - 1) >> growth);
  }
  AP_DEV static float undone(int growth) { return growth > 126 ? 0 : line_facts::power_of_two(-growth); }

  // A row in its tile: pieces of 16 bytes, as swizzled. The compiler is not to keep all their places in registers.
  struct row_memory {
    std::byte* tile;
    int start;
    AP_DEV row_memory(split_part& a, int row) : tile(reinterpret_cast<std::byte*>(&a[0][0])), start(row * 128 + (row & 7) * 16) {
      compute_anew(start);
    }
    AP_DEV std::byte* piece(int number) const { return tile + (start ^ 16 * number); }
  };
  AP_DEV static void read(row_values& x, split_part& a, int row) {
    const row_memory from(a, row);
    AP_UNROLL
    for (int i = 0; i < split_step / 4; ++i) {
      const auto four = load_pack<4>(reinterpret_cast<const float*>(from.piece(i)));
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
  // Rare: what is not finite becomes zero, what takes two factors takes the first. Says whether there was anything to do.
  AP_DEV static bool prepare(row_values& x, const running_row& row) {
    if (!row.special()) return false;
    const line_facts by({row.is.largest, 0}, 0);
    AP_UNROLL
    for (int i = 0; i < split_step; ++i) x[i] = by.finite ? x[i] * by.first : 0;
    return true;
  }
  // Counts, and enters the first elements that are not zero in the row's list. `least`: of |x|, or less.
  AP_DEV static void count(const params& p, running_row& row, const row_values& x, float least, int k) {
    if (least >= row.not_tiny && row.is.nonzeros >= few_nonzeros) {
      row.is.nonzeros += split_step;
      return;
    }
    std::uint32_t present = 0, nonzeros = 0, tiny = 0;  // present: a bit for each
    AP_UNROLL
    for (int i = 0; i < split_step; ++i) {
      const bool zero = x[i] == 0;
      present |= zero ? 0 : 1u << i;
      nonzeros += zero ? 0 : 1;
      tiny += !zero && std::fabs(x[i]) < row.not_tiny;
    }
    for (std::uint32_t found = row.is.nonzeros; present != 0 && found < few_nonzeros; present >>= 1, ++k)
      if ((present & 1) != 0) list_of(p).k[found++] = k;
    row.is.nonzeros += nonzeros;
    row.is.tiny += tiny;
  }
  AP_DEV static few_places& list_of(const params& p) {
    row_facts& facts = facts_of(p);
    return P.cluster == 1 ? facts.few[thread_index()] : facts.few_of_part[thread_index()];
  }
  // In the place of the floats.
  AP_DEV static void split(split_part& a, int row, const row_values& x, float scale, std::uint32_t& size) {
    const row_memory to(a, row);
    AP_UNROLL
    for (int from = 0; from < split_step; from += 8) {
      pack<std::uint32_t, 4> hi, lo;
      float sum = 0x1p23f;  // the last place of 2^23 is 1
      AP_UNROLL
      for (int e = 0; e < 8; e += 2) {
        constexpr float up = 1 << lo_exponent;
        const float one = x[from + e] * scale, two = x[from + e + 1] * scale;
        const std::uint32_t both = to_halves(one, two);
        hi.element[e / 2] = both;
        lo.element[e / 2] = to_halves((one - lower_half(both)) * up, (two - upper_half(both)) * up);
        sum = add_rounded_up(add_rounded_up(sum, std::fabs(one), 1), std::fabs(two), 1);
      }
      const int at = from / 16 * 4 + from % 16 / 8;
      store_pack(reinterpret_cast<std::uint32_t*>(to.piece(at)), hi);
      store_pack(reinterpret_cast<std::uint32_t*>(to.piece(at + 2)), lo);
      size += std::bit_cast<std::uint32_t>(sum) - std::bit_cast<std::uint32_t>(0x1p23f);
    }
  }
  // A step as it was, for one of the tile's rows.
  AP_DEV static void read_again(row_values& x, const params& p, std::int64_t row, std::int64_t k) {
    const float* const from = &p.what.a(row, k);
    AP_UNROLL
    for (int i = 0; i < split_step; ++i) x[i] = k + i < p.what.k() ? from[i] : 0;
  }
  AP_DEV static void convert(const params& p, running_row& row, row_values& x, float least, split_part& to, int step) {
    if (prepare(x, row)) least = 0;
    count(p, row, x, least, split_step * step);
    split(to, thread_index(), x, row.scale, row.is.size);
  }
  AP_DEV static std::uint32_t larger(const running_row& row, const extremes& found) {
    return std::bit_cast<std::uint32_t>(larger_magnitude(std::bit_cast<float>(row.is.largest), found.largest)) & ~(1u << 31);
  }
  AP_DEV static row_part convert(const params& p, storage& s) {
    const int number = thread_index(), end_step = 2 * first_chunk(p, rank() + 1);
    int step = 2 * first_chunk(p, rank());
    running_row row;
    place at, next;
    for (int i = 0; number == 0 && i < ahead; ++i)
      if (step + i < end_step) load(p, s, next, step + i);
    for (; step < end_step; step += 2) {
      for (int i = ahead; number == 0 && i < ahead + 2; ++i)
        if (step + i < end_step) load(p, s, next, step + i);
      warp_sync();
      const place one = at++, two = at++;
      split_part &first = s.slots[one.index].a, &second = s.slots[two.index].a;
      const std::uint32_t nonzeros = row.is.nonzeros;
      row_values x;
      s.ring.wait(one, arrived);
      read(x, first, number);
      extremes found = find(x);
      int growth = row.outgrown(larger(row, found));
      convert(p, row, x, found.least, first, step);
      s.ring.wait(two, arrived);
      read(x, second, number);
      found = find(x);
      // What the first stage added to the certificate's sums stays there: they are upper bounds.
      if (row.outgrows(larger(row, found))) {
        growth += row.outgrown(larger(row, found));
        row.is.nonzeros = nonzeros;
        if (row.is.largest < line_facts::infinite) read_again(x, p, s.lines.top + number, split_step * step);
        convert(p, row, x, 0, first, step);
        read(x, second, number);
      }
      row.is.largest = larger(row, found);
      const unsigned any = ballot(growth != 0);
      if (any != 0) s.growth[one.index][number] = static_cast<std::uint8_t>(growth < no_factor ? growth : no_factor);
      if (lane_index() == 0) s.outgrown[one.index][number / warp_size] = any;
      Steps::parts_written();
      s.ring.commit(one, converted, by_warp{});
      convert(p, row, x, found.least, second, step + 1);
      Steps::parts_written();
      s.ring.commit(two, converted, by_warp{});
    }
    return row.is;
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
    facts.line[number] = by.line(is.tiny, is.size);
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
      rescale(part, top - line_facts::exponent_of(part.largest));
      for (std::uint32_t n = 0; n < few_nonzeros; ++n)
        if (n < part.nonzeros && whole.nonzeros + n < few_nonzeros)
          mine.few[number].k[whole.nonzeros + n] = all[i].few_of_part[number].k[n];
      whole.nonzeros += part.nonzeros;
      whole.tiny += top - part.first_top > largest_growth ? part.nonzeros : part.tiny;
      whole.size += part.size;
    }
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
    const int row = first_row(group);
    const bool any = s.outgrown[at.index][row / warp_size] != 0;  // of the rows of one converting warp, which has told their growth then
    return {{any ? undone(s.growth[at.index][row]) : 1, any ? undone(s.growth[at.index][row + 8]) : 1}};
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
    // Nothing but Tensor Cores may write the sums while any product is under way, or the compiler lets them wait for each other all the
    // time: hence a loop for as long as no scale changes.
    for (int chunk = 0; chunk < chunks;) {
      Steps::wait_for_parts(s.ring, at, arrived, converted);
      if (any_outgrown(s, at, group)) {
        const row_pair rows = outgrown(s, at, group);
        rows.multiply(sum);
        rows.multiply_mixed(mixed);
      }
      bool same_scale;
      do {
        const place one = at++, two = at++;
        wgmma_fence();
        multiply_main(main, a(one), b(one), true);
        Steps::wait_for_parts(s.ring, two, arrived, converted);
        multiply_main(main, a(two), b(two), false);
        wgmma_commit();
        multiply_mixed(mixed, a(one), b(one));
        multiply_mixed(mixed, a(two), b(two));
        wgmma_commit();
        wgmma_wait<1>();  // for the main product, and all of the chunk before
        settle(main);
        if (chunk > 0) release();
        AP_UNROLL
        for (int i = 0; i < sums_of_a_thread; ++i) sum[i] += main[i];
        same_scale = ++chunk < chunks;
        if (same_scale) {
          Steps::wait_for_parts(s.ring, at, arrived, converted);
          same_scale = !any_outgrown(s, at, group);
        }
      } while (same_scale);
      wgmma_wait<0>();
      settle(mixed);
    }
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
    }
    if (thread_index() == 0) {
      const tile_place at = grouped_tiles{p.rows, p.columns, 8}.at(p.first + block_index().x / P.cluster);
      s.lines.top = static_cast<int>(at.row) * split_tile;
      s.lines.left = static_cast<int>(at.column) * split_tile;
    }
    block_barrier();
    wait_for_previous_grid();
    const int warpgroup = warp_index() / 4;
    if (warpgroup == 0) {
      give_registers<72>();
      const int number = thread_index();
      s.lines.column_scale[number] = p.right.scale[s.lines.left + number];
      row_part is = convert(p, s);
      if constexpr (P.cluster > 1) {
        facts_of(p).part[number] = is;
        const int top = is.largest >= line_facts::infinite ? not_finite : is.largest == 0 ? zero : line_facts::exponent_of(is.largest);
        s.top[number] = static_cast<std::int16_t>(top);
        warp_sync();
        cluster_barrier();
        warp_sync();
        tell(p, s, merged(p));
        warp_sync();
        cluster_barrier();
      } else {
        tell(p, s, is);
        warp_sync();
        named_barrier_arrive(end_barrier, threads);
      }
    } else {
      take_registers<216>();
      {
        sums sum = {};
        compute(s, warpgroup - 1, first_chunk(p, rank() + 1) - first_chunk(p, rank()), sum);
        if constexpr (P.cluster > 1) {
          warp_sync();
          cluster_barrier();  // nobody needs the ring, and all scales are known
          warp_sync();
          to_shared_scale(s, warpgroup - 1).multiply(sum);
          float total[shared_by_cluster::share];
          shared_by_cluster::add_parts(s.parts, thread_index() - warpgroup_size, sum, total);
          store(p, s, total);
        } else {
          named_barrier_sync(end_barrier, threads);
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
}  // namespace antiphase::mm
