// SPDX-License-Identifier: Apache-2.0
// From exceptions to statuses: nothing is thrown out of a function of antiphase.h.
#pragma once
#include <antiphase.h>

namespace antiphase::c_api {

// The status of the exception that is being handled; its sentence becomes this thread's last message.
antiphase_status status_of_exception() noexcept;

// What every entry does.
template <class Call> antiphase_status guarded(Call call) noexcept {
  try {
    call();
    return ANTIPHASE_OK;
  } catch (...) {
    return status_of_exception();
  }
}

}  // namespace antiphase::c_api
