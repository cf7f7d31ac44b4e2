// SPDX-License-Identifier: Apache-2.0
// Choosing the policy for a call: one table of candidates, read by every call.
#pragma once
#include <antiphase/executor/features.hpp>
#include <antiphase/executor/kernel.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/attention/request.hpp"

namespace antiphase::attentions {

// A kernel with grid and arguments.
struct launchable {
  kernel code;
  extent3 grid;
  std::shared_ptr<const void> arguments;
};
template <class Params> launchable launch_of(const kernel& code, extent3 grid, const Params& arguments) {
  return {code, grid, std::make_shared<const Params>(arguments)};
}

// The launches of a call, in order.
struct plan {
  std::size_t workspace = 0;  // bytes, for memory that is aligned to 256
  std::function<std::vector<launchable>(std::span<std::byte> workspace)> launches;
};

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

struct candidate {
  std::string_view name, summary;
  device_features needs = {};
  // Why it does not take a checked call, besides `needs`: a sentence without full stop; empty: it takes it.
  std::string (*unsuited)(const request& r);
  // Seconds that it is predicted to take; 0: `auto` never takes it and does not mention it.
  double (*seconds)(const request& r);
  plan (*plan_for)(const request& r);  // r must suit
};
std::span<const candidate> candidates();

struct choice {
  request of;
  const candidate* by;
  bool asked;  // for by name
  plan runs;   // empty if nothing is written
};
// Throws bad_request for an unknown name or a call that makes no sense; not_supported, with the reason, if
// the policy, or no policy, takes the call.
choice choose(const executor& on, const problem& p, const gradients* back, std::string_view policy);

// Sentences about a choice: why this candidate, and why not others.
std::vector<std::string> why(const choice& c);
std::vector<std::string> refused(const choice& c);

}  // namespace antiphase::attentions
