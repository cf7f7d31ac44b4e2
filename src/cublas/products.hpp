// SPDX-License-Identifier: Apache-2.0
// Which products of cuBLAS's callers antiphase computes.
#pragma once
#include <antiphase.h>

#include <cstdint>
#include <optional>

#include "src/cublas/abi.hpp"
#include "src/cublas/originals.hpp"

namespace antiphase::cublas {

// A call, column-major as cuBLAS has it.
struct product {
  int op_a = 0, op_b = 0;
  std::int64_t m = 0, n = 0, k = 0;
  const void *alpha = nullptr, *a = nullptr, *b = nullptr, *beta = nullptr;
  void* c = nullptr;
  std::int64_t lda = 0, ldb = 0, ldc = 0;
  std::int64_t count = 1, a_stride = 0, b_stride = 0, c_stride = 0;
  bool is_fp32 = true;  // types of operands and of the computation
};

// While one lives in a thread, all of the thread's calls are passed on: cuBLAS may call its own functions by their names.
class passing_on {
 public:
  passing_on() noexcept;
  passing_on(const passing_on&) = delete;
  passing_on& operator=(const passing_on&) = delete;
  ~passing_on();
};

// A product as antiphase takes it.
struct request {
  antiphase_sgemm_args what;
  antiphase_stream on;
};
// Nothing: it is cuBLAS's, which judges what makes no sense.
std::optional<request> request_of(const original& of, handle of_caller, const product& p);
// One of cuBLASLt, with its arguments.
struct lt_product {
  description how = nullptr;
  const void *alpha = nullptr, *a = nullptr, *b = nullptr, *beta = nullptr, *c = nullptr;
  void* d = nullptr;
  layout of_a = nullptr, of_b = nullptr, of_c = nullptr, of_d = nullptr;
  antiphase_stream on = nullptr;
};
std::optional<request> request_of(const original& of, const lt_product& p);

// Counts a call. Whether it is looked at.
bool is_considered();
// The status, if antiphase has computed it.
std::optional<int> computed(const request& r);

// The status of a call that `read` makes a request of, if antiphase has computed it. Nothing: the original is to be called, with the same
// arguments; no result has been touched.
template <class Read> std::optional<int> taken(Read read) noexcept try {
  if (!is_considered()) return std::nullopt;
  const std::optional<request> r = read();
  return r ? computed(*r) : std::nullopt;
} catch (...) {
  return std::nullopt;  // there was no memory for what is remembered
}

}  // namespace antiphase::cublas
