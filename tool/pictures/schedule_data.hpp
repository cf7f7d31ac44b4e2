// SPDX-License-Identifier: Apache-2.0
// A schedule as data of the HTML page.
#pragma once
#include <nlohmann/json.hpp>

#include "schedule_pictures.hpp"

namespace antiphase::tool {

nlohmann::ordered_json schedule_data(const drawn_finding& f);

}  // namespace antiphase::tool
