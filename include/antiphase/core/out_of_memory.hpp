// SPDX-License-Identifier: Apache-2.0
// The exception for a device, or the host, without enough free memory.
#pragma once
#include <antiphase/core/error.hpp>

namespace antiphase {

// The message says how many bytes were requested, and where. The throwing call has launched nothing.
struct out_of_memory : device_error {
  using device_error::device_error;
};

}  // namespace antiphase
