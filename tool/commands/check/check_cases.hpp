// SPDX-License-Identifier: Apache-2.0
// The cases that `antiphase check` runs.
#pragma once
#include <antiphase/checker.hpp>
#include <string>
#include <vector>

namespace antiphase::tool {

const std::vector<checked_case>& checked_cases();
// Those of these names: all, a family or a kernel; all, if there are none. Throws bad_request.
std::vector<const checked_case*> cases_of(const std::vector<std::string>& names);

}  // namespace antiphase::tool
