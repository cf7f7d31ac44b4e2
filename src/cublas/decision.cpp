// SPDX-License-Identifier: Apache-2.0
#include "src/cublas/decision.hpp"

#include <array>
#include <memory>
#include <new>
#include <optional>

#include "src/cublas/driver.hpp"
#include "src/cublas/settings.hpp"

namespace antiphase::cublas {
namespace {

// A process may have several devices, of different kinds.
std::int64_t current_device() {
  const driver* const d = said().device == ANTIPHASE_CPU ? nullptr : driver_of_process();
  int number = 0;
  return d != nullptr && d->current_device(&number) == 0 ? number : -1;
}

// Everything a decision depends on except beta. Of addresses only the remainder modulo 16: whether 16-byte
// copies are possible.
constexpr std::size_t words = 17;
using key = std::array<std::int64_t, words>;
key key_of(const antiphase_sgemm_args& x) {
  const auto place = [](const void* at) {
    return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(at) % 16);
  };
  const std::int64_t places = place(x.a) + 16 * place(x.b) + 256 * place(x.c) + 4096 * place(x.added);
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
          places,
          kinds};
}
std::size_t hash_of(const key& k) {
  std::uint64_t h = 0;
  for (const std::int64_t word : k)
    h = (h ^ static_cast<std::uint64_t>(word)) * 0x9E3779B97F4A7C15u, h ^= h >> 32;
  return h;
}

decision decide(const antiphase_sgemm_args& x) {
  constexpr double gain = 1.1;
  decision d;
  double times = 0, eager_times = 0;
  std::size_t bytes = 0;
  if (antiphase_sgemm_judge(&x, &d.predicted.seconds, &d.predicted.cublas_seconds, &times, &eager_times,
                            &d.predicted.host_saved, &bytes) != ANTIPHASE_OK)
    return {.eager = outcome::refused, .captured = outcome::refused, .predicted = {}};
  const auto outcome_of = [&](double by) {
    if (bytes > said().most_workspace) return outcome::workspace;
    if (said().least || by > gain) return outcome::computed;
    return by > 0 ? outcome::no_gain : outcome::unmeasured;
  };
  d.eager = outcome_of(eager_times), d.captured = outcome_of(times);
  return d;
}

struct known_product {
  cublas::key key{};                                   // empty: m is 0
  std::array<std::optional<decision>, 2> decisions{};  // with beta 0, and with another
};
known_product& known(const antiphase_sgemm_args& x) noexcept {
  using table = std::array<known_product, 512>;
  static thread_local const std::unique_ptr<table> all(new (std::nothrow) table);
  static thread_local known_product without_memory;
  const key k = key_of(x);
  known_product& here = all == nullptr ? without_memory : (*all)[hash_of(k) % all->size()];
  if (here.key != k) here = {.key = k};
  return here;
}

}  // namespace

bool is_small(std::int64_t m, std::int64_t n, std::int64_t k) {
  const double least = said().least.value_or(0);
  return static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) < least * least * least;
}

outcome decision::outcome_on(antiphase_stream on) const {
  if (eager == captured) return eager;
  const driver* const d = said().device == ANTIPHASE_CPU ? nullptr : driver_of_process();
  return d != nullptr && d->captures(on) ? captured : eager;
}

decision& decision_of(const antiphase_sgemm_args& x) noexcept {
  std::optional<decision>& d = known(x).decisions[x.beta != 0];
  if (!d) d = decide(x);
  return *d;
}

const decision* known_outlook_of(const antiphase_sgemm_args& x) noexcept {
  const auto& [without, with] = known(x).decisions;
  for (const auto* const d : {&without, &with})
    if (*d && (*d)->is_for_any()) return &**d;
  return without && with ? &*with : nullptr;
}

const decision& outlook_of(antiphase_sgemm_args x) noexcept {
  for (x.beta = 0; known_outlook_of(x) == nullptr; x.beta = 1) decision_of(x);
  return *known_outlook_of(x);
}

}  // namespace antiphase::cublas
