// SPDX-License-Identifier: Apache-2.0
// Only the ten element types have an element.
// error: element_traits<bool>
#include <antiphase/core/element.hpp>

constexpr antiphase::element known = antiphase::element_of<float>;
#ifdef REFUSED
constexpr antiphase::element unknown = antiphase::element_of<bool>;
#endif
