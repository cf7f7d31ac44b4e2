// SPDX-License-Identifier: Apache-2.0
#include "tool/files/folders.hpp"

#include <fmt/format.h>

#include <antiphase/core/error.hpp>
#include <system_error>
#include <vector>

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

namespace {

// Files and folders as they are made, each after the one that it is in; removed again unless all were.
class made {
 public:
  made() = default;
  made(const made&) = delete;
  made& operator=(const made&) = delete;
  ~made() {
    std::error_code ignored;
    for (auto path = paths_.rbegin(); path != paths_.rend(); ++path) fs::remove(*path, ignored);
  }

  void folder(const fs::path& path) {
    std::error_code failed;
    if (path.empty() || fs::is_directory(path, failed)) return;
    folder(path.parent_path());
    const bool is_new = fs::create_directory(path, failed);
    if (failed) throw output_failed(fmt::format("'{}' cannot be made: {}", path.string(), failed.message()));
    if (is_new) paths_.push_back(path);
  }
  void file(const fs::path& path, const std::string& text) {
    output_file out(path.string());
    out.write(text);
    out.commit();
    paths_.push_back(path);
  }
  void keep() { paths_.clear(); }

 private:
  std::vector<fs::path> paths_;
};

}  // namespace

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
  made all;
  for (const auto& [name, text] : files) {
    all.folder((folder / name).parent_path());
    all.file(folder / name, text);
  }
  all.keep();
}

}  // namespace antiphase::tool
