// SPDX-License-Identifier: Apache-2.0
// A channel over a type that cannot be initialised for a number of parties.
// error: template constraint failure for ... phase_barrier
#include <antiphase/core/channel.hpp>

struct barrier {
  void init(int) {}
};
struct counter {
  int value;
};
antiphase::channel<barrier, 2, 1> ring;
#ifdef REFUSED
antiphase::channel<counter, 2, 1> counters;
#endif
