// SPDX-License-Identifier: Apache-2.0
#include "src/cublas/decision.hpp"

#include <array>
#include <memory>
#include <new>

#include "src/cublas/driver.hpp"
#include "src/cublas/settings.hpp"

namespace antiphase::cublas {
namespace {

double outputs_times_k(std::int64_t m, std::int64_t n, std::int64_t k) {
  return static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
}

// Of which a process may have several, which are not alike.
std::int64_t current_device() {
  const driver* const d = said().device == ANTIPHASE_CPU ? nullptr : driver_of_process();
  int number = 0;
  return d != nullptr && d->current_device(&number) == 0 ? number : -1;
}

// All that a decision follows from: of addresses only whether copies of 16 bytes may begin there.
constexpr std::size_t words = 17;
using key = std::array<std::int64_t, words>;
enum class factors { known, unknown };
key key_of(const antiphase_sgemm_args& x, factors are) {
  const auto place = [](const void* at) { return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(at) % 16); };
  const std::int64_t places = place(x.a) + 16 * place(x.b) + 256 * place(x.c) + 4096 * place(x.added);
  const std::int64_t kinds = x.function + 8 * (x.beta != 0) + 16 * (x.added != nullptr) + 32 * (x.row_bias != nullptr) +
                             64 * (x.a_members != nullptr) + 128 * (x.alpha == 0) + 256 * (are == factors::unknown) +
                             512 * (current_device() + 1);
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
  for (const std::int64_t word : k) h = (h ^ static_cast<std::uint64_t>(word)) * 0x9E3779B97F4A7C15u, h ^= h >> 32;
  return h;
}

decision decide(const antiphase_sgemm_args& x) {
  constexpr double gain = 1.1;
  decision d;
  double times = 0;
  std::size_t bytes = 0;
  const bool known = antiphase_sgemm_predict(&x, &d.predicted.seconds, &d.predicted.cublas_seconds, &bytes) == ANTIPHASE_OK &&
                     antiphase_sgemm_gain(&x, &times) == ANTIPHASE_OK;
  if (!known) return {.what = outcome::refused, .predicted = {}};
  if (!said().least && !(times > gain)) d.what = outcome::no_gain;
  if (bytes > said().most_workspace) d.what = outcome::workspace;
  return d;
}

decision decide_without_factors(antiphase_sgemm_args x) {
  decision d;
  for (const float beta : {0.f, 1.f}) {
    x.beta = beta;
    d = decide(x);
    if (d.what == outcome::computed) break;
  }
  return d;
}

decision& known_decision(const antiphase_sgemm_args& x, factors are) noexcept {
  struct entry {
    key of;
    decision is;
    bool used = false;
  };
  constexpr std::size_t kept = 512;
  static thread_local const std::unique_ptr<std::array<entry, kept>> known(new (std::nothrow) std::array<entry, kept>);
  static thread_local decision without_memory;
  const auto asked = [&] { return are == factors::known ? decide(x) : decide_without_factors(x); };
  if (known == nullptr) return without_memory = asked();
  const key k = key_of(x, are);
  entry& here = (*known)[hash_of(k) % kept];
  if (!here.used || here.of != k) here = {k, asked(), true};
  return here.is;
}

}  // namespace

bool is_small(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t count) {
  constexpr double usual = 256;
  const double all = outputs_times_k(m, n, k);
  if (const auto least = said().least) return all < *least * *least * *least;
  return all * static_cast<double>(count) < usual * usual * usual;
}

decision& decision_of(const antiphase_sgemm_args& x) noexcept { return known_decision(x, factors::known); }
const decision& outlook_of(const antiphase_sgemm_args& x) noexcept { return known_decision(x, factors::unknown); }

}  // namespace antiphase::cublas
