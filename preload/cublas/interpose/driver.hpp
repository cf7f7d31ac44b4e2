// SPDX-License-Identifier: Apache-2.0
// The few functions of the CUDA driver that the interposer calls, if the process has the driver.
#pragma once
#include <antiphase.h>

#include <cstddef>
#include <cstdint>

namespace antiphase::cublas {

// As cuda.h declares them; 0 is success.
struct driver {
  using event = void*;
  using address = std::uint64_t;
  int (*current_device)(int* number) = nullptr;
  int (*is_capturing)(antiphase_stream, int* status) = nullptr;
  int (*exchange_capture_mode)(int* mode) = nullptr;
  int (*create_event)(event*, unsigned flags) = nullptr;
  int (*destroy_event)(event) = nullptr;
  int (*record_event)(event, antiphase_stream) = nullptr;
  int (*query_event)(event) = nullptr;
  int (*query_stream)(antiphase_stream) = nullptr;
  int (*milliseconds)(float*, event from, event to) = nullptr;
  int (*allocate)(address*, std::size_t) = nullptr;
  int (*release)(address) = nullptr;
  int (*copy)(address to, address from, std::size_t bytes, antiphase_stream) = nullptr;
  int (*copy_out)(void* to, address from, std::size_t bytes, antiphase_stream) = nullptr;
  int (*synchronize)(antiphase_stream) = nullptr;

  // True if the stream is being captured into a graph, or if that cannot be found out.
  bool captures(antiphase_stream on) const {
    int status = 1;
    return is_capturing(on, &status) != 0 || status != 0;
  }
};
// Null: no driver.
const driver* driver_of_process();

// While it lives, driver calls of this thread do not invalidate another thread's graph capture.
class undisturbing {
 public:
  explicit undisturbing(const driver& d) : driver_(d) { driver_.exchange_capture_mode(&mode_); }
  undisturbing(const undisturbing&) = delete;
  undisturbing& operator=(const undisturbing&) = delete;
  ~undisturbing() { driver_.exchange_capture_mode(&mode_); }

 private:
  const driver& driver_;
  int mode_ = 2;  // CU_STREAM_CAPTURE_MODE_RELAXED; after the exchange, the previous mode
};

}  // namespace antiphase::cublas
