// SPDX-License-Identifier: Apache-2.0
// Names that the pre-pass refuses.
#pragma once
#include <string>
#include <string_view>

namespace antiphase::plain {

struct unsupported_name {
  std::string name, instead;
};
const unsupported_name* unsupported(std::string_view name);  // null: supported, or not known
// By the beginning of a library's name, as libraries have many. Of cuBLAS and cuRAND: functions that are
// called, and that the headers in the preprocessed text do not define.
const unsupported_name* unsupported_of_library(std::string_view name, bool called, std::string_view headers);

}  // namespace antiphase::plain
