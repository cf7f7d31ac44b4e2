// SPDX-License-Identifier: Apache-2.0
// A folder for files that a command needs while it runs.
#pragma once
#include <stdlib.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

namespace antiphase::tool {

// Removed at the end, with all that is in it. `path` is empty if no folder can be made.
struct temporary_folder {
  std::filesystem::path path;
  explicit temporary_folder(std::string_view name) {
    std::string pattern =
        std::filesystem::temp_directory_path() / ("antiphase-" + std::string(name) + "-XXXXXX");
    if (mkdtemp(pattern.data()) != nullptr) path = pattern;
  }
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;
  ~temporary_folder() {
    std::error_code ignored;
    if (!path.empty()) std::filesystem::remove_all(path, ignored);
  }
};

}  // namespace antiphase::tool
