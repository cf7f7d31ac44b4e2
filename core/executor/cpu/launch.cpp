// SPDX-License-Identifier: Apache-2.0
// Running a grid on a pool of workers.
#include "launch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <antiphase/core/tile.hpp>
#include <thread>

#include "core/per_process.hpp"

namespace antiphase::cpu_detail {
namespace {

thread_local const int* interrupt_flag = nullptr;

constexpr std::uint64_t most_together = std::uint64_t{1} << 18;  // threads: as many as the largest GPUs hold

// Blocks of a launch resident at once on each of `workers`, in whole clusters.
int resident_blocks(const cpu_options& options, const kernel& k, extent3 grid, unsigned workers) {
  const auto cluster = static_cast<unsigned>(k.cluster);
  const std::uint64_t all = grid.count() / cluster;
  std::uint64_t clusters = 0;
  if (k.blocks == residency::together) {
    if (grid.count() > most_together / static_cast<unsigned>(k.threads))
      throw not_supported(
          fmt::format("kernel {}: its blocks wait for each other, so that all {} of {} threads must be "
                      "resident at once; the "
                      "CPU executor holds {} threads at most",
                      k.name, grid.count(), k.threads, most_together));
    clusters = ceil_div<std::uint64_t>(all, workers);
  } else {
    int blocks = options.resident_blocks;
    if (blocks == 0)
      blocks = k.blocks == residency::in_order ? 2 * std::max(1, options.limits.multiprocessors) : 1;
    clusters = std::min<std::uint64_t>(all, ceil_div(static_cast<unsigned>(blocks), cluster));
  }
  return static_cast<int>(clusters * cluster);
}

// The clock of a launch: the costs, and of a timed one the blocks that share a multiprocessor.
void model_time(launch_state& launch, bool timed, int& resident) {
  const cpu_options& options = launch.options;
  if (!timed) {
    static constinit made_once<clock_costs> plain;
    launch.costs = shared_equally(plain.get([] { return costs_on(shipped_profile("H200"), true); }),
                                  launch.kernel.threads);
    return;
  }
  const timed_machine& machine = *options.timed;
  launch.costs = costs_on(machine.profile, machine.in_memory);
  const auto cluster = launch.kernel.cluster;
  const std::uint64_t blocks = launch.grid.count();
  if (machine.blocks < 0 || static_cast<std::uint64_t>(machine.blocks) > blocks)
    throw bad_request(fmt::format("{} blocks on a multiprocessor: expected 1 to {}, as many as the grid has",
                                  machine.blocks, blocks));
  const auto spread = static_cast<int>(
      ceil_div<std::uint64_t>(blocks, static_cast<unsigned>(std::max(1, options.limits.multiprocessors))));
  const int by_limits = usage(options.limits, launch.kernel).blocks_per_multiprocessor,
            fit = machine.fit > 0 ? std::min(machine.fit, by_limits) : by_limits;
  launch.on_multiprocessor = machine.blocks > 0 ? machine.blocks : std::max(1, std::min(fit, spread));
  if (launch.kernel.blocks == residency::any)
    resident = static_cast<int>(std::min<std::uint64_t>(
        blocks, static_cast<unsigned>(ceil_div(launch.on_multiprocessor * machine.multiprocessors, cluster) *
                                      cluster)));
}

}  // namespace

launch_counts worker_pool::launch(const cpu_options& options, const kernel& k, extent3 grid,
                                  const void* params, stream on, observer* watch,
                                  std::span<const std::uint64_t> chosen) {
  if (k.body == nullptr)
    throw bad_request(fmt::format("kernel {} was not compiled for the CPU executor", k.name));
  if (const auto why = refusal(options.limits, k)) throw not_supported(*why);
  if (const auto why = misfit(k, grid); why && chosen.empty()) throw bad_request(*why);
  if (grid.count() == 0) return {};
  const auto cluster = static_cast<unsigned>(k.cluster);
  launch_state launch{.kernel = k,
                      .grid = grid,
                      .params = params,
                      .options = options,
                      .watch = watch,
                      .chosen = chosen,
                      .interrupt_flag = interrupt_flag};
  const bool timed = options.timed != nullptr && watch == nullptr;
  const auto count = static_cast<unsigned>(
      std::min<std::uint64_t>(timed ? 1u : static_cast<unsigned>(options.workers), grid.count() / cluster));
  launch.options.workers = static_cast<int>(count);
  int resident = resident_blocks(options, k, grid, count);
  model_time(launch, timed, resident);

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
  if (watch != nullptr) watch->launch_begins(launch, on);
  std::vector<std::thread> others;
  for (unsigned i = 1; i < count; ++i) others.emplace_back(work, i);
  work(0);
  for (auto& t : others) t.join();
  if (watch != nullptr) watch->launch_ends();
  launch_counts total;
  for (auto& w : workers) {
    total += w->counts;
    give_back(std::move(w));
  }
  for (auto& failure : failures)
    if (failure) std::rethrow_exception(failure);
  return total;
}

std::unique_ptr<worker> worker_pool::take() {
  auto& [mutex, workers] = idle_.get();
  const std::lock_guard lock(mutex);
  if (workers.empty()) return std::make_unique<worker>();
  auto w = std::move(workers.back());
  workers.pop_back();
  return w;
}

void worker_pool::give_back(std::unique_ptr<worker> w) {
  auto& [mutex, workers] = idle_.get();
  const std::lock_guard lock(mutex);
  workers.push_back(std::move(w));
}

kernel_usage usage(const device_limits& limits, const kernel& k) {
  kernel_usage u{.shared_bytes = k.shared_bytes};
  if (!refusal(limits, k)) {
    u.blocks_per_multiprocessor = resident_blocks(limits, k, 0);
    u.blocks_on_device = u.blocks_per_multiprocessor * limits.multiprocessors / k.cluster * k.cluster;
  }
  u.occupancy =
      static_cast<double>(u.blocks_per_multiprocessor * k.threads) / limits.threads_per_multiprocessor;
  return u;
}

}  // namespace antiphase::cpu_detail

void antiphase::set_interrupt_flag(const int* flag) noexcept { antiphase::cpu_detail::interrupt_flag = flag; }
