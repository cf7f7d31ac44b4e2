// SPDX-License-Identifier: Apache-2.0
// Which products of cuBLAS's callers antiphase computes.
#pragma once
#include <antiphase.h>

#include <cstdint>
#include <optional>
#include <variant>

#include "preload/cublas/abi.hpp"
#include "preload/cublas/interpose/originals.hpp"
#include "preload/cublas/report/report.hpp"

namespace antiphase::cublas {

// True if linear layers compute a product with operands and a result of these types: 16 bits with FP32 sums,
// if all products are to be batch-invariant.
bool are_of_layer(int a, int b, int c, int compute);

// Form of a call. All but products are split into blocks: triangles.hpp.
enum class family { product, solve, multiply, symmetric, rank_k, rank_kx, rank_2k };

// A call in cuBLAS's terms, column-major.
struct product {
  family kind = family::product;
  int op_a = 0, op_b = 0, side = side_left, fill = fill_lower, diagonal = diagonal_stored;
  std::int64_t m = 0, n = 0, k = 0;
  const void *alpha = nullptr, *a = nullptr, *b = nullptr, *beta = nullptr, *c = nullptr;
  std::int64_t lda = 0, ldb = 0, ldc = 0;
  std::int64_t count = 1, step_a = 0, step_b = 0, step_c = 0;
  bool by_pointers = false;  // a, b and c are device arrays of pointers to the matrices
  int type_a = type_f32, type_b = type_f32, type_c = type_f32;
  int compute = compute_32f, algorithm = 0;  // algorithm: only cuBLAS uses it

  bool is_f32() const { return type_a == type_f32 && type_b == type_f32 && type_c == type_f32; }
  bool is_16_bit() const { return !by_pointers && are_of_layer(type_a, type_b, type_c, compute); }
};

// While it lives, all calls of its thread are passed on: cuBLAS may call its own functions by name.
class passing_on {
 public:
  passing_on() noexcept;
  passing_on(const passing_on&) = delete;
  passing_on& operator=(const passing_on&) = delete;
  ~passing_on();
};

struct triangle;

// A product in antiphase's terms.
struct request {
  antiphase_sgemm_args args;
  antiphase_stream stream;
  listed_product listed;
  // The types of a product in 16 bits, of its operands and of its result. `args` then has its addresses.
  int type = type_f32, result = type_f32;
  // Null for a product; otherwise the call, and `args` has C alone.
  const triangle* of_triangle = nullptr;
};
// A product left to cuBLAS, as far as it was understood, and why.
struct refusal {
  outcome why;
  listed_product listed;
  prediction predicted = {};
  antiphase_stream stream = nullptr;  // only for profiles
};
using reading = std::variant<refusal, request>;
// Arguments with device and precision from the environment.
antiphase_sgemm_args arguments_as_said();
// Reason not to take a handle's products; `computed`: none. `on`: the handle's stream.
outcome asked_of(const original& of, handle of_caller, bool is_16_bit, antiphase_stream& on);
// Outcome of a product whose call returned this status.
outcome outcome_of(antiphase_status status);

// A request only where cuBLAS would compute: invalid calls are left for cuBLAS to reject.
reading request_of(const original& of, function by, handle of_caller, const product& p);

// A call of cublasLtMatmul.
struct lt_product {
  description desc = nullptr;
  const void *alpha = nullptr, *a = nullptr, *b = nullptr, *beta = nullptr, *c = nullptr;
  void* d = nullptr;
  layout of_a = nullptr, of_b = nullptr, of_c = nullptr, of_d = nullptr;
  antiphase_stream stream = nullptr;
};
reading request_of(const original& of, handle of_caller, const lt_product& p);

// True if the call may be taken at all; counts it if not.
bool is_considered();
// True if the arguments alone show that cuBLAS computes it; then it is counted. Most calls end here. They
// find this code cold, so cache lines touched matter more than instructions.
bool is_passed_on_at_once(const product& p);
// Computes by antiphase, or by the original: `call(context, C)`, with a null C for the caller's own. Returns
// the status.
int carried_out(const reading& r, int (*call)(void* context, void* in_place_of_c), void* context) noexcept;

// Carries out a call: `read` makes a request or refusal of it, `call(in_place_of_c)` calls the original.
// Returns the status. If antiphase does not compute it, the original is called once, with the same arguments,
// before any result is touched.
template <class Read, class Call> int carried_out(Read read, Call call) noexcept {
  if (!is_considered()) return call(nullptr);
  std::optional<reading> all;
  try {
    all = read();
  } catch (...) {  // no memory for the caches
    return call(nullptr);
  }
  return carried_out(
      *all, [](void* context, void* in_place_of_c) { return (*static_cast<Call*>(context))(in_place_of_c); },
      &call);
}

}  // namespace antiphase::cublas
