// SPDX-License-Identifier: Apache-2.0
// An event that no party commits.
// error: an event that no thread commits never happens
#include <antiphase/core/channel.hpp>

using antiphase::threads, antiphase::warps;
struct barrier {
  void init(int) {}
};
antiphase::channel<barrier, 2, threads(1), warps(8)> ring;
#ifdef REFUSED
antiphase::channel<barrier, 2, threads(1), warps(0)> stuck;
#endif
