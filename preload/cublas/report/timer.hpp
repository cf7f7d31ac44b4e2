// SPDX-License-Identifier: Apache-2.0
// Times originals on the device, without waiting for them.
#pragma once
#include <antiphase.h>

#include "preload/cublas/report/report.hpp"

namespace antiphase::cublas {

// Records events on the stream before and after a call. Does nothing without a GPU, or while the stream is
// captured.
class timing {
 public:
  explicit timing(antiphase_stream on) noexcept;
  timing(const timing&) = delete;
  timing& operator=(const timing&) = delete;
  ~timing();
  // The product of a call that is not cuBLAS's is not read. False: the call is not measured.
  bool ends_with(call_kind kind, const listed_product& p, outcome what, const prediction& predicted) noexcept;

 private:
  antiphase_stream on_;
  void* begin_ = nullptr;
  bool drained_ = false;
  double issued_ = 0, profiled_ = 0;  // seconds
};

// Lists all measurements that are available without waiting.
void finish_timing() noexcept;

}  // namespace antiphase::cublas
