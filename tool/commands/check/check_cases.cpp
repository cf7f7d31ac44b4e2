// SPDX-License-Identifier: Apache-2.0
// What `antiphase check` runs: the cases of the library's kernels.
#include "tool/commands/check/check_cases.hpp"

namespace antiphase::tool {

const std::vector<checked_case>& checked_cases() { return library_cases(); }

}  // namespace antiphase::tool
