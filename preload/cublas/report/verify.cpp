// SPDX-License-Identifier: Apache-2.0
#include "preload/cublas/report/verify.hpp"

#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "preload/cublas/settings.hpp"

namespace antiphase::cublas {
namespace {

// C's strides are positive, as in cuBLAS.
std::size_t elements_of(const antiphase_sgemm_args& x) {
  return static_cast<std::size_t>((x.m - 1) * x.c_row_stride + (x.n - 1) * x.c_column_stride +
                                  (x.batch - 1) * x.c_batch_stride + 1);
}
driver::address address_of(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }

}  // namespace

bool should_verify() {
  static std::atomic<std::uint64_t> computed = 0;
  return said().verified > 0 && (computed.fetch_add(1, std::memory_order_relaxed) + 1) % said().verified == 0;
}

verification::verification(const antiphase_sgemm_args& x, antiphase_stream on)
    : x_(x),
      on_(on),
      driver_(x.device == ANTIPHASE_CPU ? nullptr : driver_of_process()),
      elements_(elements_of(x)) {
  if (x.c_members != nullptr) return;
  const std::size_t bytes = elements_ * sizeof(float);
  if (x.device == ANTIPHASE_CPU) {
    scratch_ = std::malloc(bytes);
    if (scratch_ != nullptr) std::memcpy(scratch_, x.c, bytes);
    return;
  }
  if (driver_ == nullptr || driver_->captures(on)) return;
  const undisturbing now(*driver_);
  driver::address memory = 0;
  if (driver_->allocate(&memory, bytes) != 0) return;
  if (driver_->copy(memory, address_of(x.c), bytes, on) != 0) {
    driver_->release(memory);
    return;
  }
  scratch_ = reinterpret_cast<void*>(memory);
}
verification::~verification() {
  if (driver_ == nullptr) {
    std::free(scratch_);
  } else if (scratch_ != nullptr) {
    const undisturbing now(*driver_);
    driver_->release(address_of(scratch_));
  }
}

std::vector<float> verification::host_copy(const void* from) const {
  std::vector<float> to(elements_);
  if (driver_ == nullptr)
    std::memcpy(to.data(), from, elements_ * sizeof(float));
  else if (driver_->copy_out(to.data(), address_of(from), elements_ * sizeof(float), on_) != 0 ||
           driver_->synchronize(on_) != 0)
    to.clear();
  return to;
}

double verification::difference() const noexcept try {
  if (x_.device == ANTIPHASE_CPU) antiphase_synchronize(ANTIPHASE_CPU, on_);
  const std::vector<float> ours = host_copy(x_.c), theirs = host_copy(scratch_);
  if (ours.empty() || theirs.empty()) return -1;
  double off = 0, all = 0;
  for (std::int64_t l = 0; l < x_.batch; ++l)
    for (std::int64_t i = 0; i < x_.m; ++i)
      for (std::int64_t j = 0; j < x_.n; ++j) {
        const auto at =
            static_cast<std::size_t>(i * x_.c_row_stride + j * x_.c_column_stride + l * x_.c_batch_stride);
        const double a = static_cast<double>(ours[at]), b = static_cast<double>(theirs[at]);
        if (a == b || (std::isnan(a) && std::isnan(b))) {
          if (std::isfinite(b)) all += b * b;
          continue;
        }
        off += (a - b) * (a - b), all += b * b;
      }
  return off == 0 ? 0 : std::sqrt(off) / std::sqrt(all);
} catch (...) {
  return -1;  // out of memory
}

}  // namespace antiphase::cublas
