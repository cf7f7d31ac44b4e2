// SPDX-License-Identifier: Apache-2.0
// File formats of timelines.
#pragma once
#include <fmt/format.h>
#include <antiphase/core/error.hpp>
#include <string>

#include "tool/files/file_handle.hpp"
#include "tool/program/text/names.hpp"

namespace antiphase::tool {

enum class picture_format { page, still, data };

// The format named by `asked` or, if that is empty, by the file's extension. Throws bad_request if neither
// gives one; `otherwise` is advice for the message.
inline picture_format picture_format_of(const std::string& file, const std::string& asked,
                                        const char* otherwise) {
  if (!asked.empty())
    return static_cast<picture_format>(choice_of("--format", asked, {"html", "svg", "json"}));
  if (file.ends_with(".html")) return picture_format::page;
  if (file.ends_with(".svg")) return picture_format::still;
  if (file.ends_with(".json")) return picture_format::data;
  throw bad_request(
      fmt::format("{}: the name ends in none of .html, .svg and .json{}", output_name(file), otherwise));
}

}  // namespace antiphase::tool
