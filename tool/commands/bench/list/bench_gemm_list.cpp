// SPDX-License-Identifier: Apache-2.0
// bench gemm --random, --suite, --map, --serving.
#include "tool/commands/bench/list/bench_gemm_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <antiphase/gemm.hpp>
#include <optional>
#include <utility>

#include "tool/commands/bench/list/bench_gemm_list_text.hpp"
#include "tool/measure/estimate.hpp"
#include "tool/measure/graphs/graph_times.hpp"
#include "tool/measure/kernel_code.hpp"
#include "tool/measure/machine.hpp"
#include "tool/measure/products/product_memory.hpp"
#include "tool/measure/products/spot_check.hpp"
#include "tool/program/unfinished.hpp"
#include "tool/rivals/rivals.hpp"

namespace antiphase::tool {
namespace {

// Options of the two ways in which a product is computed: as requested, and batch-invariant.
gemm_options asked(const product_list_request& r) { return {.policy = r.policy}; }
constexpr gemm_options invariant{.reproducible = reproducibility::batch_invariant};

std::size_t workspace_of(const context& where, const product_list_request& r) {
  std::size_t bytes = 0;
  for (const listed_product& p : r.list.products) {
    bytes = std::max(bytes, explain(where, imagined(p), in_batches(p, asked(r))).workspace);
    if (r.list.invariance == batch_invariance::measured)
      bytes = std::max(bytes, explain(where, imagined(p), in_batches(p, invariant)).workspace);
  }
  return bytes;
}

// The rivals that are available and correct.
std::vector<product_outcome::opponent> opponents(const common_options& common, product_memory& memory,
                                                 const fast_cublas& cublas, const listed_product& p,
                                                 const spot_check& check) {
  std::vector<product_outcome::opponent> found;
  for (rival& one : cublas.of(memory.problem(p), p.count)) {
    std::string why_not = one.why_not;
    try {
      if (one) {
        const gemm_bound bound = bound_of(gemm_sums::multiply_adds, p.size.k);
        const accuracy error = memory.assess(p, check, one.run, bound);
        if (error.within(bound.units)) {
          found.push_back({.rival = std::move(one), .error = error, .time = {}});
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

// Lists meant for a GPU would take days on the CPU executor.
void require_little(const std::vector<listed_product>& products) {
  constexpr double most = 1e10;  // multiply-adds, a minute or two
  double sum = 0;
  for (const listed_product& p : products)
    sum += static_cast<double>(p.of_c()) * static_cast<double>(p.size.k);
  if (sum > most)
    throw not_supported(
        fmt::format("{} products of {:.1e} multiply-adds in all are too many for the CPU executor: expected "
                    "a GPU, or at most {:.0e}, as with "
                    "--random 1 20 --largest 256",
                    products.size(), sum, most));
}

void measure_one(const product_list_request& r, const context& where, product_memory& memory,
                 const std::optional<fast_cublas>& cublas, product_outcome& o) {
  const listed_product& p = o.product;
  const spot_check check(p, memory.values());
  const gemm_options how = asked(r);
  o.chosen = explain(where, memory.problem(p), memory.options(p, how));
  o.error = memory.assess(p, check, memory.call(p, how, true), o.chosen.bound);
  o.sample = check.outputs();
  o.recomputed = memory.recomputed();
  std::vector<work> ours{memory.call(p, how)};
  if (r.list.invariance == batch_invariance::measured) {
    auto& also = o.invariant.emplace();
    also.chosen = explain(where, memory.problem(p), memory.options(p, invariant));
    ours.push_back(memory.call(p, invariant));
    also.error = memory.assess(p, check, ours.back(), also.chosen.bound);
  }
  if (where.kind() != target::cuda) return;
  if (cublas) o.rivals = opponents(r.options.common, memory, *cublas, p, check);
  std::vector<work> works = ours;
  for (const product_outcome::opponent& one : o.rivals) works.push_back(one.rival.run);
  const std::vector<timing> times = graph_times(where, works, {.samples = r.options.repeats});
  o.time = times[0];
  if (o.invariant) o.invariant->time = times[1];
  for (std::size_t i = 0; i < o.rivals.size(); ++i) {
    o.rivals[i].time = times[ours.size() + i];
    o.rivals[i].rival.run = {};
  }
  o.code = code_of(where, ours);
}

}  // namespace

void bench_products(const product_list_request& r) {
  const common_options& common = r.options.common;
  const place at = choose_place(r.options.place);
  const context& where = at.context;
  const bool timed = where.kind() == target::cuda;
  if (!timed) require_little(r.list.products);
  say_place(common, at);
  if (!timed) say(common, "nothing is timed: times of the CPU executor would say nothing about a GPU");

  product_memory memory(where, r.list.products, workspace_of(where, r));
  std::optional<fast_cublas> cublas;
  if (timed && r.beside_cublas) cublas.emplace(where);
  std::vector<product_outcome> all;
  const device_roofline* const roofline = timed ? roofline_of(where.limits()) : nullptr;
  const auto records_of = [&] { return records_of_products(all, r.list.set, roofline, timed); };
  const auto text_of_all = [&] {
    return fmt::format("C = A B on {}, {}\n\n{}", at.name, r.list.set,
                       text_of_products(all, roofline, timed));
  };
  unfinished_results so_far(common, result_envelope("bench gemm", at), "records", r.list.products.size(),
                            "products");
  expected_time whole;
  for (const listed_product& p : r.list.products)
    whole += estimate(where, memory.problem(p), memory.options(p, asked(r)));
  const progress_line line = warn_if_slow(common, "this", whole);
  for (const listed_product& p : r.list.products) {
    if (!all.empty()) so_far.show(all.size(), records_of, text_of_all);
    say_progress(common, text_of(p));
    product_outcome measured{.product = p};
    measure_one(r, where, memory, cublas, measured);
    all.push_back(std::move(measured));
  }
  so_far.finish();
  if (common.json) {
    json file = result_file("bench gemm", at, records_of());
    file["rivals"] = rivals_of_products(all);
    file["summary"] = summary_of_products(all, roofline);
    print_json(file);
  } else {
    print(text_of_all());
  }
  require_verified(all);
}

}  // namespace antiphase::tool
