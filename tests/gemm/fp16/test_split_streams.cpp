// SPDX-License-Identifier: Apache-2.0
// Products next to other work on the device, and in graphs: what only a GPU shows.
#include <cuda_runtime_api.h>

#include <cstring>
#include <utility>

#include "tests/gemm/contract.hpp"
#include "tests/own_stream.hpp"

namespace antiphase::gemm_test {
namespace {

class gemm_split_streams_Cuda : public testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (cuda_devices(&why).empty()) GTEST_SKIP() << "no GPU to test on: " << why;
  }
};

#define AP_CUDA_OK(call) ASSERT_EQ(call, cudaSuccess) << cudaGetErrorString(cudaGetLastError())

// An uncertain output here and there, and lines of few nonzeros.
product product_with_everything(std::int64_t m, std::int64_t n, std::int64_t k, float beta = 0.5f) {
  product p = product_of(random_reals(m, k, 1), random_reals(k, n, 2), 1.25f, beta);
  for (std::int64_t i = 0; i < m; i += 97)
    for (std::int64_t l = 0; l < k; ++l) p.a(i, l) = std::ldexp(p.a(i, l), -static_cast<int>(l % 50));
  for (std::int64_t i = 31; i < m; i += 211)
    for (std::int64_t l = 0; l < k; ++l) p.a(i, l) = l % (k / 3 + 1) == 2 ? p.a(i, l) : 0.f;
  for (std::int64_t j = 0; j < n; j += 89)
    for (std::int64_t l = 0; l < k; ++l) p.b(l, j) = std::ldexp(p.b(l, j), -static_cast<int>((k - l) % 50));
  return p;
}

// A product's operands on the device, and where its results go.
struct on_the_device {
  explicit on_the_device(const context& where, const product& p)
      : a(where, p.a, p.place_a), b(where, p.b, p.place_b), c(where, p.c, p.place_c), how(p) {}
  gemms::problem problem() {
    return {.a = a.view(), .b = b.view(), .c = c.view(), .alpha = how.alpha, .beta = how.beta};
  }
  matrix a, b, c;
  const product& how;
};

// Shapes of more tiles than multiprocessors, and of fewer, which clusters of blocks share.
TEST_F(gemm_split_streams_Cuda, the_same_bits_in_100_runs_beside_other_work) {
  const context where = context::on("cuda");
  const own_stream here, elsewhere;
  const std::int64_t side = 700;
  device_array<float> other(where, std::vector<float>(3 * side * side, 1));
  const auto square = [&](int i) {
    return matrix_view<float>{other.data() + i * side * side, side, side, side, 1};
  };
  for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{1900, 1700, 1003}, {260, 390, 2100}}) {
    const product p = product_with_everything(m, n, k, 0);
    const dense first = computed(where, "fp16", p);
    on_the_device memory(where, p);
    for (int run = 0; run < 100; ++run) {
      for (int i = 0; i <= run % 3; ++i)
        gemm(where, {.a = square(0), .b = square(1), .c = square(2)},
             {.policy = run % 2 ? "naive" : "strict", .stream = elsewhere.get});
      gemm(where, memory.problem(), {.policy = "fp16", .stream = here.get});
      AP_CUDA_OK(cudaStreamSynchronize(here.get));
      ASSERT_TRUE(same_bits(memory.c.read(), first))
          << "run " << run << " of " << m << " x " << n << " x " << k;
    }
    AP_CUDA_OK(cudaStreamSynchronize(elsewhere.get));
  }
}

// A captured call repeats itself with whatever its operands hold by then, without the host. By streams and
// narrow products also with partial sums in the workspace.
void expect_replays(const context& where, bool own_workspace, std::string_view policy) {
  const own_stream on;
  for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{500, 333, 517}, {130, 70, 65}, {130, 72, 4096}}) {
    SCOPED_TRACE(policy);
    product p = product_with_everything(m, n, k);
    on_the_device memory(where, p);
    const std::size_t bytes = gemm_workspace(where, memory.problem(), {.policy = policy});
    device_array<std::byte> workspace(where, bytes);
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t program = nullptr;
    AP_CUDA_OK(cudaStreamBeginCapture(on.get, cudaStreamCaptureModeGlobal));
    const gemm_options how{
        .policy = policy,
        .stream = on.get,
        .workspace = own_workspace ? std::span(workspace.data(), bytes) : std::span<std::byte>()};
    gemm(where, memory.problem(), how);
    AP_CUDA_OK(cudaStreamEndCapture(on.get, &graph));
    AP_CUDA_OK(cudaGraphInstantiate(&program, graph, 0));
    for (int replay = 0; replay < 10; ++replay) {
      p.c = memory.c.read();
      AP_CUDA_OK(cudaGraphLaunch(program, on.get));
      AP_CUDA_OK(cudaStreamSynchronize(on.get));
      const dense now = memory.c.read();
      EXPECT_TRUE(same_bits(now, computed(where, policy, p)))
          << "replay " << replay << ", " << m << " x " << n << " x " << k;
    }
    AP_CUDA_OK(cudaGraphExecDestroy(program));
    AP_CUDA_OK(cudaGraphDestroy(graph));
  }
}
TEST_F(gemm_split_streams_Cuda, graphs_with_memory_of_the_stream) {
  for (const char* policy : {"fp16", "fp64", "tf32"}) expect_replays(context::on("cuda"), false, policy);
}
TEST_F(gemm_split_streams_Cuda, graphs_with_a_workspace) {
  for (const char* policy : {"fp16", "fp64", "tf32"}) expect_replays(context::on("cuda"), true, policy);
}

// A call that is captured as a graph of its own.
cudaGraph_t captured(const context& where, on_the_device& memory, std::string_view policy, stream on,
                     int calls = 1) {
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamBeginCapture(on, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  for (int call = 0; call < calls; ++call) gemm(where, memory.problem(), {.policy = policy, .stream = on});
  EXPECT_EQ(cudaStreamEndCapture(on, &graph), cudaSuccess);
  return graph;
}
std::size_t free_memory() {
  std::size_t free = 0, total = 0;
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  return free;
}

// XLA makes each product a child graph, and changes it when its operands have moved. Graphs with nodes of
// memory may not be children.
TEST_F(gemm_split_streams_Cuda, graphs_within_others) {
  const context where = context::on("cuda");
  const own_stream on;
  for (const char* policy : {"fp16", "fp64", "tf32", "strict"}) {
    SCOPED_TRACE(policy);
    product p = product_with_everything(130, 72, 4096);
    on_the_device memory(where, p), moved(where, p);
    cudaGraph_t whole = nullptr, part = captured(where, memory, policy, on.get);
    cudaGraphNode_t node = nullptr;
    AP_CUDA_OK(cudaGraphCreate(&whole, 0));
    AP_CUDA_OK(cudaGraphAddChildGraphNode(&node, whole, nullptr, 0, part));
    AP_CUDA_OK(cudaGraphDestroy(part));
    cudaGraphExec_t program = nullptr, another = nullptr;
    AP_CUDA_OK(cudaGraphInstantiate(&program, whole, 0));
    AP_CUDA_OK(cudaGraphInstantiate(&another, whole, 0));
    const auto expect_replay = [&](cudaGraphExec_t which, on_the_device& results) {
      p.c = results.c.read();
      AP_CUDA_OK(cudaGraphLaunch(which, on.get));
      AP_CUDA_OK(cudaStreamSynchronize(on.get));
      EXPECT_TRUE(same_bits(results.c.read(), computed(where, policy, p)));
    };
    for (const cudaGraphExec_t which : {program, another}) expect_replay(which, memory);
    part = captured(where, moved, policy, on.get);
    AP_CUDA_OK(cudaGraphExecChildGraphNodeSetParams(program, node, part));
    AP_CUDA_OK(cudaGraphDestroy(part));
    AP_CUDA_OK(cudaGraphDestroy(whole));
    expect_replay(program, moved);
    expect_replay(another, memory);
    for (const cudaGraphExec_t which : {program, another}) AP_CUDA_OK(cudaGraphExecDestroy(which));
  }
}

TEST_F(gemm_split_streams_Cuda, a_thousand_captures_leave_no_memory_behind) {
  const context where = context::on("cuda");
  const own_stream on;
  const product p = product_with_everything(900, 700, 1003);
  on_the_device memory(where, p);
  cudaGraph_t whole = nullptr, part = captured(where, memory, "fp16", on.get);
  cudaGraphNode_t node = nullptr;
  cudaGraphExec_t program = nullptr;
  AP_CUDA_OK(cudaGraphCreate(&whole, 0));
  AP_CUDA_OK(cudaGraphAddChildGraphNode(&node, whole, nullptr, 0, part));
  AP_CUDA_OK(cudaGraphDestroy(part));
  AP_CUDA_OK(cudaGraphInstantiate(&program, whole, 0));
  std::size_t before = 0;
  for (int time = 0; time < 1000; ++time) {
    part = captured(where, memory, "fp16", on.get);
    AP_CUDA_OK(cudaGraphExecChildGraphNodeSetParams(program, node, part));
    AP_CUDA_OK(cudaGraphDestroy(part));
    AP_CUDA_OK(cudaGraphLaunch(program, on.get));
    if (time % 10 == 0) cudaStreamSynchronize(on.get);  // what is in flight has its memory still
    if (time == 100) before = free_memory();
  }
  const std::size_t most_growth = 4 * gemm_workspace(where, memory.problem(), {.policy = "fp16"});
  EXPECT_LE(before, free_memory() + most_growth);
  AP_CUDA_OK(cudaGraphExecDestroy(program));
  AP_CUDA_OK(cudaGraphDestroy(whole));
}

// A model's step has hundreds of products in one graph.
TEST_F(gemm_split_streams_Cuda, captured_calls_of_a_stream_share_memory) {
  const context where = context::on("cuda");
  const own_stream on;
  const product p = product_with_everything(3000, 3000, 3000);
  on_the_device memory(where, p);
  gemm(where, memory.problem(), {.policy = "fp16", .stream = on.get});
  const std::size_t before = free_memory(),
                    bytes = gemm_workspace(where, memory.problem(), {.policy = "fp16"});
  const cudaGraph_t graph = captured(where, memory, "fp16", on.get, 40);
  EXPECT_LE(before, free_memory() + 4 * bytes);
  AP_CUDA_OK(cudaGraphDestroy(graph));
}

}  // namespace
}  // namespace antiphase::gemm_test
