// SPDX-License-Identifier: Apache-2.0
// Whether a product is worth being taken, from its arguments alone.
#pragma once
#include <antiphase.h>

#include "src/cublas/report.hpp"

namespace antiphase::cublas {

// Whether it is so small that a few microseconds are all it takes, wherever it runs: they are passed on.
bool is_small(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t count);

struct decision {
  outcome what = outcome::computed;
  prediction predicted;
};
// With the device and the precision that it is for. What a thread has asked before costs a look-up. What has
// turned out since may be written into it.
decision& decision_of(const antiphase_sgemm_args& x) noexcept;
// Before beta is known: computed if the product is worth it with C or without. The first is null as long as a
// judgement is missing, which the second makes.
const decision* known_outlook_of(const antiphase_sgemm_args& x) noexcept;
const decision& outlook_of(antiphase_sgemm_args x) noexcept;

}  // namespace antiphase::cublas
