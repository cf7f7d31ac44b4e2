// SPDX-License-Identifier: Apache-2.0
#include "checker/plain/translate/compile/missing_headers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <sstream>
#include <utility>
#include <vector>

namespace antiphase::plain {
namespace {

namespace fs = std::filesystem;

bool begins_with_any(std::string_view name, const auto& beginnings) {
  return std::ranges::any_of(beginnings, [&](const char* with) { return name.starts_with(with); });
}

// A header of the CUDA toolkit, of CCCL, of NVIDIA's libraries or of PyTorch, as programs include it.
bool is_of_toolkit(std::string_view name) {
  static constexpr std::array folders{"cuda/", "cub/", "thrust/",  "cooperative_groups/",
                                      "crt/",  "nv",   "torch/",   "ATen/",
                                      "c10/",  "THC/", "pybind11/"};
  static constexpr std::array files{"cuda",   "cublas",   "cudnn",    "cufft",    "cufile", "cupti",
                                    "curand", "cusolver", "cusparse", "cutensor", "nccl",   "npp"};
  return begins_with_any(name, folders) ||
         (name.find('/') == std::string_view::npos && begins_with_any(name, files));
}

// The name by which a file of a toolkit's or CCCL's folder of headers is included; empty for other files.
std::string name_in_toolkit(const fs::path& file) {
  std::error_code ignored;
  for (fs::path folder = file.parent_path(); !folder.empty(); folder = folder.parent_path()) {
    for (const char* mark : {"crt/host_config.h", "thrust/version.h", "cub/version.cuh", "cuda/std/version"})
      if (fs::exists(folder / mark, ignored)) {
        std::string name = file.lexically_relative(folder).string();
        return is_of_toolkit(name) ? name : "";
      }
    if (folder == folder.parent_path()) break;
  }
  return {};
}

// True for headers of what kernels call.
bool has_device_code(std::string_view name) {
  static constexpr std::array folders{"cuda/", "cub/", "thrust/", "cooperative_groups/", "nv/", "cuda_"};
  return begins_with_any(name, folders);
}

struct place {
  std::string file;
  std::string line;
};

// Folders in which a header of that name lies: of those under the including file's folder or, if there is
// none, under the next one above it, up to the root of its repository.
std::vector<fs::path> folders_with(const fs::path& name, const fs::path& includer) {
  std::vector<fs::path> found;
  std::error_code ignored;
  int steps = 20'000;  // entries of folders to look at
  constexpr int levels = 5, deepest = 6;
  fs::path folder = fs::absolute(includer, ignored).lexically_normal().parent_path(), last;
  const char* const home = std::getenv("HOME");
  const auto is_shared = [&](const fs::path& f) {  // by much else: /tmp, a home
    return f.parent_path() == f.root_path() || f == f.root_path() || (home != nullptr && f == home);
  };
  for (int level = 0; level < levels && found.empty() && !is_shared(folder); ++level) {
    for (fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, ignored),
         end;
         !ignored && at != end && --steps > 0; at.increment(ignored)) {
      const fs::path& entry = at->path();
      std::error_code of_entry;
      const bool is_left = !at->is_directory(of_entry) || entry.filename().native().starts_with('.');
      if (is_left || entry == last || at.depth() == deepest) at.disable_recursion_pending();
      if (!is_left && entry != last && fs::is_regular_file(entry / name, of_entry)) found.push_back(entry);
    }
    ignored.clear();
    if (level > 0 && fs::is_regular_file(folder / name, ignored)) found.push_back(folder);
    if (fs::exists(folder / ".git", ignored)) break;
    last = std::exchange(folder, folder.parent_path());
  }
  std::ranges::sort(found, {},
                    [](const fs::path& p) { return std::pair(std::distance(p.begin(), p.end()), p); });
  return found;
}

}  // namespace

std::string with_folders(const std::string& errors) {
  static const std::regex missing(R"((.+?):\d+:\d+: fatal error: (\S+): No such file or directory)");
  std::smatch m;
  if (!std::regex_search(errors, m, missing)) return errors;
  const fs::path name = m[2].str();
  if (name.is_absolute() || name.begin()->native() == "..") return errors;
  std::string folders;
  constexpr std::size_t most = 3;
  const std::vector<fs::path> found = folders_with(name, m[1].str());
  for (std::size_t i = 0; i < std::min(found.size(), most); ++i) {
    const std::string shown = found[i].lexically_proximate(fs::current_path()).string(),
                      full = found[i].string();
    folders += (i == 0 ? "" : " or ") + ("-I " + (shown.size() < full.size() ? shown : full));
  }
  if (folders.empty()) return errors;
  return std::string(errors.begin(), m[0].second) + fmt::format(": expected {}, where it is", folders) +
         std::string(m[0].second, errors.end());
}

std::string absent_header(std::string_view errors) {
  static const std::regex missing(R"(fatal error: (\S+): No such file or directory)");
  std::match_results<std::string_view::const_iterator> m;
  if (!std::regex_search(errors.begin(), errors.end(), m, missing)) return {};
  const std::string name = m[1];
  return is_of_toolkit(name) && name.find("..") == name.npos ? name : "";
}

std::string include_that_fails(std::string_view errors) {
  static const std::regex included(R"((?:In file included|\s+) from (.+?):(\d+)(?::\d+)?[,:])"),
      error(R"((.+?):(\d+):\d+: (?:fatal )?error: (.*))"), missing(R"((\S+): No such file or directory)");
  std::vector<place> by;  // who includes whom: the innermost first
  std::istringstream lines{std::string(errors)};
  for (std::string line; std::getline(lines, line);) {
    std::smatch m;
    if (std::regex_match(line, m, included)) {
      if (line.starts_with("In")) by.clear();
      by.push_back({m[1], m[2]});
      continue;
    }
    if (!std::regex_match(line, m, error)) continue;
    by.insert(by.begin(), {m[1], m[2]});
    const std::string why = m[3];
    std::string header, quoted;
    std::getline(lines, quoted);  // the line of the source; "name" is a header of the program's own
    if (std::regex_match(why, m, missing) && is_of_toolkit(m[1].str()) &&
        quoted.find(fmt::format("\"{}\"", m[1].str())) == quoted.npos)
      header = m[1];
    for (const place& p : by) {
      const std::string name = name_in_toolkit(p.file);
      if (name.empty())
        return header.empty() ? ""
                              : fmt::format(
                                    "{}:{}: <{}> is not supported here: use what antiphase check "
                                    "--dialect lists, or leave the #include out{}",
                                    p.file, p.line, header, has_device_code(header) ? or_by_nvcc : "");
      header = name;
    }
    return {};
  }
  return {};
}

}  // namespace antiphase::plain
