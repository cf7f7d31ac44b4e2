// SPDX-License-Identifier: Apache-2.0
#include "learn/trace/record_call.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "learn/trace/recording_executor.hpp"
#include "learn/trace/twins/without_twin.hpp"

namespace antiphase {
namespace {

std::string why_nothing(const std::string& policy, const std::vector<const char*>& launched) {
  if (launched.empty()) return fmt::format("policy {} launches nothing for this problem", policy);
  const char* why = nullptr;
  for (const char* const name : launched)
    if (why == nullptr) why = why_no_twin(name);
  return fmt::format("policy {} launches {} for this problem, which cannot be recorded: {}", policy,
                     fmt::join(launched, ", "), why == nullptr ? "there is no recording twin of it" : why);
}

timeline record_once(const context& where, const std::vector<twin>& twins, const timeline& empty,
                     const trace_options& options, const recorded_work& work,
                     const std::function<void(const context&)>& call) {
  const auto recording = std::make_shared<recording_executor>(where.runs_on(), twins, options, work);
  call(context(recording));
  where.runs_on().synchronize(options.stream);
  std::optional<timeline> t = recording->take(empty);
  if (!t) throw not_supported(why_nothing(empty.policy, recording->launched()));
  return *std::move(t);
}

double median(std::vector<double> of) {
  const auto middle = of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2);
  std::ranges::nth_element(of, middle);
  return *middle;
}

}  // namespace

recording_cost cost_of(const trace_options& options, const std::function<double(bool)>& time_of) {
  std::vector<double> ms[2];
  time_of(false), time_of(true);  // caches, clocks
  for (int i = 0; i < options.cost_runs; ++i)
    for (const bool recorded : {false, true}) ms[recorded ? 1 : 0].push_back(time_of(recorded));
  return {options.cost_runs, median(std::move(ms[0])), median(std::move(ms[1]))};
}

void require_sensible(const trace_options& options) {
  constexpr int most_steps = 1 << 16;
  if (options.steps < 1 || options.steps > most_steps)
    throw bad_request(fmt::format("steps = {}: expected 1 to {}", options.steps, most_steps));
  if (options.runs < 1) throw bad_request(fmt::format("runs = {}: expected 1 or more", options.runs));
  constexpr int most_cost_runs = 10000;
  if (options.cost_runs < 0 || options.cost_runs > most_cost_runs)
    throw bad_request(fmt::format("cost_runs = {}: expected 0 to {}", options.cost_runs, most_cost_runs));
}

timeline record_call(const context& where, const std::vector<twin>& twins, const timeline& empty,
                     const trace_options& options, const recorded_work& work, bool once,
                     const std::function<void(const context&)>& call) {
  require_sensible(options);
  if (options.cost_runs > 0 && once)
    throw bad_request(
        "the cost of recording takes many runs: expected beta = 0, or a scan whose result lies elsewhere");
  timeline best = record_once(where, twins, empty, options, work, call);
  const int runs = where.kind() != target::cuda || once ? 1 : options.runs;
  for (int i = 1; i < runs; ++i) {
    timeline next = record_once(where, twins, empty, options, work, call);
    if (measure(next).duration < measure(best).duration) best = std::move(next);
  }
  if (options.cost_runs > 0)
    best.cost = cost_of(options, [&](bool recorded) {
      using enum recording_executor::mode;
      const auto on = std::make_shared<recording_executor>(where.runs_on(), twins, options, work,
                                                           recorded ? timed : timed_as_is);
      call(context(on));
      where.runs_on().synchronize(options.stream);
      return on->milliseconds();
    });
  return best;
}

}  // namespace antiphase
