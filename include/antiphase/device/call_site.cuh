// SPDX-License-Identifier: Apache-2.0
// The line of a kernel that calls a device function, for reports of the CPU executor; empty on the GPU.
#pragma once
#include <antiphase/device/index.cuh>

namespace antiphase {
inline namespace AP_TARGET {

// A default argument: call_site where = call_site::current().
#if AP_ON_GPU
struct call_site {
  static AP_DEV constexpr call_site current() { return {}; }
};
#else
using call_site = machine::place;
#endif

}  // namespace AP_TARGET
}  // namespace antiphase
