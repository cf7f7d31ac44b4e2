// SPDX-License-Identifier: Apache-2.0
// Listing the launches of a plan.
#include "src/choice/plan.hpp"

#include <antiphase/core/error.hpp>
#include <antiphase/executor/forwarding_executor.hpp>

namespace antiphase::choices {
namespace {

class lister : public forwarding_executor {
 public:
  explicit lister(const executor& device) : forwarding_executor(device) {}
  launch_counts launch(const kernel& k, extent3 grid, const void*, stream) const override {
    if (const auto why = refusal(limits(), k)) throw not_supported(*why);
    all.push_back({k, grid});
    return {};
  }
  mutable std::vector<listed_launch> all;
};

}  // namespace

std::vector<listed_launch> launches_of(const plan& p, const executor& device) {
  const lister list(device);
  const context where(std::shared_ptr<const executor>(std::shared_ptr<void>(), &list));
  // A dummy address: nothing runs, and a large problem would need a large allocation.
  p.launch({.where = where, .memory = {reinterpret_cast<std::byte*>(std::uintptr_t{256}), p.workspace}});
  return list.all;
}

}  // namespace antiphase::choices
