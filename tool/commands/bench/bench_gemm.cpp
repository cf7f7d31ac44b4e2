// SPDX-License-Identifier: Apache-2.0
// The subcommand bench gemm.
#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <antiphase/core/names.hpp>
#include <antiphase/core/tile.hpp>
#include <antiphase/gemm.hpp>
#include <antiphase/gemm/policies.hpp>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "tool/commands/bench/bench_gemm.hpp"
#include "tool/measure/estimate.hpp"
#include "tool/measure/kernel_code.hpp"
#include "tool/measure/machine.hpp"
#include "tool/measure/products/accuracy.hpp"
#include "tool/measure/products/distributions.hpp"
#include "tool/measure/products/product.hpp"
#include "tool/measure/products/roofline.hpp"
#include "tool/program/text/names.hpp"
#include "tool/program/text/table.hpp"
#include "tool/program/unfinished.hpp"
#include "tool/rivals/rivals.hpp"

namespace antiphase::tool {
namespace {

using request = bench_gemm_request;

std::optional<double> best_rate(const context& where, precision p) {
  const device_roofline* const r = roofline_of(where.limits());
  if (r == nullptr) return std::nullopt;
  return p == precision::fp32 ? r->fp32 : r->strict;
}

// One product: shape, layout, data.
struct subject {
  extents size;
  std::string layout;
  const distribution* data;

  template <class T> matrix_view<T> a(T* at) const { return view_of_a(at, size, layout); }
  template <class T> matrix_view<T> b(T* at) const { return view_of_b(at, size, layout); }
};

// Options for a precision; fp32 uses the requested policy.
gemm_options options_of(precision with, std::string_view policy) {
  gemm_options options{.accuracy = with};
  if (with == precision::fp32) options.policy = policy;
  return options;
}

expected_time estimate_all(std::string_view policy, const context& where,
                           const std::vector<subject>& subjects, const std::vector<precision>& precisions) {
  // placeholder addresses: nothing is allocated yet
  const auto address = [](std::uintptr_t number) { return reinterpret_cast<float*>(number * 4096); };
  expected_time whole;
  for (const subject& s : subjects)
    for (const precision p : precisions)
      whole += estimate(where,
                        {.a = s.a<const float>(address(1)),
                         .b = s.b<const float>(address(2)),
                         .c = row_major(address(3), s.size.m, s.size.n)},
                        options_of(p, policy));
  return whole;
}

struct measured {  // one per precision
  antiphase::precision precision;
  gemm_choice chosen;
  accuracy error;
  launch_counts counts;
  std::uint64_t recomputed = 0;
  timing time;
  std::optional<timing> allocating;
  timing host = {};
  std::vector<std::string> code;  // of the kernels that ran
};
struct measured_rival {
  tool::rival rival;
  accuracy error;
  timing time;
  timing host = {};
};

// The matrices of a subject on the device, and their reference product.
class bench {
 public:
  bench(const context& where, const subject& s, std::string_view policy)
      : where_(where),
        subject_(s),
        policy_(policy),
        host_a_(left_operand(*s.data, s.size.m, s.size.k, a_by_rows(s.layout))),
        host_b_(right_operand(*s.data, s.size.k, s.size.n, b_by_rows(s.layout))),
        exact_(s.a(std::as_const(host_a_).data()), s.b(std::as_const(host_b_).data())),
        a_(where, host_a_),
        b_(where, host_b_),
        c_(where, static_cast<std::size_t>(s.size.m * s.size.n)),
        recomputed_(where, 1) {}

  gemms::problem problem() {
    return {.a = subject_.a(std::as_const(a_).data()),
            .b = subject_.b(std::as_const(b_).data()),
            .c = row_major(c_.data(), subject_.size.m, subject_.size.n)};
  }
  std::int64_t sample() const { return exact_.outputs(); }

  gemm_options options_of(precision with) const { return tool::options_of(with, policy_); }
  measured run(precision with) {
    measured m{.precision = with,
               .chosen = explain(where_, problem(), options_of(with)),
               .error = {},
               .counts = {},
               .time = {},
               .allocating = {},
               .code = {}};
    if (!workspace_ || workspace_->size() < m.chosen.workspace)
      workspace_.emplace(where_, m.chosen.workspace);
    recomputed_.copy_from(std::vector<std::uint64_t>{0});
    m.error = assess(
        [&](stream on) {
          gemm_options options = options_with_workspace(m);
          options.stream = on;
          options.recomputed = recomputed_.data();
          m.counts = gemm(where_, problem(), options);
        },
        m.chosen.bound);
    m.recomputed = recomputed_.to_host()[0];
    return m;
  }
  // Runs the work on a C filled with NaN and checks the result.
  accuracy assess(const work& run, const gemm_bound& promised) {
    c_.copy_from(std::vector<float>(c_.size(), std::numeric_limits<float>::quiet_NaN()));
    where_.runs_on().milliseconds(run, nullptr);
    return exact_(c_.to_host(), promised.absolute);
  }

  void take_times(std::vector<measured>& all, measured_rival& cublas, const protocol& how) {
    std::vector<work> works;
    std::vector<timing*> results;
    const auto add = [&](const gemm_options& options, timing& result) {
      works.push_back(call(options));
      results.push_back(&result);
    };
    for (measured& m : all) {
      add(options_with_workspace(m), m.time);
      if (m.chosen.workspace > 0) add(options_of(m.precision), m.allocating.emplace());
    }
    if (cublas.rival) {
      works.push_back(cublas.rival.run);
      results.push_back(&cublas.time);
    }
    const std::vector<timing> times = measure(where_.runs_on(), works, how);
    for (std::size_t i = 0; i < times.size(); ++i) *results[i] = times[i];
    for (measured& m : all) m.host = host_time(where_.runs_on(), call(options_with_workspace(m)));
    if (cublas.rival) cublas.host = host_time(where_.runs_on(), cublas.rival.run);
    for (measured& m : all) m.code = code_of(where_, std::vector{call(options_with_workspace(m))});
  }

 private:
  const context& where_;
  const subject& subject_;
  std::string_view policy_;
  std::vector<float> host_a_, host_b_;
  sampled_product exact_;
  device_array<float> a_, b_, c_;
  device_array<std::uint64_t> recomputed_;
  std::optional<device_array<std::byte>> workspace_;

  work call(const gemm_options& options) {
    return [this, options](stream on) {
      gemm_options there = options;
      there.stream = on;
      gemm(where_, problem(), there);
    };
  }
  gemm_options options_with_workspace(const measured& m) {
    gemm_options options = options_of(m.precision);
    if (m.chosen.workspace > 0) options.workspace = {workspace_->data(), workspace_->size()};
    return options;
  }
};

struct outcome {
  tool::subject subject;
  std::int64_t sample = 0;  // outputs compared with FP64
  std::vector<measured> ours;
  measured_rival cublas;

  double share(const measured& m) const {
    return static_cast<double>(m.recomputed) /
           std::max(1., static_cast<double>(subject.size.m) * static_cast<double>(subject.size.n));
  }
  bool verified(const measured& m) const { return m.error.within(m.chosen.bound.units); }
};

using cells = std::vector<std::string>;

cells error_cells(const accuracy& a) {
  return {fmt::format("{:.1e}", a.norm), fmt::format("{:.2f}", a.component), fmt::format("{:+.2f}", a.bias)};
}
cells time_cells(const extents& e, const timing& t) {
  return {fmt::format("{:.1f}", t.median_us), spread_text(t), fmt::format("{:.1f}", tflops(e, t.median_us))};
}
void append(cells& row, cells more) { row.insert(row.end(), more.begin(), more.end()); }

std::string table(const std::vector<outcome>& all, const context& where, bool timed) {
  cells heads{"product", "layout", "data", "by", "kernel"};
  if (timed) append(heads, {"time us", "spread", "TFLOP/s", "cuBLAS", "roof", "allocating us", "host us"});
  append(heads, {"norm", "component", "bias", "allowed", "recomputed", "verified"});
  std::vector<cells> rows{heads};
  for (const outcome& o : all) {
    const cells start{shape_text(o.subject.size), o.subject.layout, o.subject.data->name};
    for (const measured& m : o.ours) {
      cells row = start;
      append(row, {std::string(name(m.precision)), m.chosen.kernel});
      if (timed) {
        const auto most = best_rate(where, m.precision);
        append(row, time_cells(o.subject.size, m.time));
        append(row,
               {o.cublas.rival ? fmt::format("x{:.2f}", o.cublas.time.median_us / m.time.median_us) : "-",
                most ? fmt::format("{:.0f} %", tflops(o.subject.size, m.time.median_us) / *most * 100) : "-",
                m.allocating ? fmt::format("{:.1f}", m.allocating->median_us) : "-",
                fmt::format("{:.1f}", m.host.median_us)});
      }
      append(row, error_cells(m.error));
      append(row, {fmt::format("{:.0f}", m.chosen.bound.units), fmt::format("{:.4g} %", o.share(m) * 100),
                   o.verified(m) ? "yes" : "NO"});
      rows.push_back(row);
    }
    if (!o.cublas.rival) continue;
    cells row = start;
    append(row, {"cuBLAS", ""});
    append(row, time_cells(o.subject.size, o.cublas.time));
    append(row, {"", "", "", fmt::format("{:.1f}", o.cublas.host.median_us)});
    append(row, error_cells(o.cublas.error));
    append(row, {"", "", ""});
    rows.push_back(row);
  }
  return table_text(rows);
}

json accuracy_json(double accuracy::*which, const measured& m, const measured_rival& cublas) {
  json value{{"ours", m.error.*which}};
  if (cublas.rival) value["cublas_fp32"] = cublas.error.*which;
  return value;
}

json record(const outcome& o, const measured& m, const context& where, protocol_kind how, bool timed) {
  json value{{"kernel", fmt::format("gemm.{}", name(m.precision))},
             {"policy", m.chosen.kernel},
             {"shape", to_json(o.subject.size)},
             {"type", "f32"},
             {"layout", o.subject.layout},
             {"data", o.subject.data->name},
             {"choice", to_json(m.chosen)}};
  if (timed) {
    value["protocol"] = name(how);
    add_time(value, "ours", m.time);
    if (m.allocating) add_time(value, "ours_allocating", *m.allocating);
    if (o.cublas.rival) {
      add_time(value, "cublas_fp32", o.cublas.time);
      add_rival(value, "cublas_fp32", o.cublas.rival);
    }
    value["host_us"] = {{"ours", m.host.median_us}};
    if (o.cublas.rival) value["host_us"]["cublas_fp32"] = o.cublas.host.median_us;
    value["tflops"] = tflops(o.subject.size, m.time.median_us);
    if (o.cublas.rival) value["times_cublas"] = o.cublas.time.median_us / m.time.median_us;
    if (const auto most = best_rate(where, m.precision))
      value["roof"] = {{"tflops", *most}, {"share", tflops(o.subject.size, m.time.median_us) / *most}};
  } else {
    value["counts"] = to_json(m.counts);
  }
  value["error"] = accuracy_json(&accuracy::norm, m, o.cublas);
  value["error"]["unit"] = "relative Frobenius";
  value["component"] = accuracy_json(&accuracy::component, m, o.cublas);
  value["component"]["allowed"] = m.chosen.bound.units;
  value["component"]["unit"] = "2^-24 |A||B|";
  value["bias"] = accuracy_json(&accuracy::bias, m, o.cublas);
  value["sample"] = o.sample;
  value["recomputed"] = {{"outputs", m.recomputed}, {"share", o.share(m)}};
  value["verified"] = o.verified(m);
  value["code"] = m.code;
  return value;
}

std::vector<extents> shapes_of(const request& r, target where) {
  if (r.m.size() != r.n.size() || r.n.size() != r.k.size())
    throw bad_request(fmt::format(
        "--m, --n and --k are given {}, {} and {} times: expected each as often, once per product",
        r.m.size(), r.n.size(), r.k.size()));
  std::vector<extents> shapes;
  for (const std::int64_t size : r.sizes) shapes.push_back({size, size, size});
  for (std::size_t i = 0; i < r.m.size(); ++i) shapes.push_back({r.m[i], r.n[i], r.k[i]});
  const std::int64_t usual = where == target::cuda ? 4096 : 256;
  if (shapes.empty()) shapes.push_back({usual, usual, usual});
  for (const extents& e : shapes) require_sensible(e);
  return shapes;
}

std::vector<const distribution*> data_of(const request& r) {
  std::vector<const distribution*> chosen;
  for (const std::string& name : r.data) {
    if (name != "all") chosen.push_back(&find_distribution(name));
    if (name == "all")
      for (const distribution& d : distributions()) chosen.push_back(&d);
  }
  return chosen;
}

void require_verified(const std::vector<outcome>& all) {
  std::string wrong;
  for (const outcome& o : all)
    for (const measured& m : o.ours)
      if (!o.verified(m))
        wrong += fmt::format("{}{} of {} {} {}", wrong.empty() ? "" : ", ", name(m.precision),
                             shape_text(o.subject.size), o.subject.layout, o.subject.data->name);
  if (!wrong.empty())
    throw verification_failed(fmt::format("verification failed: the result of {} is wrong", wrong));
}

// Refuses options that do not apply to a list of products.
void refuse_options_of_one_product(const request& r, const std::string& list) {
  const std::pair<bool, const char*> given[] = {{!r.sizes.empty(), "--size"},
                                                {!r.m.empty(), "--m"},
                                                {!r.n.empty(), "--n"},
                                                {!r.k.empty(), "--k"},
                                                {!r.layouts.empty(), "--layout"},
                                                {!r.data.empty(), "--data"},
                                                {!r.precisions.empty(), "--precision"},
                                                {r.protocol != "rested", "--protocol"}};
  for (const auto& [is_given, option] : given)
    if (is_given)
      throw bad_request(fmt::format(
          "{} and {}: the list says what is measured and how, expected one of the two", list, option));
}

template <class T> std::vector<T> given_or(std::vector<T> given, std::vector<T> usual) {
  return given.empty() ? usual : given;
}

}  // namespace

void run_bench_gemm(const bench_gemm_request& asked) {
  choice_of("--against", asked.against, {"cublas", "none"});
  gemms::find_policy(asked.policy);
  if (std::optional<product_list> list = list_of(asked.list)) {
    refuse_options_of_one_product(asked, list->option);
    return bench_products({.options = asked,
                           .list = std::move(*list),
                           .policy = asked.policy,
                           .beside_cublas = asked.against == "cublas"});
  }

  request r = asked;
  r.layouts = given_or(r.layouts, {"nn"});
  r.data = given_or(r.data, {"normal"});
  r.precisions = given_or(r.precisions, {"fp32", "strict"});
  std::vector<precision> precisions;
  for (const std::string& p : r.precisions) precisions.push_back(parse_precision(p));
  for (const std::string& layout : r.layouts) choice_of("--layout", layout, {"nn", "nt", "tn", "tt"});
  const std::vector<const distribution*> data = data_of(r);
  const protocol how{.kind = parse_protocol(r.protocol), .samples = r.repeats};

  const place at = choose_place(r.place);
  const context& where = at.context;
  const bool timed = where.kind() == target::cuda;
  std::vector<subject> subjects;
  for (const extents& e : shapes_of(r, where.kind()))
    for (const std::string& layout : r.layouts)
      for (const distribution* d : data) subjects.push_back({e, layout, d});
  say_place(r.common, at);
  if (!timed) say(r.common, "nothing is timed: times of the CPU executor would say nothing about a GPU");

  std::vector<outcome> all;
  const auto records_of = [&] {
    json records = json::array();
    for (const outcome& o : all)
      for (const measured& m : o.ours) records.push_back(record(o, m, where, how.kind, timed));
    return records;
  };
  const auto text_of = [&] { return fmt::format("C = A B on {}\n\n{}", at.name, table(all, where, timed)); };
  unfinished_results so_far(r.common, result_envelope("bench gemm", at), "records", subjects.size(),
                            "products");
  const progress_line line =
      warn_if_slow(r.common, "this", estimate_all(r.policy, where, subjects, precisions));
  std::string why_no_cublas;
  for (const subject& s : subjects) {
    if (!all.empty()) so_far.show(all.size(), records_of, text_of);
    say_progress(r.common, fmt::format("{} {} {}", shape_text(s.size), s.layout, s.data->name));
    outcome& o = all.emplace_back(outcome{.subject = s, .ours = {}, .cublas = {}});
    bench b(where, o.subject, r.policy);
    o.sample = b.sample();
    for (const precision p : precisions) o.ours.push_back(b.run(p));
    if (!timed || s.size.m == 0 || s.size.n == 0 || s.size.k == 0) continue;
    if (r.against == "cublas") {
      o.cublas.rival = cublas_product(b.problem());
      if (o.cublas.rival)
        o.cublas.error = b.assess(o.cublas.rival.run, bound_of(gemm_sums::multiply_adds, s.size.k));
      else
        why_no_cublas = o.cublas.rival.why_not;
    }
    b.take_times(o.ours, o.cublas, how);
  }
  if (!why_no_cublas.empty()) say(r.common, fmt::format("cuBLAS is not compared with: {}", why_no_cublas));

  so_far.finish();
  if (r.common.json)
    print_json(result_file("bench gemm", at, records_of()));
  else
    print(text_of());
  require_verified(all);
}

}  // namespace antiphase::tool
