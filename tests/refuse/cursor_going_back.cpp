// SPDX-License-Identifier: Apache-2.0
// A cursor only moves forward.
// error: no match for 'operator--'
#include <antiphase/core/cursor.hpp>

void step(antiphase::cursor<3> at) {
  ++at;
#ifdef REFUSED
  --at;
#endif
}
