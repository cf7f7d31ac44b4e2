// SPDX-License-Identifier: Apache-2.0
// Text for a terminal, in lines that fit.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace antiphase::tool {

// Width of the terminal of a descriptor: COLUMNS if set, else what the terminal reports, else 80; at
// least 40.
std::size_t terminal_columns(int descriptor = 1);

// The text with long lines broken between words. If two spaces mark a second column, not too far to the
// right, the rest of the line continues below that column; otherwise below the first. Lists, tables of
// options and paragraphs keep their form.
std::string wrapped(std::string_view text, std::size_t columns = terminal_columns());

// Number of characters in a line of UTF-8.
std::size_t width_of(std::string_view line);

}  // namespace antiphase::tool
