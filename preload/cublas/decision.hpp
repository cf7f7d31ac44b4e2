// SPDX-License-Identifier: Apache-2.0
// Whether antiphase should compute a product, checked by its arguments alone.
#pragma once
#include <antiphase.h>

#include <array>
#include <optional>

#include "preload/cublas/report/report.hpp"

namespace antiphase::cublas {

// Smaller than ANTIPHASE_LEAST, if that is set.
bool is_small(std::int64_t m, std::int64_t n, std::int64_t k);

// Arithmetic that a caller asks of products of FP32, by a compute type or by a handle's math mode. Emulated:
// by nine products of bf16, with the error of FP32.
enum class arithmetic { fp32, emulated, tf32, other };
arithmetic asked_by_compute(int type);
arithmetic asked_by_math(int mode);
// Reason not to serve such requests; `computed`: none.
outcome refusal_of(arithmetic asked);

constexpr double least_gain = 1.1;

// For calls of which the host issues each, and for calls that are captured into a graph, where the host's
// time does not count.
struct decision {
  outcome eager = outcome::computed, captured = outcome::computed;
  prediction predicted;
  std::int64_t block = 0;  // of a triangle: the blocks on its diagonal that remain cuBLAS's
  bool is_for_any() const { return eager == outcome::computed || captured == outcome::computed; }
  // The stream is only asked if it matters.
  outcome outcome_on(antiphase_stream on) const;
};
// Everything a decision depends on except beta. Of addresses only the remainder modulo 16: whether 16-byte
// copies are possible.
using shape = std::array<std::int64_t, 17>;
std::int64_t alignments(const void* a, const void* b, const void* c, const void* added);
// A process may have several devices, of different kinds; -1: none.
std::int64_t current_device();
// The decision of this thread for a shape, with beta 0 or another; empty: none yet. Other decisions may take
// its place.
std::optional<decision>& remembered(const shape& s, bool adds) noexcept;
// The decision for x, which includes device and precision. Decisions are cached per thread: a repeated
// product costs a look-up. What turns out later, such as a refusal, may be written into it.
decision& decision_of(const antiphase_sgemm_args& x) noexcept;
// Before beta is known: for any, if the product is worth it with or without C. known_outlook_of is null
// while a needed decision is not cached; outlook_of makes it.
const decision* known_outlook_of(const antiphase_sgemm_args& x) noexcept;
const decision& outlook_of(antiphase_sgemm_args x) noexcept;

}  // namespace antiphase::cublas
