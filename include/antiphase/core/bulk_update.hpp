// SPDX-License-Identifier: Apache-2.0
// The operation of a bulk reduction.
#pragma once

namespace antiphase {

// destination = operation(destination, source). min and max: integers; bit_and, bit_or, bit_xor: unsigned
// integers.
enum class bulk_update : unsigned char { add, min, max, bit_and, bit_or, bit_xor };

}  // namespace antiphase
