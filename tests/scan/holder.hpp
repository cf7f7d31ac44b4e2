// SPDX-License-Identifier: Apache-2.0
// What the kernel of a neighbour is told.
#pragma once
#include <cstdint>

namespace antiphase::scan_test {

struct holder_arguments {
  const std::uint32_t* let_go;  // when it is not 0
};

}  // namespace antiphase::scan_test
