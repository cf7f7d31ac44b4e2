// SPDX-License-Identifier: Apache-2.0
// How long originals take on the device, without waiting for it.
#pragma once
#include <antiphase.h>

#include "src/cublas/report.hpp"

namespace antiphase::cublas {

// Between its beginning and its end a product is queued on the stream. Does nothing without a GPU, and while
// the stream is captured.
class timing {
 public:
  explicit timing(antiphase_stream on) noexcept;
  timing(const timing&) = delete;
  timing& operator=(const timing&) = delete;
  ~timing();
  void ends_with(const listed_product& p, outcome what) noexcept;

 private:
  antiphase_stream on_;
  void* begin_ = nullptr;
};

// Lists what has been measured and can be known without waiting.
void finish_timing() noexcept;

}  // namespace antiphase::cublas
