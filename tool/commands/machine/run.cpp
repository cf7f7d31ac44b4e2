// SPDX-License-Identifier: Apache-2.0
// The subcommand run: runs a program with its cuBLAS products computed by antiphase.
#include <elf.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <antiphase/core/error.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <ios>
#include <memory>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include "tool/base/shared_library.hpp"
#include "tool/files/file_handle.hpp"
#include "tool/files/interrupt.hpp"
#include "tool/program/command.hpp"
#include "tool/program/text/console.hpp"

namespace antiphase::tool {
namespace {

namespace fs = std::filesystem;

constexpr const char* explanation =
    "Without a GPU it is of use for --profile alone, which then predicts times.\n\n"
    "The program's products go through libantiphase_cublas.so, by LD_PRELOAD; docs/use/cublas.md says which "
    "are computed by antiphase, and what else the environment may say. Options of run stand before the "
    "program; from its name on all words "
    "are the program's, and -- "
    "may stand before it. The exit code is the program's; 127 if it is not there, 126 if it cannot be "
    "executed.\n\n"
    "With --report or --profile it tells of processes that crash, are killed or leave by _exit, too, and "
    "ends "
    "by the program's signal.\n"
    "\n"
    "Examples:\n"
    "  antiphase run python3 train.py --epochs 3\n"
    "      at its end, how many products antiphase has computed\n"
    "  antiphase run --profile python3 train.py\n"
    "      computes none: at its end a list of products, the longest first, and whether antiphase would "
    "help\n"
    "  antiphase run --scans python3 train.py\n"
    "      torch.cumsum, cumprod, cummax, cummin and logcumsumexp, too\n"
    "  antiphase run --batch-invariant python3 serve.py\n"
    "      all products, in 16 bits too, so that a row's bits do not depend on the batch; docs/use/batch.md\n"
    "  antiphase run --least 1024 python3 train.py\n"
    "      only those with (m n k)^(1/3) of 1024 or more, whatever is predicted";

struct request {
  std::vector<std::string> words;      // the program and its arguments
  std::string least, precision, json;  // empty: not given
  bool report = false, profile = false, scans = false, invariant = false;
};

// The dynamic loader treats spaces and colons in LD_PRELOAD as separators.
std::string preloadable(std::string file) {
  if (file.find_first_of(" :") != std::string::npos)
    throw error(
        fmt::format("{} cannot be preloaded, since spaces and colons separate what LD_PRELOAD names: "
                    "expected a path without them",
                    file));
  return file;
}
// Path of the interposer: in the installed package, or in a build folder.
std::string interposer() {
  const fs::path folder = fs::canonical("/proc/self/exe").parent_path();
  const fs::path places[] = {folder / ".." / ANTIPHASE_LIBRARIES / "libantiphase_cublas.so",
                             folder / "preload" / "cublas" / "libantiphase_cublas.so"};
  for (const fs::path& file : places)
    if (fs::exists(file)) return preloadable(fs::canonical(file));
  throw error(
      fmt::format("libantiphase_cublas.so is missing: expected {}", places[0].lexically_normal().string()));
}

// The folder from which Python programs lead torch's attention and scans, where this tool lies in the Python
// package.
fs::path hook() { return fs::canonical("/proc/self/exe").parent_path().parent_path() / "_hook"; }

// The file that execvp() will run: the path itself, or the first executable file of that name in PATH.
fs::path file_of(const std::string& program) {
  if (program.find('/') != std::string::npos) return program;
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "/bin:/usr/bin" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const fs::path file = fs::path(folder) / program;
    if (std::error_code ignored; fs::is_regular_file(file, ignored) && access(file.c_str(), X_OK) == 0)
      return file;
  }
  return {};
}

// Why the program did not start, and what to type instead, in half a sentence.
std::string why_not_started(const std::string& program, int failed) {
  std::error_code ignored;
  const bool is_here = fs::is_regular_file(program, ignored),
             is_path = program.find('/') != std::string::npos;
  const std::string instead = program.ends_with(".py") ? "python3 " + program : "./" + program;
  if (failed == EACCES && fs::is_directory(program, ignored)) return "it is a folder";
  if (is_here && !is_path)
    return fmt::format("PATH has no program of that name; for the file of this folder, expected {}", instead);
  if (is_here && failed == ENOENT) return "it is there, but the interpreter that it names is not";
  if (is_here && program.ends_with(".py")) return fmt::format("{}: expected {}", error_text(failed), instead);
  return is_path ? error_text(failed) : fmt::format("{} in PATH", error_text(failed));
}

// Reason why the loader cannot preload into the program or the interpreter named in its first line; empty if
// none is known.
std::string cannot_be_preloaded(const std::string& program, int depth = 0) {
  const fs::path file = file_of(program);
  std::ifstream in(file, std::ios::binary);
  std::string head(sizeof(Elf64_Ehdr), '\0');
  if (file.empty() || !in.read(head.data(), 2)) return {};
  constexpr int most_interpreters = 4;
  if (head.starts_with("#!")) {
    std::string line, first;
    std::getline(in, line);
    std::istringstream(line) >> first;
    return first.empty() || depth == most_interpreters ? std::string()
                                                       : cannot_be_preloaded(first, depth + 1);
  }
  struct stat about {};
  if (stat(file.c_str(), &about) == 0 && (((about.st_mode & S_ISUID) != 0 && about.st_uid != getuid()) ||
                                          ((about.st_mode & S_ISGID) != 0 && about.st_gid != getgid())))
    return fmt::format("{} runs as another user or group, for which the loader ignores LD_PRELOAD",
                       file.string());
  in.read(head.data() + 2, static_cast<std::streamsize>(head.size()) - 2);
  Elf64_Ehdr elf;
  std::memcpy(&elf, head.data(), sizeof elf);
  if (!in || std::memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 || elf.e_ident[EI_CLASS] != ELFCLASS64) return {};
  for (int i = 0; i < elf.e_phnum; ++i) {
    Elf64_Phdr part;
    in.seekg(static_cast<std::streamoff>(elf.e_phoff) + std::streamoff{i} * elf.e_phentsize);
    if (!in.read(reinterpret_cast<char*>(&part), sizeof part) || part.p_type == PT_INTERP) return {};
  }
  return fmt::format("{} is linked statically, so that no library can be put in front of another",
                     file.string());
}

// `first`, and after it what the variable has been so far.
std::string in_front(const std::string& first, const char* name) {
  const char* const before = std::getenv(name);
  return before == nullptr || *before == '\0' ? first : first + ":" + before;
}
void set(const char* name, const std::string& value) {
  if (setenv(name, value.c_str(), 1) != 0)
    throw error(fmt::format("setting {} failed: {}", name, std::strerror(errno)));
}

// Does not return.
void run(request& r) {
  if (!r.json.empty() && !r.profile) throw bad_usage("--json is for --profile (see antiphase run --help)");
  if (r.invariant && (r.profile || !r.least.empty() || !r.precision.empty()))
    throw bad_usage(
        "--batch-invariant computes all products, in one way: expected no --profile, --least, --precision "
        "(see antiphase run --help)");
  const std::string library = interposer();
  shared_library loaded("libantiphase_cublas.so", {library.c_str()});
  int (*run_program)(char* const[]) = nullptr;
  loaded.find(run_program, "antiphase_cublas_run");
  if (run_program == nullptr) throw error(loaded.why_not());
  if (fs::exists(hook() / "sitecustomize.py"))
    set("PYTHONPATH", in_front(hook().string(), "PYTHONPATH"));
  else if (r.scans)
    throw error(
        fmt::format("--scans is for Python, and {} is missing: expected the antiphase that `pip install "
                    "antiphase` has put there",
                    hook().string()));
  if (r.scans) set("ANTIPHASE_SCANS", "1");
  if (r.invariant) set("ANTIPHASE_BATCH_INVARIANT", "1");
  set("LD_PRELOAD", in_front(library, "LD_PRELOAD"));
  if (!r.least.empty()) set("ANTIPHASE_LEAST", r.least);
  if (!r.precision.empty()) set("ANTIPHASE_PRECISION", r.precision);
  if (r.report) set("ANTIPHASE_REPORT", "1");
  if (r.profile) set("ANTIPHASE_PROFILE", "1");
  if (!r.json.empty()) set("ANTIPHASE_PROFILE_JSON", fs::absolute(r.json).string());
  if (r.report || r.profile)
    if (const std::string why = cannot_be_preloaded(r.words[0]); !why.empty())
      say({}, fmt::format("no products will be seen: {}", why));
  std::vector<char*> words;
  for (std::string& word : r.words) words.push_back(word.data());
  words.push_back(nullptr);
  restore_signals();
  const int failed = run_program(words.data());
  throw program_failed(
      failed == ENOENT ? 127 : 126,
      fmt::format("cannot run {}: {}", tool::quoted(r.words[0]), why_not_started(r.words[0], failed)));
}

}  // namespace

void add_run(arguments program) {
  arguments command =
      program.add_subcommand("run", "Run a program that calls cuBLAS on antiphase, where that is faster");
  const auto r = std::make_shared<request>();
  command.takes_program(r->words, "The program, and after it its arguments");
  command
      .add_option("--least", r->least,
                  "Take products of at least this size, the cube root of m n k, and no prediction")
      .check(integer_from(0))
      .type_name("N");
  command.add_option("--precision", r->precision, "fp32 (the default) or strict")
      .check([](const std::string& value) {
        return value == "fp32" || value == "strict" ? ""
                                                    : fmt::format("'{}': expected fp32 or strict", value);
      })
      .offers({"fp32", "strict"})
      .type_name("NAME");
  command.add_flag(
      "--report", r->report,
      "Say at the end how many products were computed, even if it is none; and why, if none was seen");
  command.add_flag(
      "--profile", r->profile,
      "Compute none: list them, with their times, which would be computed, and why not the others");
  command
      .add_option("--json", r->json,
                  "Write the list to a file too; %p in its name is the number of the process")
      .check(not_empty())
      .type_name("FILE");
  command.add_flag(
      "--scans", r->scans,
      "Lead the running sums of torch in Python programs, too, where that is predicted to be faster");
  command.add_flag(
      "--batch-invariant", r->invariant,
      "Compute all products, in 16 bits too, so that a row has the same bits whatever the batch; in Python "
      "also torch's softmax, means, norms and attention");
  command.footer(explanation);
  command.runs([r] { run(*r); });
}

}  // namespace antiphase::tool
