// SPDX-License-Identifier: Apache-2.0
// Products with up to eight rows or columns, as inner products: reading the long operand is the work (sm_75; clusters: sm_90).
#pragma once
#include <antiphase/device/atomic.cuh>
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/cluster.cuh>
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/lanes.cuh>
#include <antiphase/device/launch.cuh>
#include <antiphase/device/vector.cuh>
#include <antiphase/device/warp.cuh>
#include <type_traits>
#include "src/gemm/dots/dots_load.cuh"
#include "src/gemm/dots/dots_outputs.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// plan --------------------------------------------------------------------------------------------------------------------------
//   load, multiply ... | add up the threads of a line, the blocks of a cluster | store
// Many threads with a few loads each in flight take the place of a ring: of the long operand nothing is used twice. The short one comes
// from the caches if its lines lie along k; else threads would read it in scattered places, so the block stages its next k in shared
// memory. Products of FP32 are exact in FP64, and sums stay FP64 until they are stored. A thread has a few lines of the long operand and 4
// values of k at a time. Neighbouring threads take neighbours in memory: along k, or along lines; the k of a thread's slot are the same in
// both cases. Small products take as long as one thread's instructions in a row, so all that needs no operand is done before the wait for
// earlier work, nonzeros are counted for a warp at once, and of a block alone nothing but its barrier stands between loads and stores.
template <int Short, int Rows, bool Finishes> struct dots_product : dots_outputs<Finishes> {
  static constexpr int threads = dots_threads, blocks_wanted = 2;
  static constexpr shared_kind shared = shared_kind::dynamic;
  static constexpr bool overlaps_previous = true;
  using params = dots_problem;

  static constexpr int rows = Rows, step = dots_step;  // of a thread: lines of the long operand, values of k
  static constexpr int most_seats = dots_threads / dots_least_slots, most_lines = most_seats * rows, most_slots = dots_most_slots(Short);
  static constexpr int most_outputs = most_lines * Short, outputs_of_thread = ceil_div(most_outputs, threads);
  static constexpr int thread_bits = 8, row_bits = rows / 2;  // of their numbers
  static_assert(1 << thread_bits == threads && 1 << row_bits == rows);
  static constexpr int most_staged = dots_most_slots(Short) * step * (Short > 1 ? 1 : 2);  // values of k
  static constexpr int most_steps = 4;                                                     // of a stage
  static constexpr int fetched_of_thread = ceil_div(Short * most_staged, threads);
  // Nonzeros of several lines, eight bits each: of a thread and of a warp no more than dense_line.
  static constexpr int lines_of_word = 4, words_of_short = ceil_div(Short, lines_of_word);
  static constexpr int short_of_word = Short < lines_of_word ? Short : lines_of_word;
  static_assert(rows <= lines_of_word && dense_line * warp_size < 256 && dense_line * (threads / warp_size) < 256);
  struct storage {
    union {
      alignas(16) float staged[2][Short][most_staged + step];
      double part[threads * rows * Short + most_slots];  // by slot, output of the block: a slot's begin an odd number apart
    };
    double total[most_outputs];         // of a block of a cluster
    std::uint32_t of_long[most_seats];  // nonzeros of a seat's lines
    std::uint32_t of_short[words_of_short];
    line_nonzeros found[threads / warp_size];  // of the line that a warp looks at
  };

 private:
  using stores = dots_outputs<Finishes>;
  struct work {
    typename stores::member_data of;
    std::int64_t top;  // first line
    std::int64_t k, k_end;
  };
  // Seat n of a block: the threads that have the same lines.
  struct seat {
    int slot, index, line;  // line: of the thread's first line in the block: the others are `apart` further each
    int seats, apart;
    AP_DEV static seat mine(const params& p) {
      const int thread = thread_index(), bits = p.slot_bits, seats = threads >> bits;
      if (p.of_long.along_k) return {thread & ((1 << bits) - 1), thread >> bits, thread >> bits, seats, seats};
      const int index = thread & (seats - 1);
      return {thread >> (thread_bits - bits), index, index * rows, seats, 1};
    }
    // The lanes of the warp that sit there.
    AP_DEV unsigned together(const params& p) const {
      const int lane = lane_index(), bits = p.slot_bits;
      if (p.of_long.along_k) {
        const int lanes = bits < 5 ? 1 << bits : warp_size;
        return all_lanes >> (warp_size - lanes) << (lane & -lanes);
      }
      unsigned every = all_lanes;
      every &= seats > 1 ? 0x55555555u : all_lanes;
      every &= seats > 2 ? 0x11111111u : all_lanes;
      every &= seats > 4 ? 0x01010101u : all_lanes;
      every &= seats > 8 ? 0x00010001u : all_lanes;
      every &= seats > 16 ? 1u : all_lanes;
      return every << (lane & (seats - 1));
    }
  };
  struct sums {
    double value[rows][Short];
    std::uint32_t nonzeros_of_long, nonzeros_of_short[words_of_short];  // packed, no more than dense_line
    bool watching;                                                      // one of them may be less
  };

  // load ------------------------------------------------------------------------------------------------------------------------
  AP_DEV static int below(std::int64_t left, int most) { return left >= most ? most : left > 0 ? static_cast<int>(left) : 0; }
  // x[i][e]: line i of the thread at k + e.
  template <bool Wide, bool AlongK>
  AP_DEV static void load_long(float (&x)[rows][step], const params& p, const work& w, const seat& t, std::int64_t k) {
    const line_operand& o = p.of_long;
    const int k_left = below(w.k_end - k, step);
    const std::int64_t line = w.top + t.line;
    const float* const from = w.of.of_long + line * o.line_stride + k * o.k_stride;
    if constexpr (AlongK) {
      AP_UNROLL
      for (int i = 0; i < rows; ++i)
        load_neighbours<Wide>(x[i], from + i * t.apart * o.line_stride, o.k_stride, line + i * t.apart < o.lines ? k_left : 0);
    } else {
      const int lines_left = below(o.lines - line, rows);
      AP_UNROLL
      for (int e = 0; e < step; ++e) {
        pack<float, rows> of_k{};
        if constexpr (Wide) {
          if (lines_left > 0 && e < k_left) of_k = load_pack<rows>(from + e * o.k_stride);
        } else {
          AP_UNROLL
          for (int i = 0; i < rows; ++i) of_k.element[i] = i < lines_left && e < k_left ? from[e * o.k_stride + i * o.line_stride] : 0;
        }
        AP_UNROLL
        for (int i = 0; i < rows; ++i) x[i][e] = of_k.element[i];
      }
    }
  }

  // stage -----------------------------------------------------------------------------------------------------------------------
  // Of the short operand, a thread's share of the values of k of a stage, from k on: zeros behind the ends. Neighbouring threads read
  // neighbours in memory.
  AP_DEV static int staged_line(int n) { return (thread_index() + n * threads) % Short; }
  AP_DEV static int staged_k(int n) { return (thread_index() + n * threads) / Short; }
  AP_DEV static void fetch(float (&to)[fetched_of_thread], const params& p, const work& w, std::int64_t k, int count) {
    const line_operand& o = p.of_short;
    const int k_left = below(w.k_end - k, count), lines = static_cast<int>(o.lines);
    const float* const from = w.of.of_short + k * o.k_stride;
    AP_UNROLL
    for (int n = 0; n < fetched_of_thread; ++n) {
      const int j = staged_line(n), at = staged_k(n);
      to[n] = j < lines && at < k_left ? from[j * o.line_stride + at * o.k_stride] : 0;
    }
  }
  AP_DEV static void put(float (&to)[Short][most_staged + step], const float (&from)[fetched_of_thread], int count) {
    AP_UNROLL
    for (int n = 0; n < fetched_of_thread; ++n)
      if (staged_k(n) < count) to[staged_line(n)][staged_k(n)] = from[n];
  }

  // multiply --------------------------------------------------------------------------------------------------------------------
  AP_DEV static void load_staged(float (&y)[Short][step], const float (&staged)[Short][most_staged + step], int at) {
    AP_UNROLL
    for (int j = 0; j < Short; ++j) {
      const pack<float, step> all = load_pack<step>(staged[j] + at);
      AP_UNROLL
      for (int e = 0; e < step; ++e) y[j][e] = all.element[e];
    }
  }
  template <bool Wide> AP_DEV static void load_short(float (&y)[Short][step], const params& p, const work& w, std::int64_t k) {
    const line_operand& o = p.of_short;
    const int k_left = below(w.k_end - k, step);
    AP_UNROLL
    for (int j = 0; j < Short; ++j)
      load_neighbours<Wide>(y[j], w.of.of_short + j * o.line_stride + k * o.k_stride, o.k_stride, j < o.lines ? k_left : 0);
  }
  AP_DEV static void multiply(const float (&x)[rows][step], const float (&y)[Short][step], sums& sum) {
    AP_UNROLL
    for (int e = 0; e < step; ++e) {
      AP_UNROLL
      for (int j = 0; j < Short; ++j) {
        AP_UNROLL
        for (int i = 0; i < rows; ++i) sum.value[i][j] = multiply_add(double{x[i][e]}, double{y[j][e]}, sum.value[i][j]);
      }
    }
    if (sum.watching) {
      sum.watching = count(x, 0, sum.nonzeros_of_long);
      AP_UNROLL
      for (int n = 0; n < words_of_short; ++n) sum.watching |= count(y, n, sum.nonzeros_of_short[n]);
    }
  }
  // The lines of a word. Returns whether one of them may have fewer than dense_line.
  template <int Lines> AP_DEV static bool count(const float (&x)[Lines][step], int word, std::uint32_t& nonzeros) {
    constexpr int lines = Lines < lines_of_word ? Lines : lines_of_word;
    AP_UNROLL
    for (int n = 0; n < lines; ++n) {
      AP_UNROLL
      for (int e = 0; e < step; ++e)
        if (x[word * lines_of_word + n][e] != 0) nonzeros += 1u << 8 * n;
    }
    nonzeros = no_more_than_dense<lines>(nonzeros);
    return nonzeros != all_dense<lines>();
  }
  AP_DEV static int unpacked(std::uint32_t word, int n) { return static_cast<int>(word >> 8 * n & 0xFFu); }
  template <int Lines> AP_DEV static std::uint32_t no_more_than_dense(std::uint32_t word) {
    std::uint32_t all = 0;
    AP_UNROLL
    for (int n = 0; n < Lines; ++n) {
      const int here = unpacked(word, n);
      all |= static_cast<std::uint32_t>(here < dense_line ? here : dense_line) << 8 * n;
    }
    return all;
  }
  template <int Lines> AP_DEV static constexpr std::uint32_t in_each(std::uint32_t count) {
    std::uint32_t all = 0;
    for (int n = 0; n < Lines; ++n) all |= count << 8 * n;
    return all;
  }
  template <int Lines> AP_DEV static std::uint32_t all_dense() { return in_each<Lines>(dense_line); }
  // Of counts up to dense_line.
  template <int Least, int Lines> AP_DEV static bool none_is_below(std::uint32_t word) {
    constexpr std::uint32_t top = in_each<Lines>(128);
    return ((word + in_each<Lines>(128 - Least)) & top) == top;
  }
  template <int Lines> AP_DEV static void take(float (&now)[Lines][step], const float (&next)[Lines][step]) {
    AP_UNROLL
    for (int i = 0; i < Lines; ++i) {
      AP_UNROLL
      for (int e = 0; e < step; ++e) now[i][e] = next[i][e];
    }
  }
  template <bool Wide, bool AlongK, bool WideShort> AP_DEV static void compute(const params& p, const work& w, const seat& t, sums& sum) {
    const std::int64_t apart = std::int64_t{step} << p.slot_bits;
    constexpr bool both_ahead = Short == 1;  // more lines take registers that are not there
    float now[rows][step], next[rows][step], y[Short][step], next_y[Short][step];
    std::int64_t k = w.k + t.slot * step;
    load_long<Wide, AlongK>(now, p, w, t, k);
    if constexpr (both_ahead) load_short<WideShort>(y, p, w, k);
    AP_ROLLED
    for (; k < w.k_end; k += apart) {
      load_long<Wide, AlongK>(next, p, w, t, k + apart);
      load_short<WideShort>(both_ahead ? next_y : y, p, w, both_ahead ? k + apart : k);
      multiply(now, y, sum);
      take(now, next);
      if constexpr (both_ahead) take(y, next_y);
    }
  }
  template <bool Wide, bool AlongK>
  AP_DEV static void compute_staged(const params& p, storage& s, const work& w, const seat& t, sums& sum) {
    const int apart = step << p.slot_bits, steps = most_staged / apart < most_steps ? most_staged / apart : most_steps,
              of_stage = steps * apart;
    const std::int64_t mine = t.slot * step;
    float now[rows][step], next[rows][step], y[Short][step], ahead[fetched_of_thread];
    fetch(ahead, p, w, w.k, of_stage);
    load_long<Wide, AlongK>(now, p, w, t, w.k + mine);
    int buffer = 0;
    AP_ROLLED
    for (std::int64_t first = w.k; first < w.k_end; first += of_stage, buffer ^= 1) {
      put(s.staged[buffer], ahead, of_stage);
      block_barrier();  // also: everybody has used the other buffer
      fetch(ahead, p, w, first + of_stage, of_stage);
      AP_ROLLED
      for (int n = 0; n < steps && first + n * apart < w.k_end; ++n) {
        load_long<Wide, AlongK>(next, p, w, t, first + (n + 1) * apart + mine);
        load_staged(y, s.staged[buffer], n * apart + t.slot * step);
        multiply(now, y, sum);
        take(now, next);
      }
    }
    block_barrier();  // sums take its place
  }
  AP_DEV static void compute(const params& p, storage& s, const work& w, const seat& t, sums& sum) {
    const bool along_k = p.of_long.along_k, wide = is_wide(p.of_long, w.of.of_long, along_k ? p.k : p.of_long.lines);
    if (!p.of_short.along_k) {
      if (along_k) return wide ? compute_staged<true, true>(p, s, w, t, sum) : compute_staged<false, true>(p, s, w, t, sum);
      return wide ? compute_staged<true, false>(p, s, w, t, sum) : compute_staged<false, false>(p, s, w, t, sum);
    }
    if (wide && is_wide(p.of_short, w.of.of_short, p.k))
      return along_k ? compute<true, true, true>(p, w, t, sum) : compute<true, false, true>(p, w, t, sum);
    if (wide) return along_k ? compute<true, true, false>(p, w, t, sum) : compute<true, false, false>(p, w, t, sum);
    return along_k ? compute<false, true, false>(p, w, t, sum) : compute<false, false, false>(p, w, t, sum);
  }

  // add up ----------------------------------------------------------------------------------------------------------------------
  // Of the lanes that sit on the same seat one tells the block. They need not add up if three of them have two nonzeros of every line.
  AP_DEV static void count_nonzeros(const params& p, storage& s, const seat& t, const sums& sum) {
    constexpr int of_lane = 2, enough = ceil_div(dense_line, of_lane);
    const int slots = 1 << p.slot_bits, lane = lane_index(), first = p.of_long.along_k ? 1 : t.seats;
    const int end = p.of_long.along_k && slots < warp_size ? slots : warp_size;
    const unsigned together = t.together(p);
    const bool may_be_enough = bit_count(together) >= enough;
    const auto of_seat = [&](std::uint32_t word, auto lines) {
      if (may_be_enough) {
        const unsigned lanes = ballot(none_is_below<of_lane, lines()>(word)) & together;
        if (ballot(bit_count(lanes) < enough) == 0) return all_dense<lines()>();
      }
      for (int by = first; by < end; by *= 2) word += shuffle(word, lane ^ by);
      return no_more_than_dense<lines()>(word);
    };
    const std::uint32_t of_long = of_seat(sum.nonzeros_of_long, std::integral_constant<int, rows>());
    const bool tells = p.of_long.along_k ? lane % end == 0 : lane < t.seats;
    if (tells) atomic_add<scope::block>(&s.of_long[t.index], of_long);
    AP_UNROLL
    for (int n = 0; n < words_of_short; ++n) {
      const std::uint32_t of_short = of_seat(sum.nonzeros_of_short[n], std::integral_constant<int, short_of_word>());
      if (tells && t.index == 0) atomic_add<scope::block>(&s.of_short[n], of_short);
    }
  }
  AP_DEV static int line_bits(const params& p) { return thread_bits - p.slot_bits + row_bits; }
  AP_DEV static int outputs_of(const params& p) { return Short << line_bits(p); }
  // How many lanes add up an output together: as many as a block has for each, within a warp.
  AP_DEV static int lanes_of_output(const params& p) {
    const int lanes = (1 << p.slot_bits) / (rows * Short);
    return lanes > warp_size ? warp_size : lanes > 1 ? lanes : 1;
  }
  // Calls use(n, output, sum) for the outputs of the block that are this thread's, its n-th one each.
  AP_DEV static void add_up(const params& p, storage& s, const seat& t, const sums& sum, auto use) {
    const int outputs = outputs_of(p), apart = outputs | 1, slots = 1 << p.slot_bits;
    AP_UNROLL
    for (int i = 0; i < rows; ++i) {
      AP_UNROLL
      for (int j = 0; j < Short; ++j) s.part[t.slot * apart + (j << line_bits(p)) + t.line + i * t.apart] = sum.value[i][j];
    }
    count_nonzeros(p, s, t, sum);
    block_barrier();
    const int lanes = lanes_of_output(p), mine = thread_index() & (lanes - 1), here = thread_index() / lanes, at_once = threads / lanes;
    AP_UNROLL
    for (int n = 0; n < outputs_of_thread; ++n) {
      const int output = here + n * at_once;
      double total = 0;
      if (output < outputs) {
        for (int slot = mine; slot < slots; slot += lanes) total += s.part[slot * apart + output];
      }
      AP_UNROLL
      for (int by = warp_size / 2; by > 0; by /= 2)
        if (by < lanes) total += shuffle(total, lane_index() ^ by);
      if (output < outputs && mine == 0) use(n, output, total);
      if ((n + 1) * at_once >= outputs) break;
    }
  }

  // store -----------------------------------------------------------------------------------------------------------------------
  // Output n of a thread is output first + n * apart of the block, in this line and this one of the short operand. By bit n: those whose
  // lines have so few nonzeros that they have to be exact.
  struct outputs_of_mine {
    int first, apart;
    double sum[outputs_of_thread];
    unsigned of_sparse_long, of_sparse_short;
    AP_DEV int line(const params& p, int n) const { return (first + n * apart) & ((1 << line_bits(p)) - 1); }
    AP_DEV int of_short(const params& p, int n) const { return (first + n * apart) >> line_bits(p); }
    AP_DEV bool is_sparse(int n) const { return ((of_sparse_long | of_sparse_short) >> n & 1u) != 0; }
  };
  // In the whole cluster. What is dense here need not be asked of others, who are far away.
  AP_DEV static int nonzeros_of(std::uint32_t& word, int n, int cluster) {
    const int here = unpacked(word, n);
    if (cluster == 1 || here >= dense_line) return here;
    int all = 0;
    for (int block = 0; block < cluster; ++block) all += unpacked(*map_shared(&word, block), n);
    return all;
  }
  AP_DEV static double total_of(storage& s, int output, int cluster) {
    double of_block[dots_most_cluster], all = 0;
    AP_UNROLL
    for (int block = 0; block < dots_most_cluster; ++block) of_block[block] = block < cluster ? *map_shared(&s.total[output], block) : 0;
    AP_UNROLL
    for (int block = 0; block < dots_most_cluster; ++block) all += of_block[block];
    return all;
  }
  AP_DEV static bool is_there(const params& p, const work& w, const outputs_of_mine& mine, int n) {
    return w.top + mine.line(p, n) < p.of_long.lines && mine.of_short(p, n) < p.of_short.lines;
  }
  AP_DEV static void take_sum(const params& p, storage& s, const work& w, outputs_of_mine& mine, int n, double sum, int cluster) {
    mine.sum[n] = sum;
    if (!is_there(p, w, mine, n)) return;
    const int line = mine.line(p, n), j = mine.of_short(p, n), seats = threads >> p.slot_bits;
    const bool along_k = p.of_long.along_k;
    const int of_long = nonzeros_of(s.of_long[along_k ? line & (seats - 1) : line >> row_bits],
                                    along_k ? line >> (thread_bits - p.slot_bits) : line & (rows - 1), cluster);
    mine.of_sparse_long |= static_cast<unsigned>(is_sparse_count(of_long)) << n;
    mine.of_sparse_short |= static_cast<unsigned>(is_sparse_count(nonzeros_of(s.of_short[j / lines_of_word], j % lines_of_word, cluster)))
                            << n;
  }
  AP_DEV static void store(const params& p, const work& w, const outputs_of_mine& mine, int n, double sum) {
    if (is_there(p, w, mine, n)) stores::store_at(p, w.of.member, w.top + mine.line(p, n), mine.of_short(p, n), sum);
  }
  AP_DEV static void store_exact(const params& p, storage& s, const work& w, const outputs_of_mine& mine) {
    line_nonzeros& found = s.found[warp_index()];
    AP_UNROLL
    for (int n = 0; n < outputs_of_thread; ++n)
      stores::store_exact_at(p, found, w.of, mine.is_sparse(n), (mine.of_sparse_long >> n & 1u) != 0, w.top + mine.line(p, n),
                             mine.of_short(p, n), mine.sum[n]);
  }

 public:
  // kernel ----------------------------------------------------------------------------------------------------------------------
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared>();
    const int thread = thread_index(), cluster = cluster_extent(), rank = cluster_rank();
    if (thread < most_seats) s.of_long[thread] = 0;
    if (thread < words_of_short) s.of_short[thread] = 0;
    // Divided, for it passes before the wait: dots_place takes registers of the loop.
    const std::uint32_t index = block_index().x / static_cast<unsigned>(cluster), tiles = p.tiles.by();
    const std::int64_t member = index / tiles, k = rank * p.k_of_block, end = k + p.k_of_block;
    work w{{member, nullptr, nullptr}, std::int64_t{index % tiles} << line_bits(p), k < p.k ? k : p.k, end < p.k ? end : p.k};
    const seat t = seat::mine(p);
    sums sum = {};
    sum.watching = true;
    // Lines behind the end are as good as dense.
    AP_UNROLL
    for (int i = 0; i < rows; ++i)
      if (w.top + t.line + i * t.apart >= p.of_long.lines) sum.nonzeros_of_long |= std::uint32_t{dense_line} << 8 * i;
    AP_UNROLL
    for (int j = 0; j < Short; ++j)
      if (j >= p.of_short.lines) sum.nonzeros_of_short[j / lines_of_word] |= std::uint32_t{dense_line} << 8 * (j % lines_of_word);
    block_barrier();
    compute_first(static_cast<std::uint32_t>(w.of.member ^ w.top ^ w.k ^ w.k_end ^ t.line ^ t.slot));
    wait_for_previous_grid(p);
    start_next_grid();
    w.of.of_long = p.of_long.of_member(member);
    w.of.of_short = p.of_short.of_member(member);
    compute(p, s, w, t, sum);
    outputs_of_mine mine = {};
    if (cluster == 1) {
      mine.first = thread / lanes_of_output(p);
      mine.apart = threads / lanes_of_output(p);
      add_up(p, s, t, sum, [&](int n, int, double total) {
        take_sum(p, s, w, mine, n, total, 1);
        if (!mine.is_sparse(n)) store(p, w, mine, n, total);
      });
    } else {
      add_up(p, s, t, sum, [&](int, int output, double total) { s.total[output] = total; });
      cluster_barrier();
      // Each block of the cluster stores a share of the outputs.
      const int outputs = outputs_of(p), share = (outputs + cluster - 1) / cluster, first = rank * share;
      const int last = first + share < outputs ? first + share : outputs;
      mine.first = first + thread;
      mine.apart = threads;
      AP_UNROLL
      for (int n = 0; n < outputs_of_thread; ++n)
        if (const int output = mine.first + n * threads; output < last) take_sum(p, s, w, mine, n, total_of(s, output, cluster), cluster);
      cluster_arrive();  // what other blocks have is read
      AP_UNROLL
      for (int n = 0; n < outputs_of_thread; ++n)
        if (mine.first + n * threads < last && !mine.is_sparse(n)) store(p, w, mine, n, mine.sum[n]);
    }
    if (ballot((mine.of_sparse_long | mine.of_sparse_short) != 0) != 0) store_exact(p, s, w, mine);
    if (cluster > 1) cluster_wait();
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
