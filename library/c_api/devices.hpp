// SPDX-License-Identifier: Apache-2.0
// The contexts that calls from C run in.
#pragma once
#include <antiphase/context.hpp>

namespace antiphase::c_api {

// The context of a CUDA device number, ANTIPHASE_CPU or ANTIPHASE_CURRENT_DEVICE. Made at the first call with
// it and kept for the life of the process. Throws bad_request for any other negative number, not_supported if
// there is no such device.
const context& where(int device);

}  // namespace antiphase::c_api
