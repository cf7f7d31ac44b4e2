// SPDX-License-Identifier: Apache-2.0
// element_traits exist only for the ten element types.
// error: element_traits<bool>
#include <antiphase/core/element.hpp>

constexpr antiphase::element known = antiphase::element_of<float>;
#ifdef REFUSED
constexpr antiphase::element unknown = antiphase::element_of<bool>;
#endif
