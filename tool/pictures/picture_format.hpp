// SPDX-License-Identifier: Apache-2.0
// The forms in which timelines are written.
#pragma once
#include <fmt/format.h>
#include <antiphase/core/error.hpp>
#include <string>

#include "tool/files/file_names.hpp"
#include "tool/program/names.hpp"

namespace antiphase::tool {

enum class picture_format { page, still, perfetto };

// What `asked` says, or the file's name if it is empty. Throws bad_request where neither does; `otherwise`
// says what would help.
inline picture_format picture_format_of(const std::string& file, const std::string& asked,
                                        const char* otherwise) {
  if (!asked.empty())
    return static_cast<picture_format>(choice_of("--format", asked, {"html", "svg", "json"}));
  if (file.ends_with(".html")) return picture_format::page;
  if (file.ends_with(".svg")) return picture_format::still;
  if (file.ends_with(".json")) return picture_format::perfetto;
  throw bad_request(
      fmt::format("{}: the name ends in none of .html, .svg and .json{}", output_name(file), otherwise));
}

}  // namespace antiphase::tool
