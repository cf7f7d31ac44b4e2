// SPDX-License-Identifier: Apache-2.0
#include "src/trace/record_call.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <antiphase/core/error.hpp>
#include <memory>
#include <optional>
#include <utility>

#include "src/trace/recording_executor.hpp"

namespace antiphase {
namespace {

timeline record_once(const context& where, const std::vector<twin>& twins, const timeline& empty, const trace_options& options,
                     const std::function<void(const context&)>& call) {
  const auto recording = std::make_shared<recording_executor>(where.runs_on(), twins, options);
  call(context(recording));
  where.runs_on().synchronize(options.on);
  std::optional<timeline> t = recording->take(empty);
  if (!t)
    throw not_supported(fmt::format("policy {} has no recording kernel for this problem, for which it launches {}", empty.policy,
                                    recording->launched().empty() ? "nothing" : fmt::format("{}", fmt::join(recording->launched(), ", "))));
  return *std::move(t);
}

}  // namespace

void require_sensible(const trace_options& options) {
  constexpr int most_steps = 1 << 16;
  if (options.steps < 1 || options.steps > most_steps)
    throw bad_request(fmt::format("steps = {}: expected 1 to {}", options.steps, most_steps));
  if (options.runs < 1) throw bad_request(fmt::format("runs = {}: expected 1 or more", options.runs));
}

timeline record_call(const context& where, const std::vector<twin>& twins, const timeline& empty, const trace_options& options, bool once,
                     const std::function<void(const context&)>& call) {
  require_sensible(options);
  timeline best = record_once(where, twins, empty, options, call);
  const int runs = where.kind() != target::cuda || once ? 1 : options.runs;
  for (int i = 1; i < runs; ++i) {
    timeline next = record_once(where, twins, empty, options, call);
    if (measure(next).duration < measure(best).duration) best = std::move(next);
  }
  return best;
}

}  // namespace antiphase
