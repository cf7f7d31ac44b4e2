// SPDX-License-Identifier: Apache-2.0
// The parts of {fmt} that objects of library and tool use, compiled into libantiphase.so.0 and into a tool
// for older systems: distributions have {fmt} as a shared library only. Header functions that are used and
// not inlined (-fno-inline) are emitted under the names that the objects refer to; the linker reports missing
// ones.
#define FMT_HEADER_ONLY
#include <fmt/format.h>

#include <cstdio>

namespace antiphase::c_api {

// Instantiates all of vformat().
[[gnu::used]] std::string formatted_at_run_time(std::string_view how, int whole, double real,
                                                const char* text) {
  return fmt::vformat(fmt::string_view(how.data(), how.size()), fmt::make_format_args(whole, real, text));
}

// and of vprint()
[[gnu::used]] void printed(std::FILE* where, const char* text) { fmt::print(where, "{}", text); }

}  // namespace antiphase::c_api
