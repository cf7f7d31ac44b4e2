// SPDX-License-Identifier: Apache-2.0
// A linear recurrence, all of its steps at once.
#pragma once
#include <antiphase/context.hpp>
#include <cstdint>

namespace own {

// One step: x becomes factor * x + offset.
struct step {
  double factor, offset;
};

// steps[i] becomes all steps up to the i-th in one. The memory is that of `where`.
inline namespace cpu {
void compose(const antiphase::context& where, step* steps, std::int64_t count);
}
namespace cuda {
void compose(const antiphase::context& where, step* steps, std::int64_t count);
}

}  // namespace own
