// SPDX-License-Identifier: Apache-2.0
// Asynchronous copies of a group. Plain CUDA under the checker.
#pragma once
#include "../async_copies.h"
#include "../cooperative_groups.h"

#include <antiphase/plain/letters.h>

namespace cooperative_groups {
template <class Group, class T, class U, class Size>
AP_VERB void memcpy_async(const Group& g, T* to, const U* from, const Size& bytes, AP_AT) {
  ap::copy_async_of_group(g, to, from, bytes, nullptr, ap_at);
  antiphase::machine::copy_async_commit();
}
template <class Group> AP_VERB void wait(const Group& g, AP_AT) {
  antiphase::machine::copy_async_wait(0, ap_at);
  g.sync(ap_at);
}
template <unsigned Left, class Group> AP_VERB void wait_prior(const Group& g, AP_AT) {
  antiphase::machine::copy_async_wait(static_cast<int>(Left), ap_at);
  g.sync(ap_at);
}
}  // namespace cooperative_groups

#include <antiphase/plain/letters.h>
