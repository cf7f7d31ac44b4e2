// SPDX-License-Identifier: Apache-2.0
// A slot index alone does not determine the round, hence the parity.
// error: no matching function ... ::wait.int.
#include <antiphase/core/channel.hpp>

struct barrier {
  void init(int) {}
  void arrive() {}
  void wait(unsigned) {}
};
void compute(antiphase::channel<barrier, 3, 1, 1>& ring) {
  ring.wait({.index = 1, .parity = 0});
#ifdef REFUSED
  ring.wait(1);
#endif
}
