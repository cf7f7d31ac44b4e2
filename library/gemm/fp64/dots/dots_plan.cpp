// SPDX-License-Identifier: Apache-2.0
#include "library/gemm/fp64/dots/dots_plan.hpp"

#include <algorithm>
#include <antiphase/core/tile.hpp>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>

#include "library/gemm/fp64/fp64_lists.hpp"
#include "library/gemm/operands/both_operands.hpp"
#include "library/gemm/operands/cost_terms.hpp"

namespace antiphase::gemms {

namespace {

// Which of the operands lie across k.
struct lying {
  bool long_one, short_one;
};
// Predicted time by lanes: from the sectors of 32 bytes that a warp touches when each of its lanes loads an
// element of either operand.
class time_by_lanes {
 public:
  time_by_lanes(const costs::models& l, const dots_division& how, bool across, const product_shape& p,
                double multiprocessors)
      : lanes_(how.slots), across_(across) {
    const costs::dots_cost& us = l.dots;
    const costs::dots_square& of = us.square[static_cast<std::size_t>(how.square - 1)];
    const int threads = dots_threads_of_lanes(across);
    const double blocks =
        static_cast<double>(ceil_div<std::int64_t>(std::max(p.m, p.n), how.lines(threads))) *
        static_cast<double>(ceil_div<std::int64_t>(std::min(p.m, p.n), how.square)) *
        static_cast<double>(p.count);
    const double loads = static_cast<double>(ceil_div<std::int64_t>(p.k, lanes_)) * how.square *
                         (threads / 32) / 1000,
                 rounds = static_cast<double>(ceil_div<std::int64_t>(p.k, how.k_at_once()));
    // across: a block has a multiprocessor to itself
    const double crowd = blocks / multiprocessors, waves = across ? std::ceil(crowd) : 1;
    fixed_ = waves * (across ? of.across_start + rounds * of.across_round : us.start + rounds * of.round) +
             std::countr_zero(static_cast<unsigned>(lanes_)) * us.doubling + (lanes_ > 32 ? us.warps : 0) +
             crowd * (of.block + rounds * (across ? of.across_round_of_block : of.round_of_block));
    of_sector_ = loads * (waves * (across ? us.across_sector : us.sector) + crowd * us.sector_of_block);
  }
  double microseconds(const lying& o) const {
    constexpr int floats = 8;  // per sector
    if (across_) return fixed_ + of_sector_ * ((o.long_one ? 4 : 8) + (o.short_one ? 4 : 1));
    const int of_warp = std::min(lanes_, 32), lines = std::max(1, 32 / lanes_),
              along = ceil_div(of_warp, floats);
    const int sectors =
        (o.long_one ? of_warp * ceil_div(lines, floats) : lines * along) + (o.short_one ? of_warp : along);
    return fixed_ + of_sector_ * sectors;
  }

 private:
  int lanes_;
  bool across_;
  double fixed_ = 0, of_sector_ = 0;
};
// The faster of the two kernels by lanes, whose bits are the same.
struct by_lanes_either_way {
  time_by_lanes plain;
  std::optional<time_by_lanes> across;
  by_lanes_either_way(const costs::models& l, const dots_division& how, const product_shape& p,
                      double multiprocessors)
      : plain(l, how, false, p, multiprocessors) {
    if (how.slots >= dots_least_across) across.emplace(l, how, true, p, multiprocessors);
  }
  bool takes_across(const lying& o) const {
    return across && (o.long_one || o.short_one) && across->microseconds(o) < plain.microseconds(o);
  }
  double microseconds(const lying& o) const {
    return takes_across(o) ? across->microseconds(o) : plain.microseconds(o);
  }
  // Mean over layouts. A single line lies along k.
  double microseconds(bool long_has_lines, bool short_has_lines) const {
    double us = 0;
    for (const bool first : {false, long_has_lines})
      for (const bool second : {false, short_has_lines}) us += microseconds({first, second}) / 4;
    return us;
  }
};

// For a vector: lines per thread of the forms, the last of them for matrices across k.
constexpr int lines_of_thread[] = {1, 2, dots_vector_most_rows(true)};
static_assert(std::size(lines_of_thread) == std::size(costs::dots_cost::vectors));

double us_of_vector(const costs::models& l, std::size_t form, int slots, int threads, const product_shape& p,
                    double multiprocessors) {
  const costs::dots_cost& us = l.dots;
  const costs::vector_times& of = us.vector[form];
  const int lines_here = lines_of_thread[form];
  const bool across = lines_here == dots_vector_most_rows(true);
  const std::int64_t lines = std::max(p.m, p.n);
  const int of_block = threads / slots * lines_here;
  const double blocks = static_cast<double>(ceil_div<std::int64_t>(lines, of_block) * p.count),
               eights = across ? 8. / of_block : 0,
               groups = static_cast<double>(ceil_div<std::int64_t>(p.k, std::int64_t{dots_step} * slots));
  const double group =
      of.group * (1 + (is_uneven(across ? lines : p.k) ? us.uneven : 0)) * (1 + us.scattered * eights);
  const double of_one = dots_vector_places(lines_here) * dots_vector_threads(across) / threads,
               waves = blocks / multiprocessors / of_one;
  const double compute = (of.block + group * groups) *
                         (1 + of.crowd * std::min(1., std::ceil(blocks / multiprocessors) / of_one)) *
                         (1 + of.further * std::max(waves - 1, 0.));
  const double bytes = bytes_of(p).all(), far = far_share(l, bytes);
  const double move = bytes * ((1 - far) / us.cache_rate + far / us.memory_rate) * (1 + us.pieces * eights);
  return us.vector_start + us.ramp * far + longer(compute, move * l.multiprocessors / multiprocessors);
}
// Heuristic: the form for a layout. Along k, a thread has one line if lines are long and blocks are many,
// else two; across, blocks are as large as still leaves one for half of the multiprocessors. Within 3 % of
// the fastest of 563 cases in the mean (bench/results/experiments, 20261126-vector-forms).
vector_form form_for(bool across, int slots, const product_shape& p, bool finishes, double multiprocessors) {
  const double lines = static_cast<double>(std::max(p.m, p.n) * p.count);
  int threads = across ? dots_vector_threads(true) : std::max(slots, dots_vector_least_threads);
  if (across) {
    const auto blocks = [&] { return lines / (threads / slots * dots_vector_most_rows(true)); };
    while (threads > std::max(slots, dots_vector_least_threads) && blocks() < multiprocessors / 2)
      threads /= 2;
    return {threads, dots_vector_most_rows(true)};
  }
  const bool much = p.k >= std::int64_t{64} * slots && lines * slots / threads >= 8 * multiprocessors;
  return {threads, much && !finishes ? 1 : 2};
}
double us_of_form(const costs::models& l, const vector_form& form, int slots, const product_shape& p,
                  double multiprocessors) {
  const auto number = std::ranges::find(lines_of_thread, form.lines_of_thread) - std::begin(lines_of_thread);
  return us_of_vector(l, static_cast<std::size_t>(number), slots, form.threads, p, multiprocessors);
}

// Mean over layouts: a matrix of several lines and several k lies along k or across.
double us_of(const costs::models& l, const dots_division& how, const product_shape& p, bool finishes,
             double multiprocessors) {
  const bool long_divides = p.k > 1 && std::max(p.m, p.n) > 1,
             short_divides = p.k > 1 && std::min(p.m, p.n) > 1;
  if (!how.for_vector()) {
    // Operands beyond the L2 cache come from memory, however many lanes ask for them.
    const double bytes = bytes_of(p).all(), from_memory = far_share(l, bytes) * bytes / l.memory_rate *
                                                          l.multiprocessors / multiprocessors;
    return longer(by_lanes_either_way(l, how, p, multiprocessors).microseconds(long_divides, short_divides),
                  from_memory);
  }
  const auto takes = [&](bool across) {
    return us_of_form(l, form_for(across, how.slots, p, finishes, multiprocessors), how.slots, p,
                      multiprocessors);
  };
  return std::max(p.m, p.n) == 1 ? takes(false) : (takes(false) + takes(true)) / 2;
}

bool takes_across(const context& where, const problem& p, const batch& of, const dots_division& how,
                  bool turned) {
  const auto lies_across = [](const line_operand& o) { return !o.along_k && o.lines > 1; };
  const both_operands o = operands_of(p, of, turned);
  if (how.for_vector()) return lies_across(o.long_one);
  return by_lanes_either_way(costs::models_of(where.limits()), how, shape_of(p, of),
                             multiprocessors_of(where.limits()))
      .takes_across({lies_across(o.long_one), lies_across(o.short_one)});
}

}  // namespace

const std::vector<dots_instance>& dots_instances(target where) {
  return instances_of<fp64_lists, dots_instance>(where);
}

bool dots_tiles_fit(const problem& p, const batch& of) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max() / 8;
  return std::max(p.m(), p.n()) <= most / of.count;  // a block has a line at least
}

double dots_seconds(const costs::models& l, const product_shape& p, const device_limits& device,
                    const dots_division& how, bool finishes) {
  return 1e-6 * us_of(l, how, p, finishes, multiprocessors_of(device));
}
void each_dots_division(const costs::models& l, const product_shape& p, const device_limits& device,
                        bool finishes, const std::function<void(const dots_division&, double)>& use) {
  const auto consider = [&](const dots_division& how) {
    use(how, dots_seconds(l, p, device, how, finishes));
  };
  // A square of 2 x 2 outputs would compute one twice where there is a single line.
  const int largest_square = finishes || std::min(p.m, p.n) == 1 ? 1 : 2;
  for (int square = 1; square <= largest_square && p.k <= dots_lanes_far_k; ++square)
    for (int lanes = dots_least_lanes;
         lanes <= dots_lanes_threads && (lanes == dots_least_lanes || lanes <= p.k); lanes *= 2)
      consider(divided_by_lanes(lanes, square));
  for (int slots = dots_vector_least_slots; std::min(p.m, p.n) == 1 && slots <= dots_vector_most_slots;
       slots *= 2)
    if (slots == dots_vector_least_slots || 2 * slots < p.k) consider(divided_for_vector(slots));
}
dots_choice divide_dots(const context& where, const problem& p, const batch& of, bool finishes) {
  dots_choice best{{}, std::numeric_limits<double>::infinity()};
  each_dots_division(costs::models_of(where.limits()), shape_of(p, of), where.limits(), finishes,
                     [&](const dots_division& how, double seconds) {
                       if (seconds < best.seconds) best = {how, seconds};
                     });
  return best;
}

std::optional<dots_plan> plan_dots(const context& where, const problem& p, const batch& of,
                                   const epilogue& after, const dots_division& how,
                                   std::optional<bool> by_across, std::optional<vector_form> form) {
  dots_plan plan{.problem = p, .batch = of, .after = after, .turned = p.n() > p.m(), .division = how};
  const std::int64_t few = std::min(p.m(), p.n());
  const bool finishes = !after.is_plain();
  const auto find = [&](bool across) {
    if (how.for_vector())
      plan.form =
          form ? *form
               : form_for(across, how.slots, shape_of(p, of), finishes, multiprocessors_of(where.limits()));
    for (const dots_instance& i : dots_instances(where.kind())) {
      if (i.finishes == finishes && i.square == how.square && i.across == across &&
          i.lines_of_thread == plan.form.lines_of_thread &&
          shortage_of(where.limits(), i.code) == shortage::none)
        plan.instance = &i;
    }
    return plan.instance != nullptr;
  };
  // Where the large block does not fit the device, the other kernel may.
  const bool across = by_across ? *by_across : takes_across(where, p, of, how, plan.turned);
  if (!find(across) && !(across && !by_across && find(false))) return std::nullopt;
  plan.tiles = ceil_div<std::int64_t>(std::max(p.m(), p.n()), plan.lines());
  plan.grid.x = static_cast<unsigned>(plan.tiles * of.count);
  if (!how.for_vector()) plan.grid.y = static_cast<unsigned>(ceil_div<std::int64_t>(few, how.square));
  return plan;
}

launch_counts run(const context& where, const dots_plan& plan, stream on) {
  const problem& p = plan.problem;
  const both_operands o = operands_of(p, plan.batch, plan.turned);
  const ending end = ending_of(p, plan.after);
  const dots_problem arguments{.of_long = o.long_one,
                               .of_short = o.short_one,
                               .c = p.c.data,
                               .c_member = plan.batch.c,
                               .long_stride = plan.turned ? p.c.column_stride : p.c.row_stride,
                               .short_stride = plan.turned ? p.c.row_stride : p.c.column_stride,
                               .batch_stride = plan.batch.c_stride,
                               .k = p.k(),
                               .slot_bits = std::countr_zero(static_cast<unsigned>(plan.division.slots)),
                               .tiles = divider(static_cast<std::uint32_t>(plan.tiles)),
                               .end = plan.turned ? transposed(end) : end,
                               .thread_bits = std::countr_zero(static_cast<unsigned>(plan.threads()))};
  kernel code = plan.instance->code;
  code.threads = plan.threads();
  return where.runs_on().launch(code, plan.grid, &arguments, on);
}

}  // namespace antiphase::gemms
