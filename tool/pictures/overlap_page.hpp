// SPDX-License-Identifier: Apache-2.0
// What buffers gain, as one self-contained page.
#pragma once
#include <string_view>

namespace antiphase::tool {

// Contents of overlap_page.html, for filled_page() with a result file of bench overlap.
std::string_view overlap_page_template();

}  // namespace antiphase::tool
