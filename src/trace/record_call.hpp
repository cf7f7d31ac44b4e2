// SPDX-License-Identifier: Apache-2.0
// Recording what a call of the library launches.
#pragma once
#include <antiphase/trace.hpp>
#include <functional>
#include <vector>

#include "src/trace/twin.hpp"

namespace antiphase {

// Throws bad_request naming the option that makes no sense.
void require_sensible(const trace_options& options);

// Calls with a context that records the first launch of a kernel with a twin; on a GPU as often as the
// options say, of which the quickest is kept, or `once`. Throws not_supported, naming the kernels, if the
// call launches none with a twin.
timeline record_call(const context& where, const std::vector<twin>& twins, const timeline& empty,
                     const trace_options& options, bool once,
                     const std::function<void(const context&)>& call);

// Medians of as many times as options.cost_runs, taken by turns: time_of(true) is the twin's, in
// milliseconds.
recording_cost cost_of(const trace_options& options, const std::function<double(bool)>& time_of);

}  // namespace antiphase
