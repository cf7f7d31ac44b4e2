// SPDX-License-Identifier: Apache-2.0
// The subcommand check on Python programs: python/antiphase_check/capture.py runs one, and writes down the
// kernels that it would compile, and the calls of them; these are checked here as plain CUDA.
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <antiphase/plain_cuda.hpp>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tool/base/errors.hpp"
#include "tool/base/temporary_folder.hpp"
#include "tool/commands/check/check.hpp"
#include "tool/program/text/console.hpp"

extern char** environ;

namespace antiphase::tool {
namespace {

namespace fs = std::filesystem;

// capture.py of the wheel, of the installed tool, or of the sources.
fs::path capture_script() {
  std::error_code ignored;
  const fs::path self = fs::read_symlink("/proc/self/exe", ignored).parent_path().parent_path();
  for (const fs::path& folder :
       {self.parent_path(), self / "share/antiphase", fs::path(ANTIPHASE_SOURCE_PYTHON)})
    if (fs::exists(folder / "antiphase_check/capture.py", ignored))
      return folder / "antiphase_check/capture.py";
  throw not_supported(
      "checking a Python program needs antiphase's Python package next to this program: pip install "
      "antiphase");
}

// Runs the program in a Python of its own. What it prints goes to standard error.
json captured(const check_request& r, const plain_program& p, const fs::path& folder) {
  const char* const named = std::getenv("ANTIPHASE_PYTHON");
  const std::string python = named != nullptr ? named : "python3";
  const fs::path manifest = folder / "manifest.json";
  std::vector<std::string> words{python, capture_script(), manifest, std::to_string(r.other_seconds())};
  for (const std::string& o : p.compiler_options) {
    if (!o.starts_with("-D"))
      throw bad_request(fmt::format(
          "{} is not for Python programs: expected -D NAME=VALUE, for a constant at the top of the file", o));
    words.push_back(o);
  }
  words.insert(words.end(), p.sources.begin(), p.sources.end());
  words.emplace_back("--");
  words.insert(words.end(), p.arguments.begin(), p.arguments.end());
  std::vector<char*> argv;
  for (std::string& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  if (!r.blocks.empty()) setenv("ANTIPHASE_CHECK_BLOCKS", r.blocks.c_str(), 1);
  setenv("ANTIPHASE_TOOL", fs::read_symlink("/proc/self/exe").c_str(), 1);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, argv[0], &files, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (failed != 0)
    throw not_supported(fmt::format("checking a Python program needs Python, and '{}' does not start: {}",
                                    python, std::strerror(failed)));
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  std::ifstream in(manifest);
  if (!in && WIFSIGNALED(status))
    throw bad_input(fmt::format("{} was not run to its end by {}, which ended with signal {} ({}){}",
                                p.sources.front(), python, WTERMSIG(status), strsignal(WTERMSIG(status)),
                                WTERMSIG(status) == SIGKILL ? ", as it does for lack of memory" : ""));
  if (!in)
    throw bad_input(
        fmt::format("{} was not run to its end by {}, which ended with {}: its messages are above",
                    p.sources.front(), python, WEXITSTATUS(status)));
  return json::parse(in);
}

void add(check_report& all, check_report one) {
  all.runs = std::max(all.runs, one.runs);
  all.unfinished += one.unfinished;
  all.complete = one.complete;
  all.accesses += one.accesses;
  all.tracked_bytes = std::max(all.tracked_bytes, one.tracked_bytes);
  all.checker_bytes = std::max(all.checker_bytes, one.checker_bytes);
  int groups = 0;  // causes are numbered from 1 on in each report
  for (const finding& f : all.findings) groups = std::max(groups, f.group);
  for (finding& f : one.findings) {
    if (f.group > 0) f.group += groups;
    all.findings.push_back(std::move(f));
  }
  for (check_refusal& why : one.refused) all.refused.push_back(std::move(why));
  for (std::string& n : one.notes)
    if (std::find(all.notes.begin(), all.notes.end(), n) == all.notes.end())
      all.notes.push_back(std::move(n));
}

}  // namespace

void say_in(const std::string& language, check_report& report) {
  for (finding& f : report.findings)
    if (!language.empty() && !f.missing.empty()) f.missing.values.push_back(language);
}

check_report check_python(const check_request& r, const plain_program& program, const check_options& options,
                          std::string& told) {
  if (!program.driver.empty())
    throw bad_request("--kernels is for programs in CUDA C++: expected a .cu file");
  if (r.fix || r.needless)
    throw bad_request(
        fmt::format("{} takes .cu files: expected no program in Python", r.fix ? "--fix" : "--needless"));
  const temporary_folder own("python");
  if (own.path.empty()) throw device_error("no folder can be made for the Python program");
  const json manifest = captured(r, program, own.path);
  check_report all;
  for (const json& m : manifest.at("programs")) {
    plain_program p = program;
    p.sources = m.at("sources").get<std::vector<std::string>>();
    p.arguments = m.at("arguments").get<std::vector<std::string>>();
    p.compiler_options = m.at("options").get<std::vector<std::string>>();
    p.object = m.at("object").get<std::string>();
    const std::string label = m.at("label").get<std::string>();
    const int calls = m.at("calls").get<int>();
    const std::string what = fmt::format("{}: {} call{}", label, calls, calls == 1 ? "" : "s");
    try {
      check_report one = check_plain(p, options);
      say_in(m.at("language").get<std::string>(), one);
      told += fmt::format("{:<32} {}\n", what, summary(one));
      add(all, std::move(one));
    } catch (const error& e) {
      told += fmt::format("{:<32} not checked\n", what);
      for (check_refusal& why : refusals_of(e, program.sources.front()))
        all.refused.push_back(std::move(why));
    }
  }
  for (const json& w : manifest.at("wrong")) {
    finding f;
    f.kind = finding_kind::wrong_result;
    f.access.action = w.at("text").get<std::string>();
    f.access.place = {w.at("file").get<std::string>(), w.at("line").get<int>()};
    f.times = 1;
    all.findings.push_back(std::move(f));
  }
  for (const json& why : manifest.at("refused")) {
    const auto text = why.at("text").get<std::string>();
    all.refused.push_back(
        {.why = text.find("not supported here") != std::string::npos ? "not supported" : "not run",
         .place = {why.at("file").get<std::string>(), why.at("line").get<int>()},
         .column = 0,
         .text = text});
  }
  for (const json& n : manifest.at("notes")) all.notes.push_back(n.get<std::string>());
  if (manifest.at("programs").empty() && all.refused.empty())
    all.refused.push_back(
        {.why = "not run",
         .place = {program.sources.front(), 0},
         .column = 0,
         .text = "the program has called no kernel that can be checked: see docs/check/languages.md"});
  return all;
}

}  // namespace antiphase::tool
