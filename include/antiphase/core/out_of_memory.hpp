// SPDX-License-Identifier: Apache-2.0
// The error of a device, or of the host, that has no room.
#pragma once
#include <antiphase/core/error.hpp>

namespace antiphase {

// The message says how much was asked for, and where. Nothing has been launched by the call that throws it.
struct out_of_memory : device_error {
  using device_error::device_error;
};

}  // namespace antiphase
