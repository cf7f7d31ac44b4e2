// From a step and a problem to launches.
#include <antiphase/scan/ladder.hpp>

#include <fmt/format.h>

#include <antiphase/core/error.hpp>
#include <antiphase/executor/executor.hpp>
#include <cstring>
#include <string>

#include "build_config.hpp"
#include "src/checked_list.hpp"
#include "src/named_lists.hpp"
#include "src/scan/request.hpp"
#include "src/scan/single_pass.hpp"

namespace antiphase::prefix {

// The same lists, compiled for each target.
namespace cpu {
std::vector<instance> arithmetic_kernels();
std::vector<instance> minimum_kernels();
std::vector<instance> maximum_kernels();
std::vector<instance> ladder_kernels();
}  // namespace cpu
#if ANTIPHASE_HAS_CUDA
namespace cuda {
std::vector<instance> arithmetic_kernels();
std::vector<instance> minimum_kernels();
std::vector<instance> maximum_kernels();
std::vector<instance> ladder_kernels();
}  // namespace cuda
#endif

namespace {

// The type that a problem's kernels work on.
element computed_as(const problem& p) {
  return p.operation == scan_operation::min || p.operation == scan_operation::max ? p.type : unsigned_of(p.type);
}

const instance& find_instance(target where, const step& how, const problem& p) {
  for (const instance& candidate : instances(where))
    if (std::string_view(candidate.step) == how.name && candidate.type == computed_as(p) && candidate.operation == p.operation)
      return candidate;
  throw not_supported(fmt::format("this build has no kernel on {} for scan policy {} with operation {} on {}",
                                  where == target::cuda ? "CUDA" : "the CPU", how.name, name(p.operation), antiphase::name(p.type)));
}

template <class T> T from_bits(std::uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// The problem as its kernels see it; calls f(arguments<T>) with the type they work on.
template <class F> auto with_arguments(const problem& p, F f) {
  return with_element(computed_as(p), [&]<class T>() {
    return f(arguments<T>{.in = static_cast<const T*>(p.in),
                          .out = static_cast<T*>(p.out),
                          .totals = nullptr,
                          .over = {p.outer, p.length, p.inner, p.direction},
                          .kind = p.kind,
                          .initial = from_bits<T>(first_of_exclusive(p))});
  });
}

}  // namespace

std::span<const instance> instances(target where) {
  static const std::vector<instance> on_cpu =
      concatenate<instance>({cpu::ladder_kernels(), cpu::arithmetic_kernels(), cpu::minimum_kernels(), cpu::maximum_kernels()});
#if ANTIPHASE_HAS_CUDA
  static const std::vector<instance> on_cuda =
      concatenate<instance>({cuda::ladder_kernels(), cuda::arithmetic_kernels(), cuda::minimum_kernels(), cuda::maximum_kernels()});
#else
  static const std::vector<instance> on_cuda;
#endif
  if (where == target::checked) return require_checked_list<instance>();
  return where == target::cuda ? on_cuda : on_cpu;
}

const step& find_step(std::string_view name) { return find_named(steps, "scan", name); }

namespace {

constexpr const step& by_name(std::string_view name) {
  for (const step& s : steps)
    if (name == s.name) return s;
  throw bad_request(fmt::format("there is no step {}", name));
}

// Why the steps of several passes cannot do it; empty: they can.
std::string passes_refuse(const problem& p) {
  if (is_half(p.type) || result_type(p) != p.type)
    return fmt::format("{}: this build has such kernels of policy single-pass only", description(p, nullptr));
  return {};
}

void require_passes(const step& how, const problem& p) {
  if (const std::string why = passes_refuse(p); !why.empty())
    throw not_supported(fmt::format("scan policy {} does not take this problem: {}", how.name, why));
}

}  // namespace

const step& select_step(const executor& on, const problem& p) {
  require_sensible(p);
  // On the CPU executor reading twice costs nothing that counts, and the ring's many threads do.
  constexpr std::int64_t few_bytes = 1 << 16;
  const bool large = p.outer * p.length > few_bytes / static_cast<std::int64_t>(size_of(p.type));
  const bool preferred = (on.kind() == target::cuda && large) || !passes_refuse(p).empty();
  return preferred && single_pass_refuses(on, by_name("single-pass"), p).empty() ? by_name("single-pass") : by_name("items");
}

std::size_t workspace_bytes(const step& how, const problem& p) {
  require_sensible_sizes(p);
  if (is_single_pass(how)) return single_pass_workspace(how, p);
  if (!passes_refuse(p).empty()) return 0;
  return with_element(p.type, [&]<class T>() {
    return workspace_bytes<T>(how.how.tile(sizeof(T)), {p.outer, p.length, p.inner, p.direction});
  });
}

std::vector<launchable> prepare(const executor& on, const step& how, const problem& p, std::span<std::byte> workspace) {
  require_sensible(p);
  if (const std::size_t bytes = workspace_bytes(how, p); workspace.size() < bytes)
    throw bad_request(fmt::format("the workspace has {} bytes: expected {} or more", workspace.size(), bytes));
  if (is_single_pass(how)) return prepare_single_pass(on, how, p, nullptr, workspace);
  if (is_empty(p)) return {};
  require_passes(how, p);
  const instance& i = find_instance(on.kind(), how, p);
  return with_arguments(p, [&](const auto& whole) { return passes(i.kernels, whole, workspace.data()); });
}

launchable prepare_tiles(target where, const step& how, const problem& p) {
  require_sensible(p);
  if (is_single_pass(how)) throw not_supported("the single-pass scan has no tiles on their own");
  require_passes(how, p);
  const instance& i = find_instance(where, how, p);
  return with_arguments(p, [&](const auto& whole) { return launch_of(i.kernels.scan, i.kernels.tile, whole); });
}

}  // namespace antiphase::prefix
