// SPDX-License-Identifier: Apache-2.0
#include "tool/files/folders.hpp"

#include <fmt/format.h>

#include <antiphase/core/error.hpp>
#include <system_error>

#include "tool/base/errors.hpp"
#include "tool/files/output_file.hpp"

namespace antiphase::tool {

namespace fs = std::filesystem;

fs::path shipped_folder(const std::string& name, const fs::path& source, const std::string& known,
                        const std::string& what) {
  const fs::path installed =
      fs::canonical("/proc/self/exe").parent_path().parent_path() / "share/antiphase" / name;
  for (const fs::path& folder : {installed, source})
    if (std::error_code ignored; fs::exists(folder / known, ignored)) return folder;
  throw error(fmt::format("the {} are missing: expected them in {}", what, installed.string()));
}

void make_folder(const fs::path& folder, const std::string& expected,
                 std::span<const std::pair<std::string, std::string>> files) {
  if (std::error_code ignored; fs::exists(folder, ignored))
    throw bad_request(fmt::format("'{}' is there already: expected {}", folder.string(), expected));
  make_files(folder, files);
}

void make_files(const fs::path& folder, std::span<const std::pair<std::string, std::string>> files) {
  for (const auto& [name, text] : files)
    if (std::error_code ignored; fs::exists(folder / name, ignored))
      throw bad_request(fmt::format("'{}' is there already: expected a folder without it",
                                    (folder / name).lexically_normal().string()));
  for (const auto& [name, text] : files) {
    const fs::path parent = (folder / name).parent_path();
    std::error_code failed;
    fs::create_directories(parent, failed);
    if (failed)
      throw output_failed(fmt::format("'{}' cannot be made: {}", parent.string(), failed.message()));
    output_file out((folder / name).string());
    out.write(text);
    out.commit();
  }
}

}  // namespace antiphase::tool
