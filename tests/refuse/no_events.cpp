// SPDX-License-Identifier: Apache-2.0
// A channel whose slots are never released.
// error: a slot needs at least one event
#include <antiphase/core/channel.hpp>

struct barrier {
  void init(int) {}
};
antiphase::channel<barrier, 2, 1> turns;
#ifdef REFUSED
antiphase::channel<barrier, 2> no_turns;
#endif
