// SPDX-License-Identifier: Apache-2.0
// Timelines as one page for a browser.
#pragma once
#include <antiphase/trace.hpp>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "schedule_pictures.hpp"

namespace antiphase::tool {

// A schedule that breaks the kernel of a timeline once a wait is taken from it.
struct taken_wait {
  std::size_t timeline = 0;  // which timeline
  drawn_finding finding;
};

// A self-contained HTML page, without other files or network access: the timelines below each other on a
// common time scale, with lanes for buffers and warps, zoom and pan, a player that shows the ring at each
// moment, and a table of measure()'s results. A switch takes waits away, and `taken` plays.
// Equal timelines give equal text. All must have the same unit; throws bad_request if they differ, or if no
// timeline has a complete step.
std::string timeline_page(std::span<const timeline> timelines,
                          std::string_view title = "Timelines of a kernel's pipeline",
                          std::span<const taken_wait> taken = {});

// Contents of timeline_page.html.
std::string_view timeline_page_template();

// A page filled with these data, in JSON.
std::string filled_page(std::string data, std::string_view title,
                        std::string_view page = timeline_page_template());

}  // namespace antiphase::tool
