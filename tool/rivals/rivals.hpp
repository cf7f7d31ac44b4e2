// SPDX-License-Identifier: Apache-2.0
// What the ladders are compared with on a GPU: cuBLAS and CUB, where they exist.
#pragma once
#include <antiphase/context.hpp>
#include <antiphase/core/element.hpp>
#include <antiphase/gemm/problem.hpp>
#include <antiphase/gemm/tensor_core.hpp>
#include <antiphase/scan/problem.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tool/measure/measure.hpp"

namespace antiphase::tool {

struct rival {
  std::string key = {};  // what its times are called in JSON
  std::string name;
  work run = {};             // empty if it is not there
  std::string why_not = {};  // then
  std::string version = {};  // else: of the library
  std::string mode = {};     // and which of its functions runs, how
  explicit operator bool() const { return static_cast<bool>(run); }
};

// C = A * B in FP32 by cuBLAS, a library that is looked for at run time. The matrices are the device's and
// densely packed, C is row-major, A and B are row- or column-major.
rival cublas_product(const gemms::problem& p);
// The same of f16 matrices, added up in FP32 into an FP32 matrix, whose rows may be padded.
rival cublas_product(const gemms::tensor_core_problem& p);

// Products as cuBLAS is fastest at them, of a whole run: library handles and a workspace are made once.
class fast_cublas {
 public:
  explicit fast_cublas(const context& where);
  // Who computes C = A B + beta C of `count` products whose matrices lie one behind the other: cublas_sgemm,
  // cublasSgemm in its default math, which for FP32 is FP32 in every step, and cublas_lt, the first algorithm
  // that cublasLt's heuristics name. Matrices as of cublas_product(). They keep what they need.
  std::vector<rival> of(const gemms::problem& p, std::int64_t count) const;

 private:
  struct state;
  std::shared_ptr<state> state_;
};

// Inclusive sums of `count` elements in device memory by CUB, which is compiled in where there is a CUDA
// toolkit. Its workspace is there before the first run.
rival cub_sums(const context& where, element type, const void* in, void* out, std::int64_t count);
// The same sums, of f32 and f64, as CUB has them since CCCL 3.5: with the same bits in every run. Not there,
// and without a reason why not, in other cases: integers are the same anyway.
rival cub_sums_run_to_run(const context& where, element type, const void* in, void* out, std::int64_t count);
// Inclusive scans of the elements of custom_scan.hpp, likewise.
rival cub_custom_scan(const context& where, int size, const void* in, void* out, std::int64_t count);
// The same sums for the segments that 32-bit keys tell apart, of f32, f64, i32 and i64.
rival cub_sums_by_key(const context& where, element type, const std::int32_t* keys, const void* in, void* out,
                      std::int64_t count);

// A copy on the device, of `bytes` that do not overlap.
rival device_copy(const context& where, void* to, const void* from, std::size_t bytes);

}  // namespace antiphase::tool
