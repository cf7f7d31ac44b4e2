// SPDX-License-Identifier: Apache-2.0
// What has become of products: counted, listed one by one if somebody wants to know, and told when the
// program ends.
#pragma once
#include <cstdint>
#include <string>

#include "src/cublas/originals.hpp"

namespace antiphase::cublas {

enum class outcome {
  computed,
  disabled,       // by the environment
  within_cublas,  // a call of cuBLAS's own
  not_fp32,       // types, TF32, pedantic
  factors,        // of the device
  unusual,        // arguments that make no sense or are cuBLAS's alone, and empty products
  small,
  no_gain,    // is predicted
  workspace,  // beyond what the environment allows
  no_memory,
  refused,  // by antiphase: what overlaps, what the device cannot keep
  failed,   // while it was queued
};
constexpr int outcomes = 12;
// "no gain predicted"
const char* text_of(outcome what);

// A product as lists have it: what it costs follows from that, nearly.
struct listed_product {
  function by = {};
  std::int64_t m = 0, n = 0, k = 0, count = 1;
  char a = 'N', b = 'N', c = 'N';  // as cuBLAS has them, or T
  bool adds = false;               // beta is not 0
  std::uint32_t epilogue = 0;      // as cuBLASLt numbers them; 0: none
  bool operator==(const listed_product&) const = default;
};

struct prediction {
  double seconds = 0, cublas_seconds = 0;  // 0: of neither
};

// None of these fails: what there is no memory for is left out.
void count(outcome what, const prediction& predicted = {}) noexcept;
// If products are listed. `measured`: seconds, 0 if it was not.
void list(const listed_product& p, outcome what, const prediction& predicted) noexcept;
void list_time(const listed_product& p, outcome what, double measured) noexcept;

// Of a product that was computed twice: what the results differ by, relative to their norm.
void count_verified(const listed_product& p, double difference) noexcept;
void count_not_verified() noexcept;

// The line.
std::string report();

// Tells the records in a folder whose processes are gone without having told. `started`: the one that
// `antiphase run` has started.
void tell_what_is_left(const std::string& folder, std::int64_t started) noexcept;

}  // namespace antiphase::cublas
