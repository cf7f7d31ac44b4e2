// SPDX-License-Identifier: Apache-2.0
// The cases that `antiphase check` runs.
#pragma once
#include <antiphase/checker.hpp>
#include <vector>

namespace antiphase::tool {

const std::vector<checked_case>& checked_cases();

}  // namespace antiphase::tool
