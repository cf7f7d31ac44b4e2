// SPDX-License-Identifier: Apache-2.0
// Libraries that the ladders are compared with on a GPU: cuBLAS and CUB, where available.
#pragma once
#include <antiphase/context.hpp>
#include <antiphase/core/element.hpp>
#include <antiphase/gemm/problem.hpp>
#include <antiphase/gemm/tensor_core_ladder.hpp>
#include <antiphase/linear.hpp>
#include <antiphase/scan/problem.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tool/measure/measure.hpp"

namespace antiphase::tool {

struct rival {
  std::string key = {};  // name of its times in JSON
  std::string name;
  work run = {};             // empty if not available
  std::string why_not = {};  // if not available
  std::string version = {};  // of the library, if available
  std::string mode = {};     // the function that runs, and its settings
  explicit operator bool() const { return static_cast<bool>(run); }
};

// C = A * B in FP32 by cuBLAS, which is loaded at run time. The matrices are in device memory, without
// padding; C is row-major, A and B are row- or column-major.
rival cublas_product(const gemms::problem& p);
// The same for f16 matrices, summed in FP32 into an FP32 matrix; rows may be padded.
rival cublas_product(const gemms::tensor_core_problem& p);

// The fastest products of cuBLAS and cublasLt for one run of the program: library handles and a workspace are
// created once.
class fast_cublas {
 public:
  explicit fast_cublas(const context& where);
  // Rivals for C = A B + beta C, `count` products with contiguous matrices. cublas_sgemm: cublasSgemm in its
  // default math, which for FP32 is FP32 in every step. cublas_lt: the first algorithm of cublasLt's
  // heuristics. Matrices as for cublas_product(). The rivals keep the handles and the workspace alive.
  std::vector<rival> of(const gemms::problem& p, std::int64_t count) const;
  // Y = X W^T of one member, without bias, activation and residual, by cublasGemmEx in its default math.
  rival of(const linear_problem& p) const;

 private:
  struct state;
  std::shared_ptr<state> state_;
};

// Inclusive sums of `count` elements in device memory by CUB, which is compiled in if there is a CUDA
// toolkit. Its workspace is allocated before the first run.
rival cub_sums(const context& where, element type, const void* in, void* out, std::int64_t count);
// The same sums of f32 or f64 with identical bits in every run, which CUB offers since CCCL 3.5. Otherwise
// not available, with an empty why_not: integer sums are reproducible anyway.
rival cub_sums_run_to_run(const context& where, element type, const void* in, void* out, std::int64_t count);
// Inclusive scans of the elements of custom_scan.hpp by CUB.
rival cub_custom_scan(const context& where, int size, const void* in, void* out, std::int64_t count);
// The same sums for segments given by 32-bit keys, for f32, f64, i32 and i64.
rival cub_sums_by_key(const context& where, element type, const std::int32_t* keys, const void* in, void* out,
                      std::int64_t count);

// A copy of `bytes` on the device; the ranges must not overlap.
rival device_copy(const context& where, void* to, const void* from, std::size_t bytes);

}  // namespace antiphase::tool
