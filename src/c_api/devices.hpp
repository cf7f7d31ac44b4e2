// SPDX-License-Identifier: Apache-2.0
// The contexts that calls from C run in.
#pragma once
#include <antiphase/context.hpp>

namespace antiphase::c_api {

// Of the number of a CUDA device, ANTIPHASE_CPU or ANTIPHASE_CURRENT_DEVICE: made at the first call with it,
// and kept as long as the process lives. Throws bad_request for another number below 0, not_supported where
// there is no such device.
const context& where(int device);

}  // namespace antiphase::c_api
