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
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tool/commands/bench/bench.hpp"
#include "tool/commands/bench/bench_gemm_list.hpp"
#include "tool/measure/accuracy.hpp"
#include "tool/measure/distributions.hpp"
#include "tool/measure/estimate.hpp"
#include "tool/measure/kernel_code.hpp"
#include "tool/measure/machine.hpp"
#include "tool/measure/product.hpp"
#include "tool/measure/roof.hpp"
#include "tool/program/names.hpp"
#include "tool/program/table.hpp"
#include "tool/program/unfinished.hpp"
#include "tool/rivals/rivals.hpp"

namespace antiphase::tool {
namespace {

constexpr const char* explanation =
    "Without a GPU products are verified on the CPU executor, not timed; what takes long is announced. "
    "Lists (--suite, --random and others) of more than 10^10 multiply-adds need one.\n\n"
    "All shapes x layouts x data, each with every precision; who is timed for one product is timed in one "
    "go, in random order.\n"
    "\n"
    "Columns\n"
    "  time, TFLOP/s  median (--protocol) of all launches of a call, those that prepare included, with the "
    "workspace handed in; "
    "allocating: the same with memory allocated in the order of the stream; "
    "host: what a call takes of the host's time, until its work has been queued\n"
    "  cuBLAS         how many times as fast as cuBLAS in FP32 (pedantic math); roofline: share of what the "
    "device can do, see below\n"
    "  norm           error relative to FP64 in the Frobenius norm, over a sample: a row and a column of "
    "each 128, at least 64 of "
    "either\n"
    "  component      the largest error of an output in units of u |A||B|, u = 2^-24; allowed: what the "
    "kernel guarantees, see "
    "antiphase gemm --explain; not counted is what denormal results may be off by besides\n"
    "  bias           the mean error in these units; negative: results are too small\n"
    "  recomputed     outputs that no certificate covered, so that they were computed again in FP64\n"
    "  verified       no error is above what is allowed, and all of C is finite\n"
    "Roofline of an H200: strict 65.3 TFLOP/s of FFMA; fp32 273, a third of the 818 that FP16 Tensor Cores "
    "sustain on random data.\n"
    "\n"
    "Examples:\n"
    "  antiphase bench gemm\n"
    "      a size that suits the place: 4096 on a GPU, 256 on the CPU\n"
    "  antiphase bench gemm --size 1024,4096 --layout nn,nt,tn,tt\n"
    "  antiphase bench gemm --m 4096,4095 --n 256,4097 --k 7168,1003\n"
    "  antiphase bench gemm --data all --precision fp32 --json\n"
    "\n"
    "Lists\n"
    "  --random, --suite, --map and --serving measure many products, each in half a second or less, in "
    "precision fp32 on normal data: "
    "graphs of many "
    "runs "
    "that take turns, ours, cublasSgemm in its default math and the first algorithm of cublasLt's "
    "heuristics, of which the faster counts. "
    "The "
    "roofline is the largest of the bytes at 4.2 TB/s, the operations at 273 TFLOP/s, and 2.2 us for a "
    "launch. "
    "Of each result a sample is "
    "compared "
    "with FP64.\n"
    "  antiphase bench gemm --random 1 200              extents log-uniform in 1...16384, 30 % of them odd, "
    "all layouts\n"
    "  antiphase bench gemm --random 1 50 --largest 512\n"
    "  antiphase bench gemm --suite                     48 shapes of models, factorisations, graphs, ..., "
    "batches among them\n"
    "  antiphase bench gemm --suite mine.json --policy fp16\n"
    "  antiphase bench gemm --suite --prepared          what it saves to split B once for many calls "
    "(antiphase::prepare)\n"
    "  antiphase bench gemm --map 256 --json            for a map of M x N\n"
    "  antiphase bench gemm --serving                   1 to 512 tokens; also with reproducible = "
    "batch_invariant, and what that costs";

struct request : bench_options {
  std::vector<std::int64_t> sizes, m, n, k;
  std::vector<std::string> layouts, data, precisions;
  std::string policy = "auto";
  std::string against = "cublas";
  product_list_options list;
};

std::optional<double> best_rate(const context& where, precision p) {
  const device_roof* const r = roof_of(where.limits());
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
  precision with;
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
  rival who;
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
    measured m{.with = with,
               .chosen = explain(where_, problem(), options_of(with)),
               .error = {},
               .counts = {},
               .time = {},
               .allocating = {},
               .code = {}};
    if (!workspace_ || workspace_->size() < m.chosen.workspace)
      workspace_.emplace(where_, m.chosen.workspace);
    recomputed_.copy_from(std::vector<std::uint64_t>{0});
    m.error = judge(
        [&](stream on) {
          gemm_options options = handing_in(m);
          options.on = on;
          options.recomputed = recomputed_.data();
          m.counts = gemm(where_, problem(), options);
        },
        m.chosen.bound);
    m.recomputed = recomputed_.to_host()[0];
    return m;
  }
  // Runs the work on a C filled with NaN and checks the result.
  accuracy judge(const work& run, const gemm_bound& promised) {
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
      add(handing_in(m), m.time);
      if (m.chosen.workspace > 0) add(options_of(m.with), m.allocating.emplace());
    }
    if (cublas.who) {
      works.push_back(cublas.who.run);
      results.push_back(&cublas.time);
    }
    const std::vector<timing> times = measure(where_.runs_on(), works, how);
    for (std::size_t i = 0; i < times.size(); ++i) *results[i] = times[i];
    for (measured& m : all) m.host = host_time(where_.runs_on(), call(handing_in(m)));
    if (cublas.who) cublas.host = host_time(where_.runs_on(), cublas.who.run);
    for (measured& m : all) m.code = code_of(where_, std::vector{call(handing_in(m))});
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
      there.on = on;
      gemm(where_, problem(), there);
    };
  }
  gemm_options handing_in(const measured& m) {
    gemm_options options = options_of(m.with);
    if (m.chosen.workspace > 0) options.workspace = {workspace_->data(), workspace_->size()};
    return options;
  }
};

struct outcome {
  subject of;
  std::int64_t sample = 0;  // outputs compared with FP64
  std::vector<measured> ours;
  measured_rival cublas;

  double share(const measured& m) const {
    return static_cast<double>(m.recomputed) /
           std::max(1., static_cast<double>(of.size.m) * static_cast<double>(of.size.n));
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
    const cells start{shape_text(o.of.size), o.of.layout, o.of.data->name};
    for (const measured& m : o.ours) {
      cells row = start;
      append(row, {std::string(name(m.with)), m.chosen.kernel});
      if (timed) {
        const auto most = best_rate(where, m.with);
        append(row, time_cells(o.of.size, m.time));
        append(row, {o.cublas.who ? fmt::format("x{:.2f}", o.cublas.time.median_us / m.time.median_us) : "-",
                     most ? fmt::format("{:.0f} %", tflops(o.of.size, m.time.median_us) / *most * 100) : "-",
                     m.allocating ? fmt::format("{:.1f}", m.allocating->median_us) : "-",
                     fmt::format("{:.1f}", m.host.median_us)});
      }
      append(row, error_cells(m.error));
      append(row, {fmt::format("{:.0f}", m.chosen.bound.units), fmt::format("{:.4g} %", o.share(m) * 100),
                   o.verified(m) ? "yes" : "NO"});
      rows.push_back(row);
    }
    if (!o.cublas.who) continue;
    cells row = start;
    append(row, {"cuBLAS", ""});
    append(row, time_cells(o.of.size, o.cublas.time));
    append(row, {"", "", "", fmt::format("{:.1f}", o.cublas.host.median_us)});
    append(row, error_cells(o.cublas.error));
    append(row, {"", "", ""});
    rows.push_back(row);
  }
  return table_text(rows);
}

json accuracy_json(double accuracy::*which, const measured& m, const measured_rival& cublas) {
  json value{{"ours", m.error.*which}};
  if (cublas.who) value["cublas_fp32"] = cublas.error.*which;
  return value;
}

json record(const outcome& o, const measured& m, const context& where, protocol_kind how, bool timed) {
  json value{{"kernel", fmt::format("gemm.{}", name(m.with))},
             {"policy", m.chosen.kernel},
             {"shape", to_json(o.of.size)},
             {"type", "f32"},
             {"layout", o.of.layout},
             {"data", o.of.data->name},
             {"choice", to_json(m.chosen)}};
  if (timed) {
    value["protocol"] = name(how);
    add_time(value, "ours", m.time);
    if (m.allocating) add_time(value, "ours_allocating", *m.allocating);
    if (o.cublas.who) {
      add_time(value, "cublas_fp32", o.cublas.time);
      add_rival(value, "cublas_fp32", o.cublas.who);
    }
    value["host_us"] = {{"ours", m.host.median_us}};
    if (o.cublas.who) value["host_us"]["cublas_fp32"] = o.cublas.host.median_us;
    value["tflops"] = tflops(o.of.size, m.time.median_us);
    if (o.cublas.who) value["times_cublas"] = o.cublas.time.median_us / m.time.median_us;
    if (const auto most = best_rate(where, m.with))
      value["roof"] = {{"tflops", *most}, {"share", tflops(o.of.size, m.time.median_us) / *most}};
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
        wrong += fmt::format("{}{} of {} {} {}", wrong.empty() ? "" : ", ", name(m.with),
                             shape_text(o.of.size), o.of.layout, o.of.data->name);
  if (!wrong.empty())
    throw verification_failed(fmt::format("verification failed: the result of {} is wrong", wrong));
}

// Refuses options that do not apply to a list of products.
void refuse_besides_a_list(const request& r, const std::string& list) {
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

void run(const request& asked) {
  choice_of("--against", asked.against, {"cublas", "none"});
  gemms::find_policy(asked.policy);
  if (std::optional<product_list> list = list_of(asked.list)) {
    refuse_besides_a_list(asked, list->option);
    return bench_products({.how = asked,
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

  const place at = choose_place(r.place, reference::not_offered);
  const context& where = *at.where;
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
    outcome& o = all.emplace_back(outcome{.of = s, .ours = {}, .cublas = {}});
    bench b(where, o.of, r.policy);
    o.sample = b.sample();
    for (const precision p : precisions) o.ours.push_back(b.run(p));
    if (!timed || s.size.m == 0 || s.size.n == 0 || s.size.k == 0) continue;
    if (r.against == "cublas") {
      o.cublas.who = cublas_product(b.problem());
      if (o.cublas.who)
        o.cublas.error = b.judge(o.cublas.who.run, bound_of(gemm_sums::multiply_adds, s.size.k));
      else
        why_no_cublas = o.cublas.who.why_not;
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

}  // namespace

void add_bench_gemm(arguments bench) {
  arguments command =
      bench.add_subcommand("gemm", "Matrix products: time, accuracy, and cuBLAS next to them");
  const auto r = std::make_shared<request>();
  const auto many = [&](const char* option, auto& values, const char* text) {
    return command.add_option(option, values, text).several().type_name("NAMES");
  };
  many("--size", r->sizes, "M, N and K at once; several, separated by commas")
      .check(integer_from(0))
      .type_name("NUMBERS");
  many("--m", r->m, "Rows of A and C; with --n and --k as often as there are products")
      .check(integer_from(0))
      .type_name("NUMBERS");
  many("--n", r->n, "Columns of B and C").check(integer_from(0)).type_name("NUMBERS");
  many("--k", r->k, "Columns of A, rows of B").check(integer_from(0)).type_name("NUMBERS");
  many("--layout", r->layouts, "Some of nn (default), nt, tn, tt: A and B row-major, n, or transposed, t")
      .offers({"nn", "nt", "tn", "tt"});
  many("--data", r->data,
       "What A and B are made of: all, or some by name (default normal; a wrong name lists them)")
      .offers(names_of(distributions()));
  many("--precision", r->precisions, "fp32, strict or both (default)").offers({"fp32", "strict", "both"});
  command
      .add_option("--policy", r->policy,
                  "Who computes products of precision fp32 (default auto: the fastest, by prediction)")
      .type_name("NAME")
      .offers(policies_of_gemm());
  add_list_options(command, r->list);
  command.add_option("--against", r->against, "cublas (default) or none")
      .type_name("NAME")
      .offers({"cublas", "none"});
  add_bench_options(command, *r);
  command.footer(explanation);
  command.runs([r] {
    r->policy = current_policy(r->policy);
    run(*r);
  });
}

}  // namespace antiphase::tool
