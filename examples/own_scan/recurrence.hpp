// SPDX-License-Identifier: Apache-2.0
// A linear recurrence, all of its steps computed by one scan.
#pragma once
#include <antiphase/context.hpp>
#include <cstdint>

namespace own {

// One step: x becomes factor * x + offset.
struct step {
  double factor, offset;
};

// Replaces steps[i] by the composition of steps 0 to i. `steps` is memory of the device of `where`.
inline namespace cpu {
void compose(const antiphase::context& where, step* steps, std::int64_t count);
}
namespace cuda {
void compose(const antiphase::context& where, step* steps, std::int64_t count);
}

}  // namespace own
