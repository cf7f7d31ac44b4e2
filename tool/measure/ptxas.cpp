// SPDX-License-Identifier: Apache-2.0
#include "tool/measure/ptxas.hpp"

#include <cxxabi.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <antiphase/executor/features.hpp>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <vector>

extern char** environ;

namespace antiphase::tool {
namespace {

// "void a::sum<4>(float*)", "a::sum<4>" and "sum" are all "sum".
std::string bare(const std::string& name) {
  int depth = 0;
  std::string out;
  for (const char c : name) {  // without template arguments and parameters
    if (c == '(' && depth == 0) break;
    if (c == '<') ++depth;
    if (depth == 0) out += c;
    if (c == '>') --depth;
  }
  const std::size_t last = out.find_last_of(": ");
  return last == std::string::npos ? out : out.substr(last + 1);
}
std::string demangled(const std::string& symbol) {
  int failed = 0;
  const std::unique_ptr<char, void (*)(void*)> name(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &failed), &std::free);
  return failed == 0 ? name.get() : symbol;
}

// Standard error of a command; empty if it does not start.
std::string said_by(std::vector<std::string> command) {
  int ends[2] = {};
  if (pipe2(ends, O_CLOEXEC) != 0) return {};
  std::vector<char*> argv;
  for (std::string& w : command) argv.push_back(w.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, ends[1], STDERR_FILENO);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, argv[0], &files, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  close(ends[1]);
  std::string said;
  char piece[4096];
  for (ssize_t got = failed == 0 ? 1 : 0; got != 0;) {
    got = read(ends[0], piece, sizeof piece);
    if (got > 0) said.append(piece, static_cast<std::size_t>(got));
    if (got < 0 && errno != EINTR) break;
  }
  close(ends[0]);
  int status = 0;
  while (failed == 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return said;
}

}  // namespace

std::optional<int> kernel_registers::of(const std::string& kernel) const {
  const auto at = counts_.find(bare(kernel));
  return at == counts_.end() ? std::optional<int>() : at->second;
}

void kernel_registers::add(const std::string& said) {
  constexpr std::string_view entry = "Compiling entry function '", used = "Used ";
  std::istringstream in(said);
  std::string kernel;
  for (std::string line; std::getline(in, line);) {
    if (const std::size_t at = line.find(entry); at != std::string::npos) {
      const std::size_t from = at + entry.size();
      kernel = bare(demangled(line.substr(from, line.find('\'', from) - from)));
    } else if (const std::size_t by = line.find(used); by != std::string::npos && !kernel.empty()) {
      int& most = counts_[kernel];
      most = std::max(most, std::atoi(line.c_str() + by + used.size()));
      kernel.clear();
    }
  }
}

kernel_registers registers_of(const plain_program& program, const device_limits& on) {
  kernel_registers all;
  for (const std::string& source : program.sources) {
    std::vector<std::string> command{
        "nvcc",   fmt::format("-arch=sm_{}{}{}", on.major, on.minor, features_of(on).sm_90a ? "a" : ""),
        "-cubin", "-Xptxas",
        "-v",     "-x",
        "cu",     source,
        "-o",     "/dev/null"};
    for (const std::string& o : program.compiler_options)
      if (o.starts_with("-I") || o.starts_with("-D") || o.starts_with("-U") || o.starts_with("-std=") ||
          o.starts_with("--pre-include="))
        command.push_back(o);
    all.add(said_by(std::move(command)));
  }
  return all;
}

}  // namespace antiphase::tool
