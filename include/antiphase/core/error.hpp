// SPDX-License-Identifier: Apache-2.0
// The exceptions of the library.
#pragma once
#include <stdexcept>

namespace antiphase {

// Base of all. what() is one sentence: what was wrong, where, and what was expected, with the numbers.
//
//   try {
//     gemm(where, p);
//   } catch (const error& e) {
//     std::fprintf(stderr, "%s\n", e.what());
//   }
//
struct error : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// An argument makes no sense; the message names it, its value and what was expected. Nothing has been
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
