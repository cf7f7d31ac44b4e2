// SPDX-License-Identifier: Apache-2.0
// The subcommand tune: measures gemm's policies on this GPU and writes a file that corrects their
// predictions.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <antiphase/gemm.hpp>
#include <antiphase/version.hpp>
#include <chrono>
#include <cmath>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "tool/files/output_file.hpp"
#include "tool/measure/graphs/graph_times.hpp"
#include "tool/measure/products/product_list.hpp"
#include "tool/measure/products/product_memory.hpp"
#include "tool/measure/provenance.hpp"
#include "tool/measure/tuning_fit.hpp"
#include "tool/program/command.hpp"
#include "tool/program/place.hpp"
#include "tool/program/text/console.hpp"
#include "tool/program/text/table.hpp"

namespace antiphase::tool {
namespace {

constexpr const char* explanation =
    "Without a GPU it ends with exit code 4 before it begins: it measures one.\n\n"
    "gemm takes the policy with the least predicted time. tune measures products of random shapes, the same "
    "ones in every run, by each "
    "policy that might be the fastest, and writes how predictions have to be corrected: a factor for each "
    "policy and class of shapes. "
    "gemm reads the file that the environment variable ANTIPHASE_TUNING names; the library brings such a "
    "file for an NVIDIA H200. A file "
    "of "
    "another device is left aside. With the same file the same call always takes the same policy.\n"
    "\n"
    "Columns\n"
    "  products               that were measured\n"
    "  measured / predicted   the geometric mean over them\n"
    "The last line tells how much longer than the fastest policy the chosen one takes, in the mean over "
    "every fourth product: by the "
    "predictions, and corrected by what the other three quarters say.\n"
    "\n"
    "Examples:\n"
    "  antiphase tune -o h200.json\n"
    "  antiphase tune --seconds 300 --on cuda:1 -o second.json\n"
    "  ANTIPHASE_TUNING=h200.json antiphase info\n"
    "      which tuning is in use";

constexpr std::int64_t most_products = 16384, largest_extent = 8192;
// not a list of bench gemm: those check the result independently
constexpr std::uint64_t seed = 20261122;
// policies predicted to take longer than this multiple of the fastest are not measured
constexpr double worth_measuring = 4;
const gemm_tuning as_predicted{};  // a tuning without corrections

struct request {
  std::string output;
  std::int64_t seconds = 60;
  place_options place;
  common_options common;
};

// A product, and the candidates for its fastest policy.
struct contest {
  listed_product product;
  tuning_sample sample;  // measured times are added later
};

gemm_options by(const std::string& policy) { return {.policy = policy, .tuning = &as_predicted}; }

contest contest_of(const context& where, const listed_product& p, std::size_t& workspace) {
  const auto [m, n, k] = p.size;
  contest one{p, {gemms::tuning_class_of(m, n, k, p.count), {}}};
  const gemm_choice chosen = explain(where, imagined(p), in_batches(p, by("auto")));
  for (const gemm_choice::candidate& c : chosen.considered) {
    if (c.predicted > worth_measuring * chosen.considered.front().predicted) continue;
    try {
      const gemm_choice by_it = explain(where, imagined(p), in_batches(p, by(c.kernel)));
      if (std::isinf(by_it.bound.units)) continue;  // auto would not take it
      workspace = std::max(workspace, by_it.workspace);
      one.sample.times.push_back({c.kernel, c.predicted * 1e6, 0});
    } catch (const not_supported&) {  // it does not take this product
    }
  }
  return one;
}

std::vector<contest> contests(const context& where, std::size_t& workspace) {
  std::vector<contest> all;
  for (listed_product& p : random_products(seed, most_products, largest_extent)) {
    if (all.size() % 5 == 4) p.beta = 1;  // a period coprime to that of gain_of()
    contest one = contest_of(where, p, workspace);
    if (!one.sample.times.empty()) all.push_back(std::move(one));
  }
  return all;
}

void measure(const context& where, product_memory& memory, contest& one) {
  std::vector<work> works;
  for (const tuning_sample::time& t : one.sample.times)
    works.push_back(memory.call(one.product, by(t.policy)));
  const std::vector<timing> times =
      graph_times(where, works, {.samples = 3, .graph_us = 200, .most_runs = 50, .works_ms = 60});
  for (std::size_t i = 0; i < times.size(); ++i) one.sample.times[i].measured = times[i].median_us;
}

gemm_tuning tuning_of(const device_limits& device, std::span<const tuning_sample> samples) {
  return {.source = {},
          .version = std::string(build_info().version),
          .device = device.name,
          .compute_capability = compute_capability(device),
          .multiprocessors = device.multiprocessors,
          .made = {},
          .policies = fitted(samples)};
}

// Slowdown of the chosen policy against the fastest, over products outside the fit.
struct gain {
  std::size_t products = 0;
  double before = 1, after = 1;
};
gain gain_of(const device_limits& device, const std::vector<tuning_sample>& samples) {
  std::vector<tuning_sample> learnt, held_out;
  for (std::size_t i = 0; i < samples.size(); ++i) (i % 4 == 3 ? held_out : learnt).push_back(samples[i]);
  return {held_out.size(), lag_of(held_out, as_predicted), lag_of(held_out, tuning_of(device, learnt))};
}

json to_json(const contest& one) {
  json times = json::array();
  for (const tuning_sample::time& t : one.sample.times)
    times.push_back({{"policy", t.policy}, {"predicted_us", t.predicted}, {"measured_us", t.measured}});
  return {{"shape", to_json(one.product.size)},
          {"layout", one.product.layout},
          {"beta", one.product.beta},
          {"times", times}};
}

void report(const request& r, const place& at, std::span<const contest> measured,
            const std::vector<tuning_sample>& samples, const gain& held_out) {
  if (r.common.json) {
    json records = json::array();
    for (const contest& one : measured) records.push_back(to_json(one));
    json policies = json::array();
    for (const mean_ratio& m : mean_ratios(samples))
      policies.push_back(
          {{"policy", m.policy}, {"products", m.products}, {"measured_over_predicted", m.ratio}});
    print_json(
        json{{"schema", 1},
             {"command", "tune"},
             {"place", to_json(at)},
             {"output", r.output},
             {"policies", policies},
             {"over_the_fastest",
              {{"products", held_out.products}, {"predicted", held_out.before}, {"tuned", held_out.after}}},
             {"records", records}});
    return;
  }
  std::vector<std::vector<std::string>> rows{{"policy", "products", "measured / predicted"}};
  for (const mean_ratio& m : mean_ratios(samples))
    rows.push_back({m.policy, fmt::format("{}", m.products), fmt::format("{:.3f}", m.ratio)});
  say(r.common, fmt::format("{} products on {}\n\n{}\nover the fastest policy, of {} products: {:.1f} % by "
                            "the predictions, {:.1f} % tuned",
                            samples.size(), at.name, table_text(rows), held_out.products,
                            100 * (held_out.before - 1), 100 * (held_out.after - 1)));
}

void run(const request& r) {
  refuse_mixed_results(r.common, r.output);
  const place at = choose_place(r.place);
  const context& where = at.context;
  if (where.kind() != target::cuda)
    throw not_supported(fmt::format(
        "tune measures a GPU, and it would run on the CPU executor ({}): expected a usable GPU", at.why));
  say_place(r.common, at);
  output_file out{r.output};  // before the work: fail early if the folder is not writable

  const auto now = [] { return std::chrono::steady_clock::now(); };
  const auto end = now() + std::chrono::seconds(r.seconds);
  std::size_t workspace = 0;
  std::vector<contest> all = contests(where, workspace);
  std::vector<listed_product> products;
  for (const contest& one : all) products.push_back(one.product);
  product_memory memory(where, products, workspace);
  std::vector<tuning_sample> samples;
  for (contest& one : all) {
    if (!samples.empty() && now() >= end) break;
    measure(where, memory, one);
    samples.push_back(one.sample);
  }
  if (samples.empty())
    throw not_supported(
        fmt::format("no policy next to the ladder runs on {}: there is nothing to choose among", at.name));

  gemm_tuning made = tuning_of(where.limits(), samples);
  made.made =
      fmt::format("{:%Y-%m-%d}, {} products{}",
                  fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())),
                  samples.size(), built_from().empty() ? "" : fmt::format(", commit {}", built_from()));
  out.write(to_text(made));
  out.commit();
  report(r, at, std::span(all).first(samples.size()), samples, gain_of(where.limits(), samples));
}

}  // namespace

void add_tune(arguments program) {
  arguments command = program.add_subcommand(
      "tune", "Measure gemm's policies on this GPU, so that it chooses better among them");
  const auto r = std::make_shared<request>();
  command.add_option("-o,--output", r->output, "Where to write the tuning, a JSON file")
      .required()
      .type_name("FILE")
      .otherwise("--out");
  command.add_option("--seconds", r->seconds, "How long to measure (default 60)")
      .check(integer_between(1, 3600))
      .type_name("N");
  add_place_options(command, r->place);
  add_common_options(command, r->common);
  command.footer(explanation);
  command.runs([r] { run(*r); });
}

}  // namespace antiphase::tool
