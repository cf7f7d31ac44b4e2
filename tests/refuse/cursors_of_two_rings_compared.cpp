// SPDX-License-Identifier: Apache-2.0
// Cursors of rings of different size are not comparable.
// error: no match for 'operator=='
#include <antiphase/core/cursor.hpp>

constexpr bool same = antiphase::cursor<3>{} == antiphase::cursor<3>{};
#ifdef REFUSED
constexpr bool mixed = antiphase::cursor<3>{} == antiphase::cursor<2>{};
#endif
