// SPDX-License-Identifier: Apache-2.0
// Timelines in files, for trace --read.
#pragma once
#include <antiphase/trace.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace antiphase::tool {

// A file's name, or that of a recording which is shipped, such as h200.
std::string recorded_file(const std::string& name);
// A timeline that a program wrote, or a list of them; or those of what `antiphase trace --json` has written:
// of their steps, as the block's first warp begins them and its last one ends them. Throws bad_request for
// other text.
std::vector<timeline> timelines_of(std::string_view text);
// Timelines with all of their spans, for timelines_of().
std::string text_of(std::span<const timeline> timelines);

}  // namespace antiphase::tool
