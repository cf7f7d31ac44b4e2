// SPDX-License-Identifier: Apache-2.0
// A channel with a negative number of slots.
// error: a ring needs at least one slot
#include <antiphase/core/channel.hpp>

struct barrier {
  void init(int) {}
};
antiphase::channel<barrier, 2, 1, 1> two;
#ifdef REFUSED
antiphase::channel<barrier, -2, 1, 1> less_than_none;
#endif
