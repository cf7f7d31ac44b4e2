// SPDX-License-Identifier: Apache-2.0
// Headers that are not there, or are a toolkit's own, among the compiler's errors: one sentence each.
#pragma once
#include <string>
#include <string_view>

namespace antiphase::plain {

// The sentence to say instead of g++'s errors where an #include is the cause, with its file and line and the
// header's name. Empty where they have another cause.
std::string include_that_fails(std::string_view errors);

}  // namespace antiphase::plain
