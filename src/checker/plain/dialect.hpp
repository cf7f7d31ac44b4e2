// SPDX-License-Identifier: Apache-2.0
// Names that the pre-pass refuses.
#pragma once
#include <string>
#include <string_view>

namespace antiphase::plain {

struct unsupported_name {
  std::string what, instead;
};
const unsupported_name* unsupported(std::string_view name);  // null: supported, or not known
// Also by the beginning of a function's name, as libraries have many.
const unsupported_name* unsupported_call(std::string_view name);

}  // namespace antiphase::plain
