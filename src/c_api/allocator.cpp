// SPDX-License-Identifier: Apache-2.0
#include "src/c_api/allocator.hpp"

#include <fmt/format.h>

#include <antiphase/core/error.hpp>
#include <antiphase/core/out_of_memory.hpp>
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

class lent_executor final : public executor {
 public:
  lent_executor(std::shared_ptr<const executor> of, int device) : of_(std::move(of)), device_(device) {}

  target kind() const override { return of_->kind(); }
  const device_limits& limits() const override { return of_->limits(); }
  bool shares_memory_with(const executor& other) const override { return of_->shares_memory_with(other); }
  void* allocate(std::size_t bytes) const override { return of_->allocate(bytes); }
  void deallocate(void* memory) const noexcept override { of_->deallocate(memory); }
  void copy_in(void* device, const void* host, std::size_t bytes, stream on) const override { of_->copy_in(device, host, bytes, on); }
  void copy_out(void* host, const void* device, std::size_t bytes, stream on) const override { of_->copy_out(host, device, bytes, on); }
  void copy(void* to, const void* from, std::size_t bytes, stream on) const override { of_->copy(to, from, bytes, on); }
  std::unique_lock<std::recursive_mutex> hold(stream on) const override { return of_->hold(on); }
  std::span<std::byte> scratch(std::size_t bytes, stream on) const override { return of_->scratch(bytes, on); }
  void forget_scratch(stream on) const override { of_->forget_scratch(on); }
  launch_counts launch(const kernel& k, extent3 grid, const void* params, stream on) const override {
    return of_->launch(k, grid, params, on);
  }
  kernel_usage usage(const kernel& k) const override { return of_->usage(k); }
  void synchronize(stream on) const override { of_->synchronize(on); }
  tensor_map encode(const tensor_layout& tensor) const override { return of_->encode(tensor); }
  double milliseconds(const std::function<void(stream)>& queue, stream on) const override { return of_->milliseconds(queue, on); }

  void* borrow(std::size_t bytes, stream on) const override {
    const allocator from = current_allocator();
    if (from.allocate == nullptr) return of_->borrow(bytes, on);
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
      of_->give_back(memory, on);
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

  std::shared_ptr<const executor> of_;
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
