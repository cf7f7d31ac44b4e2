// SPDX-License-Identifier: Apache-2.0
#include "prepared.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include "checker/plain/translate/compile/compile.hpp"

namespace antiphase::plain {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kept = 4;  // folders of parts, 25 MB each: of the last compilers and sets of options

fs::path cache() {
  if (const char* const named = std::getenv("ANTIPHASE_CACHE"))
    return std::string_view(named) == "off" ? fs::path() : fs::path(named);
  if (const char* const named = std::getenv("XDG_CACHE_HOME"); named != nullptr && *named == '/')
    return fs::path(named) / "antiphase";
  if (const char* const home = std::getenv("HOME"); home != nullptr && *home == '/')
    return fs::path(home) / ".cache/antiphase";
  return {};
}

// FNV-1a of all that the parts follow from.
class key {
 public:
  void add(std::string_view text) {
    for (const char c : text) step(static_cast<unsigned char>(c));
    step(0);
  }
  void add_file(const fs::path& file) {
    std::error_code failed;
    add(file.native());
    add(std::to_string(fs::file_size(file, failed)));
    add(std::to_string(fs::last_write_time(file, failed).time_since_epoch().count()));
  }
  std::string text() const { return fmt::format("{:016x}", all_); }

 private:
  void step(unsigned char c) { all_ = (all_ ^ c) * 0x100000001b3; }
  std::uint64_t all_ = 0xcbf29ce484222325;
};

std::string key_of(const preparation& how) {
  key all;
  for (const auto* command : {&how.compile_header, &how.compile_own_part}) {
    for (const std::string& word : *command) all.add(word);
    all.add("");
  }
  all.add(how.header);
  all.add(how.own_part);
  all.add_file(how.compiler);
  std::vector<fs::path> headers;
  std::error_code failed;
  for (fs::recursive_directory_iterator at(how.include, failed), end; !failed && at != end;
       at.increment(failed))
    if (at->is_regular_file(failed)) headers.push_back(at->path());
  std::ranges::sort(headers);
  for (const fs::path& file : headers) all.add_file(file);
  return all.text();
}

// Removes folders beyond those kept, used longest ago. A process that uses one finds that g++ fails, and
// compiles without.
void remove_old(const fs::path& in) {
  std::vector<std::pair<fs::file_time_type, fs::path>> all;
  std::error_code failed;
  for (fs::directory_iterator at(in, failed), end; !failed && at != end; at.increment(failed))
    all.emplace_back(at->last_write_time(failed), at->path());
  std::ranges::sort(all, std::greater{});
  for (std::size_t i = kept; i < all.size(); ++i) fs::remove_all(all[i].second, failed);
}

// Makes the parts in a folder of this process, then gives it the name that others look for.
void make(const preparation& how, const fs::path& in, const fs::path& named) {
  const temporary_folder made(in);
  const fs::path& folder = made.path();
  const auto compiled = [&](std::vector<std::string> command, const std::string& text, const char* source,
                            const char* result) {
    write_file(folder / source, text);
    command.insert(command.end(), {folder / source, "-o", folder / result});
    return run_command(command, folder / "said") == 0;
  };
  const bool done = compiled(how.compile_own_part, how.own_part, "own_part.cpp", "own_part.o") &&
                    compiled(how.compile_header, how.header, "header.hpp", "header.hpp.gch");
  std::error_code failed;
  if (done) fs::rename(folder, named, failed);  // fails if a thread was faster
  remove_old(in);
}

}  // namespace

std::optional<prepared_parts> prepared(const preparation& how) {
  const fs::path in = cache();
  if (in.empty()) return {};
  const fs::path named = in / "check" / key_of(how);
  std::error_code failed;
  if (!fs::exists(named, failed)) return {};
  fs::last_write_time(named, fs::file_time_type::clock::now(), failed);  // those used last are kept
  return prepared_parts{named / "header.hpp", named / "own_part.o"};
}

std::future<void> prepare(const preparation& how) {
  fs::path in = cache();
  if (in.empty()) return {};
  in /= "check";
  const fs::path named = in / key_of(how);
  std::error_code failed;
  if (fs::exists(named, failed)) return {};  // of no use to this program
  fs::create_directories(in, failed);
  if (failed) return {};
  return std::async(std::launch::async, [=] {
    try {
      make(how, in, named);
    } catch (const std::exception&) {  // a full disk, say: programs are compiled without
    }
  });
}

}  // namespace antiphase::plain
