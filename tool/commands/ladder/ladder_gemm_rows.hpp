// SPDX-License-Identifier: Apache-2.0
// What the two halves of the GEMM ladder tell of their steps: FP32 operands, and f16 ones on Tensor Cores.
#pragma once
#include <antiphase/gemm/law.hpp>
#include <antiphase/gemm/tensor_core_ladder.hpp>
#include <antiphase/trace.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tool/commands/ladder/ladder.hpp"
#include "tool/measure/product.hpp"
#include "tool/rivals/rivals.hpp"

namespace antiphase::tool {

struct gemm_row : ladder_row {
  std::optional<timing> load, compute;  // naive has no such parts
  std::optional<overlap> hidden;
  std::int64_t bytes_moved = 0;
  prediction takes;  // by the model, on such a device (docs/model.md)
};

struct timed_rival {
  rival who;
  timing time;
  verdict result;
};

// What the steps of a half have in common.
struct gemm_half {
  std::string_view kernel;  // their names in JSON begin with it
  std::string_view type;    // of A and B
  std::string_view rival;   // name of its times in JSON
};
constexpr gemm_half of_floats{"gemm.ladder.", "f32", "cublas_fp32"},
    of_halves{"gemm.ladder-f16.", "f16", "cublas_f16"};

// Whether times can be taken.
inline bool is_timed(const context& where, const extents& e) {
  return where.kind() == target::cuda && e.m > 0 && e.n > 0 && e.k > 0;
}

std::string gpu_table(const std::vector<gemm_row>& rows, const timed_rival& cublas, const extents& e);
std::string cpu_table(const std::vector<gemm_row>& rows);
json records(const gemm_half& half, const std::vector<gemm_row>& rows, const timed_rival& cublas,
             const extents& e, protocol_kind how, target where);

// The rows of the steps, and what they are compared with.
struct gemm_results {
  std::vector<gemm_row> rows;
  timed_rival cublas{};
};
// The steps on Tensor Cores, of operands that are rounded to f16 first; timed on a GPU if there is anything
// to time. `progress` is called whenever there is more in the results.
void run_halves(const context& where, const extents& e,
                const std::vector<const gemms::tensor_core_step*>& steps, const protocol& how,
                const common_options& options, gemm_results& results, const std::function<void()>& progress);

}  // namespace antiphase::tool
