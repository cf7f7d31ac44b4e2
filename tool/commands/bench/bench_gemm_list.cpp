// SPDX-License-Identifier: Apache-2.0
// bench gemm --random, --suite, --map.
#include "tool/commands/bench/bench_gemm_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <antiphase/gemm.hpp>
#include <antiphase/prepared.hpp>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "tool/commands/bench/bench_gemm_list_text.hpp"
#include "tool/measure/estimate.hpp"
#include "tool/measure/graph.hpp"
#include "tool/measure/kernel_code.hpp"
#include "tool/measure/machine.hpp"
#include "tool/measure/spot_check.hpp"
#include "tool/program/unfinished.hpp"
#include "tool/rivals/rivals.hpp"

namespace antiphase::tool {
namespace {

constexpr double graph_us = 400;    // a graph holds so many runs of a work as take that long
constexpr double most_runs = 200;   // in a graph
constexpr double product_ms = 250;  // that the samples of one product may take; fewer are taken if they would take longer
constexpr int least_samples = 3;

// Memory for all products of a list, allocated once, and what they are made of.
class arena {
 public:
  arena(const context& where, const product_list_request& r)
      : where_(where),
        policy_(r.policy),
        a_(where, most(r, &listed_product::of_a)),
        b_(where, most(r, &listed_product::of_b)),
        c_(where, most(r, &listed_product::of_c)),
        recomputed_(where, 1),
        workspace_(where, workspace_of(r)) {
    values_.a.fill(where, a_.data(), static_cast<std::int64_t>(a_.size()));
    values_.b.fill(where, b_.data(), static_cast<std::int64_t>(b_.size()));
  }

  gemm_problem problem(const listed_product& p) {
    return {.a = view_of_a(std::as_const(a_).data(), p.size, p.layout),
            .b = view_of_b(std::as_const(b_).data(), p.size, p.layout),
            .c = row_major(c_.data(), p.size.m, p.size.n),
            .beta = p.beta};
  }
  // From now on calls take the product's B prepared.
  void prepare_b(const listed_product& p) {
    b_ready_.reset();  // whose memory the next one may need
    b_ready_ = prepare(where_, gemm_operand::b, problem(p).b);
  }
  work preparing() const {
    return [this](stream on) { b_ready_->renew(on); };
  }
  gemm_options options(const listed_product& p, bool prepared = true) {
    gemm_options all = asked(p);
    all.workspace = {workspace_.data(), workspace_.size()};
    if (prepared && b_ready_) all.prepared_b = &*b_ready_;
    return all;
  }
  work call(const listed_product& p, bool counting = false, bool prepared = true) {
    return [this, what = problem(p), options = options(p, prepared), counting](stream on) mutable {
      options.on = on;
      options.recomputed = counting ? recomputed_.data() : nullptr;
      gemm(where_, what, options);
    };
  }
  // Runs the work once, with a C that only it can make right, and looks at the result.
  accuracy judge(const listed_product& p, const spot_check& check, const work& run, const gemm_bound& promised) {
    (p.beta == 0 ? nothing_ : values_.c).fill(where_, c_.data(), p.of_c());
    recomputed_.copy_from(std::vector<std::uint64_t>{0});
    where_.runs_on().milliseconds(run, nullptr);
    return check(where_, c_.data(), promised);
  }
  std::uint64_t recomputed() const { return recomputed_.to_host()[0]; }
  const operand_values& values() const { return values_; }

 private:
  const context& where_;
  std::string policy_;
  operand_values values_ = normal_operands();
  repeated_values nothing_{std::vector<float>(static_cast<std::size_t>(values_.c.length()), std::numeric_limits<float>::quiet_NaN())};
  device_array<float> a_, b_, c_;
  device_array<std::uint64_t> recomputed_;
  device_array<std::byte> workspace_;
  std::optional<prepared_operand> b_ready_;

  static std::size_t most(const product_list_request& r, std::int64_t (listed_product::*elements)() const) {
    std::int64_t most = 0;
    for (const listed_product& p : r.list.products) most = std::max(most, (p.*elements)());
    return static_cast<std::size_t>(most);
  }
  std::size_t workspace_of(const product_list_request& r) {
    std::size_t bytes = 0;
    for (const listed_product& p : r.list.products) {
      bytes = std::max(bytes, explain(where_, problem(p), asked(p)).workspace);
      if (r.list.prepared) bytes = std::max(bytes, gemm_workspace(where_, problem(p), asked(p)));  // others may run
    }
    return bytes;
  }
  gemm_options asked(const listed_product& p) const {
    const auto [m, n, k] = p.size;
    return {.policy = policy_,
            .batch = p.count == 1 ? gemm_batch{} : gemm_batch{.count = p.count, .a_stride = m * k, .b_stride = k * n, .c_stride = m * n}};
  }
};

double milliseconds_of(const executor& where, const work& run) {
  where.milliseconds(run, nullptr);  // loads the code, fills the caches
  return where.milliseconds(run, nullptr);
}

// Times of works that take turns, each as a graph that holds many of its runs.
std::vector<timing> times_of(const context& where, const std::vector<work>& works, int samples) {
  std::vector<work> graphs;
  std::vector<int> runs;
  double round_ms = 0;  // every sample has an untimed run of its graph before it
  for (const work& run : works) {
    const double once_us = std::max(1000 * milliseconds_of(where.runs_on(), run), .1);
    runs.push_back(static_cast<int>(std::clamp(graph_us / once_us, 1., most_runs)));
    graphs.push_back(in_graph(where, run, runs.back()));
    round_ms += 2 * runs.back() * once_us / 1000;
  }
  const int fitting = static_cast<int>(product_ms / round_ms);
  std::vector<timing> all = measure(where.runs_on(), graphs,
                                    {.kind = protocol_kind::hot,
                                     .samples = std::clamp(fitting, std::min(least_samples, samples), samples),
                                     .heat_ms = 0,
                                     .sample_ms = 0,
                                     .most_repeats = 1});
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = divided(all[i], runs[i]);
  return all;
}

// The rivals that are there and right.
std::vector<product_outcome::opponent> opponents(const common_options& common, arena& memory, const fast_cublas& cublas,
                                                 const listed_product& p, const spot_check& check) {
  std::vector<product_outcome::opponent> found;
  for (rival& one : cublas.of(memory.problem(p), p.count)) {
    std::string why_not = one.why_not;
    try {
      if (one) {
        const gemm_bound bound = bound_of(gemm_sums::multiply_adds, p.size.k);
        const accuracy error = memory.judge(p, check, one.run, bound);
        if (error.within(bound.units)) {
          found.push_back({.who = std::move(one), .error = error, .time = {}});
          continue;
        }
        why_not = "its result is wrong";
      }
    } catch (const error& failure) {
      why_not = failure.what();
    }
    say(common, fmt::format("{} is not compared with at {}: {}", one.name, text_of(p), why_not));
  }
  return found;
}

// Lists for a GPU would take the CPU executor days.
void require_little(const std::vector<listed_product>& products) {
  constexpr double most = 1e10;  // multiply-adds, a minute or two
  double sum = 0;
  for (const listed_product& p : products) sum += static_cast<double>(p.of_c()) * static_cast<double>(p.size.k);
  if (sum > most)
    throw not_supported(fmt::format(
        "{} products of {:.1e} multiply-adds in all are too many for the CPU executor: expected a GPU, or at most {:.0e}, as with "
        "--random 1 20 --largest 256",
        products.size(), sum, most));
}

void measure_one(const product_list_request& r, const context& where, arena& memory, const std::optional<fast_cublas>& cublas,
                 product_outcome& o) {
  const listed_product& p = o.of;
  const spot_check check(p, memory.values());
  if (r.list.prepared) memory.prepare_b(p);
  warn_if_slow(r.how.common, where, memory.problem(p), memory.options(p, false), reference::not_offered);
  o.chosen = explain(where, memory.problem(p), memory.options(p));
  o.error = memory.judge(p, check, memory.call(p, true), o.chosen.bound);
  o.sample = check.outputs();
  o.recomputed = memory.recomputed();
  if (r.list.prepared) o.unprepared = {.chosen = explain(where, memory.problem(p), memory.options(p, false))};
  if (where.kind() != target::cuda) return;
  if (cublas) o.rivals = opponents(r.how.common, memory, *cublas, p, check);
  std::vector<work> works{memory.call(p)};
  for (const product_outcome::opponent& one : o.rivals) works.push_back(one.who.run);
  if (o.unprepared) works.insert(works.end(), {memory.call(p, false, false), memory.preparing()});
  const std::vector<timing> times = times_of(where, works, r.how.repeats);
  if (o.unprepared) o.unprepared->time = times[times.size() - 2], o.unprepared->preparing = times.back();
  o.time = times[0];
  for (std::size_t i = 0; i < o.rivals.size(); ++i) {
    o.rivals[i].time = times[i + 1];
    o.rivals[i].who.run = {};
  }
  o.code = code_of(where, std::vector{memory.call(p)});
}

}  // namespace

void bench_products(const product_list_request& r) {
  const common_options& common = r.how.common;
  const place at = choose_place(r.how.place, reference::not_offered);
  const context& where = *at.where;
  const bool timed = where.kind() == target::cuda;
  if (!timed) require_little(r.list.products);
  say_place(common, at);
  if (!timed) say(common, "nothing is timed: times of the CPU executor would say nothing about a GPU");

  arena memory(where, r);
  std::optional<fast_cublas> cublas;
  if (timed && r.beside_cublas) cublas.emplace(where);
  std::vector<product_outcome> all;
  const device_roof* const roof = timed ? roof_of(where.limits()) : nullptr;
  const auto records_of = [&] { return records_of_products(all, r.list.set, roof, timed); };
  const auto text_of_all = [&] { return fmt::format("C = A B on {}, {}\n\n{}", at.name, r.list.set, text_of_products(all, roof, timed)); };
  unfinished_results so_far(common, result_envelope("bench gemm", at), "records", r.list.products.size(), "products");
  for (const listed_product& p : r.list.products) {
    if (!all.empty()) so_far.show(all.size(), records_of, text_of_all);
    say_progress(common, text_of(p));
    product_outcome measured{.of = p};
    measure_one(r, where, memory, cublas, measured);
    all.push_back(std::move(measured));
  }
  so_far.finish();
  if (common.json) {
    json file = result_file("bench gemm", at, records_of());
    file["rivals"] = rivals_of_products(all);
    file["summary"] = summary_of_products(all, roof);
    print_json(file);
  } else {
    print(text_of_all());
  }
  require_verified(all);
}

}  // namespace antiphase::tool
