// SPDX-License-Identifier: Apache-2.0
// Requests to memory of a run of kernels, over all of their lines.
#pragma once
#include <antiphase/context.hpp>
#include <cstdint>
#include <functional>

namespace antiphase::tool {

constexpr std::uint64_t sector_bytes = 32;

// A request is one instruction of a warp; docs/check/plain_cuda.md tells what is counted.
struct request_totals {
  std::uint64_t requests = 0, lanes = 0;  // lanes: active ones, over all requests
  std::uint64_t global_requests = 0, global_bytes = 0, global_sectors = 0, global_ideal = 0;
  // Atomics are requests, and take no wavefronts here.
  std::uint64_t shared_requests = 0, shared_bytes = 0, wavefronts = 0, ideal = 0;
  std::uint64_t copied_bytes = 0;  // by the copy engine

  // Bytes that global memory gives and takes, caches aside.
  std::uint64_t moved() const { return sector_bytes * global_sectors + copied_bytes; }
};

inline double ratio(std::uint64_t a, std::uint64_t b) {
  return b == 0 ? 0 : static_cast<double>(a) / static_cast<double>(b);
}

// Runs `program` once with the checker's kernels, as antiphase count does. Throws not_supported in a build
// without the checker, verification_failed where the run has faults.
request_totals count_requests(const std::function<void(const context&)>& program);

}  // namespace antiphase::tool
