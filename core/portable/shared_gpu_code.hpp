// SPDX-License-Identifier: Apache-2.0
// Whether a program has the GPU code that it takes from the library next to it.
#pragma once

namespace antiphase {

// One sentence if that library is missing or another one; null if it has the code. The function itself is
// null in programs that hold all of their GPU code.
[[gnu::weak, gnu::visibility("hidden")]] const char* missing_gpu_code();

}  // namespace antiphase
