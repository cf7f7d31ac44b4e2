// SPDX-License-Identifier: Apache-2.0
// Outcomes of products: counted, listed one by one on request, and reported at the end of the program.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "preload/cublas/interpose/originals.hpp"

namespace antiphase::cublas {

enum class outcome {
  computed,
  disabled,       // by ANTIPHASE_DISABLE
  within_cublas,  // cuBLAS's own call
  not_fp32,       // other types, TF32 or pedantic
  factors,        // alpha and beta on the device
  unusual,        // invalid, only for cuBLAS, or an empty product
  small,          // smaller than ANTIPHASE_LEAST
  no_gain,        // no gain predicted
  unmeasured,     // neither a cost model nor a tuning of this GPU
  workspace,      // more than ANTIPHASE_WORKSPACE_LIMIT
  no_memory,
  refused,  // by antiphase: overlapping matrices, a precision the device cannot keep
  failed,   // while being queued
};
constexpr int outcomes = 13;
// such as "no gain predicted"
const char* text_of(outcome what);

// A product as listed. These members determine its cost almost completely.
struct listed_product {
  cublas::function function = {};
  std::int64_t m = 0, n = 0, k = 0, count = 1;
  char a = 'N', b = 'N', c = 'N';  // cuBLAS's N or T
  bool adds = false;               // beta is not 0
  std::uint32_t epilogue = 0;      // as numbered by cuBLASLt; 0: none
  bool operator==(const listed_product&) const = default;
};

// Kinds of calls, for the sums in reports. Those of torch's attention and scans are not cuBLAS's.
enum class call_kind { products, small_products, solvers, attention, scans };
constexpr std::size_t call_kinds = 5;
call_kind kind_of(const listed_product& p);
constexpr bool is_of_cublas(call_kind kind) { return kind < call_kind::attention; }

struct prediction {
  double seconds = 0, cublas_seconds = 0;  // of the GPU; 0: no prediction
  double host_saved = 0;                   // seconds
};

// None of these fails: without memory the product is not counted.
void count(outcome what, const prediction& predicted = {}) noexcept;
void count_computed(call_kind kind) noexcept;
// For listed products. `measured`: seconds.
void list(const listed_product& p, outcome what, const prediction& predicted) noexcept;
void list_time(const listed_product& p, outcome what, double measured) noexcept;
// Totals so far of the measured calls: what the GPU would save, and what the program would gain by it.
void list_saved(double gpu, double program) noexcept;
// For a call that is not cuBLAS's: what it took, and what it would take. Not measured: predicted.
void list_others(call_kind kind, double seconds, double left, bool measured = true) noexcept;

// For a product computed twice: norm of the difference, relative to the result's.
void count_verified(const listed_product& p, double difference) noexcept;
void count_not_verified() noexcept;

// The one-line report.
std::string report();

// Reports the records in a folder whose processes ended without reporting. `started`: the process that
// `antiphase run` started.
void tell_what_is_left(const std::string& folder, std::int64_t started) noexcept;

}  // namespace antiphase::cublas
