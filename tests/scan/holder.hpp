// SPDX-License-Identifier: Apache-2.0
// Parameters of the kernel that occupies multiprocessors.
#pragma once
#include <cstdint>

namespace antiphase::scan_test {

struct holder_arguments {
  const std::uint32_t* let_go;  // nonzero: return
};

}  // namespace antiphase::scan_test
