// From a step and a problem to launches.
#include <antiphase/scan/ladder.hpp>

#include <fmt/format.h>

#include <antiphase/core/error.hpp>
#include <antiphase/executor/executor.hpp>
#include <antiphase/scan/operators.hpp>
#include <antiphase/scan/ring_policy.hpp>
#include <antiphase/scan/single_pass.hpp>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "build_config.hpp"
#include "src/checked_list.hpp"
#include "src/named_lists.hpp"
#include "src/scan/one_wave.hpp"

namespace antiphase::prefix {

// The same lists, compiled for each target.
namespace cpu {
std::vector<instance> arithmetic_kernels();
std::vector<instance> minimum_kernels();
std::vector<instance> maximum_kernels();
std::vector<instance> ladder_kernels();
std::vector<instance> single_pass_kernels();
}  // namespace cpu
#if ANTIPHASE_HAS_CUDA
namespace cuda {
std::vector<instance> arithmetic_kernels();
std::vector<instance> minimum_kernels();
std::vector<instance> maximum_kernels();
std::vector<instance> ladder_kernels();
std::vector<instance> single_pass_kernels();
}  // namespace cuda
#endif

namespace {

std::string_view name(scan_operation operation) {
  constexpr std::string_view names[] = {"sum", "product", "min", "max"};
  return names[static_cast<int>(operation)];
}

// The type that a problem's kernels work on.
element computed_as(element type, scan_operation operation) {
  if (operation == scan_operation::min || operation == scan_operation::max) return type;
  switch (type) {
    case element::i8: return element::u8;
    case element::i16: return element::u16;
    case element::i32: return element::u32;
    case element::i64: return element::u64;
    default: return type;
  }
}
element computed_as(const problem& p) { return computed_as(p.type, p.operation); }

const instance* look_for(target where, const step& how, element type, scan_operation operation) {
  for (const instance& candidate : instances(where))
    if (std::string_view(candidate.step) == how.name && candidate.type == computed_as(type, operation) && candidate.operation == operation)
      return &candidate;
  return nullptr;
}
const instance& find_instance(target where, const step& how, const problem& p) {
  if (const instance* found = look_for(where, how, p.type, p.operation)) return *found;
  throw not_supported(fmt::format("this build has no kernel on {} for scan policy {} with operation {} on {}",
                                  where == target::cuda ? "CUDA" : "the CPU", how.name, name(p.operation), antiphase::name(p.type)));
}

template <class T> T identity(scan_operation operation) {
  switch (operation) {
    case scan_operation::sum: return sum::identity<T>();
    case scan_operation::product: return product::identity<T>();
    case scan_operation::min: return minimum::identity<T>();
    case scan_operation::max: break;
  }
  return maximum::identity<T>();
}

// The problem as its kernels see it; calls f(arguments<T>) with the type they work on.
template <class F> auto with_arguments(const problem& p, F f) {
  return with_element(computed_as(p), [&]<class T>() {
    return f(arguments<T>{.in = static_cast<const T*>(p.in),
                          .out = static_cast<T*>(p.out),
                          .totals = nullptr,
                          .over = {p.outer, p.length, p.inner, p.direction},
                          .kind = p.kind,
                          .initial = identity<T>(p.operation)});
  });
}

bool empty(const problem& p) { return p.outer == 0 || p.length == 0 || p.inner == 0; }

}  // namespace

std::span<const instance> instances(target where) {
  static const std::vector<instance> on_cpu = concatenate<instance>(
      {cpu::ladder_kernels(), cpu::arithmetic_kernels(), cpu::minimum_kernels(), cpu::maximum_kernels(), cpu::single_pass_kernels()});
#if ANTIPHASE_HAS_CUDA
  static const std::vector<instance> on_cuda = concatenate<instance>(
      {cuda::ladder_kernels(), cuda::arithmetic_kernels(), cuda::minimum_kernels(), cuda::maximum_kernels(), cuda::single_pass_kernels()});
#else
  static const std::vector<instance> on_cuda;
#endif
  if (where == target::checked) return require_checked_list<instance>();
  return where == target::cuda ? on_cuda : on_cpu;
}

bool is_compiled(target where, const step& how, element type, scan_operation operation) {
  if (is_one_wave(how)) return operation == scan_operation::sum;
  return look_for(where, how, type, operation) != nullptr;
}

const step& find_step(std::string_view name) { return find_named(steps, "scan", name); }

namespace {

constexpr const step& by_name(std::string_view name) {
  for (const step& s : steps)
    if (name == s.name) return s;
  throw bad_request(fmt::format("there is no step {}", name));
}

// Why the single-pass kernels cannot do it; empty: they can.
std::string single_pass_refuses(const device_limits& limits, const problem& p) {
  if (limits.major < 9) return fmt::format("{} has no bulk copies (compute capability 9.0)", limits.name);
  if (p.outer != 1 || p.inner != 1) return fmt::format("{} x {} lines: it scans one contiguous line", p.outer, p.inner);
  if (p.operation != scan_operation::sum) return fmt::format("operation {}: it is compiled for sums", name(p.operation));
  for (const void* at : {p.in, static_cast<const void*>(p.out)})
    if (reinterpret_cast<std::uintptr_t>(at) % 16 != 0) return "the arrays do not begin at multiples of 16 bytes";
  return {};
}

std::vector<launchable> prepare_single_pass(const executor& on, const problem& p, const instance& i, std::span<std::byte> workspace) {
  return with_arguments(p, [&]<class T>(const arguments<T>& whole) -> std::vector<launchable> {
    const std::int64_t tiles = ceil_div<std::int64_t>(p.length, i.kernels.tile);
    if (tiles > std::numeric_limits<int>::max())
      throw not_supported(fmt::format("{} elements are {} tiles: the single-pass scan takes at most 2^31 - 1", p.length, tiles));
    auto* words = reinterpret_cast<std::uint64_t*>(workspace.data());
    const single_pass_arguments<T> all{.in = whole.in,
                                       .out = whole.out,
                                       .length = p.length,
                                       .tiles = static_cast<std::uint32_t>(tiles),
                                       .kind = p.kind,
                                       .direction = p.direction,
                                       .initial = whole.initial,
                                       .control = words,
                                       .states = words + control_words,
                                       .state_words = workspace.size() / sizeof(std::uint64_t) - control_words};
    const auto blocks = static_cast<unsigned>(std::min<std::int64_t>(tiles, std::max(1, on.limits().multiprocessors)));
    launchable l{.code = i.kernels.scan, .grid = {blocks, 1, 1}, .arguments = {}};
    l.arguments.resize(sizeof all);
    std::memcpy(l.arguments.data(), &all, sizeof all);
    return {l};
  });
}

}  // namespace

const step& select_step(const executor& on, const problem& p) {
  require_sensible(p);
  if (on.kind() == target::cuda && one_wave_refuses(on, p).empty()) return by_name("one-wave");
  // On the CPU executor reading twice costs nothing that counts, and the ring's many threads do.
  constexpr std::int64_t few_bytes = 1 << 16;
  const bool large = p.length > few_bytes / static_cast<std::int64_t>(size_of(p.type));
  if (on.kind() == target::cuda && large && single_pass_refuses(on.limits(), p).empty()) return by_name("single-pass");
  return by_name("items");
}

void require_sensible(const problem& p) {
  const auto in_range = [](auto value, auto last) {
    return static_cast<int>(value) >= 0 && static_cast<int>(value) <= static_cast<int>(last);
  };
  const auto require = [](bool fine, const char* argument, auto value, const char* expected) {
    if (!fine) throw bad_request(fmt::format("{} is {}: expected {}", argument, static_cast<std::int64_t>(value), expected));
  };
  require(in_range(p.type, element::u64), "type", p.type, "one of the element types");
  require(in_range(p.operation, scan_operation::max), "operation", p.operation, "sum, product, min or max");
  require(in_range(p.kind, scan_kind::exclusive), "kind", p.kind, "inclusive or exclusive");
  require(in_range(p.direction, scan_direction::reverse), "direction", p.direction, "forward or reverse");
  require(p.outer >= 0, "outer", p.outer, "0 or more");
  require(p.length >= 0, "length", p.length, "0 or more");
  require(p.inner >= 0, "inner", p.inner, "0 or more");
  if (empty(p)) return;

  std::int64_t bytes = static_cast<std::int64_t>(size_of(p.type));
  for (std::int64_t extent : {p.outer, p.length, p.inner})
    if (__builtin_mul_overflow(bytes, extent, &bytes))
      throw bad_request(fmt::format("outer x length x inner is {} x {} x {} elements of {}: expected less than 2^63 bytes in all", p.outer,
                                    p.length, p.inner, antiphase::name(p.type)));
  if (p.in == nullptr) throw bad_request(fmt::format("in is a null pointer: expected {} bytes", bytes));
  if (p.out == nullptr) throw bad_request(fmt::format("out is a null pointer: expected {} bytes", bytes));
  const auto in = reinterpret_cast<std::uintptr_t>(p.in), out = reinterpret_cast<std::uintptr_t>(p.out);
  const auto size = static_cast<std::uintptr_t>(bytes);
  for (const auto& [argument, address] : {std::pair{"in", in}, std::pair{"out", out}})
    if (address % size_of(p.type) != 0)
      throw bad_request(fmt::format("{} is at address {:#x}: expected a multiple of {}, the size of {}", argument, address, size_of(p.type),
                                    antiphase::name(p.type)));
  if (in != out && (in < out ? out - in : in - out) < size)
    throw bad_request(fmt::format("out begins {} bytes {} in and overlaps it: expected the same address, or {} bytes apart",
                                  in < out ? out - in : in - out, in < out ? "after" : "before", bytes));
}

std::size_t workspace_bytes(const step& how, const problem& p) {
  require_sensible(p);
  if (is_one_wave(how)) return one_wave_workspace(p);
  if (is_single_pass(how)) {
    if (empty(p)) return 0;
    return single_pass_bytes(size_of(p.type), static_cast<std::uint64_t>(ceil_div<std::int64_t>(p.length, tile_of(how, size_of(p.type)))));
  }
  return with_element(p.type, [&]<class T>() {
    return workspace_bytes<T>(how.how.tile(sizeof(T)), {p.outer, p.length, p.inner, p.direction});
  });
}

std::vector<launchable> prepare(const executor& on, const step& how, const problem& p, std::span<std::byte> workspace) {
  require_sensible(p);
  if (const std::size_t bytes = workspace_bytes(how, p); workspace.size() < bytes)
    throw bad_request(fmt::format("the workspace has {} bytes: expected {} or more", workspace.size(), bytes));
  if (is_one_wave(how)) {
    if (empty(p)) return {};
    if (const std::string why = one_wave_refuses(on, p); !why.empty())
      throw not_supported("scan policy one-wave does not take this problem: " + why);
    return with_arguments(p, [&]<class T>(const arguments<T>& whole) {
      std::uint64_t initial = 0;
      std::memcpy(&initial, &whole.initial, sizeof(T));
      return prepare_one_wave(on.kind(), p, computed_as(p), initial, workspace);
    });
  }
  if (is_single_pass(how)) {
    if (empty(p)) return {};
    if (const std::string why = single_pass_refuses(on.limits(), p); !why.empty())
      throw not_supported("scan policy single-pass does not take this problem: " + why);
    return prepare_single_pass(on, p, find_instance(on.kind(), how, p), workspace);
  }
  const instance& i = find_instance(on.kind(), how, p);
  return with_arguments(p, [&](const auto& whole) { return passes(i.kernels, whole, workspace.data()); });
}

launchable prepare_tiles(target where, const step& how, const problem& p) {
  require_sensible(p);
  if (is_single_pass(how)) throw not_supported("the single-pass scan has no tiles on their own");
  const instance& i = find_instance(where, how, p);
  return with_arguments(p, [&](const auto& whole) { return launch_of(i.kernels.scan, i.kernels.tile, whole); });
}

}  // namespace antiphase::prefix
