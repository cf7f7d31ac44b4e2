// SPDX-License-Identifier: Apache-2.0
// Running a grid on a pool of workers, for the CPU executor and the checker.
#pragma once
#include <antiphase/executor/cpu/cpu_executor.hpp>
#include <memory>
#include <mutex>
#include <vector>

#include "core/per_process.hpp"
#include "worker.hpp"

namespace antiphase::cpu_detail {

// Idle workers keep their fibers and stacks from launch to launch.
class worker_pool {
 public:
  // options.workers is at least 1, and 1 with an observer. `chosen`: the blocks to run, by index in the grid;
  // empty: all.
  launch_counts launch(const cpu_options& options, const kernel& k, extent3 grid, const void* params,
                       stream on, observer* watch, std::span<const std::uint64_t> chosen = {});

 private:
  std::unique_ptr<worker> take();
  void give_back(std::unique_ptr<worker> w);

  struct idle {
    std::mutex mutex;
    std::vector<std::unique_ptr<worker>> workers;
  };
  per_process<idle> idle_;
};

kernel_usage usage(const device_limits& limits, const kernel& k);

}  // namespace antiphase::cpu_detail
