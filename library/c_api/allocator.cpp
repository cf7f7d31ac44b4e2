// SPDX-License-Identifier: Apache-2.0
#include "library/c_api/allocator.hpp"

#include <fmt/format.h>

#include <antiphase/core/error.hpp>
#include <antiphase/core/out_of_memory.hpp>
#include <antiphase/executor/forwarding_executor.hpp>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "core/per_process.hpp"
#include "library/c_api/status.hpp"

namespace antiphase::c_api {
namespace {

// Replaced without a lock, which a forked child could inherit locked. Earlier allocators are never destroyed:
// another thread may still read one.
struct allocator_in_use {
  c_api::allocator allocator;
  const allocator_in_use* before;
};
constinit std::atomic<const allocator_in_use*> in_use{nullptr};
allocator current_allocator() {
  const allocator_in_use* const now = in_use;
  return now == nullptr ? allocator{} : now->allocator;
}

class lent_executor final : public forwarding_executor {
 public:
  lent_executor(std::shared_ptr<const executor> of, int device)
      : forwarding_executor(std::move(of)), device_(device) {}

  bool shares_memory_with(const executor& other) const override { return to().shares_memory_with(other); }
  void* borrow(std::size_t bytes, stream on) const override {
    const allocator from = current_allocator();
    if (from.allocate == nullptr) return forwarding_executor::borrow(bytes, on);
    void* const memory = from.allocate(from.user, bytes, device_, on);
    if (memory == nullptr)
      throw out_of_memory(fmt::format("the allocator has no {} bytes for device {}", bytes, device_));
    try {
      if (const auto address = reinterpret_cast<std::uintptr_t>(memory); address % 256 != 0)
        throw bad_request(
            fmt::format("the allocator's memory is at address {:#x}: expected a multiple of 256", address));
      auto& [change, loans] = lent_.get();
      const std::scoped_lock lock(change);
      loans.emplace(memory, loan{from, bytes});
    } catch (...) {
      from.deallocate(from.user, memory, bytes, device_, on);
      throw;
    }
    return memory;
  }
  // Returns memory to the allocator it came from, whichever is in use now.
  void give_back(void* memory, stream on) const noexcept override {
    if (const loan back = taken_off(memory); back.lender.deallocate != nullptr)
      back.lender.deallocate(back.lender.user, memory, back.bytes, device_, on);
    else
      forwarding_executor::give_back(memory, on);
  }

 private:
  struct loan {
    allocator lender;
    std::size_t bytes = 0;
  };
  // Removes the loan before deallocate(): the allocator may hand out the same address again at once.
  loan taken_off(void* memory) const noexcept {
    auto& [change, loans] = lent_.get();
    const std::scoped_lock lock(change);
    const auto found = loans.find(memory);
    if (found == loans.end()) return {};
    const loan back = found->second;
    loans.erase(found);
    return back;
  }

  int device_;
  struct lent {
    std::mutex change;
    std::unordered_map<void*, loan> loans;
  };
  mutable per_process<lent> lent_;
};

}  // namespace

void set_allocator(const allocator& to) {
  if ((to.allocate == nullptr) != (to.deallocate == nullptr))
    throw bad_request(fmt::format("the allocator has no function to {}: expected both, or neither",
                                  to.allocate == nullptr ? "allocate" : "deallocate"));
  auto next = std::unique_ptr<allocator_in_use>(new allocator_in_use{to, in_use});
  while (!in_use.compare_exchange_weak(next->before, next.get())) {
  }
  static_cast<void>(next.release());
}

std::shared_ptr<const executor> with_allocator(std::shared_ptr<const executor> of, int device) {
  return std::make_shared<const lent_executor>(std::move(of), device);
}

}  // namespace antiphase::c_api

antiphase_status antiphase_set_allocator(antiphase_allocate allocate, antiphase_deallocate deallocate,
                                         void* user) {
  return antiphase::c_api::guarded([&] { antiphase::c_api::set_allocator({allocate, deallocate, user}); });
}
