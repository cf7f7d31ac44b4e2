// SPDX-License-Identifier: Apache-2.0
// A ring without slots.
// error: a ring needs at least one slot
#include <antiphase/core/cursor.hpp>

antiphase::cursor<1> one;
#ifdef REFUSED
antiphase::cursor<0> none;
#endif
