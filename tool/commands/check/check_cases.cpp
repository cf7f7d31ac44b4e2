// SPDX-License-Identifier: Apache-2.0
// The cases of the library's kernels that `antiphase check` runs.
#include "tool/commands/check/check_cases.hpp"

namespace antiphase::tool {

const std::vector<checked_case>& checked_cases() { return library_cases(); }

}  // namespace antiphase::tool
