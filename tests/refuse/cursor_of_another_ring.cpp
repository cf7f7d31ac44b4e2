// SPDX-License-Identifier: Apache-2.0
// A cursor of a ring with two slots used on one with three.
// error: no matching function ... acquire.antiphase::cursor<2>
#include <antiphase/core/channel.hpp>

struct barrier {
  void init(int) {}
  void arrive() {}
  void wait(unsigned) {}
};
void load(antiphase::channel<barrier, 3, 1, 1>& ring) {
  ring.acquire(antiphase::cursor<3>{});
#ifdef REFUSED
  ring.acquire(antiphase::cursor<2>{});
#endif
}
