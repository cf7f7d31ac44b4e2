// SPDX-License-Identifier: Apache-2.0
// The last steps of the GEMM ladder: on Tensor Cores, f16 in, f32 out, by the kernels of linear layers.
#pragma once
#include <antiphase/core/half.hpp>
#include <antiphase/core/view.hpp>
#include <antiphase/executor/executor.hpp>
#include <antiphase/gemm/policy.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace antiphase::gemms {

// C = A * B with A of M x K and B of K x N in f16, C in f32, all row-major (column_stride 1). Rows of A and B
// begin at multiples of 16 bytes. Extents are arbitrary.
struct tensor_core_problem {
  matrix_view<const f16> a, b;
  matrix_view<float> c;

  AP_FN constexpr std::int64_t m() const { return c.rows; }
  AP_FN constexpr std::int64_t n() const { return c.columns; }
  AP_FN constexpr std::int64_t k() const { return a.columns; }
};

// How tiles are loaded: by all threads of a block (cp.async), or by TMA, issued by one thread.
enum class feeding { threads, engine };

struct tensor_core_step {
  const char* name;
  const char* adds;  // what it adds to the previous step
  feeding feed;
  extent2 tile;  // outputs of a block
  int tile_k, stages;
};
constexpr tensor_core_step tensor_core_steps[] = {
    {"tensor-core-2",
     "Tensor Cores: mma.sync by 8 warps of 64 x 32 outputs, 2 stages of asynchronous copies",
     feeding::threads,
     {128, 128},
     32,
     2},
    {"tensor-core-3", "3 stages", feeding::threads, {128, 128}, 32, 3},
    {"tensor-core-4", "4 stages", feeding::threads, {128, 128}, 32, 4},
    {"tensor-core-tma-1",
     "TMA and WGMMA: one thread loads, two warpgroups of 64 x 256 outputs multiply, alternately",
     feeding::engine,
     {128, 256},
     64,
     1},
    {"tensor-core-tma-2",
     "2 slots, released one step late: products never wait for a warp",
     feeding::engine,
     {128, 256},
     64,
     2},
    {"tensor-core-tma",
     "as many slots as fit, 4: the kernel of linear layers",
     feeding::engine,
     {128, 256},
     64,
     4},
};
// The features that the step requires.
constexpr device_features needs_of(const tensor_core_step& s) {
  if (s.feed == feeding::engine) return {.bulk_copies = true, .wgmma = true, .sm_90a = true};
  return {.cp_async = true, .mma_sync = true};
}
// The step of that name; throws bad_request, with the known names.
const tensor_core_step& find_tensor_core_step(std::string_view name);

struct tensor_core_instance {
  const char* step;
  kernel code;
};
std::span<const tensor_core_instance> tensor_core_instances(target where);

// Why the device cannot run the step, with the numbers; nothing if it can.
std::optional<std::string> refuses(const executor& where, const tensor_core_step& how);

// The launch of a step. Throws bad_request if the problem is not as tensor_core_problem requires,
// not_supported where refuses() has a reason.
struct tensor_core_plan {
  tensor_core_step step;
  kernel code;
  extent3 grid;
  std::shared_ptr<const void> arguments;
};
tensor_core_plan prepare(const executor& where, const tensor_core_step& how, const tensor_core_problem& p);
// The same with a kernel of one's own that takes the step's arguments, for tests.
tensor_core_plan prepare(const executor& where, const tensor_core_step& how, const kernel& code,
                         const tensor_core_problem& p);
launch_counts run(const executor& where, const tensor_core_plan& plan, stream on);

}  // namespace antiphase::gemms
