// SPDX-License-Identifier: Apache-2.0
// The kernel of ticket.hpp.
#include <antiphase/device/atomic.cuh>
#include <antiphase/device/kernel.cuh>
#include "tests/checker/api/ticket.hpp"

namespace antiphase::test {
inline namespace AP_TARGET {

template <publishing P> struct ticket {
  using params = ticket_params;
  struct storage {};
  static constexpr int threads = 2;
  AP_DEV void operator()(const params& p) const {
    if (atomic_add(p.ticket, 1) == 0) {
      *p.number = 7;
      if (P == publishing::relaxed_by_thread_1 && thread_index() == 1)
        store_relaxed(p.flag, 1);
      else
        store_release(p.flag, 1);
    } else {
      poll([&] { return load_acquire(p.flag) == 1; });
      *p.seen = *p.number;
    }
  }
};

kernel ticket_kernel(publishing how) {
  return how == publishing::right ? kernel_of<ticket<publishing::right>>("ticket")
                                  : kernel_of<ticket<publishing::relaxed_by_thread_1>>("relaxed ticket");
}

}  // namespace AP_TARGET
}  // namespace antiphase::test
