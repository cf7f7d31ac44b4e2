// SPDX-License-Identifier: Apache-2.0
// What a bulk reduction makes of each number of its destination.
#pragma once

namespace antiphase {

// Of what is there and what comes. min and max: of integers; bit_and, bit_or, bit_xor: of unsigned integers.
enum class bulk_update : unsigned char { add, min, max, bit_and, bit_or, bit_xor };

}  // namespace antiphase
