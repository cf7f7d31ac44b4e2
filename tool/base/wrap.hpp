// SPDX-License-Identifier: Apache-2.0
// Text for a terminal, in lines that fit.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace antiphase::tool {

// How wide the terminal is that a descriptor belongs to: as COLUMNS says, as the terminal says, or 80; at
// least 40.
std::size_t terminal_columns(int descriptor = 1);

// The text with its longer lines broken between words. What follows goes below the line's second column, if
// that is marked by two spaces and not too far to the right, else below its first: lists, tables of options
// and paragraphs keep their form.
std::string wrapped(std::string_view text, std::size_t columns = terminal_columns());

// How many characters a line of UTF-8 has.
std::size_t width_of(std::string_view line);

}  // namespace antiphase::tool
