// SPDX-License-Identifier: Apache-2.0
// info --for: features of a GPU, and which policies of gemm and scan and linear layers run there. Nothing
// runs: explain() is called for a CPU executor with the device's limits, whose kernels need the same memory
// and threads.
#include "tool/commands/machine/info_device.hpp"

#include <fmt/format.h>

#include <antiphase/context.hpp>
#include <antiphase/core/error.hpp>
#include <antiphase/executor/cpu/cpu_executor.hpp>
#include <antiphase/executor/published.hpp>
#include <antiphase/gemm.hpp>
#include <antiphase/gemm/policies.hpp>
#include <antiphase/gemm/tensor_core_ladder.hpp>
#include <antiphase/linear.hpp>
#include <antiphase/scan.hpp>
#include <antiphase/scan/ladder.hpp>
#include <string>
#include <vector>

#include "tool/base/wrap.hpp"
#include "tool/measure/products/product.hpp"
#include "tool/program/text/console.hpp"

namespace antiphase::tool {
namespace {

// Whether a policy runs on the device, or why not.
struct row {
  std::string name;
  std::string why_not;   // empty: it runs
  std::string bound;     // the bound that holds, if any
  bool small_c = false;  // runs only where C is small

  bool runs() const { return why_not.empty() || small_c; }
};

// The message of not_supported from `ask`, without the policy's name; empty if it did not throw.
template <class F> std::string refusal_of(std::string_view policy, F ask) {
  try {
    ask();
  } catch (const not_supported& e) {
    const std::string_view said = e.what();
    for (const std::string& prefix : {fmt::format("policy {}: ", policy),
                                      fmt::format("scan policy {} does not take this problem: ", policy)})
      if (said.starts_with(prefix)) return std::string(said.substr(prefix.size()));
    return std::string(said);
  }
  return {};
}

// A product of row-major matrices that are never read: three placeholder addresses stand for device memory.
gemm_problem product_of(const extents& e) {
  const auto address = [](std::uintptr_t number) { return reinterpret_cast<float*>(number * 4096); };
  return {.a = row_major<const float>(address(1), e.m, e.k),
          .b = row_major<const float>(address(2), e.k, e.n),
          .c = row_major(address(3), e.m, e.n)};
}

constexpr extents large{4096, 4096, 4096}, small{256, 256, 256}, few_k{2048, 2048, 4};
constexpr extents thin{2048, 8, 2};  // accepted by every policy with sums in FP64

std::vector<row> gemm_candidates(const context& where) {
  std::vector<row> rows;
  for (const gemms::policy_info& p : gemms::policies()) {
    row r{.name = std::string(p.name), .why_not = {}, .bound = {}};
    const auto refused = [&](const extents& asked) {
      return refusal_of(
          p.name, [&] { r.bound = to_text(explain(where, product_of(asked), {.policy = p.name}).bound); });
    };
    r.why_not = refused(p.sums == gemm_sums::doubles ? thin : large);
    r.small_c = !r.why_not.empty() && refused(small).empty();  // a step has variants with other tiles for it
    rows.push_back(r);
  }
  return rows;
}
std::vector<row> f16_candidates(const context& where) {
  std::vector<row> rows;
  for (const gemms::tensor_core_step& s : gemms::tensor_core_steps)
    rows.push_back({.name = s.name, .why_not = gemms::refuses(where.runs_on(), s).value_or(""), .bound = {}});
  return rows;
}
// The steps of the scan ladder, as checked by explain(). The choice of auto is not shown: on a GPU it differs
// from that of the CPU executor used here.
std::vector<row> scan_candidates(const context& where) {
  std::vector<row> rows;
  void* const array = reinterpret_cast<void*>(std::uintptr_t{4096});
  const scans::problem line{.in = array, .out = array, .length = 1 << 20};
  for (const scans::step& s : scans::steps)
    rows.push_back({.name = s.name,
                    .why_not = refusal_of(s.name, [&] { explain(where, line, {.policy = s.name}); }),
                    .bound = {}});
  return rows;
}

// Calls whose rows keep their bits whatever the batch, as docs/use/batch.md has them.
struct invariant_call {
  std::string name;
  std::string kernel, why_not;  // one of them is empty
};
std::vector<invariant_call> invariant_calls(const context& where) {
  std::vector<invariant_call> calls;
  const auto add = [&](std::string name, auto kernel) {
    invariant_call one{.name = std::move(name), .kernel = {}, .why_not = {}};
    one.why_not = refusal_of({}, [&] { one.kernel = kernel(); });
    calls.push_back(one);
  };
  constexpr std::int64_t n = 4096, k = 4096;
  // X, W and Y are never read; their addresses are as far apart as Y is large.
  const auto layer = [&](std::int64_t m, std::int64_t row_stride) {
    const auto address = [](std::uintptr_t number) { return reinterpret_cast<void*>(number << 32); };
    return explain(where, linear_problem{.x = {address(1), row_stride},
                                         .w = {address(2), row_stride},
                                         .y = {address(3), n},
                                         .m = m,
                                         .n = n,
                                         .k = k})
        .kernel;
  };
  const auto product = [&](std::int64_t m) {
    return explain(where, product_of({m, n, k}), {.reproducible = reproducibility::batch_invariant}).kernel;
  };
  for (const std::int64_t m : {std::int64_t{1}, std::int64_t{4096}})
    add(fmt::format("bf16, {} x {}", m, n), [&] { return layer(m, k); });
  add("bf16, odd strides", [&] { return layer(n, k + 1); });
  for (const std::int64_t m : {std::int64_t{1}, std::int64_t{4096}})
    add(fmt::format("FP32, {} x {}", m, n), [&] { return product(m); });
  return calls;
}

// Shapes for which the choice of auto is shown.
struct shape_class {
  const char* name;
  extents shape;
  precision accuracy = precision::fp32;
};
constexpr shape_class classes[] = {{"large", large},
                                   {"small", small},
                                   {"narrow C", {8192, 128, 4096}},
                                   {"one column", {4096, 1, 4096}},
                                   {"few values of K", few_k},
                                   {"large, strict", large, precision::strict}};

std::string_view words(evidence e) {
  switch (e) {
    case evidence::measured: return "measured by this project";
    case evidence::published: return "as published measurements say";
    case evidence::unknown: break;
  }
  return "unknown";
}
std::string_view words(tensor_core_sums s) {
  switch (s) {
    case tensor_core_sums::hopper: return "like compute capability 9.0";
    case tensor_core_sums::ampere: return "like compute capability 8.x";
    case tensor_core_sums::unknown: break;
  }
  return "unknown";
}

json rows_json(const std::vector<row>& rows) {
  json list = json::array();
  for (const row& r : rows) {
    json one{{"policy", r.name}, {"runs", r.runs()}};
    if (!r.why_not.empty()) one[r.small_c ? "why_not_for_large_c" : "why_not"] = r.why_not;
    if (!r.bound.empty()) one["bound"] = r.bound;
    list.push_back(one);
  }
  return list;
}
std::string rows_text(const std::vector<row>& rows) {
  std::string text;
  for (const row& r : rows)
    text += fmt::format("  {:<17}  {}\n", r.name,
                        r.small_c            ? "runs where C is small; else " + r.why_not
                        : !r.why_not.empty() ? "does not run: " + r.why_not
                                             : "runs");
  return text;
}

json calls_json(const std::vector<invariant_call>& calls) {
  json list = json::array();
  for (const invariant_call& c : calls) {
    json one{{"call", c.name}, {"runs", c.why_not.empty()}};
    c.why_not.empty() ? one["kernel"] = c.kernel : one["why_not"] = c.why_not;
    list.push_back(one);
  }
  return list;
}
std::string calls_text(const std::vector<invariant_call>& calls) {
  std::string text;
  for (const invariant_call& c : calls)
    text += fmt::format("  {:<17}  {}\n", c.name,
                        c.why_not.empty() ? c.kernel : fmt::format("does not run: {}", c.why_not));
  return text;
}

void tell_as_json(const device_limits& device, const context& where) {
  const device_features has = features_of(device);
  json features = json::object();
  for (const feature_name& f : feature_names) features[std::string(f.name)] = has.*f.feature;
  json automatic = json::array();
  for (const shape_class& c : classes) {
    json one{{"class", c.name}, {"shape", to_json(c.shape)}, {"precision", name(c.accuracy)}};
    one.update(to_json(explain(where, product_of(c.shape), {.accuracy = c.accuracy})));
    automatic.push_back(one);
  }
  const tensor_core_sums sums = tensor_core_sums_of(device);
  print_json(json{{"schema", 1},
                  {"for", compute_capability(device)},
                  {"device", device.name},
                  {"multiprocessors", device.multiprocessors},
                  {"shared_opt_in", device.shared_opt_in},
                  {"features", features},
                  {"tensor_core_sums", {{"how", words(sums)}, {"known", words(evidence_for(sums))}}},
                  {"gemm", rows_json(gemm_candidates(where))},
                  {"gemm_auto", automatic},
                  {"gemm_f16", rows_json(f16_candidates(where))},
                  {"batch_invariant", calls_json(invariant_calls(where))},
                  {"scan", rows_json(scan_candidates(where))}});
}

}  // namespace

void tell_device(std::string_view asked, const common_options& options) {
  const device_limits& device = published_device(asked);
  const context where(make_cpu_executor({.limits = device}));
  if (options.json) return tell_as_json(device, where);

  const device_features has = features_of(device);
  const tensor_core_sums sums = tensor_core_sums_of(device);
  std::string text = fmt::format("compute capability {}, by the published limits of the {}\n\n",
                                 compute_capability(device), device.name);
  text += fmt::format("  {} multiprocessors of {} threads, {} KiB of shared memory per block\n",
                      device.multiprocessors, device.threads_per_multiprocessor, device.shared_opt_in / 1024);
  for (const feature_name& f : feature_names)
    text += fmt::format("  {:<3}  {}\n", has.*f.feature ? "yes" : "no", f.name);
  text += sums == tensor_core_sums::unknown
              ? std::string(
                    "  how Tensor Cores add up FP16 products is unknown: no bound is guaranteed of them\n")
              : fmt::format("  Tensor Cores add up FP16 products {}: {}\n", words(sums),
                            words(evidence_for(sums)));

  text += "\ngemm: what auto takes\n";
  for (const shape_class& c : classes) {
    const gemm_choice chosen = explain(where, product_of(c.shape), {.accuracy = c.accuracy});
    text += fmt::format(
        "  {:<17}  {} ({} x {}, K = {}): |C - AB| <= {}{}\n", c.name, chosen.kernel, c.shape.m, c.shape.n,
        c.shape.k, to_text(chosen.bound),
        keeps(chosen.bound, chosen.asked) ? "" : fmt::format("; weaker than precision {}", name(c.accuracy)));
  }
  text += "\ngemm policies\n" + rows_text(gemm_candidates(where));
  text += "\nladder gemm with f16 operands\n" + rows_text(f16_candidates(where));
  text +=
      "\nlinear layers in bf16, and products in FP32 on request: rows keep their bits whatever the batch\n" +
      calls_text(invariant_calls(where));
  text += "\nscan policies, of one line of 2^20 f32\n" + rows_text(scan_candidates(where));
  print(wrapped(text));
}

}  // namespace antiphase::tool
