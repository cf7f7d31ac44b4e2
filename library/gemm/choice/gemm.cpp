// SPDX-License-Identifier: Apache-2.0
// The public matrix product: chooses and launches.
#include <antiphase/gemm.hpp>

#include <fmt/format.h>

#include <antiphase/core/error.hpp>
#include <antiphase/executor/cpu/cpu_executor.hpp>
#include <antiphase/executor/scratch.hpp>
#include <antiphase/gemm/gain.hpp>
#include <antiphase/gemm_comparison.hpp>
#include <bit>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "library/choice/remembered.hpp"
#include "library/gemm/choice/choose.hpp"
#include "library/gemm/operands/checks.hpp"
#include "library/gemm/operands/finish/finish_plan.hpp"

namespace antiphase {
namespace {

gemms::named_view recomputed_of(const gemm_options& options) {
  return gemms::named("recomputed", options.recomputed, sizeof *options.recomputed);
}

// The caller's workspace, checked; empty if there is none or the call needs none.
std::span<std::byte> workspace_of(const gemms::choice& c, const gemm_options& options, std::size_t needed) {
  if (options.workspace.empty() || needed == 0) return {};
  if (options.workspace.size() < needed)
    throw bad_request(
        fmt::format("the workspace has {} bytes: this product needs {}", options.workspace.size(), needed));
  const gemms::named_view used =
      gemms::named("the workspace", options.workspace.data(), static_cast<std::int64_t>(needed));
  gemms::require_own_memory(c.request.problem, c.request.batch, c.request.epilogue, used);
  if (options.recomputed != nullptr) gemms::require_apart(recomputed_of(options), used);
  return options.workspace;
}
// The same, after all memory of the call has been checked. Throws bad_request if something overlaps.
std::span<std::byte> own_memory_for(const gemms::choice& c, const gemm_problem& p, const gemm_options& how,
                                    std::size_t needed) {
  gemms::require_own_memory(p, how.batch, how.epilogue);
  if (how.recomputed != nullptr) gemms::require_own_memory(p, how.batch, how.epilogue, recomputed_of(how));
  return workspace_of(c, how, needed);
}

template <class First, class Second> std::uint64_t both(First x, Second y) {
  const auto half = [](auto v) {
    if constexpr (std::is_same_v<decltype(v), float>)
      return std::bit_cast<std::uint32_t>(v);
    else
      return static_cast<std::uint32_t>(v);
  };
  return std::uint64_t{half(x)} << 32 | half(y);
}
// Nothing for calls that are not remembered: those with rare options, or with options in host memory, which
// may change between calls.
std::optional<choices::call_key> key_of(const context& where, const gemm_problem& p,
                                        const gemm_options& options) {
  const gemm_epilogue& e = options.epilogue;
  if (options.policy != "auto" || options.ran != nullptr || options.tuning != nullptr ||
      e.residual.data != nullptr || e.input.data != nullptr || e.before.data != nullptr)
    return std::nullopt;
  const gemm_batch& batch = options.batch;
  choices::call_key key(where);
  key.add(p.a.data, p.b.data, p.c.data, p.c.rows, p.c.columns, p.a.columns, p.a.row_stride, p.b.row_stride,
          p.c.row_stride, batch.count, e.row_bias, e.column_bias, p.a.rows, p.b.rows, p.b.columns,
          p.a.column_stride, p.b.column_stride, p.c.column_stride, both(p.alpha, p.beta),
          both(e.scale, e.function), both(options.accuracy, options.reproducible), options.if_weaker,
          batch.a_stride, batch.b_stride, batch.c_stride, batch.a, batch.b, batch.c, e.row_bias_stride,
          e.column_bias_stride, options.workspace.data(), options.workspace.size(), options.recomputed);
  key.add_device(choices::family::products);
  return key;
}

}  // namespace

gemm_bound bound_of(precision asked, const device_limits& device, std::int64_t k) {
  if (asked == precision::strict) return bound_of(gemm_sums::multiply_adds, k);
  const gemm_sums there = sums_of(tensor_core_sums_of(device));
  return bound_of(there == gemm_sums::unknown ? gemm_sums::hopper : there, k);
}

launch_counts gemm(const context& where, const gemm_problem& p, const gemm_options& options) {
  const std::optional<choices::call_key> key = key_of(where, p, options);
  if (const choices::recalled known(key); known.get() != nullptr)
    return choices::run(*known.get(), {where, options.workspace, options.recomputed, options.stream});
  const gemms::choice c = gemms::choose(where, p, options);
  const std::size_t needed = c.runs.workspace;
  const std::span<std::byte> given = own_memory_for(c, p, options, needed);
  if (options.ran != nullptr) *options.ran = gemms::described(c);
  if (key && !c.runs_several_plans()) choices::remember(*key, c.runs);
  const borrowed own(where.runs_on(), given.empty() ? needed : 0, options.stream);
  return gemms::run(c, options, given.empty() ? own.memory() : given);
}

gemm_comparison compare(const context& where, const gemm_problem& p, const gemm_options& options) {
  const gemms::choice c = gemms::choose(where, p, options);
  const double seconds = c.seconds();
  // What is simulated is what predictions say it is.
  const bool is_known = is_measured(where.limits()) || where.limits().name == simulated_device().name ||
                        gemms::tuning_for(where.limits(), options.tuning) != nullptr;
  gemm_comparison is{.seconds = seconds,
                     .cublas_seconds = cublas_seconds(where.limits(), p, options.batch),
                     .host_saved = host_saved(where.limits(), c.runs.workspace),
                     .workspace = c.runs.workspace};
  if (is_known) {
    is.gain = gain_over_cublas(where.limits(), p, options.batch, seconds);
    is.eager_gain = eager_gain_over_cublas(where.limits(), p, options.batch, seconds, is.workspace);
  }
  const std::optional<choices::call_key> key = key_of(where, p, options);
  if (!key || c.runs_several_plans()) return is;
  try {
    static_cast<void>(own_memory_for(c, p, options, is.workspace));
    choices::remember_at_once(*key, c.runs);
  } catch (const bad_request&) {  // memory overlaps: gemm() will refuse the call
  }
  return is;
}

// If needed, a launch for each member of the batch, in the same workspace; then the finishing pass.
launch_counts gemms::run(const choice& c, const gemm_options& options, std::span<std::byte> memory) {
  const request& r = c.request;
  const choices::work w{r.context, memory, options.recomputed, options.stream};
  launch_counts all = c.runs.launch(w);
  if (c.by_members())
    for (std::int64_t n = 1; n < r.batch.count; ++n) all += c.plan_of(n).launch(w);
  if (c.has_finishing_pass())
    all += finish_product(r.context, r.problem, r.batch, r.epilogue, options.stream);
  return all;
}

std::size_t gemm_workspace(const context& where, const gemm_problem& p, const gemm_options& options) {
  return gemms::choose(where, p, options).offers();
}

}  // namespace antiphase
