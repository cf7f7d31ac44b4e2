// SPDX-License-Identifier: Apache-2.0
#include "src/cublas/products.hpp"

#include <antiphase.h>

#include <array>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <map>

#include "src/cublas/abi.hpp"
#include "src/cublas/settings.hpp"

namespace antiphase::cublas {
namespace {

struct counts {
  std::atomic<std::uint64_t> taken = 0, passed_on = 0, failed = 0;
  ~counts() {
    if (said().reports && taken + passed_on > 0)
      std::fprintf(stderr, "antiphase: %llu products computed, %llu passed on to cuBLAS, %llu of them refused\n",
                   static_cast<unsigned long long>(taken.load()), static_cast<unsigned long long>(passed_on.load()),
                   static_cast<unsigned long long>(failed.load()));
  }
};
counts all;

thread_local int originals_under_way = 0;

bool is_sensible(const product& p) {
  const auto known = [](int op) { return op == as_it_is || op == is_transposed || op == is_conjugate; };
  if (!p.is_fp32 || !known(p.op_a) || !known(p.op_b)) return false;
  if (p.m <= 0 || p.n <= 0 || p.k <= 0 || p.count <= 0 || p.alpha == nullptr || p.beta == nullptr) return false;
  return p.lda >= (p.op_a == as_it_is ? p.m : p.k) && p.ldb >= (p.op_b == as_it_is ? p.k : p.n) && p.ldc >= p.m;
}

// Whether the handle asks for FP32 with factors in memory of the host. `on`: its stream.
bool asks_for_fp32(const original& of, handle of_caller, antiphase_stream& on) {
  int pointers = -1, math = -1;
  return of.pointer_mode(of_caller, &pointers) == status_success && pointers == pointers_of_host &&
         of.math_mode(of_caller, &math) == status_success && (math & ~math_without_reduced_sums) == math_default &&
         of.stream(of_caller, &on) == status_success;
}

antiphase_sgemm_args arguments_of(const product& p) {
  antiphase_sgemm_args x = ANTIPHASE_SGEMM_ARGS_INIT;
  x.m = p.m, x.n = p.n, x.k = p.k;
  const auto place = [](std::int64_t& row_stride, std::int64_t& column_stride, std::int64_t ld, bool transposed) {
    row_stride = transposed ? ld : 1, column_stride = transposed ? 1 : ld;
  };
  x.a = static_cast<const float*>(p.a), x.b = static_cast<const float*>(p.b), x.c = static_cast<float*>(p.c);
  place(x.a_row_stride, x.a_column_stride, p.lda, p.op_a != as_it_is);
  place(x.b_row_stride, x.b_column_stride, p.ldb, p.op_b != as_it_is);
  place(x.c_row_stride, x.c_column_stride, p.ldc, false);
  x.alpha = *static_cast<const float*>(p.alpha), x.beta = *static_cast<const float*>(p.beta);
  x.batch = p.count, x.a_batch_stride = p.a_stride, x.b_batch_stride = p.b_stride, x.c_batch_stride = p.c_stride;
  return x;
}

// Whether it is predicted to be faster than cuBLAS by more than the interposer costs; small ones take a few microseconds wherever they run,
// and are passed on. A thread remembers what it has asked.
bool pays(const antiphase_sgemm_args& x) {
  constexpr double least = 256, gain = 1.1;
  const double size = std::cbrt(static_cast<double>(x.m) * static_cast<double>(x.n) * static_cast<double>(x.k));
  if (said().least) return size >= *said().least;
  if (size * std::cbrt(static_cast<double>(x.batch)) < least) return false;
  constexpr std::size_t most = 4096;
  const auto low_bits = [](const void* at) { return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(at) % 256); };
  const std::array<std::int64_t, 19> key{x.m,
                                         x.n,
                                         x.k,
                                         x.batch,
                                         x.a_row_stride,
                                         x.a_column_stride,
                                         x.b_row_stride,
                                         x.b_column_stride,
                                         x.c_column_stride,
                                         x.a_batch_stride,
                                         x.b_batch_stride,
                                         x.c_batch_stride,
                                         low_bits(x.a),
                                         low_bits(x.b),
                                         low_bits(x.c),
                                         x.beta != 0,
                                         x.c_row_stride,
                                         x.function,
                                         x.row_bias != nullptr};
  static thread_local std::map<std::array<std::int64_t, 19>, bool> known;
  if (const auto found = known.find(key); found != known.end()) return found->second;
  double times = 0;
  const bool yes = antiphase_sgemm_gain(&x, &times) == ANTIPHASE_OK && times > gain;
  if (known.size() == most) known.clear();
  return known[key] = yes;
}

}  // namespace

passing_on::passing_on() noexcept { ++originals_under_way; }
passing_on::~passing_on() { --originals_under_way; }

std::optional<request> request_of(const original& of, handle of_caller, const product& p) {
  antiphase_stream on = nullptr;
  if (!of.is_whole() || of_caller == nullptr || !is_sensible(p) || !asks_for_fp32(of, of_caller, on)) return std::nullopt;
  return request{arguments_of(p), on};
}

bool is_considered() {
  if (originals_under_way > 0) return false;
  ++all.passed_on;
  return !said().disabled;
}

std::optional<int> computed(const request& r) {
  antiphase_sgemm_args x = r.what;
  x.device = said().device;
  x.precision = said().precision;
  x.if_weaker = ANTIPHASE_REFUSE_WEAKER;
  if (!pays(x)) return std::nullopt;
  const antiphase_status status = antiphase_sgemm(&x, r.on);
  if (status == ANTIPHASE_OK) {
    --all.passed_on, ++all.taken;
    return status_success;
  }
  ++all.failed;
  if (status == ANTIPHASE_DEVICE_ERROR || status == ANTIPHASE_FAILED) return status_execution_failed;  // who knows what C holds
  return std::nullopt;
}

}  // namespace antiphase::cublas
