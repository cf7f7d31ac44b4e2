// SPDX-License-Identifier: Apache-2.0
// The errors of the library: what was wrong, what was expected, and where.
#pragma once
#include <stdexcept>

namespace antiphase {

struct error : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// An argument does not make sense; the message names it, its value and what was expected. Nothing has been
// launched or changed.
struct bad_request : error {
  using error::error;
};
// A device or an executor failed while working; the message names the call.
struct device_error : error {
  using error::error;
};
// The request is meaningful, but this device or build cannot serve it; the message says why.
struct not_supported : error {
  using error::error;
};

}  // namespace antiphase
