// SPDX-License-Identifier: Apache-2.0
// The subcommand examples: lists the programs that come with the tool, and copies them.
#include "tool/commands/start/examples.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tool/base/errors.hpp"
#include "tool/base/wrap.hpp"
#include "tool/files/folders.hpp"
#include "tool/files/whole_file.hpp"
#include "tool/program/command.hpp"
#include "tool/program/text/console.hpp"

namespace antiphase::tool {

namespace fs = std::filesystem;

fs::path shipped_examples() {
  return shipped_folder("examples", ANTIPHASE_SOURCE_EXAMPLES, "data/digits_test.npy", "examples");
}

namespace {

constexpr const char* explanation =
    "Without a name, the programs and what each shows. With one, a copy of that file or folder below the "
    "folder given; what is there already stays.\n\nWithout a GPU programs in plain CUDA can be checked, and "
    "most of "
    "the others run on the CPU executor.\n\nExamples:\n"
    "  antiphase examples                       the list\n"
    "  antiphase examples plain_cuda            makes examples/plain_cuda\n"
    "  antiphase check examples/plain_cuda/sum.cu\n"
    "  antiphase examples gemm.c .              makes ./gemm.c\n"
    "  antiphase examples all";

struct request {
  std::string name, folder = "examples";
  common_options common;
};

// The first sentence of the comment that a source begins with, of a script's docstring, or a page's heading;
// empty if it begins with none.
std::string subject_of(std::string_view text) {
  const auto words_of_line = [&] {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    return line.substr(std::min(line.size(), line.find_first_not_of("/!#\" ")));
  };
  if (text.starts_with("# SPDX-")) words_of_line();
  std::string subject;
  if (text.starts_with("\"\"\"") || text.starts_with("# ")) subject = words_of_line();
  while (text.starts_with("//") || text.starts_with("! ")) {
    const std::string_view words = words_of_line();
    if (words.starts_with("SPDX-")) continue;
    subject += (subject.empty() ? "" : " ") + std::string(words);
  }
  return subject.substr(0, subject.find(". "));
}

// Names of all files, relative to the examples' folder. Where pip installs, Python writes others into
// __pycache__.
std::vector<fs::path> shipped_files(const fs::path& examples) {
  std::vector<fs::path> all;
  fs::recursive_directory_iterator entry(examples);
  for (const fs::recursive_directory_iterator end; entry != end; ++entry) {
    if (entry->path().filename() == "__pycache__") entry.disable_recursion_pending();
    if (entry->is_regular_file()) all.push_back(entry->path().lexically_relative(examples));
  }
  std::ranges::sort(all);
  return all;
}

void list(const fs::path& examples, const common_options& common) {
  json all = json::array();
  std::string text;
  for (const fs::path& name : shipped_files(examples)) {
    if (name.extension() == ".hpp" || name.extension() == ".h" || name.extension() == ".npy") continue;
    const std::string subject = subject_of(whole_file((examples / name).string()));
    if (subject.empty()) continue;
    text += fmt::format("{:<26}  {}\n", name.string(), subject);
    all.push_back({{"name", name.string()}, {"about", subject}});
  }
  if (common.json) return print_json({{"schema", 1}, {"command", "examples"}, {"examples", all}});
  print(wrapped(text));
}

void copy(const fs::path& examples, const request& r) {
  const fs::path name = r.name == "all" ? "" : fs::path(r.name + "/").lexically_normal().parent_path();
  const auto within = [&](const fs::path& file) {
    return std::mismatch(name.begin(), name.end(), file.begin(), file.end()).first == name.end();
  };
  std::vector<std::pair<std::string, std::string>> files;
  for (const fs::path& file : shipped_files(examples))
    if (within(file)) files.emplace_back(file.string(), whole_file((examples / file).string()));
  if (files.empty())
    throw bad_request(
        fmt::format("there is no example '{}': expected a file that 'antiphase examples' lists, its folder, "
                    "or all",
                    r.name));
  make_files(r.folder, files);
  if (r.common.json || r.common.quiet) return;
  for (const auto& [file, text] : files)
    print((fs::path(r.folder) / file).lexically_normal().string() + '\n');
}

}  // namespace

void add_examples(arguments program) {
  arguments command = program.add_subcommand("examples", "List the examples, or copy them");
  const auto r = std::make_shared<request>();
  command.add_option("name", r->name, "A file or folder of the list, or all")
      .check(not_empty())
      .type_name("NAME");
  command.add_option("folder", r->folder, "Where the copy goes")
      .check(not_empty())
      .shows_default()
      .type_name("FOLDER");
  add_common_options(command, r->common);
  command.footer(explanation);
  command.runs([r] {
    const fs::path examples = shipped_examples();
    r->name.empty() ? list(examples, r->common) : copy(examples, *r);
  });
}

}  // namespace antiphase::tool
