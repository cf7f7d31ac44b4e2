// SPDX-License-Identifier: Apache-2.0
// Launching a grid on the CPU: workers, memory, limits.
#include <antiphase/executor/cpu/cpu_executor.hpp>

#include <fmt/format.h>

#include <antiphase/core/error.hpp>
#include <antiphase/core/out_of_memory.hpp>
#include <chrono>
#include <cstring>
#include <limits>
#include <new>
#include <thread>

#include "core/executor/scratch.hpp"
#include "launch.hpp"

namespace antiphase {
namespace {

constexpr std::align_val_t memory_alignment{256};

class cpu_executor final : public executor {
 public:
  explicit cpu_executor(const cpu_options& options) : options_(options) {
    if (options.workers < 0)
      throw bad_request(fmt::format("workers = {}: expected 0 (one per core) or more", options.workers));
    if (options.resident_blocks < 0)
      throw bad_request(
          fmt::format("resident_blocks = {}: expected 0 (automatic) or more", options.resident_blocks));
    const auto require = [](auto value, auto last, const char* name, const char* expected) {
      if (static_cast<int>(value) < 0 || value > last)
        throw bad_request(fmt::format("{} is {}: expected {}", name, static_cast<int>(value), expected));
    };
    require(options.order, schedule::script, "order", "one of the schedules");
    require(options.copies, landing::mixed, "copies", "landing::early, late or mixed");
    require(options.sums, tensor_sums::plain, "sums", "tensor_sums::as_hardware or plain");
    if (options.order == schedule::script && options.script == nullptr)
      throw bad_request("schedule::script: there is no script to follow");
    if (options.script != nullptr && options.workers != 1)
      throw bad_request(fmt::format(
          "workers = {}: a script is written down and followed by one worker, expected 1", options.workers));
    if (options_.workers == 0)
      options_.workers = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  }

  ~cpu_executor() override {
    scratch_.release([this](void* memory) { deallocate(memory); });
  }

  target kind() const override { return target::cpu; }
  const device_limits& limits() const override { return options_.limits; }

  void* allocate(std::size_t bytes) const override {
    constexpr auto most = static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) -
                          static_cast<std::size_t>(memory_alignment);
    if (bytes <= most)  // larger sizes overflow inside some versions of operator new
      if (void* memory = ::operator new(std::max<std::size_t>(bytes, 1), memory_alignment, std::nothrow))
        return memory;
    throw out_of_memory(fmt::format("allocating {} bytes on {} failed: there is not so much memory", bytes,
                                    options_.limits.name));
  }
  void deallocate(void* memory) const noexcept override { ::operator delete(memory, memory_alignment); }
  void copy_in(void* device, const void* host, std::size_t bytes, stream on) const override {
    move(device, host, bytes, on);
  }
  void copy_out(void* host, const void* device, std::size_t bytes, stream on) const override {
    move(host, device, bytes, on);
  }
  void copy(void* to, const void* from, std::size_t bytes, stream on) const override {
    move(to, from, bytes, on);
  }
  void synchronize(stream on) const override { hold(on); }  // waits for other threads' work
  double milliseconds(const std::function<void(stream)>& queue, stream on) const override {
    const auto start = std::chrono::steady_clock::now();
    queue(on);
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  }

  std::unique_lock<std::recursive_mutex> hold(stream on) const override { return streams_.hold(on); }
  std::span<std::byte> scratch(std::size_t bytes, stream on) const override {
    return scratch_.get(bytes, on, [&](std::size_t size) { return std::memset(allocate(size), 0, size); });
  }
  void forget_scratch(stream on) const override { scratch_.forget(on); }

  tensor_map encode(const tensor_layout& tensor) const override { return cpu_detail::encode(tensor); }
  kernel_usage usage(const kernel& k) const override { return cpu_detail::usage(options_.limits, k); }

  launch_counts launch(const kernel& k, extent3 grid, const void* params, stream on) const override {
    const auto in_order = hold(on);
    return workers_.launch(options_, k, grid, params, on, nullptr);
  }

 private:
  void move(void* to, const void* from, std::size_t bytes, stream on) const {
    const auto in_order = hold(on);
    if (bytes == 0) return;
    if (to == nullptr || from == nullptr)
      throw bad_request(fmt::format("copying {} bytes {} a null pointer: expected an address", bytes,
                                    to == nullptr ? "to" : "from"));
    std::memmove(to, from, bytes);
  }
  cpu_options options_;
  mutable cpu_detail::worker_pool workers_;
  mutable stream_locks streams_;
  mutable scratch_memory scratch_;
};

}  // namespace

device_limits simulated_device() {
  return {.name = "CPU executor",
          .major = 9,
          .minor = 0,
          .multiprocessors = 2,
          .shared_opt_in = 227 * 1024,
          .shared_per_multiprocessor = 228 * 1024};
}

std::shared_ptr<const executor> make_cpu_executor(const cpu_options& options) {
  return std::make_shared<const cpu_executor>(options);
}

}  // namespace antiphase
