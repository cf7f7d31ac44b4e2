// SPDX-License-Identifier: Apache-2.0
// The table of attention's policies, and the choice among them: what is special next to library/choice.
#pragma once
#include <antiphase/attention/ladder.hpp>
#include <antiphase/executor/kernel.hpp>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "library/attention/request.hpp"
#include "library/choice/choose.hpp"

namespace antiphase::attentions {

using candidate = choices::candidate<request>;
using misfit = choices::misfit<request>;
using plan_or_misfit = choices::plan_or_misfit<request>;
using choice = choices::choice<request>;

// A kernel with grid and arguments.
struct launchable {
  kernel code;
  extent3 grid;
  std::shared_ptr<const void> arguments;
};
template <class Params> launchable launch_of(const kernel& code, extent3 grid, const Params& arguments) {
  return {code, grid, std::make_shared<const Params>(arguments)};
}
// Throws not_supported, before the first launch, if the device cannot run one of them.
launch_counts launch_all(const std::vector<launchable>& launches, const choices::work& w);

// A plan of the launches that make(request, workspace) returns, in order.
template <class Make> struct made_call {
  attentions::problem problem;
  std::optional<gradients> back;
  Make make;
};
template <class Make> launch_counts run(const made_call<Make>& call, const choices::work& w) {
  return launch_all(call.make(request{w.context.runs_on(), call.problem, call.back}, w.memory), w);
}
template <class Made> void describe_nothing(const Made&, choices::description&) {}
template <class Make> choices::plan planned(const request& r, std::size_t workspace, Make make) {
  using call = made_call<Make>;
  return choices::plan::of_type<run<Make>, describe_nothing<call>>(call{r.problem, r.back, std::move(make)},
                                                                   workspace);
}

// Cuts a workspace into arrays, each aligned to 256 bytes; counts the bytes when there is no memory.
class cutter {
 public:
  explicit cutter(std::span<std::byte> from) : from_(from) {}
  template <class T> T* take(std::int64_t count) {
    std::byte* const at = from_.empty() ? nullptr : from_.data() + used_;
    used_ += (static_cast<std::size_t>(count) * sizeof(T) + 255) / 256 * 256;
    return reinterpret_cast<T*>(at);
  }
  std::size_t used() const { return used_; }

 private:
  std::span<std::byte> from_;
  std::size_t used_ = 0;
};

std::span<const candidate> candidates();

// Throws bad_request for an unknown name or a call that makes no sense; not_supported, with the reason, if
// the policy, or no policy, takes the call. Nothing is planned for a call that writes nothing.
choice choose(const executor& on, const problem& p, const gradients* back, std::string_view policy);

// Sentences about a choice: why this candidate, and why not others.
std::vector<std::string> why(const choice& c);
std::vector<std::string> refused(const choice& c);

}  // namespace antiphase::attentions
