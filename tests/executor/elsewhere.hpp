// SPDX-License-Identifier: Apache-2.0
// Executors that run nothing, and those that write down what is asked of another.
#pragma once
#include <antiphase/core/error.hpp>
#include <antiphase/executor/cpu/cpu_executor.hpp>
#include <antiphase/executor/executor.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace antiphase::test {

// All calls go on to another executor, under whatever kind and limits.
class passes_on : public executor {
 public:
  explicit passes_on(std::shared_ptr<const executor> to) : to_(std::move(to)) {}
  target kind() const override { return to_->kind(); }
  const device_limits& limits() const override { return to_->limits(); }
  void* allocate(std::size_t bytes) const override { return to_->allocate(bytes); }
  void deallocate(void* memory) const noexcept override { to_->deallocate(memory); }
  void copy_in(void* device, const void* host, std::size_t bytes, stream on) const override { to_->copy_in(device, host, bytes, on); }
  void copy_out(void* host, const void* device, std::size_t bytes, stream on) const override { to_->copy_out(host, device, bytes, on); }
  void copy(void* to, const void* from, std::size_t bytes, stream on) const override { to_->copy(to, from, bytes, on); }
  std::unique_lock<std::recursive_mutex> hold(stream on) const override { return to_->hold(on); }
  std::span<std::byte> scratch(std::size_t bytes, stream on) const override { return to_->scratch(bytes, on); }
  void forget_scratch(stream on) const override { to_->forget_scratch(on); }
  void* borrow(std::size_t bytes, stream on) const override { return to_->borrow(bytes, on); }
  void give_back(void* memory, stream on) const noexcept override { to_->give_back(memory, on); }
  launch_counts launch(const kernel& k, extent3 grid, const void* params, stream on) const override {
    return to_->launch(k, grid, params, on);
  }
  kernel_usage usage(const kernel& k) const override { return to_->usage(k); }
  void synchronize(stream on) const override { to_->synchronize(on); }
  tensor_map encode(const tensor_layout& tensor) const override { return to_->encode(tensor); }
  double milliseconds(const std::function<void(stream)>& queue, stream on) const override { return to_->milliseconds(queue, on); }

 private:
  std::shared_ptr<const executor> to_;
};

// A GPU of some compute capability, as far as choosing among kernels goes.
class stands_for_a_gpu : public passes_on {
 public:
  stands_for_a_gpu(int major, int minor) : passes_on(make_cpu_executor()), limits_(simulated_device()) {
    limits_.major = major;
    limits_.minor = minor;
  }
  target kind() const override { return target::cuda; }
  const device_limits& limits() const override { return limits_; }

 private:
  device_limits limits_;
};

// The calls that have to do with memory, order and waiting, in words; the launch of that number, from 0, fails.
class written_down : public passes_on {
 public:
  explicit written_down(int fails = -1) : passes_on(make_cpu_executor({.workers = 1})), fails_(fails) {}
  std::vector<std::string> calls() const { return calls_; }

  void* allocate(std::size_t bytes) const override {
    calls_.push_back("allocate");
    return passes_on::allocate(bytes);
  }
  std::span<std::byte> scratch(std::size_t bytes, stream on) const override {
    calls_.push_back("scratch");
    return passes_on::scratch(bytes, on);
  }
  void* borrow(std::size_t bytes, stream on) const override {
    calls_.push_back("borrow " + std::to_string(bytes));
    return passes_on::borrow(bytes, on);
  }
  void give_back(void* memory, stream on) const noexcept override {
    calls_.push_back("give back");
    passes_on::give_back(memory, on);
  }
  void synchronize(stream on) const override {
    calls_.push_back("synchronize");
    passes_on::synchronize(on);
  }
  launch_counts launch(const kernel& k, extent3 grid, const void* params, stream on) const override {
    if (launches_++ == fails_) throw device_error("a launch that fails");
    calls_.push_back(k.name);
    return passes_on::launch(k, grid, params, on);
  }

 private:
  mutable std::vector<std::string> calls_;
  mutable int launches_ = 0;
  int fails_;
};

}  // namespace antiphase::test
