// SPDX-License-Identifier: Apache-2.0
// Timelines as one page for a browser.
#pragma once
#include <antiphase/trace.hpp>
#include <span>
#include <string>
#include <string_view>

namespace antiphase::tool {

// An HTML page that needs nothing else, neither files nor a network: the timelines below each other on one
// scale of time, with lanes for buffers and warps, to zoom and pan, and a table of what measure() says of
// each. The same timelines give the same text. All must be of one unit; throws bad_request if they are not,
// or if there is none with a complete step.
std::string timeline_page(std::span<const timeline> timelines,
                          std::string_view title = "Timelines of a kernel's pipeline");

// The page with these data, as JSON.
std::string filled_page(std::string data, std::string_view title);

// The file timeline_page.html.
std::string_view timeline_page_template();

}  // namespace antiphase::tool
