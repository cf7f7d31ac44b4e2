// SPDX-License-Identifier: Apache-2.0
// A base for executors that wrap another one and override some of its functions.
#pragma once
#include <antiphase/executor/executor.hpp>
#include <memory>
#include <utility>

namespace antiphase {

// Forwards all calls except shares_memory_with(), which compares the executors themselves.
class forwarding_executor : public executor {
 public:
  explicit forwarding_executor(std::shared_ptr<const executor> to) : to_(std::move(to)) {}
  // `to` must outlive this executor
  explicit forwarding_executor(const executor& to) : to_(std::shared_ptr<void>(), &to) {}

  target kind() const override { return to_->kind(); }
  const device_limits& limits() const override { return to_->limits(); }
  void* allocate(std::size_t bytes) const override { return to_->allocate(bytes); }
  void deallocate(void* memory) const noexcept override { to_->deallocate(memory); }
  void copy_in(void* device, const void* host, std::size_t bytes, stream on) const override {
    to_->copy_in(device, host, bytes, on);
  }
  void copy_out(void* host, const void* device, std::size_t bytes, stream on) const override {
    to_->copy_out(host, device, bytes, on);
  }
  void copy(void* to, const void* from, std::size_t bytes, stream on) const override {
    to_->copy(to, from, bytes, on);
  }
  std::unique_lock<std::recursive_mutex> hold(stream on) const override { return to_->hold(on); }
  std::span<std::byte> scratch(std::size_t bytes, stream on) const override {
    return to_->scratch(bytes, on);
  }
  void forget_scratch(stream on) const override { to_->forget_scratch(on); }
  void* borrow(std::size_t bytes, stream on) const override { return to_->borrow(bytes, on); }
  void give_back(void* memory, stream on) const noexcept override { to_->give_back(memory, on); }
  launch_counts launch(const kernel& k, extent3 grid, const void* params, stream on) const override {
    return to_->launch(k, grid, params, on);
  }
  kernel_usage usage(const kernel& k) const override { return to_->usage(k); }
  void synchronize(stream on) const override { to_->synchronize(on); }
  tensor_map encode(const tensor_layout& tensor) const override { return to_->encode(tensor); }
  double milliseconds(const std::function<void(stream)>& queue, stream on) const override {
    return to_->milliseconds(queue, on);
  }

 protected:
  const executor& to() const { return *to_; }

 private:
  std::shared_ptr<const executor> to_;
};

}  // namespace antiphase
