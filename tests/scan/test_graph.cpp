// SPDX-License-Identifier: Apache-2.0
// Scans in CUDA graphs: captured once, replayed with other data and next to other launches on the same
// workspace.
#include <cuda_runtime.h>

#include "tests/scan/any_scan.hpp"

namespace antiphase::scan_test {
namespace {

TEST(scan_graph, is_replayed_Cuda) {
  std::string why;
  if (cuda_devices(&why).empty()) GTEST_SKIP() << "no GPU: " << why;
  const context where = context::on("cuda");
  if (where.limits().major < 8) GTEST_SKIP() << "no single pass on " << where.limits().name;
  constexpr std::int64_t n = 1000003;
  constexpr auto size = static_cast<std::size_t>(n);
  device_array<std::int32_t> in(where, size), sums(where, size), largest(where, size);
  const scans::problem add{.type = element::i32, .in = in.data(), .out = sums.data(), .length = n};
  const scans::problem pick{.type = element::i32,
                            .operation = scan_operation::max,
                            .kind = scan_kind::exclusive,
                            .direction = scan_direction::reverse,
                            .in = in.data(),
                            .out = largest.data(),
                            .length = n};
  device_array<std::byte> memory(where, scan_workspace(add));
  const std::span<std::byte> workspace(memory.data(), memory.size());
  initialise_scan_workspace(where, workspace);

  cudaStream_t on = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&on, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(on, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  for (int i = 0; i < 3; ++i) {
    scan(where, add, {.stream = on, .workspace = workspace});
    scan(where, pick, {.stream = on, .workspace = workspace});
  }
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(on, &graph), cudaSuccess);
  cudaGraphExec_t ready = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&ready, graph, 0), cudaSuccess);

  for (int replay = 0; replay < 50; ++replay) {
    std::vector<std::int32_t> host(size);
    for (std::size_t i = 0; i < size; ++i)
      host[i] = static_cast<std::int32_t>(hash(i + static_cast<std::uint64_t>(replay) * size));
    in.copy_from(host);
    ASSERT_EQ(cudaGraphLaunch(ready, on), cudaSuccess);
    if (replay % 3 == 0)
      scan(where, {.type = element::i32, .in = in.data(), .out = sums.data(), .length = n},
           {.stream = on, .workspace = workspace});
    ASSERT_EQ(cudaStreamSynchronize(on), cudaSuccess);
    const auto added = sums.to_host(), picked = largest.to_host();
    std::uint32_t sum = 0;
    std::int32_t most = std::numeric_limits<std::int32_t>::lowest();
    for (std::size_t i = 0; i < size; ++i) {
      sum += static_cast<std::uint32_t>(host[i]);
      ASSERT_EQ(static_cast<std::uint32_t>(added[i]), sum) << "replay " << replay << ", element " << i;
      ASSERT_EQ(picked[size - 1 - i], most) << "replay " << replay << ", element " << size - 1 - i;
      most = std::max(most, host[size - 1 - i]);
    }
  }
  cudaGraphExecDestroy(ready);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(on);
}

// Several passes borrow their memory from the stream, which a graph records.
TEST(scan_graph, needs_no_workspace_for_several_passes_Cuda) {
  std::string why;
  if (cuda_devices(&why).empty()) GTEST_SKIP() << "no GPU: " << why;
  const context where = context::on("cuda");
  constexpr std::size_t size = 300'007;
  device_array<std::uint32_t> in(where, size), sums(where, size);
  const scan_problem add{.type = element::u32, .in = in.data(), .out = sums.data(), .length = size};
  cudaStream_t on = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&on, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(on, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  scan(where, add, {.policy = "items", .stream = on});
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(on, &graph), cudaSuccess);
  cudaGraphExec_t ready = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&ready, graph, 0), cudaSuccess);
  for (std::uint64_t replay = 0; replay < 10; ++replay) {
    std::vector<std::uint32_t> host(size);
    for (std::size_t i = 0; i < size; ++i) host[i] = static_cast<std::uint32_t>(hash(i + replay * size));
    in.copy_from(host);
    ASSERT_EQ(cudaGraphLaunch(ready, on), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(on), cudaSuccess);
    const auto added = sums.to_host();
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < size; ++i)
      ASSERT_EQ(added[i], sum += host[i]) << "replay " << replay << ", element " << i;
  }
  cudaGraphExecDestroy(ready);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(on);
}

}  // namespace
}  // namespace antiphase::scan_test
