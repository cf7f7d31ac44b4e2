// SPDX-License-Identifier: Apache-2.0
#include "preload/cublas/decision.hpp"

#include <array>
#include <memory>
#include <new>

#include "preload/cublas/abi.hpp"
#include "preload/cublas/interpose/driver.hpp"
#include "preload/cublas/settings.hpp"

namespace antiphase::cublas {
namespace {

shape shape_of(const antiphase_sgemm_args& x) {
  const std::int64_t kinds = x.function + 8 * (x.added != nullptr) + 16 * (x.row_bias != nullptr) +
                             32 * (x.a_members != nullptr) + 64 * (x.alpha == 0) +
                             128 * (current_device() + 1);
  return {x.m,
          x.n,
          x.k,
          x.batch,
          x.a_row_stride,
          x.a_column_stride,
          x.b_row_stride,
          x.b_column_stride,
          x.c_row_stride,
          x.c_column_stride,
          x.a_batch_stride,
          x.b_batch_stride,
          x.c_batch_stride,
          x.added_row_stride,
          x.added_column_stride,
          alignments(x.a, x.b, x.c, x.added),
          kinds};
}
std::size_t hash_of(const shape& s) {
  std::uint64_t h = 0;
  for (const std::int64_t word : s)
    h = (h ^ static_cast<std::uint64_t>(word)) * 0x9E3779B97F4A7C15u, h ^= h >> 32;
  return h;
}

decision decide(const antiphase_sgemm_args& x) {
  decision d;
  double times = 0, eager_times = 0;
  std::size_t bytes = 0;
  if (antiphase_sgemm_compare(&x, &d.predicted.seconds, &d.predicted.cublas_seconds, &times, &eager_times,
                              &d.predicted.host_saved, &bytes) != ANTIPHASE_OK)
    return {.eager = outcome::refused, .captured = outcome::refused, .predicted = {}};
  const auto outcome_of = [&](double by) {
    if (bytes > said().most_workspace) return outcome::workspace;
    if (said().least || by > least_gain) return outcome::computed;
    return by > 0 ? outcome::no_gain : outcome::unmeasured;
  };
  d.eager = outcome_of(eager_times), d.captured = outcome_of(times);
  return d;
}

struct known_product {
  shape of{};                                          // empty: m is 0
  std::array<std::optional<decision>, 2> decisions{};  // with beta 0, and with another
};
known_product& known(const shape& s) noexcept {
  using table = std::array<known_product, 512>;
  static thread_local const std::unique_ptr<table> all(new (std::nothrow) table);
  static thread_local known_product without_memory;
  known_product& here = all == nullptr ? without_memory : (*all)[hash_of(s) % all->size()];
  if (here.of != s) here = {.of = s};
  return here;
}

}  // namespace

arithmetic asked_by_compute(int type) {
  switch (type) {
    case compute_32f: return arithmetic::fp32;
    case compute_32f_16bfx9: return arithmetic::emulated;
    case compute_32f_tf32: return arithmetic::tf32;
    default: return arithmetic::other;
  }
}
arithmetic asked_by_math(int mode) {
  switch (mode & ~(math_fp64_emulated | math_without_reduced_sums)) {  // FP32 does not depend on these
    case math_default: return arithmetic::fp32;
    case math_16bfx9: return arithmetic::emulated;
    case math_tf32: return arithmetic::tf32;
    default: return arithmetic::other;
  }
}
outcome refusal_of(arithmetic asked) {
  switch (asked) {
    case arithmetic::fp32: return outcome::computed;
    // Predicted gains are over FP32 of cuBLAS, which the GPUs that were measured get for this too: cuBLAS
    // emulates from compute capability 10.0 on.
    case arithmetic::emulated:
      return said().least || said().device == ANTIPHASE_CPU || antiphase_is_measured(said().device) != 0
                 ? outcome::computed
                 : outcome::unmeasured;
    case arithmetic::tf32: return said().takes_tf32 ? outcome::computed : outcome::not_fp32;
    default: return outcome::not_fp32;
  }
}

std::int64_t alignments(const void* a, const void* b, const void* c, const void* added) {
  const auto place = [](const void* at) {
    return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(at) % 16);
  };
  return place(a) + 16 * place(b) + 256 * place(c) + 4096 * place(added);
}
std::int64_t current_device() {
  const driver* const d = said().device == ANTIPHASE_CPU ? nullptr : driver_of_process();
  int number = 0;
  return d != nullptr && d->current_device(&number) == 0 ? number : -1;
}

bool is_small(std::int64_t m, std::int64_t n, std::int64_t k) {
  const double least = said().least.value_or(0);
  return static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) < least * least * least;
}

outcome decision::outcome_on(antiphase_stream on) const {
  if (eager == captured) return eager;
  const driver* const d = said().device == ANTIPHASE_CPU ? nullptr : driver_of_process();
  return d != nullptr && d->captures(on) ? captured : eager;
}

std::optional<decision>& remembered(const shape& s, bool adds) noexcept { return known(s).decisions[adds]; }

decision& decision_of(const antiphase_sgemm_args& x) noexcept {
  std::optional<decision>& d = remembered(shape_of(x), x.beta != 0);
  if (!d) d = decide(x);
  return *d;
}

const decision* known_outlook_of(const antiphase_sgemm_args& x) noexcept {
  const auto& [without, with] = known(shape_of(x)).decisions;
  for (const auto* const d : {&without, &with})
    if (*d && (*d)->is_for_any()) return &**d;
  return without && with ? &*with : nullptr;
}

const decision& outlook_of(antiphase_sgemm_args x) noexcept {
  for (x.beta = 0; known_outlook_of(x) == nullptr; x.beta = 1) decision_of(x);
  return *known_outlook_of(x);
}

}  // namespace antiphase::cublas
