// SPDX-License-Identifier: Apache-2.0
// Headers that are not there, or are a toolkit's own, among the compiler's errors: one sentence each.
#pragma once
#include <string>
#include <string_view>

namespace antiphase::plain {

// The sentence to say instead of g++'s errors where an #include is the cause, with its file and line and the
// header's name. Empty where they have another cause.
std::string include_that_fails(std::string_view errors);
// The header of a toolkit that is not there, as programs include it; empty: none.
std::string absent_header(std::string_view errors);

// The errors, with the folder to name by -I where a header that is not found lies near the file that includes
// it.
std::string with_folders(const std::string& errors);

// After what to use instead of something in code for the device.
constexpr const char* or_by_nvcc = ", or --nvcc where a CUDA toolkit is";

}  // namespace antiphase::plain
