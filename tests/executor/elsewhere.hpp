// SPDX-License-Identifier: Apache-2.0
// Executors that run nothing, and executors that record calls.
#pragma once
#include <antiphase/core/error.hpp>
#include <antiphase/executor/cpu/cpu_executor.hpp>
#include <antiphase/executor/forwarding_executor.hpp>
#include <string>
#include <vector>

namespace antiphase::test {

// Reports itself as a GPU of given limits, or of a given compute capability, for the choice of kernels.
class stands_for_a_gpu : public forwarding_executor {
 public:
  explicit stands_for_a_gpu(const device_limits& limits)
      : forwarding_executor(make_cpu_executor()), limits_(limits) {}
  stands_for_a_gpu(int major, int minor) : stands_for_a_gpu(simulated_device()) {
    limits_.major = major;
    limits_.minor = minor;
  }
  target kind() const override { return target::cuda; }
  const device_limits& limits() const override { return limits_; }

 private:
  device_limits limits_;
};

// Records calls for memory, order and waiting by name; launch number `fails`, from 0, fails.
class written_down : public forwarding_executor {
 public:
  explicit written_down(int fails = -1)
      : forwarding_executor(make_cpu_executor({.workers = 1})), fails_(fails) {}
  std::vector<std::string> calls() const { return calls_; }

  void* allocate(std::size_t bytes) const override {
    calls_.push_back("allocate");
    return forwarding_executor::allocate(bytes);
  }
  std::span<std::byte> scratch(std::size_t bytes, stream on) const override {
    calls_.push_back("scratch");
    return forwarding_executor::scratch(bytes, on);
  }
  void* borrow(std::size_t bytes, stream on) const override {
    calls_.push_back("borrow " + std::to_string(bytes));
    return forwarding_executor::borrow(bytes, on);
  }
  void give_back(void* memory, stream on) const noexcept override {
    calls_.push_back("give back");
    forwarding_executor::give_back(memory, on);
  }
  void synchronize(stream on) const override {
    calls_.push_back("synchronize");
    forwarding_executor::synchronize(on);
  }
  launch_counts launch(const kernel& k, extent3 grid, const void* params, stream on) const override {
    if (launches_++ == fails_) throw device_error("a launch that fails");
    calls_.push_back(k.name);
    return forwarding_executor::launch(k, grid, params, on);
  }

 private:
  mutable std::vector<std::string> calls_;
  mutable int launches_ = 0;
  int fails_;
};

}  // namespace antiphase::test
