// SPDX-License-Identifier: Apache-2.0
// Recording a kernel that a call of the library launches.
#pragma once
#include <algorithm>
#include <antiphase/trace.hpp>
#include <functional>
#include <string_view>
#include <vector>

#include "learn/trace/recording_executor.hpp"
#include "learn/trace/twins/twin.hpp"

namespace antiphase {

// Throws bad_request naming the invalid option.
void require_sensible(const trace_options& options);

// Runs `call` on a context that records the first launch of a kernel with a twin: on a GPU options.runs
// times, keeping the fastest, unless `once`. Throws not_supported, naming the kernels, if the call launches
// none with a twin.
timeline record_call(const context& where, const std::vector<twin>& twins, const timeline& empty,
                     const trace_options& options, const recorded_work& work, bool once,
                     const std::function<void(const context&)>& call);

// Whether there is a twin of a kernel of that policy: the kernels' names begin with "FAMILY.POLICY".
inline bool has_twin(const std::vector<twin>& twins, std::string_view family, std::string_view policy) {
  return std::ranges::any_of(twins, [&](const twin& t) {
    std::string_view kernel = t.kernel_name;
    if (!kernel.starts_with(family) || !kernel.substr(family.size() + 1).starts_with(policy)) return false;
    kernel.remove_prefix(family.size() + 1 + policy.size());
    return kernel.empty() || kernel.front() == '-' || kernel.front() == '.';
  });
}

// Medians of options.cost_runs times of the kernel and of its twin, taken alternately. time_of(recorded): one
// time in milliseconds, true for the twin.
recording_cost cost_of(const trace_options& options, const std::function<double(bool)>& time_of);

}  // namespace antiphase
