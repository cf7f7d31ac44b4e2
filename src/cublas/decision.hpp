// SPDX-License-Identifier: Apache-2.0
// Whether antiphase should compute a product, checked by its arguments alone.
#pragma once
#include <antiphase.h>

#include "src/cublas/report.hpp"

namespace antiphase::cublas {

// Smaller than ANTIPHASE_LEAST, if that is set.
bool is_small(std::int64_t m, std::int64_t n, std::int64_t k);

// For calls of which the host issues each, and for calls that are captured into a graph, where the host's
// time does not count.
struct decision {
  outcome eager = outcome::computed, captured = outcome::computed;
  prediction predicted;
  bool is_for_any() const { return eager == outcome::computed || captured == outcome::computed; }
  // The stream is only asked if it matters.
  outcome outcome_on(antiphase_stream on) const;
};
// The decision for x, which includes device and precision. Decisions are cached per thread: a repeated
// product costs a look-up. What turns out later, such as a refusal, may be written into it.
decision& decision_of(const antiphase_sgemm_args& x) noexcept;
// Before beta is known: for any, if the product is worth it with or without C. known_outlook_of is null
// while a needed decision is not cached; outlook_of makes it.
const decision* known_outlook_of(const antiphase_sgemm_args& x) noexcept;
const decision& outlook_of(antiphase_sgemm_args x) noexcept;

}  // namespace antiphase::cublas
