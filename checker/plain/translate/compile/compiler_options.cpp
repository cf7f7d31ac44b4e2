// SPDX-License-Identifier: Apache-2.0
// Options of compilers: what each is for, which compiler takes them, and those of a program's units.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <sstream>

#include "checker/plain/translate/compile/compile_steps.hpp"

namespace antiphase::plain {

namespace fs = std::filesystem;

bool has_ending(const std::string& file, std::initializer_list<const char*> endings) {
  return std::ranges::any_of(endings, [&](const char* e) { return file.ends_with(e); });
}
bool is_c(const std::string& source) { return source.ends_with(".c"); }
bool is_cuda(const std::string& source) {
  return has_ending(source, {".cu", ".cuh", ".h", ".hpp", ".hh", ".hxx", ".inl"});
}
bool is_module(const std::string& source) { return source.ends_with(".ptx"); }
bool is_linked(const std::string& file) { return has_ending(file, {".o", ".a", ".so"}); }
bool is_standard(const std::string& option) { return option.starts_with("-std="); }
// True if the options ask for a C++ before 20, in which concept and requires are names.
bool asks_for_older(const words& options) {
  const auto last = std::find_if(options.rbegin(), options.rend(), is_standard);
  return last != options.rend() &&
         has_ending(*last, {"++17", "++1z", "++14", "++1y", "++11", "++0x", "++03"});
}
// A CUDA toolkit's headers would be found before the stand-ins.
bool names_toolkit(const std::string& option) {
  return option.starts_with("-I") && fs::exists(fs::path(option.substr(2)) / "crt/host_config.h");
}
bool begins(const std::string& option, std::initializer_list<const char*> with) {
  return std::ranges::any_of(with, [&](const char* w) { return option.starts_with(w); });
}
bool is_for_linker(const std::string& option) { return begins(option, {"-l", "-L", "-Wl,"}); }
// A file included before the source.
std::optional<std::string> included_first(const std::string& option) {
  constexpr std::string_view name = "--pre-include=";
  return option.starts_with(name) ? std::optional(option.substr(name.size())) : std::nullopt;
}
// Where headers are found and their macros; g++ takes no precompiled header that these would change.
bool is_for_preprocessor(const std::string& option) { return begins(option, {"-I", "-D", "-U"}); }
// A macro of the program's, unlike those that tell the standard library something. It is defined after the
// first headers, where other things have its name: -D T=float, -D threads=256.
bool is_own_macro(const std::string& option) {
  return begins(option, {"-D", "-U"}) && !begins(option, {"-D_", "-U_", "-DNDEBUG", "-UNDEBUG"});
}
// The directive that an option -D or -U stands for.
std::string directive_of(const std::string& option) {
  const std::string text = option.substr(2, option.find('\n') - 2);
  if (option[1] == 'U') return "#undef " + text + "\n";
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) return "#define " + text + " 1\n";
  return "#define " + text.substr(0, equals) + " " + text.substr(equals + 1) + "\n";
}
bool is_for_compiler(const std::string& option) {
  return begins(option, {"-std=", "-O", "-g", "-f", "-m", "-W", "-w"});
}

// The file that a shell would start.
fs::path found_in_path(const std::string& program) {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path == nullptr || program.find('/') != std::string::npos ? "" : path);
  std::error_code ignored;
  for (std::string folder; std::getline(folders, folder, ':');)
    if (fs::exists(fs::path(folder) / program, ignored)) return fs::path(folder) / program;
  return program;
}

// The compiler, with options or a launcher before it, as in CXX="ccache g++".
words compiler_of(const plain_program& p) {
  const char* const named = std::getenv("CXX");
  std::istringstream text(!p.compiler.empty() ? p.compiler : named != nullptr ? named : "");
  words all{std::istream_iterator<std::string>(text), {}};
  return all.empty() ? words{"g++"} : all;
}
std::string needs_gcc(const std::string& but) {
  return "checking plain CUDA needs a g++ to compile it with: expected one in CXX, which " + but;
}
void require_gcc(const words& compiler) {
  std::error_code ignored;
  for (const std::string& w : compiler)
    for (const fs::path& file : {fs::path(w), fs::canonical(found_in_path(w), ignored)})
      if (file.filename().string().starts_with("clang"))
        throw not_supported(
            needs_gcc(file == w ? "names " + w : fmt::format("names {}, that is {}", w, file.string())));
}

// A command for C, made of one for C++.
words without_cpp(words command) {
  std::erase_if(command, [](const std::string& o) {
    return is_standard(o) || begins(o, {"-fpermissive", "-fno-char8_t", "-faligned-new"});
  });
  return command;
}

fs::path headers_of(const plain_program& p) {
  std::vector<fs::path> candidates;
  if (!p.headers.empty()) candidates.emplace_back(p.headers);
  std::error_code ignored;
  const fs::path self = fs::read_symlink("/proc/self/exe", ignored);
  candidates.push_back(self.parent_path().parent_path() / "include");
  candidates.emplace_back(ANTIPHASE_SOURCE_INCLUDE);
  for (const fs::path& c : candidates)
    if (fs::exists(c / "antiphase/plain/cuda_runtime.h", ignored)) return c;
  throw not_supported(fmt::format(
      "the stand-in headers for plain CUDA are not where they should be: {} has no antiphase/plain",
      candidates.front().string()));
}

// cmake/AntiphaseChecked.cmake has the reasons.
const words instrumented{"-O1",
                         "-fno-tree-loop-optimize",
                         "-g1",
                         "-fPIC",
                         "-fno-semantic-interposition",
                         "-fsanitize=thread",
                         "-fsanitize=alignment,bounds",
                         "-fsanitize-recover=alignment,bounds",
                         "-fno-builtin",
                         "-fno-optimize-sibling-calls",
                         "-fno-omit-frame-pointer",  // to see by which calls lanes come to a barrier
                         "-fno-gnu-unique",  // -Bsymbolic then binds all that sources share to the program
                         "-fstack-protector-strong",  // finds writes beyond an array through a pointer
                         "-fstack-clash-protection",  // a frame too large meets the guard of its stack
                         "-fpermissive",
                         "-fmax-errors=20",
                         "-w",
                         "--param",
                         "tsan-instrument-func-entry-exit=0",
                         "--param",
                         "tsan-distinguish-volatile=1"};

words preprocessing_options(const fs::path& include) {
  words all{"-D__CUDACC__",
            "-D__NVCC__",
            "-D__CUDA_ARCH__=900",
            "-D__CUDA_ARCH_SPECIFIC__=900",
            "-D__CUDA_ARCH_FAMILY_SPECIFIC__=900",
            "-D__CUDA_ARCH_FEAT_SM90_ALL",
            "-D__CUDA_ARCH_LIST__=900",
            "-D__CUDA_ARCH_HAS_FEATURE__(f)=__CUDA_ARCH_FEAT_##f",
            "-D__CUDA_API_VER_MAJOR__=12",
            "-D__CUDA_API_VER_MINOR__=0",
            "-D__CUDACC_VER_MAJOR__=12",
            "-D__CUDACC_VER_MINOR__=0",
            "-D__CUDACC_VER_BUILD__=140",
            "-D__CUDACC_EXTENDED_LAMBDA__",
            "-D__CUDACC_RELAXED_CONSTEXPR__",
            "-DCUDART_VERSION=12000",
            "-DAP_CHECKED",
            "-remap",
            "-U__OPTIMIZE__",
            "-D__NO_INLINE__",
            "-U__SANITIZE_THREAD__"};
  all.insert(all.end(), instrumented.begin(), instrumented.end());
  for (const char* folder : {"antiphase/stand_ins/bindings", "antiphase/stand_ins"})
    all.insert(all.end(), {"-isystem", include / folder});
  // The C library's headers, if they are there too, must stay after those of C++.
  const char* const place = fs::exists(include / "stdlib.h") ? "-idirafter" : "-isystem";
  all.insert(all.end(), {"-isystem", include / "antiphase/plain", place, include});
  return all;
}

}  // namespace antiphase::plain
