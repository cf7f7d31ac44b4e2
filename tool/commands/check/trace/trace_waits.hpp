// SPDX-License-Identifier: Apache-2.0
// What the waits of traced kernels are for: schedules that break them without.
#pragma once
#include <antiphase/trace.hpp>
#include <span>
#include <vector>

#include "tool/pictures/timeline_page.hpp"
#include "tool/program/command.hpp"

namespace antiphase::tool {

// Has the checker run the kernel of each timeline without each kind of wait (check_options::without), and
// returns the first finding of each. Throws not_supported in a build without the checker.
std::vector<taken_wait> waits_taken_from(std::span<const timeline> timelines, const common_options& common);

}  // namespace antiphase::tool
