// SPDX-License-Identifier: Apache-2.0
// A product computed twice: by antiphase where it belongs, and by the original into memory of ours.
#pragma once
#include <antiphase.h>

#include <cstddef>
#include <vector>

#include "src/cublas/driver.hpp"

namespace antiphase::cublas {

// Whether it is the turn of this one.
bool is_to_be_verified();

class verification {
 public:
  // Before C is written: takes memory, and a copy of C. The copy waits for nothing.
  verification(const antiphase_sgemm_args& x, antiphase_stream on);
  verification(const verification&) = delete;
  verification& operator=(const verification&) = delete;
  ~verification();

  // If not, there was no memory, or the stream is being captured.
  bool is_possible() const { return scratch_ != nullptr; }
  // Where the original shall write, in place of C.
  void* in_place_of_c() const { return scratch_; }
  // After both: waits for them. The norm of the difference, by that of the original's result; negative if it
  // could not be had.
  double difference() const noexcept;

 private:
  std::vector<float> host_copy(const void* from) const;

  const antiphase_sgemm_args& x_;
  antiphase_stream on_;
  const driver* driver_;  // null: memory is the host's
  std::size_t elements_;  // from C's first to its last
  void* scratch_ = nullptr;
};

}  // namespace antiphase::cublas
