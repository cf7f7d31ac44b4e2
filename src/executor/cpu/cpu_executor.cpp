// Launching a grid on the CPU: workers, memory, limits.
#include <antiphase/executor/cpu/cpu_executor.hpp>

#include <fmt/format.h>

#include <antiphase/core/error.hpp>
#include <chrono>
#include <cstring>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "worker.hpp"

namespace antiphase {
namespace {

using cpu_detail::launch_state;
using cpu_detail::worker;

constexpr std::align_val_t memory_alignment{256};

class cpu_executor final : public executor {
 public:
  explicit cpu_executor(const cpu_options& options) : options_(options) {
    if (options.workers < 0) throw bad_request(fmt::format("workers = {}: expected 0 (one per core) or more", options.workers));
    if (options.resident_blocks < 0)
      throw bad_request(fmt::format("resident_blocks = {}: expected 0 (automatic) or more", options.resident_blocks));
    if (options.order == schedule::script && options.script == nullptr) throw bad_request("schedule::script: there is no script to follow");
    if (options.script != nullptr && options.workers != 1)
      throw bad_request(fmt::format("workers = {}: a script is written down and followed by one worker, expected 1", options.workers));
    if (options_.workers == 0) options_.workers = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  }

  target kind() const override { return target::cpu; }
  const device_limits& limits() const override { return options_.limits; }

  void* allocate(std::size_t bytes) const override { return ::operator new(std::max<std::size_t>(bytes, 1), memory_alignment); }
  void deallocate(void* memory) const noexcept override { ::operator delete(memory, memory_alignment); }
  void copy_in(void* device, const void* host, std::size_t bytes, stream) const override { move(device, host, bytes); }
  void copy_out(void* host, const void* device, std::size_t bytes, stream) const override { move(host, device, bytes); }
  void copy(void* to, const void* from, std::size_t bytes, stream) const override { move(to, from, bytes); }
  void synchronize(stream) const override {}
  double milliseconds(const std::function<void(stream)>& queue, stream on) const override {
    const auto start = std::chrono::steady_clock::now();
    queue(on);
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  }

  kernel_usage usage(const kernel& k) const override {
    kernel_usage u{.shared_bytes = k.shared_bytes};
    if (!refusal(options_.limits, k)) u.blocks_per_multiprocessor = resident_blocks(options_.limits, k, 0);
    u.occupancy = static_cast<double>(u.blocks_per_multiprocessor * k.threads) / options_.limits.threads_per_multiprocessor;
    return u;
  }

  launch_counts launch(const kernel& k, extent3 grid, const void* params, stream) const override {
    if (k.body == nullptr) throw bad_request(fmt::format("kernel {} was not compiled for the CPU executor", k.name));
    if (const auto why = refusal(options_.limits, k)) throw not_supported(*why);
    if (grid.count() == 0) return {};
    launch_state launch{.what = k, .grid = grid, .params = params, .options = options_};
    const auto count = static_cast<unsigned>(std::min<std::uint64_t>(static_cast<unsigned>(options_.workers), grid.count()));
    launch.options.workers = static_cast<int>(count);
    int resident = options_.resident_blocks;
    if (resident == 0) resident = k.blocks == residency::together ? 2 * std::max(1, options_.limits.multiprocessors) : 1;
    resident = static_cast<int>(std::min<std::uint64_t>(static_cast<unsigned>(resident), grid.count()));

    std::vector<std::unique_ptr<worker>> workers;
    for (unsigned i = 0; i < count; ++i) workers.push_back(take());
    std::vector<std::exception_ptr> failures(count);
    const auto work = [&](unsigned i) {
      try {
        workers[i]->run(launch, i, resident);
      } catch (...) {
        failures[i] = std::current_exception();
      }
    };
    std::vector<std::thread> others;
    for (unsigned i = 1; i < count; ++i) others.emplace_back(work, i);
    work(0);
    for (auto& t : others) t.join();
    launch_counts total;
    for (auto& w : workers) {
      total += w->counts;
      give_back(std::move(w));
    }
    for (auto& failure : failures)
      if (failure) std::rethrow_exception(failure);
    return total;
  }

 private:
  static void move(void* to, const void* from, std::size_t bytes) {
    if (bytes > 0) std::memmove(to, from, bytes);
  }
  std::unique_ptr<worker> take() const {
    const std::lock_guard lock(idle_mutex_);
    if (idle_.empty()) return std::make_unique<worker>();
    auto w = std::move(idle_.back());
    idle_.pop_back();
    return w;
  }
  void give_back(std::unique_ptr<worker> w) const {
    const std::lock_guard lock(idle_mutex_);
    idle_.push_back(std::move(w));
  }

  cpu_options options_;
  mutable std::mutex idle_mutex_;  // workers keep their fibers and stacks from launch to launch
  mutable std::vector<std::unique_ptr<worker>> idle_;
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

std::shared_ptr<const executor> make_cpu_executor(const cpu_options& options) { return std::make_shared<const cpu_executor>(options); }

}  // namespace antiphase
