// SPDX-License-Identifier: Apache-2.0
// Results of the GEMM ladder's two halves: FP32 operands, and f16 operands on Tensor Cores.
#pragma once
#include <algorithm>
#include <antiphase/gemm/cost.hpp>
#include <antiphase/gemm/tensor_core_ladder.hpp>
#include <antiphase/trace.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tool/commands/ladder/ladder.hpp"
#include "tool/measure/products/product.hpp"
#include "tool/rivals/rivals.hpp"

namespace antiphase::tool {

struct gemm_row : ladder_row {
  std::optional<timing> load, compute;  // naive cannot be split into these
  std::optional<overlap> hidden;
  std::int64_t bytes_moved = 0;
  prediction takes;  // predicted for such a device (docs/learn/model.md)
};

struct timed_rival {
  tool::rival rival;
  timing time;
  verdict result;
};

// Common properties of the steps of one half.
struct gemm_half {
  std::string_view kernel;  // prefix of their names in JSON
  std::string_view type;    // of A and B
  std::string_view rival;   // name of its times in JSON
};
constexpr gemm_half of_floats{"gemm.ladder.", "f32", "cublas_fp32"},
    of_halves{"gemm.ladder-f16.", "f16", "cublas_f16"};

// Whether there is anything that can be timed.
inline bool is_timed(const context& where, const extents& e) {
  return where.kind() == target::cuda && e.m > 0 && e.n > 0 && e.k > 0;
}

// The part of a product that the CPU executor counts: at most 128 of each extent.
inline extents few_of(const extents& e) {
  constexpr std::int64_t few = 128;
  return {std::min(e.m, few), std::min(e.n, few), std::min(e.k, few)};
}
// Multiplications and additions of a product.
inline double operations(const extents& e) {
  return 2 * static_cast<double>(e.m) * static_cast<double>(e.n) * static_cast<double>(e.k);
}

std::string gpu_table(const std::vector<gemm_row>& rows, const timed_rival& cublas, const extents& e);
std::string cpu_table(const std::vector<gemm_row>& rows);
json records(const gemm_half& half, const std::vector<gemm_row>& rows, const timed_rival& cublas,
             const extents& e, protocol_kind how, target where);

// The rows of the steps, and of the rival.
struct gemm_results {
  std::vector<gemm_row> rows;
  timed_rival cublas{};
};
// Runs the Tensor Core steps, on operands rounded to f16 first; timed on a GPU if there is anything to time.
// `progress` is called whenever results have been added.
void run_halves(const context& where, const extents& e,
                const std::vector<const gemms::tensor_core_step*>& steps, const ladder_options& options,
                gemm_results& results, const std::function<void()>& progress);

}  // namespace antiphase::tool
