// SPDX-License-Identifier: Apache-2.0
// What the library's objects need of {fmt}, which distributions have as a shared library only: compiled once
// more, into libantiphase.so.0 itself. Used functions of headers are emitted where they are not inlined
// (src/c_api/CMakeLists.txt sees to that), under the names by which the objects ask for them; the linker
// tells if one is missing.
#define FMT_HEADER_ONLY
#include <fmt/format.h>

namespace antiphase::c_api {

// Leads to all of vformat().
[[gnu::used]] std::string formatted_at_run_time(std::string_view how, int whole, double real,
                                                const char* text) {
  return fmt::vformat(fmt::string_view(how.data(), how.size()), fmt::make_format_args(whole, real, text));
}

}  // namespace antiphase::c_api
