// SPDX-License-Identifier: Apache-2.0
#include "src/c_api/allocator.hpp"

#include <fmt/format.h>

#include <antiphase/core/error.hpp>
#include <antiphase/core/out_of_memory.hpp>
#include <antiphase/executor/forwarding_executor.hpp>
#include <cstdint>
#include <functional>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "src/c_api/status.hpp"

namespace antiphase::c_api {
namespace {

// Never destroyed: threads may still call while the program ends.
struct allocator_in_use {
  std::mutex change;
  allocator now;
};
allocator_in_use& in_use() {
  static auto& one = *new allocator_in_use;
  return one;
}
allocator current_allocator() {
  const std::scoped_lock lock(in_use().change);
  return in_use().now;
}

class lent_executor final : public forwarding_executor {
 public:
  lent_executor(std::shared_ptr<const executor> of, int device) : forwarding_executor(std::move(of)), device_(device) {}

  bool shares_memory_with(const executor& other) const override { return to().shares_memory_with(other); }
  void* borrow(std::size_t bytes, stream on) const override {
    const allocator from = current_allocator();
    if (from.allocate == nullptr) return forwarding_executor::borrow(bytes, on);
    void* const memory = from.allocate(from.user, bytes, device_, on);
    if (memory == nullptr) throw out_of_memory(fmt::format("the allocator has no {} bytes for device {}", bytes, device_));
    try {
      if (const auto address = reinterpret_cast<std::uintptr_t>(memory); address % 256 != 0)
        throw bad_request(fmt::format("the allocator's memory is at address {:#x}: expected a multiple of 256", address));
      const std::scoped_lock lock(change_);
      lent_.emplace(memory, loan{from, bytes});
    } catch (...) {
      from.deallocate(from.user, memory, bytes, device_, on);
      throw;
    }
    return memory;
  }
  // To the allocator that it came from, whichever is in use now.
  void give_back(void* memory, stream on) const noexcept override {
    if (const loan back = taken_off(memory); back.from.deallocate != nullptr)
      back.from.deallocate(back.from.user, memory, back.bytes, device_, on);
    else
      forwarding_executor::give_back(memory, on);
  }

 private:
  struct loan {
    allocator from;
    std::size_t bytes = 0;
  };
  // Off the list before the allocator has it back: it may hand it out again at once.
  loan taken_off(void* memory) const noexcept {
    const std::scoped_lock lock(change_);
    const auto found = lent_.find(memory);
    if (found == lent_.end()) return {};
    const loan back = found->second;
    lent_.erase(found);
    return back;
  }

  int device_;
  mutable std::mutex change_;
  mutable std::unordered_map<void*, loan> lent_;
};

}  // namespace

void set_allocator(const allocator& to) {
  if ((to.allocate == nullptr) != (to.deallocate == nullptr))
    throw bad_request(
        fmt::format("the allocator has no function to {}: expected both, or neither", to.allocate == nullptr ? "allocate" : "deallocate"));
  const std::scoped_lock lock(in_use().change);
  in_use().now = to;
}

std::shared_ptr<const executor> with_allocator(std::shared_ptr<const executor> of, int device) {
  return std::make_shared<const lent_executor>(std::move(of), device);
}

}  // namespace antiphase::c_api

antiphase_status antiphase_set_allocator(antiphase_allocate allocate, antiphase_deallocate deallocate, void* user) {
  return antiphase::c_api::guarded([&] { antiphase::c_api::set_allocator({allocate, deallocate, user}); });
}
