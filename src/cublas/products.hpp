// SPDX-License-Identifier: Apache-2.0
// Which products of cuBLAS's callers antiphase computes.
#pragma once
#include <antiphase.h>

#include <cstdint>
#include <optional>
#include <variant>

#include "src/cublas/abi.hpp"
#include "src/cublas/originals.hpp"
#include "src/cublas/report.hpp"

namespace antiphase::cublas {

// A call, column-major as cuBLAS has it.
struct product {
  int op_a = 0, op_b = 0;
  std::int64_t m = 0, n = 0, k = 0;
  const void *alpha = nullptr, *a = nullptr, *b = nullptr, *beta = nullptr, *c = nullptr;
  std::int64_t lda = 0, ldb = 0, ldc = 0;
  std::int64_t count = 1, step_a = 0, step_b = 0, step_c = 0;
  bool by_pointers = false;  // a, b and c are arrays of pointers to the members', on the device
  int type_a = type_f32, type_b = type_f32, type_c = type_f32;
  int compute = compute_32f, algorithm = 0;  // the algorithm is for cuBLAS alone

  bool is_f32() const { return type_a == type_f32 && type_b == type_f32 && type_c == type_f32; }
};

// While one lives in a thread, all of the thread's calls are passed on: cuBLAS may call its own functions by
// their names.
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
  listed_product as;
};
// As far as it is understood, and why it is cuBLAS's.
struct refusal {
  outcome why;
  listed_product as;
  prediction predicted = {};
  antiphase_stream on = nullptr;  // of profiles alone
};
using reading = std::variant<refusal, request>;
// With what the environment says.
antiphase_sgemm_args arguments_as_said();
bool is_fp32(int compute);

// It makes no sense to take what cuBLAS refuses: it judges that.
reading request_of(const original& of, function by, handle of_caller, const product& p);

// One of cuBLASLt, with its arguments.
struct lt_product {
  description how = nullptr;
  const void *alpha = nullptr, *a = nullptr, *b = nullptr, *beta = nullptr, *c = nullptr;
  void* d = nullptr;
  layout of_a = nullptr, of_b = nullptr, of_c = nullptr, of_d = nullptr;
  antiphase_stream on = nullptr;
};
reading request_of(const original& of, handle of_caller, const lt_product& p);

// Whether somebody might take it; counts it if not.
bool is_considered();
// Whether the arguments alone tell that cuBLAS computes it; counts it if so. Most calls end here, behind code
// that has left the caches, so that lines touched count, not instructions.
bool is_passed_on_at_once(const product& p);
// A call, by antiphase or by its original, which `call(context, C)` calls: with its own C if that is null.
// Its status.
int carried_out(const reading& r, int (*call)(void* context, void* in_place_of_c), void* context) noexcept;

// The status of a call that `read` makes a request of, and whose original is `call(in_place_of_c)`. Where it
// is not computed by antiphase the original is called, once, with the same arguments, and no result has been
// touched before.
template <class Read, class Call> int carried_out(Read read, Call call) noexcept {
  if (!is_considered()) return call(nullptr);
  std::optional<reading> all;
  try {
    all = read();
  } catch (...) {  // there was no memory for what is remembered
    return call(nullptr);
  }
  return carried_out(
      *all, [](void* context, void* in_place_of_c) { return (*static_cast<Call*>(context))(in_place_of_c); },
      &call);
}

}  // namespace antiphase::cublas
