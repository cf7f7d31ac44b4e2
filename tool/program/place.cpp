// SPDX-License-Identifier: Apache-2.0
// Choosing where a command runs.
#include "tool/program/place.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <antiphase/core/error.hpp>
#include <antiphase/core/names.hpp>
#include <antiphase/executor/cpu/cpu_executor.hpp>
#include <antiphase/executor/cuda/cuda_executor.hpp>
#include <charconv>
#include <limits>

#include "tool/base/wrap.hpp"
#include "tool/files/file_handle.hpp"

namespace antiphase::tool {
namespace {

constexpr std::string_view no_gpu = "no GPU is usable: ", as_asked = "as --on asks";
constexpr long long most_shared_kib = 1 << 20;  // above any device's limit; no overflow in bytes

context cpu_context(const place_options& options) {
  cpu_options cpu{.seed = options.seed, .limits = options.simulated};
  if (options.shared_limit > 0) {
    const auto limit = static_cast<std::size_t>(options.shared_limit) * 1024;
    cpu.limits.shared_opt_in = std::min(cpu.limits.shared_opt_in, limit);
    cpu.limits.shared_per_block = std::min(cpu.limits.shared_per_block, limit);
  }
  return context(make_cpu_executor(cpu));
}

context cuda_context(const place_options& options, int device) {
  return context(make_cuda_executor(
      {.device = device, .shared_limit = static_cast<std::size_t>(options.shared_limit) * 1024}));
}

// N of "cuda:N", 0 of "cuda"; nothing for any other text.
std::optional<int> cuda_device(std::string_view on) {
  if (on == "cuda") return 0;
  constexpr std::string_view prefix = "cuda:";
  if (!on.starts_with(prefix)) return std::nullopt;
  const std::string_view digits = on.substr(prefix.size());
  int device = -1;
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), device);
  if (failed != std::errc{} || end != digits.data() + digits.size() || device < 0) return std::nullopt;
  return device;
}

place on_cuda(const place_options& options, int device, std::string why) {
  const context where = cuda_context(options, device);
  return {.context = where,
          .executor = fmt::format("cuda:{}", device),
          .name = where.limits().name,
          .why = std::move(why)};
}
place on_cpu(const place_options& options, std::string why) {
  const context where = cpu_context(options);
  return {.context = where, .executor = "cpu", .name = where.limits().name, .why = std::move(why)};
}

}  // namespace

void add_place_options(arguments command, place_options& options) {
  command
      .add_option("--on", options.executor,
                  "Where to run: cpu, cuda, cuda:N (default: a GPU if one is usable, else cpu)")
      .check(not_empty())
      .offers({"cpu", "cuda"})
      .type_name("WHERE");
  command
      .add_option("--shared-limit", options.shared_limit,
                  "Make do with this many KiB of shared memory per block, as on a smaller device; steps that "
                  "need more are refused")
      .check(integer_between(1, most_shared_kib))
      .type_name("KIB");
  command
      .add_option("--seed", options.seed,
                  "Order in which the CPU executor runs threads; results do not depend on it")
      .check(integer_between(0, std::numeric_limits<unsigned>::max()))
      .type_name("N");
}

place choose_place(const place_options& options) {
  const std::string asked(as_asked);
  if (options.executor.empty()) {
    std::string why;
    if (!cuda_devices(&why).empty()) {
      try {
        return on_cuda(options, 0, "the default where a GPU is usable");
      } catch (const not_supported& e) {
        why = e.what();
      }
    }
    return on_cpu(options, std::string(no_gpu) + why);
  }
  if (options.executor == "cpu") return on_cpu(options, asked);
  if (const auto device = cuda_device(options.executor)) return on_cuda(options, *device, asked);
  const std::vector<std::string> known{"cpu", "cuda", "cuda:N"};
  // By spelling, the closest name to gpu would be cpu.
  const bool means_cuda = options.executor.starts_with("gpu") || options.executor.starts_with("GPU");
  throw bad_request(fmt::format("--on {}: {}", tool::quoted(options.executor),
                                suggestion(means_cuda ? "cuda" : options.executor, known)));
}

void say_place(const common_options& options, const place& chosen) {
  constexpr std::size_t prefix = 11;  // "antiphase: "
  if (chosen.why.starts_with(no_gpu))
    say(options, wrapped(chosen.why, terminal_columns(STDERR_FILENO) - prefix));
  const bool simulated = chosen.context.kind() == target::cpu;
  say(options, fmt::format("running on {} ({}){}", chosen.name, chosen.executor,
                           simulated                ? ", which simulates a GPU: right, but slow"
                           : chosen.why == as_asked ? ""
                                                    : ", " + chosen.why));
}

json to_json(const place& chosen) {
  return {{"on", chosen.executor}, {"name", chosen.name}, {"why", chosen.why}};
}

json to_json(const launch_counts& counts) {
  return {{"switches", counts.switches},
          {"barriers", counts.barriers},
          {"warp_operations", counts.warp_operations},
          {"copies", counts.copies},
          {"copied_bytes", counts.copied_bytes}};
}

}  // namespace antiphase::tool
