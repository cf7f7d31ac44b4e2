// SPDX-License-Identifier: Apache-2.0
// Compares a product of antiphase with the original's, computed into memory of our own.
#pragma once
#include <antiphase.h>

#include <cstddef>
#include <vector>

#include "preload/cublas/interpose/driver.hpp"

namespace antiphase::cublas {

// True if this product is one to compare.
bool should_verify();

class verification {
 public:
  // Call before C is written: allocates memory and copies C, in stream order.
  verification(const antiphase_sgemm_args& x, antiphase_stream on);
  verification(const verification&) = delete;
  verification& operator=(const verification&) = delete;
  ~verification();

  // False: no memory, or the stream is being captured.
  bool is_possible() const { return scratch_ != nullptr; }
  // Output of the original, in place of C.
  void* in_place_of_c() const { return scratch_; }
  // Call after both: waits for them. Norm of the difference, relative to that of the original's result;
  // negative if it is not available.
  double difference() const noexcept;

 private:
  std::vector<float> host_copy(const void* from) const;

  const antiphase_sgemm_args& x_;
  antiphase_stream on_;
  const driver* driver_;  // null: host memory
  std::size_t elements_;  // from C's first to its last
  void* scratch_ = nullptr;
};

}  // namespace antiphase::cublas
