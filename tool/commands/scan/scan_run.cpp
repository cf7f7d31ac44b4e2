// SPDX-License-Identifier: Apache-2.0
#include "tool/commands/scan/scan_run.hpp"

#include <fmt/format.h>

#include <span>

#include "tool/files/npy/convert.hpp"
#include "tool/measure/estimate.hpp"

namespace antiphase::tool {
namespace {

// Types for the library's scan: elements have type `in`; results have type `out` and are converted to the
// job's type afterwards. Elements are passed unconverted if the library can accumulate them in the wanted
// type. It has no kernels for 8- and 16-bit integers by key, nor for f2 along an inner axis. These go through
// 32 bits; exclusive scans then start at the narrow type's initial value.
struct library_types {
  element in, out;
  std::optional<scan_value> initial;
};

library_types types_for_library(const scan_job& job, element of_elements,
                                const std::optional<npy_array>& keys) {
  const bool one_line = job.lines() == 1 && !keys;
  const bool narrow = !is_floating(job.type) && size_of(job.type) < 4;
  element computed = job.type;
  if (job.type == element::f16 && job.inner > 1) computed = element::f32;
  if (narrow && keys) computed = is_unsigned(job.type) ? element::u32 : element::i32;
  const bool as_it_is = of_elements == computed || (one_line && job.operation == scan_operation::sum &&
                                                    scans::accumulates(of_elements, computed));
  library_types types{as_it_is ? of_elements : computed, computed, std::nullopt};
  if (job.kind == scan_kind::exclusive && !is_floating(job.type))
    types.initial = with_element(job.type, [&]<class T>() { return scan_value(first_of_exclusive<T>(job)); });
  return types;
}

// The library's problem without the arrays.
scan_problem problem_of(const scan_job& job, const library_types& types) {
  return {.type = types.in,
          .operation = job.operation,
          .kind = job.kind,
          .direction = job.direction,
          .outer = job.outer,
          .length = job.length,
          .inner = job.inner,
          .initial = types.initial,
          .accumulate = types.out};
}

// Elements of an array converted to a type; no copy if they have it.
struct elements_as {
  std::vector<std::byte> changed;
  std::span<const std::byte> bytes;

  elements_as(const npy_array& x, element type) {
    if (x.type != type) changed = converted(x.bytes(), x.type, type);
    bytes = x.type == type ? x.bytes() : std::span<const std::byte>(changed);
  }
};

}  // namespace

scan_outcome scan_on_device(const common_options& common, const context& where, const scan_job& job,
                            const std::string& policy, const npy_array& x,
                            const std::optional<npy_array>& keys) {
  const library_types types = types_for_library(job, x.type, keys);
  const elements_as input(x, types.in);
  if (input.bytes.empty()) return {.data = {}, .policy = policy};
  device_array<std::byte> data(where, input.bytes);
  std::optional<device_array<std::byte>> apart;
  if (types.in != types.out)
    apart.emplace(where, input.bytes.size() / size_of(types.in) * size_of(types.out));
  device_array<std::byte>& to = apart ? *apart : data;
  scan_problem p = problem_of(job, types);
  p.in = data.data();
  p.out = to.data();
  const scan_options options{.policy = policy};
  scan_outcome result;
  if (keys) {
    const device_array<std::byte> told(where, keys->bytes());
    const scan_keys by{.data = told.data(), .type = keys->type};
    result.policy = explain(where, p, by, options).kernel;
    const progress_line line = warn_if_slow(common, result.policy, estimate(where, p, &by, options));
    result.counts = scan_by_key(where, p, by, options);
    where.runs_on().synchronize(nullptr);
  } else {
    result.policy = explain(where, p, options).kernel;
    const progress_line line = warn_if_slow(common, result.policy, estimate(where, p, nullptr, options));
    result.counts = scan(where, p, options);
    where.runs_on().synchronize(nullptr);
  }
  result.data = to.to_host();
  if (types.out != job.type) result.data = converted(result.data, types.out, job.type);
  return result;
}

scan_choice choice_of_scan(const context& where, const scan_job& job, const std::string& policy,
                           const npy_array& x, const std::optional<npy_array>& keys) {
  const library_types types = types_for_library(job, x.type, keys);
  // Placeholder addresses stand for device memory, spaced for elements of 8 bytes.
  const auto address = [&](std::uintptr_t number) {
    return reinterpret_cast<std::byte*>((1 + number * (static_cast<std::uintptr_t>(job.count()) / 512 + 1)) *
                                        4096);
  };
  scan_problem p = problem_of(job, types);
  p.in = address(0);
  p.out = types.in == types.out ? address(0) : address(1);
  const scan_options options{.policy = policy};
  return keys ? explain(where, p, {.data = address(2), .type = keys->type}, options)
              : explain(where, p, options);
}

json to_json(const scan_choice& chosen) {
  return {{"kernel", chosen.kernel},     {"threads", chosen.threads},     {"tile", chosen.tile},
          {"tiles", chosen.tiles},       {"stages", chosen.stages},       {"blocks", chosen.blocks},
          {"launches", chosen.launches}, {"workspace", chosen.workspace}, {"why", chosen.why},
          {"refused", chosen.refused}};
}

std::string choice_text(const scan_choice& chosen) {
  const auto several = [](auto count, const char* what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
  };
  return fmt::format(
      "{}: {} of {}, {}, {} of {}, {}, {} bytes of workspace", chosen.kernel, several(chosen.tiles, "tile"),
      several(chosen.tile, "element"), several(chosen.stages, "stage"), several(chosen.blocks, "block"),
      several(chosen.threads, "thread"),
      chosen.launches == 1 ? "1 launch" : fmt::format("{} launches", chosen.launches), chosen.workspace);
}

}  // namespace antiphase::tool
