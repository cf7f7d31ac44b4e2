// SPDX-License-Identifier: Apache-2.0
// Exceptions turned into statuses: no function of antiphase.h throws.
#pragma once
#include <antiphase.h>

namespace antiphase::c_api {

// The status of the exception being handled; its text becomes this thread's last message.
antiphase_status status_of_exception() noexcept;

// Runs the body of an entry point.
template <class Call> antiphase_status guarded(Call call) noexcept {
  try {
    call();
    return ANTIPHASE_OK;
  } catch (...) {
    return status_of_exception();
  }
}

}  // namespace antiphase::c_api
