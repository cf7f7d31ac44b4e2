// SPDX-License-Identifier: Apache-2.0
#include "src/gemm/dots/dots_plan.hpp"

#include <algorithm>
#include <antiphase/core/tile.hpp>
#include <bit>
#include <cmath>
#include <limits>

#include "src/gemm/both_operands.hpp"
#include "src/gemm/cost.hpp"
#include "src/gemm/registry.hpp"

namespace antiphase::gemms {

namespace {

int few_of(const problem& p) { return static_cast<int>(std::min(p.m(), p.n())); }

// Microseconds, fitted to 11,800 times of 1,000 shapes with all divisions on an H200 (scripts/fit_laws.py).
struct law {
  int few, rows;                           // lines of the short operand, at most; of the long one, of a thread
  double start, block, step, slots;        // of a launch; of a block, of a step of its threads, of doubling its slots
  double cluster[4];                       // of clusters of 1, 2, 4, 8
  double full, further;                    // how many times as long blocks take that fill all multiprocessors, and blocks beyond that
  double bytes_of_cache, bytes_of_memory;  // megabytes per microsecond
  double long_across, short_across, long_uneven, short_uneven;  // how many times longer a step takes of operands that lie so
  double uneven_bytes;                                          // the same of all bytes, where the long operand is uneven
};
constexpr law laws[] = {
    {1, 2, 1.271, 0.528, 0.241, 0.067, {0, 0.769, 0.788, 0.783}, 1.759, 1.498, 4.996, 2.975, 0.407, 0.1, 0.296, 0.1, 0.619},
    {1, 4, 1.647, 0.255, 0.27, 0.069, {0, 0.784, 0.853, 0.856}, 2.608, 1.386, 6.163, 4.12, 0.227, 0.1, 1.154, 0.1, 0.406},
    {2, 2, 1.118, 0.905, 0.265, 0.086, {0, 0.806, 0.891, 0.901}, 1.832, 1.153, 3.9, 2.421, 0.007, 0.339, 0.249, 0.269, 0.712},
    {2, 4, 1.328, 0.954, 0.327, 0.07, {0, 0.978, 1.07, 1.069}, 2.086, 1.09, 5.259, 3.374, 0.005, 0.765, 0.948, 0.026, 1.038},
    {4, 1, 0.208, 1.848, 0.336, 0.087, {0, 0.844, 0.925, 0.961}, 1.496, 0.965, 1.765, 1.121, 0.007, 0.491, 0.192, 0.072, 0.04},
    {4, 2, 0.328, 1.952, 0.371, 0.078, {0, 0.953, 1.071, 1.065}, 1.648, 1.003, 2.747, 1.785, 0.003, 0.55, 0.149, 0.171, 0.008},
    {8, 1, 0.667, 1.896, 0.451, 0.085, {0, 1.003, 1.042, 1.024}, 1.671, 1.071, 1.077, 1, 0.095, 0.383, 0.141, 0.159, 0.042},
    {8, 2, 0.894, 1.909, 0.604, 0.071, {0, 1.245, 1.352, 1.213}, 1.845, 1, 1.571, 1.693, 0.131, 0.149, 0.181, 0.16, 0.012},
};
constexpr double bytes_kept = 2.4e7;  // of one line's long operand, that the L2 cache still has when they are read again
constexpr double across_k = 0.5;      // of all layouts
// short_across: the share of layouts in which the short operand lies so. of_132: multiprocessors, in those of an H200.
double microseconds(const law& l, const dots_division& how, double blocks, double steps, double bytes, const mean_layout& lies,
                    double short_across, double of_132) {
  constexpr double alone = 0.4;  // of the bandwidth, what a few blocks reach
  const int doublings = std::countr_zero(static_cast<unsigned>(how.slots)) - 2,
            cluster = std::countr_zero(static_cast<unsigned>(how.cluster));
  const double places = 2 * 132 * of_132 * share_of_places(how.cluster), all = blocks / places;
  const double crowd = all <= 0.5 ? 1 : all <= 1 ? 1 + (l.full - 1) * (2 * all - 1) : l.full * (1 + l.further * (all - 1));
  const double slower =
      1 + l.long_across * across_k + l.short_across * short_across + l.long_uneven * lies.long_uneven + l.short_uneven * lies.short_uneven;
  const double compute = crowd * (l.block + steps * l.step * slower + doublings * l.slots);
  // Where much has to be kept, the cache loses some of it. That was seen with a single line, of which there is nothing else to wait for.
  const double lost = l.few == 1 ? std::clamp((bytes - bytes_kept) / (bytes_of_l2 - bytes_kept), 0., 1.) : 0;
  const double of_cache = 1 / ((1 - lost) / l.bytes_of_cache + lost / l.bytes_of_memory);
  const double bandwidth = moved_at(bytes, of_cache, l.bytes_of_memory) * 1e6 * of_132 * std::min(1., alone + (1 - alone) * all);
  // Along k, a line's threads read 16 bytes each at a time. Pieces of 64 bytes are short for memory.
  const double quarter = 4. / how.slots, by_pieces = bytes > bytes_of_l2 ? 1 + 1.4 * quarter * quarter * quarter * (1 - across_k) : 1;
  return l.start + l.cluster[cluster] + longer(compute, bytes * by_pieces * (1 + l.uneven_bytes * lies.long_uneven) / bandwidth);
}

// By lanes. Microseconds, fitted to 9,500 times of 1,200 products on an H200 (scripts/fit_laws.py): off by 4 % in the median. What there is
// of each: a start, rounds of a lane's loads, doublings of the lanes that add up, whether warps add up, and thousands of sectors of 32
// bytes that a block's loads touch, which count on a thread's way and again where multiprocessors have several blocks.
struct law_of_lanes {
  double start, round, doubling, warps, sector;
  double block, round_of_block, sector_of_block;  // of the blocks of a multiprocessor
  double far = 0;  // how many times longer these sectors take of lines across k that the L1 cache has no place for
};
struct laws_of_square {
  law_of_lanes plain, across;  // by the kernel for operands across k
};
constexpr laws_of_square laws_of_lanes[] = {
    {{0.7531, 0.3048, 0.0071, 0.0962, 0.0618, 0.1457, 0.0614, 0.1267, 1.73},
     {1.2981, 0.7590, 0.0398, 0.1612, 0.1104, 0.05, 0.4483, 0.0781}},
    {{0.8932, 0.2833, 0.0271, 0.1074, 0.0426, 0.2923, 0.0356, 0.1325, 1.54},
     {2.4964, 0.6616, 0.1124, 0.1223, 0.1074, 0.0021, 0.4591, 0.0486}},
};
// Which of the operands lie across k.
struct lying {
  bool long_one, short_one;
};
// What a kernel takes, by the sectors that a warp touches when each of its lanes loads an element of either operand.
class time_by_lanes {
 public:
  time_by_lanes(int square, int lanes, bool across, const problem& p, std::int64_t count, double of_132) : lanes_(lanes), across_(across) {
    const laws_of_square& both = laws_of_lanes[square - 1];
    const law_of_lanes& l = across ? both.across : both.plain;
    const dots_division how = divided_by_lanes(lanes, square);
    const int threads = dots_threads_of_lanes(across);
    const double blocks = static_cast<double>(ceil_div<std::int64_t>(std::max(p.m(), p.n()), how.lines(threads))) *
                          static_cast<double>(ceil_div<std::int64_t>(std::min(p.m(), p.n()), square)) * static_cast<double>(count);
    const double loads = static_cast<double>(ceil_div<std::int64_t>(p.k(), lanes)) * square * (threads / 32) / 1000,
                 rounds = static_cast<double>(ceil_div<std::int64_t>(p.k(), how.k_at_once()));
    const double crowd = blocks / (132 * of_132), waves = across ? std::ceil(crowd) : 1;  // those have a multiprocessor to themselves
    fixed_ = waves * (l.start + rounds * l.round) + std::countr_zero(static_cast<unsigned>(lanes)) * l.doubling +
             (lanes > 32 ? l.warps : 0) + crowd * (l.block + rounds * l.round_of_block);
    const double far = l.far * std::clamp(static_cast<double>(p.k()) / 600 - 1, 0., 1.) * std::clamp(crowd / 2 - 1, 0., 1.);
    of_sector_ = loads * (waves * l.sector + crowd * l.sector_of_block);
    more_if_long_across_ = loads * crowd * l.sector_of_block * far;
  }
  double microseconds(const lying& o) const {
    constexpr int floats = 8;  // of a sector
    if (across_) return fixed_ + of_sector_ * ((o.long_one ? 4 : 8) + (o.short_one ? 4 : 1));
    const int of_warp = std::min(lanes_, 32), lines = std::max(1, 32 / lanes_), along = ceil_div(of_warp, floats);
    const int sectors = (o.long_one ? of_warp * ceil_div(lines, floats) : lines * along) + (o.short_one ? of_warp : along);
    return fixed_ + (of_sector_ + (o.long_one ? more_if_long_across_ : 0)) * sectors;
  }

 private:
  int lanes_;
  bool across_;
  double fixed_ = 0, of_sector_ = 0, more_if_long_across_ = 0;
};
// Of the two kernels, whose bits are the same: the faster one.
struct by_lanes_either_way {
  time_by_lanes plain;
  std::optional<time_by_lanes> across;
  by_lanes_either_way(int square, int lanes, const problem& p, std::int64_t count, double of_132)
      : plain(square, lanes, false, p, count, of_132) {
    if (lanes >= dots_least_across) across.emplace(square, lanes, true, p, count, of_132);
  }
  bool takes_across(const lying& o) const {
    return across && (o.long_one || o.short_one) && across->microseconds(o) < plain.microseconds(o);
  }
  double microseconds(const lying& o) const { return takes_across(o) ? across->microseconds(o) : plain.microseconds(o); }
  // In the mean over layouts. A single line lies along k.
  double microseconds(bool long_has_lines, bool short_has_lines) const {
    double us = 0;
    for (const bool first : {false, long_has_lines})
      for (const bool second : {false, short_has_lines}) us += microseconds({first, second}) / 4;
    return us;
  }
};

// For a vector. Microseconds, fitted to all forms of 130 matrices on an H200 (bench/results/experiments/20261126-vector-forms.json) and to
// single times of a tune: off by 5 % in the median along k with one line of a thread, and across, by 6 % with two. A block takes `block`,
// and `group` for each group of a thread's k, alone on a multiprocessor; `crowd` says how many times longer among as many as there are
// places for, `further` and `tail` how much more with each wave of blocks behind the first, and with the part of the last one that is
// empty. `ramp` is what memory takes to get going, and to come to an end.
struct law_of_vector {
  int lines_of_thread;
  double start, block, group, crowd, further, tail;
  double bytes_of_cache, bytes_of_memory;  // megabytes per microsecond
  double ramp;
  double uneven, uneven_bytes;  // how many times longer a group takes of uneven operands, and all bytes
  double straddling;            // and all bytes, of rows across k that do not begin at multiples of 128
  // Across k, the same of a block's lines that are no more than eight side by side, and how fast that fades with more.
  double scattered, fades, pieces_of_cache, pieces_of_memory;
  constexpr bool across() const { return lines_of_thread == dots_vector_most_rows(true); }
};
constexpr law_of_vector laws_of_vector[] = {
    {1, 0.876, 0.283, 0.06038, 4.733, 0.6702, 0.0954, 20, 4.218, 1.032, 0.7474, 0.1448, 0, 0, 1, 0, 0},
    {2, 1.046, 0.1808, 0.06075, 6.553, 0.7197, 0.3085, 20, 4.218, 1.138, 0.5405, 0.0592, 0, 0, 1, 0, 0},
    {4, 1.625, 0.04625, 0.0199, 15.05, 1.616, 0.5862, 6.422, 4.641, 1.995, 1.004, 0.005, 0.1278, 1.012, 1.337, 0.4806, 0.437},
};
struct matrix_of_vectors {
  std::int64_t lines, k, count;
  double bytes;  // all that is moved
};
double microseconds(const law_of_vector& l, int slots, int threads, const matrix_of_vectors& v, double of_132) {
  constexpr double none_kept = 5e7;  // as bytes_kept, of which it has nothing any more
  const int of_block = threads / slots * l.lines_of_thread;
  const bool uneven = is_uneven(l.across() ? v.lines : v.k);
  const double blocks = static_cast<double>(ceil_div<std::int64_t>(v.lines, of_block) * v.count), eights = 8. / of_block,
               groups = static_cast<double>(ceil_div<std::int64_t>(v.k, std::int64_t{dots_step} * slots));
  const double group = l.group * (1 + (uneven ? l.uneven : 0)) * (1 + (l.scattered > 0 ? l.scattered * std::pow(eights, l.fades) : 0));
  const double multiprocessors = 132 * of_132, of_one = dots_vector_places(l.lines_of_thread) * dots_vector_threads(l.across()) / threads,
               waves = blocks / multiprocessors / of_one;
  const double further = waves > 1 ? waves - 1 + l.tail * (std::ceil(waves) - waves) : 0;
  const double compute =
      (l.block + group * groups) * (1 + l.crowd * std::min(1., std::ceil(blocks / multiprocessors) / of_one)) * (1 + l.further * further);
  const double far = std::clamp((v.bytes - bytes_kept) / (none_kept - bytes_kept), 0., 1.);
  const double move =
      (1 - far) / l.bytes_of_cache * (1 + l.pieces_of_cache * eights) + far / l.bytes_of_memory * (1 + l.pieces_of_memory * eights);
  const double dearer = 1 + (uneven ? l.uneven_bytes : 0) + (v.lines % 32 != 0 ? l.straddling : 0);
  return l.start + l.ramp * far + longer(compute, 1e-6 / of_132 * v.bytes * dearer * move);
}
// The form that is predicted to be the fastest, and how long it takes.
struct vector_choice {
  vector_form form;
  double us;
};
vector_choice choose_form(bool across, int slots, const matrix_of_vectors& v, double of_132) {
  vector_choice best{{}, std::numeric_limits<double>::infinity()};
  for (const law_of_vector& l : laws_of_vector) {
    if (l.across() != across) continue;
    for (int threads = std::max(slots, dots_vector_least_threads); threads <= dots_vector_threads(across); threads *= 2) {
      const double us = microseconds(l, slots, threads, v, of_132);
      if (us < best.us) best = {{threads, l.lines_of_thread}, us};
    }
  }
  return best;
}
matrix_of_vectors vectors_of(const problem& p, std::int64_t count) {
  const auto size = [](std::int64_t extent) { return static_cast<double>(extent); };
  const std::int64_t lines = std::max(p.m(), p.n());
  return {lines, p.k(), count, 4 * size(count) * (size(lines) * size(p.k()) + size(p.k()) + (p.beta == 0 ? 1 : 2) * size(lines))};
}
// In the mean over layouts: a matrix of several lines and several k lies along k or across.
double microseconds_of_vector(const matrix_of_vectors& v, int slots, double of_132) {
  const double along = choose_form(false, slots, v, of_132).us;
  return v.lines == 1 ? along : (along + choose_form(true, slots, v, of_132).us) / 2;
}

// What lies along lines is read in pieces of a block's lines: of larger operands they are to be as long as a memory transaction or two.
std::int64_t shortest_piece(double elements) { return elements > 2e6 ? 16 : elements > 5e5 ? 8 : 1; }

bool takes_across(const context& where, const problem& p, const batch& of, const dots_division& how, bool turned) {
  const auto lies_across = [](const line_operand& o) { return !o.along_k && o.lines > 1; };
  const both_operands o = operands_of(p, of, turned);
  if (how.for_vector()) return lies_across(o.long_one);
  if (!how.by_lanes()) return false;
  const double of_132 = multiprocessors_of(where.limits()) / 132.;
  return by_lanes_either_way(how.square, how.slots, p, of.count, of_132).takes_across({lies_across(o.long_one), lies_across(o.short_one)});
}

}  // namespace

const std::vector<dots_instance>& dots_instances(target where) { return instances_of<dots_instance>(where); }

bool dots_tiles_fit(const problem& p, const batch& of) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max() / 8;
  return std::max(p.m(), p.n()) <= most / of.count;  // a block has a line at least
}

dots_choice divide_dots(const context& where, const problem& p, const batch& of, bool finishes) {
  const auto size = [](std::int64_t extent) { return static_cast<double>(extent); };
  const int few = finishes ? dots_lines : few_of(p);
  const std::int64_t lines = std::max(p.m(), p.n());
  const double of_132 = multiprocessors_of(where.limits()) / 132., outputs = (p.beta == 0 ? 1 : 2) * size(p.m()) * size(p.n());
  const double bytes = 4 * size(of.count) * (size(p.m()) * size(p.k()) + size(p.k()) * size(p.n()) + outputs);
  const bool clusters = features_of(where.limits()).clusters;
  const std::int64_t least_lines = shortest_piece(size(lines) * size(p.k()) * size(of.count));
  dots_choice best{{}, std::numeric_limits<double>::infinity()};
  const bool long_divides = p.k() > 1 && lines > 1, short_divides = p.k() > 1 && few_of(p) > 1;
  for (int square = 1; square <= (finishes ? 1 : 2) && lanes_may(p, of); ++square)
    for (int lanes = dots_least_slots; lanes <= dots_lanes_threads && (lanes == dots_least_slots || lanes <= p.k()); lanes *= 2) {
      const by_lanes_either_way us(square, lanes, p, of.count, of_132);
      const double seconds = 1e-6 * us.microseconds(long_divides, short_divides);
      if (seconds < best.seconds) best = {divided_by_lanes(lanes, square), seconds};
    }
  const matrix_of_vectors vectors = vectors_of(p, of.count);
  for (int slots = dots_vector_least_slots; !finishes && few == 1 && slots <= dots_vector_most_slots; slots *= 2) {
    if (slots > dots_vector_least_slots && 2 * slots >= p.k()) break;
    const double seconds = 1e-6 * microseconds_of_vector(vectors, slots, of_132);
    if (seconds < best.seconds) best = {divided_for_vector(slots), seconds};
  }
  const mean_layout lies = mean_layout_of(p.m(), p.n(), p.k());
  const double short_across = few_of(p) > 1 ? across_k : 0;
  for (const law& l : laws) {
    if (l.few < few || l.few / 2 >= few || (finishes && l.rows != dots_finishing_rows)) continue;  // /2: there is one for fewer lines
    dots_division d{dots_least_slots, 1, l.rows};
    for (; d.slots <= dots_most_slots(few); d.slots *= 2) {
      if (d.slots > dots_least_slots && (p.k() <= 2 * d.slots || (d.lines(dots_threads) < least_lines && d.lines(dots_threads) < lines)))
        break;
      for (d.cluster = 1; d.cluster <= (clusters ? dots_most_cluster : 1); d.cluster *= 2) {
        if (d.cluster > 1 && p.k() <= std::int64_t{2} * d.slots * d.cluster) break;
        const double blocks = size(ceil_div<std::int64_t>(lines, d.lines(dots_threads)) * of.count * d.cluster);
        const double of_thread = size(ceil_div<std::int64_t>(ceil_div<std::int64_t>(p.k(), std::int64_t{dots_step} * d.slots), d.cluster));
        const double seconds = 1e-6 * microseconds(l, d, blocks, of_thread, bytes, lies, short_across, of_132);
        if (seconds < best.seconds) best = {d, seconds};
      }
    }
  }
  return best;
}

std::optional<dots_plan> plan_dots(const context& where, const problem& p, const batch& of, const epilogue& after, const dots_division& how,
                                   std::optional<bool> by_across, std::optional<vector_form> form) {
  dots_plan plan{.what = p, .of = of, .after = after, .turned = p.n() > p.m(), .how = how};
  const std::int64_t few = std::min(p.m(), p.n());
  const double of_132 = multiprocessors_of(where.limits()) / 132.;
  if (!after.is_plain() && how.by_blocks()) plan.how.rows = dots_finishing_rows;
  const auto find = [&](bool across) {
    if (how.for_vector()) plan.form = form ? *form : choose_form(across, how.slots, vectors_of(p, of.count), of_132).form;
    for (const dots_instance& i : dots_instances(where.kind())) {
      if (i.finishes == after.is_plain() || i.lines < few || i.rows != plan.how.rows || i.square != how.square || i.across != across ||
          i.lines_of_thread != plan.form.lines_of_thread)
        continue;
      if (shortage_of(where.limits(), i.code) != shortage::none) continue;
      if (plan.with == nullptr || i.lines < plan.with->lines) plan.with = &i;
    }
    return plan.with != nullptr;
  };
  // Where the large block does not fit the device, the other kernel may.
  const bool across = by_across ? *by_across : takes_across(where, p, of, how, plan.turned);
  if (!find(across) && !(across && !by_across && find(false))) return std::nullopt;
  if (how.by_blocks()) plan.how.slots = std::min(plan.how.slots, dots_most_slots(plan.with->lines));
  plan.tiles = ceil_div<std::int64_t>(std::max(p.m(), p.n()), plan.lines());
  plan.grid.x = static_cast<unsigned>(plan.tiles * of.count * how.cluster);
  if (how.by_lanes()) plan.grid.y = static_cast<unsigned>(ceil_div<std::int64_t>(few, how.square));
  return plan;
}

launch_counts run(const context& where, const dots_plan& plan, stream on) {
  const problem& p = plan.what;
  const both_operands o = operands_of(p, plan.of, plan.turned);
  const ending end = ending_of(p, plan.after);
  const std::int64_t of_thread = ceil_div<std::int64_t>(p.k(), std::int64_t{dots_step} * plan.how.slots);
  const dots_problem arguments{.of_long = o.long_one,
                               .of_short = o.short_one,
                               .c = p.c.data,
                               .c_member = plan.of.c,
                               .long_stride = plan.turned ? p.c.column_stride : p.c.row_stride,
                               .short_stride = plan.turned ? p.c.row_stride : p.c.column_stride,
                               .batch_stride = plan.of.c_stride,
                               .k = p.k(),
                               .k_of_block = ceil_div<std::int64_t>(of_thread, plan.how.cluster) * dots_step * plan.how.slots,
                               .slot_bits = std::countr_zero(static_cast<unsigned>(plan.how.slots)),
                               .tiles = divider(static_cast<std::uint32_t>(plan.tiles)),
                               .end = plan.turned ? transposed(end) : end,
                               .thread_bits = std::countr_zero(static_cast<unsigned>(plan.threads()))};
  kernel code = plan.with->code;
  code.cluster = plan.how.cluster;
  code.threads = plan.threads();
  return where.runs_on().launch(code, plan.grid, &arguments, on);
}

}  // namespace antiphase::gemms
