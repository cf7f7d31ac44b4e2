// SPDX-License-Identifier: Apache-2.0
// The last steps of the GEMM ladder: on Tensor Cores, f16 in, f32 out, up to the kernel of linear layers.
#pragma once
#include <antiphase/executor/executor.hpp>
#include <antiphase/gemm/tensor_core.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace antiphase::gemms {

// How tiles are loaded: by all threads of a block (cp.async), or by TMA, issued by one thread.
enum class feeding { threads, engine };

struct tensor_core_step {
  const char* name;
  const char* adds;  // what it adds to the previous step
  feeding feed;
  extent2 tile;  // outputs of a block
  int tile_k, stages;
};
constexpr tensor_core_step step_of(const char* name, const char* adds, const tensor_policy& how) {
  return {name, adds, feeding::threads, how.tile, how.tile_k, how.stages};
}
// The kernel of linear layers as a step, with so many slots of 64 k.
constexpr tensor_core_step step_of(const char* name, const char* adds, extent2 tile, int slots) {
  return {name, adds, feeding::engine, tile, 64, slots};
}
constexpr tensor_core_step tensor_core_steps[] = {
    step_of("tensor-core-2",
            "Tensor Cores: mma.sync by 8 warps of 64 x 32 outputs, 2 stages of asynchronous copies",
            tensor_policy{.stages = 2}),
    step_of("tensor-core-3", "3 stages", tensor_policy{.stages = 3}),
    step_of("tensor-core-4", "4 stages", tensor_policy{.stages = 4}),
    step_of("tensor-core-tma-1",
            "TMA and WGMMA: one thread loads, two warpgroups of 64 x 256 outputs multiply, alternately",
            {128, 256}, 1),
    step_of("tensor-core-tma-2", "2 slots, released one step late: products never wait for a warp",
            {128, 256}, 2),
    step_of("tensor-core-tma", "as many slots as fit, 4: the kernel of linear layers", {128, 256}, 4),
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
