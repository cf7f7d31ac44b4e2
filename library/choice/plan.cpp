// SPDX-License-Identifier: Apache-2.0
// Running a plan, and listing its launches.
#include "library/choice/plan.hpp"

#include <antiphase/core/error.hpp>
#include <antiphase/executor/forwarding_executor.hpp>
#include <antiphase/executor/scratch.hpp>

namespace antiphase::choices {
namespace {

class lister : public forwarding_executor {
 public:
  explicit lister(const executor& device) : forwarding_executor(device) {}
  launch_counts launch(const kernel& k, extent3 grid, const void* params, stream) const override {
    if (const auto why = refusal(limits(), k)) throw not_supported(*why);
    const auto* const first = static_cast<const std::byte*>(params);
    all.push_back({k, grid, {first, first + k.params_bytes}});
    return {};
  }
  mutable std::vector<listed_launch> all;
};

}  // namespace

launch_counts run(const plan& p, work given) {
  if (p.workspace == 0) given.memory = {};
  const borrowed own(given.context.runs_on(), given.memory.empty() ? p.workspace : 0, given.queue);
  if (given.memory.empty()) given.memory = own.memory();
  return p.launch(given);
}

std::vector<listed_launch> launches_of(const plan& p, const executor& device, std::span<std::byte> memory) {
  const lister list(device);
  const context where(std::shared_ptr<const executor>(std::shared_ptr<void>(), &list));
  p.launch({.context = where, .memory = memory});
  return list.all;
}
std::vector<listed_launch> launches_of(const plan& p, const executor& device) {
  return launches_of(p, device, {reinterpret_cast<std::byte*>(std::uintptr_t{256}), p.workspace});
}

}  // namespace antiphase::choices
