// SPDX-License-Identifier: Apache-2.0
// What a compiler's errors mean: something that is not supported, the program's own faults, or a full disk.
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <regex>
#include <set>
#include <sstream>

#include "checker/plain/translate/compile/compile_steps.hpp"
#include "checker/plain/translate/compile/missing_headers.hpp"
#include "checker/plain/translate/prepared.hpp"

namespace antiphase::plain {

namespace fs = std::filesystem;

namespace {

// Refusals by static assertions of the stand-in headers, with the lines of the program that ask for them.
// Lines of a launch in JSON are those of what is made of it.
std::string refused_by_headers(const std::string& errors) {
  static const std::regex asks(R"((.+?\.json|.+?:\d+)(?::\d+)*:\s+required from here)"),
      refuses(R"(.*: static assertion failed: antiphase check: (.*))");
  std::istringstream lines(errors);
  std::string place, told;
  for (std::string line; std::getline(lines, line);) {
    std::smatch m;
    if (std::regex_match(line, m, asks))
      place = m[1];
    else if (std::regex_match(line, m, refuses))
      told += (told.empty() ? "" : "\n") + (place.empty() ? "" : place + ": ") + m[1].str();
  }
  return told;
}

// Names of CUDA that nothing declares, with their lines: the toolkit has more than the stand-ins.
std::string unknown_names(const std::string& errors) {
  static const std::regex undeclared(
      R"((\S.*?:\d+):\d+: error: \W*((?:cuda|cu|cublas|curand)[A-Z]\w*|__nv_\w+)\W* (?:was not|has not|does not).*)"),
      not_member(
          R"((\S.*?:\d+):\d+: error: \W*(\w+)\W* (?:is not a member of|has not been declared in) \W*(cub|thrust|cuda|cooperative_groups|nvcuda)\b.*)");
  std::istringstream lines(errors);
  std::set<std::string> known;
  std::string all;
  for (std::string line; std::getline(lines, line);) {
    std::smatch m;
    if (!std::regex_match(line, m, undeclared) && !std::regex_match(line, m, not_member)) continue;
    const std::string name = m.size() > 3 ? m[3].str() + "::" + m[2].str() : m[2].str();
    if (known.insert(name).second)
      all += fmt::format("{}: {} is not known here: use what antiphase check --dialect lists\n", m[1].str(),
                         name);
  }
  return all;
}

// Throws if the compiler failed although the program may be right: the disk is full.
void blame_disk(const std::string& text, const fs::path& folder) {
  std::error_code ignored;
  constexpr std::uintmax_t little = 1 << 12;
  if (text.empty() && fs::space(folder, ignored).available < little)
    fail_to_write(folder, std::strerror(ENOSPC));
  for (const char* sign :
       {"No space left on device", "Disk quota exceeded", "File too large", "writing output to "})
    if (const std::size_t at = text.find(sign); at != text.npos) {
      const std::size_t line = text.rfind('\n', at) + 1;
      fail_to_write(folder, text.substr(line, text.find('\n', at) - line));
    }
}

}  // namespace

void fail(const fs::path& said) {
  std::string text = read_file(said);
  while (text.ends_with('\n')) text.pop_back();
  blame_disk(text, said.parent_path());
  if (text.starts_with("clang")) throw not_supported(needs_gcc("calls clang"));
  if (const std::string header = include_that_fails(text); !header.empty()) throw bad_source(header);
  if (const std::string refused = refused_by_headers(text); !refused.empty()) throw bad_source(refused);
  throw bad_source(std::string(does_not_compile) + unknown_names(text) + with_folders(text));
}
void run_or_fail(const words& command, const fs::path& said) {
  if (run_command(command, said) != 0) fail(said);
}

}  // namespace antiphase::plain
