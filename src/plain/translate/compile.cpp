// SPDX-License-Identifier: Apache-2.0
#include "compile.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <future>
#include <iterator>
#include <map>
#include <mutex>
#include <regex>
#include <set>
#include <sstream>

#include "assembly.hpp"
#include "missing_headers.hpp"
#include "prepared.hpp"
#include "prepass.hpp"
#include "sides.hpp"
#include "src/checker/order/places.hpp"
#include "src/checker/runs/process_family.hpp"
#include "statements.hpp"

extern char** environ;

namespace antiphase::plain {
namespace {

namespace fs = std::filesystem;
using words = std::vector<std::string>;

std::string read(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream all;
  all << in.rdbuf();
  return std::move(all).str();
}

// Pipes to those who watch over folders, by folder.
std::map<fs::path, int>& watchers() {
  static std::map<fs::path, int> all;
  return all;
}
std::mutex of_watchers;

// A group of processes that works in the folder begins, or, if negative, has ended.
void tell_watcher(const fs::path& folder, pid_t group) {
  const std::lock_guard lock(of_watchers);
  const auto to = watchers().find(folder);
  if (to != watchers().end() && write(to->second, &group, sizeof group) != sizeof group) watchers().erase(to);
}

[[noreturn]] void fail_to_write(const fs::path& file, const std::string& why) {
  throw device_error(
      fmt::format("{} cannot be written: {}. The compiled program goes to a folder of {}, and TMPDIR "
                  "names another place",
                  file.string(), why, temporary_place().string()));
}

}  // namespace

fs::path temporary_place() {
  std::error_code failed;
  fs::path place = fs::temp_directory_path(failed);
  const char* const named = std::getenv("TMPDIR");
  if (failed)
    throw device_error(fmt::format("there is no folder {}: expected one, for compiled programs, in TMPDIR",
                                   named != nullptr ? named : "/tmp"));
  return place;
}

void write_file(const fs::path& file, std::string_view text) {
  std::ofstream out(file, std::ios::binary);
  errno = 0;
  if (!out.write(text.data(), static_cast<std::streamsize>(text.size())).flush())
    fail_to_write(file, std::strerror(errno != 0 ? errno : EIO));
}

int run_command(const words& command, const fs::path& said) {
  const int to = open(said.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (to < 0) fail_to_write(said, std::strerror(errno));
  std::vector<char*> argv;
  for (const std::string& w : command) argv.push_back(const_cast<char*>(w.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  for (const int output : {STDOUT_FILENO, STDERR_FILENO})
    posix_spawn_file_actions_adddup2(&files, to, output);
  posix_spawnattr_t group;
  posix_spawnattr_init(&group);
  posix_spawnattr_setflags(&group, POSIX_SPAWN_SETPGROUP);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, argv[0], &files, &group, argv.data(), environ);
  posix_spawnattr_destroy(&group);
  posix_spawn_file_actions_destroy(&files);
  close(to);
  if (failed != 0)
    throw not_supported(
        fmt::format("checking plain CUDA needs a g++ to compile it with, and '{}' does not start: {}",
                    command[0], std::strerror(failed)));
  tell_watcher(said.parent_path(), child);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  tell_watcher(said.parent_path(), -child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

namespace {

// Forks a watcher that removes the folder, and ends the compilers that work in it, when this process closes
// the returned end of a pipe, or ends in any way, by a signal too.
int watch_over(const fs::path& folder, pid_t& watcher) {
  int ends[2] = {};
  watcher = -1;
  if (!checker_detail::make_pipe(ends)) return -1;
  watcher = fork();
  if (watcher != 0) {
    close(ends[0]);
    return ends[1];
  }
  setsid();  // signals from the terminal are not for the watcher
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nothing, standard);
  close(ends[1]);
  std::set<pid_t> groups;
  for (;;) {
    pid_t group = 0;
    const ssize_t n = ::read(ends[0], &group, sizeof group);
    if (n < 0 && errno == EINTR) continue;
    if (n != sizeof group) break;
    if (group > 0)
      groups.insert(group);
    else
      groups.erase(-group);
  }
  for (const pid_t group : groups) kill(-group, SIGKILL);
  std::error_code failed;
  for (int i = 0; i < 10; ++i) {  // until those have ended
    fs::remove_all(folder, failed);
    if (!failed) break;
    usleep(10'000);
  }
  _exit(0);
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

// Compiler options for units; cmake/AntiphaseChecked.cmake has the reasons. Alignment and array bounds are
// checked by UndefinedBehaviorSanitizer's calls, which the runtime answers.
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
                         "-fstack-clash-protection",  // a frame too large meets the guard of its stack
                         "-fpermissive",
                         "-fmax-errors=20",
                         "-w",
                         "--param",
                         "tsan-instrument-func-entry-exit=0",
                         "--param",
                         "tsan-distinguish-volatile=1"};

// Included before a unit's text; the last one only before CUDA.
constexpr std::array first_headers{"antiphase/executor/cpu/checked_prelude.hpp", "antiphase/plain/ends.h",
                                   "antiphase/plain/cuda_runtime.h"};

// Compiled into each program without instrumentation. Tells the runtime where the device's variables are; an
// entry in each section makes its bounds exist. Its hooks return at once for accesses that are not tracked:
// the host's to its own memory, a thread's to its stack.
constexpr const char* hooks_of_program = R"(
extern "C" {
__attribute__((section("ap_device"), used)) static char antiphase_plain_some_device[16];
__attribute__((section("ap_constant"), used)) static char antiphase_plain_some_constant[16];
__attribute__((section("ap_managed"), used)) static char antiphase_plain_some_managed[16];
extern __attribute__((visibility("hidden"))) char __start_ap_device[], __stop_ap_device[], __start_ap_constant[], __stop_ap_constant[],
    __start_ap_managed[], __stop_ap_managed[];
struct range { unsigned long low, size; };
__attribute__((visibility("hidden"))) range antiphase_plain_passed_over = {0, ~0ul};
void antiphase_plain_loaded(char**, range*);
// before variables of the program are initialised
__attribute__((constructor(101))) static void antiphase_plain_load() {
  char* sections[] = {__start_ap_device, __stop_ap_device, __start_ap_constant, __stop_ap_constant, __start_ap_managed, __stop_ap_managed};
  antiphase_plain_loaded(sections, &antiphase_plain_passed_over);
}
#define INSIDE(p, from, to) ((unsigned long)(p) - (unsigned long)(from) < (unsigned long)(to) - (unsigned long)(from))
#define ACCESS(name) \
  void antiphase_checked_##name(void*); \
  __attribute__((visibility("hidden"))) void __tsan_##name(void* p) { \
    if ((unsigned long)p - antiphase_plain_passed_over.low >= antiphase_plain_passed_over.size || \
        INSIDE(p, __start_ap_device, __stop_ap_device) || INSIDE(p, __start_ap_constant, __stop_ap_constant) || \
        INSIDE(p, __start_ap_managed, __stop_ap_managed)) antiphase_checked_##name(p); \
  }
void* antiphase_plain_malloc(unsigned long);
void antiphase_plain_free_at(void*, const void*);
ACCESS(read1) ACCESS(read2) ACCESS(read4) ACCESS(read8) ACCESS(read16)
ACCESS(write1) ACCESS(write2) ACCESS(write4) ACCESS(write8) ACCESS(write16)
}
extern __attribute__((weak, visibility("hidden"))) const int warpSize = 32;
__attribute__((visibility("hidden"))) void* operator new(unsigned long n) { return antiphase_plain_malloc(n); }
__attribute__((visibility("hidden"))) void* operator new[](unsigned long n) { return antiphase_plain_malloc(n); }
__attribute__((visibility("hidden"))) void operator delete(void* p) noexcept { antiphase_plain_free_at(p, __builtin_return_address(0)); }
__attribute__((visibility("hidden"))) void operator delete[](void* p) noexcept { antiphase_plain_free_at(p, __builtin_return_address(0)); }
__attribute__((visibility("hidden"))) void operator delete(void* p, unsigned long) noexcept { antiphase_plain_free_at(p, __builtin_return_address(0)); }
__attribute__((visibility("hidden"))) void operator delete[](void* p, unsigned long) noexcept { antiphase_plain_free_at(p, __builtin_return_address(0)); }
)";

// g++ forgets the section of a variable that a template has. The pre-pass gives it a tag in its name, or
// names it.
std::string sections_of_templates(const words& variables) {
  std::string named;
  for (const std::string& v : variables)
    named += fmt::format(" *(.data._Z*{0}{1}I* .bss._Z*{0}{1}I*)", v.size(), v);
  std::string all = "SECTIONS {\n";
  for (const std::string section : {"ap_device", "ap_constant", "ap_managed"})
    all += fmt::format("  {0} : {{ *({0}) *(.data.*B{1}{0}* .bss.*B{1}{0}*){2} }}\n", section, section.size(),
                       std::exchange(named, ""));
  return all + "} INSERT AFTER .data;\n";
}

// By these functions of the C library a host function may tell main that it is done. The linker's --wrap puts
// ours in their place.
struct wrapped_function {
  const char *result, *name, *parameters, *arguments;
};
constexpr const char *one = "void* p", *three = "int f, void* p, unsigned long n";
constexpr std::array<wrapped_function, 15> wrapped{{{"int", "pthread_mutex_lock", one, "p"},
                                                    {"int", "pthread_mutex_trylock", one, "p"},
                                                    {"int", "pthread_mutex_unlock", one, "p"},
                                                    {"int", "pthread_spin_lock", one, "p"},
                                                    {"int", "pthread_spin_unlock", one, "p"},
                                                    {"int", "pthread_rwlock_rdlock", one, "p"},
                                                    {"int", "pthread_rwlock_wrlock", one, "p"},
                                                    {"int", "pthread_rwlock_unlock", one, "p"},
                                                    {"int", "sem_wait", one, "p"},
                                                    {"int", "sem_trywait", one, "p"},
                                                    {"int", "sem_post", one, "p"},
                                                    {"int", "__cxa_guard_acquire", one, "p"},
                                                    {"void", "__cxa_guard_release", one, "p"},
                                                    {"long", "read", three, "f, p, n"},
                                                    {"long", "write", three, "f, p, n"}}};

// The part of a program that is ours.
std::string own_part() {
  std::string all = std::string(hooks_of_program) + "extern \"C\" {\nvoid antiphase_plain_lock();\n";
  for (const wrapped_function& f : wrapped)
    all += fmt::format(
        "{0} __real_{1}({2});\n"
        "__attribute__((visibility(\"hidden\"))) {0} __wrap_{1}({2}) {{\n"
        "  antiphase_plain_lock();\n"
        "  return __real_{1}({3});\n"
        "}}\n",
        f.result, f.name, f.parameters, f.arguments);
  return all + "}\n";
}

const words options_of_own_part{"-O2", "-fPIC", "-fno-plt"};

bool has_ending(const std::string& file, std::initializer_list<const char*> endings) {
  return std::ranges::any_of(endings, [&](const char* e) { return file.ends_with(e); });
}
bool is_c(const std::string& source) { return source.ends_with(".c"); }
bool is_cuda(const std::string& source) {
  return has_ending(source, {".cu", ".cuh", ".h", ".hpp", ".hh", ".hxx", ".inl"});
}
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
// Where headers are found and what they are told; g++ takes no precompiled header that these would change.
bool is_for_preprocessor(const std::string& option) { return begins(option, {"-I", "-D", "-U"}); }
// A macro of the program's, unlike those that tell the standard library something. It is defined behind the
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

void require_file(const std::string& name, std::string_view whose) {
  std::error_code ignored;
  if (fs::is_directory(name, ignored))
    throw bad_request(fmt::format("'{}'{} is a directory: expected a source", name, whose));
  if (!fs::is_regular_file(name, ignored))
    throw bad_request(fmt::format("there is no file '{}'{}", name, whose));
}
void require_files(const plain_program& p) {
  if (p.sources.empty()) throw bad_request("no source was given: expected a .cu file");
  for (const std::string& s : p.sources) require_file(s, "");
  if (!p.driver.empty()) require_file(p.driver, ", which --kernels names");
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

// Refusals by static assertions of the stand-in headers, with the lines of the program that ask for them.
std::string refused_by_headers(const std::string& errors) {
  static const std::regex asks(R"((.+?:\d+):\d+:\s+required from here)"),
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

const std::string does_not_compile = "the program does not compile:\n";
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

[[noreturn]] void fail(const fs::path& said) {
  std::string text = read(said);
  while (text.ends_with('\n')) text.pop_back();
  blame_disk(text, said.parent_path());
  if (text.starts_with("clang")) throw not_supported(needs_gcc("calls clang"));
  if (const std::string header = include_that_fails(text); !header.empty()) throw bad_source(header);
  if (const std::string refused = refused_by_headers(text); !refused.empty()) throw bad_source(refused);
  throw bad_source(does_not_compile + unknown_names(text) + text);
}
void run_or_fail(const words& command, const fs::path& said) {
  if (run_command(command, said) != 0) fail(said);
}

// Preprocessed text with edits. Lines that the preprocessor has left empty stay so.
std::string edited(std::string text, const std::vector<plain_edit>& edits) {
  if (edits.empty()) return text;
  std::istringstream in(text);
  std::string out, line, file;
  int number = 0;
  for (; std::getline(in, line); ++number) {
    int marked = 0, name = 0;
    if (std::sscanf(line.c_str(), "# %d \"%n", &marked, &name) == 1 && name > 0) {
      file = checker_detail::shown(
          line.substr(static_cast<std::size_t>(name),
                      line.find('"', static_cast<std::size_t>(name)) - static_cast<std::size_t>(name)));
      number = marked - 1;
    } else if (line.find_first_not_of(" \t\r") != std::string::npos) {
      for (const plain_edit& e : edits) {
        if (e.line != number || e.file != file) continue;
        const statement old =
            e.from.empty() ? statement{line.size(), line.size()} : find_loosely(line, e.from);
        if (e.from.empty() || old.end > 0) line.replace(old.begin, old.end - old.begin, e.to);
      }
    }
    out += line + '\n';
  }
  return out;
}

// Compiles a program's sources to a shared object, through files in one folder. Each step reads what the last
// one left. Throws bad_source for faults of the program.
class compilation {
 public:
  // `older`: as C++17, with the standard library's headers of it, and C++20's new words as names.
  // `both_sides` false: where __CUDA_ARCH__ tells them apart, the device's alone.
  compilation(const plain_program& p, fs::path folder, bool older, bool both_sides);
  bool sides_differ() const { return sides_differ_; }
  bool can_be_prepared() const;
  preparation how_to_prepare() const;
  // Without parts, compiles everything.
  void run(const std::string& object, const std::optional<prepared_parts>& parts);

 private:
  void write_beginning(const fs::path& to, bool of_c, bool for_host) const;
  void preprocess();
  void preprocess(std::size_t unit, bool for_host);
  std::string text_of(std::size_t unit);  // preprocessed, of both sides
  void translate_all();
  void compile_all();
  void link(const std::string& object) const;
  words preprocessing() const;
  bool is_extension() const;

  void include_together();  // the sources and the driver
  fs::path file(std::size_t unit, const char* ending) const {
    return folder_ / (std::to_string(unit) + ending);
  }
  std::future<int> compile(words command, const fs::path& input);
  std::future<int> compile_counted(words command, const fs::path& input);  // for plain_program::timed
  words after_compiler(const words& options) const {
    words all = compiler_;
    all.insert(all.end(), options.begin(), options.end());
    return all;
  }

  const plain_program& program_;
  fs::path folder_, include_;
  words compiler_;
  words common_;  // the compiler and the user's options
  bool older_;
  driven by_;
  words units_;                   // their sources
  std::vector<fs::path> inputs_;  // translated units
  std::optional<prepared_parts> parts_;
  words device_templates_;
  bool tagged_ = false;  // templates have variables of the device
  bool both_sides_, sides_differ_ = false;
  std::set<std::string> headers_of_a_side_;
};

compilation::compilation(const plain_program& p, fs::path folder, bool older, bool both_sides)
    : program_(p),
      folder_(std::move(folder)),
      include_(headers_of(p)),
      compiler_(compiler_of(p)),
      common_(compiler_),
      older_(older),
      both_sides_(both_sides) {
  require_gcc(compiler_);
  common_.emplace_back("-std=gnu++20");
  if (older_) common_.emplace_back("-fno-char8_t");
  for (const std::string& o : p.compiler_options)
    if (!is_for_linker(o) && !names_toolkit(o) && !is_own_macro(o) && !included_first(o) &&
        !(is_standard(o) &&
          has_ending(o, {"++20", "++2a", "++17", "++1z", "++14", "++1y", "++11", "++0x", "++03"})))
      common_.push_back(o);
  if (p.driver.empty())
    std::ranges::copy_if(p.sources, std::back_inserter(units_), std::not_fn(is_linked));
  else
    units_.emplace_back(folder_ / "driven.cu");
}

// One unit for driver and kernels, so that the driver can instantiate templates.
void compilation::include_together() {
  by_.driver = fs::absolute(program_.driver).lexically_normal();
  std::string all;
  // first, so that a source's missing semicolon is not an error in them
  if (read(program_.driver).find("antiphase/plain/driver.h") != std::string::npos)
    all += "#include <antiphase/plain/driver.h>\n";
  for (const std::string& s : program_.sources)
    if (!is_linked(s)) all += fmt::format("#include \"{}\"\n", fs::absolute(s).lexically_normal().string());
  write_file(units_.front(), all + fmt::format("#include \"{}\"\n", by_.driver));
}

// A unit's options but for those of the user. What a precompiled header was compiled with must be the same
// where it is used; macros that tell of it are undone.
words compilation::preprocessing() const {
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
  all.insert(all.end(), {"-isystem", include_ / "antiphase/plain/bindings"});
  // The C library's headers, if they are there too, must stay behind those of C++.
  const char* const place = fs::exists(include_ / "stdlib.h") ? "-idirafter" : "-isystem";
  all.insert(all.end(), {"-isystem", include_ / "antiphase/plain", place, include_});
  return all;
}

// The text before a unit's own, after the first headers: macros and files that options name.
void compilation::write_beginning(const fs::path& to, bool of_c, bool for_host) const {
  std::ostringstream file;
  for (const std::string& o : program_.compiler_options)
    if (is_own_macro(o)) file << directive_of(o);
  if (for_host)
    for (const char* name : {"__CUDA_ARCH__", "__CUDA_ARCH_SPECIFIC__", "__CUDA_ARCH_FAMILY_SPECIFIC__",
                             "__CUDA_ARCH_FEAT_SM90_ALL"})
      file << "#undef " << name << "\n";
  if (older_ && !of_c) file << "#undef __cplusplus\n#define __cplusplus 201703L\n";
  for (const std::string& header : headers_of_a_side_) file << fmt::format("#include \"{}\"\n", header);
  std::error_code ignored;
  for (const std::string& o : program_.compiler_options)
    if (const auto name = included_first(o))
      file << fmt::format("#include \"{}\"\n",
                          fs::exists(*name, ignored) ? fs::absolute(*name).string() : *name);
  write_file(to, file.str());
}

void compilation::preprocess(std::size_t unit, bool for_host) {
  const bool of_c = is_c(units_[unit]), of_cuda = is_cuda(units_[unit]);
  const fs::path beginning = file(unit, for_host ? ".host.h" : ".h");
  write_beginning(beginning, of_c, for_host);
  words command = common_;
  const words more = preprocessing();
  command.insert(command.end(), more.begin(), more.end());
  if (!program_.driver.empty()) command.emplace_back("-DAP_DRIVEN");
  if (parts_ && of_cuda)
    command.insert(command.end(), {"-fpch-preprocess", "-include", parts_->header});
  else
    for (const char* header : first_headers)
      if (of_c ? header == first_headers[1] : of_cuda || header != first_headers.back())
        command.insert(command.end(), {"-include", header});
  command.insert(command.end(), {"-include", beginning, "-E", "-x", of_c ? "c" : "c++", "-o",
                                 file(unit, for_host ? ".host.ii" : ".ii"), units_[unit]});
  if (of_c) command = without_cpp(std::move(command));
  run_or_fail(command, file(unit, ".said"));
}

void compilation::preprocess() {
  if (!program_.driver.empty()) include_together();
  for (std::size_t i = 0; i < units_.size(); ++i) preprocess(i, false);
}

std::string compilation::text_of(std::size_t unit) {
  const auto text = [&](const char* ending) { return edited(read(file(unit, ending)), program_.edits); };
  std::string device = text(".ii");
  if (!is_cuda(units_[unit]) || !tells_sides(device)) return device;
  preprocess(unit, true);
  const std::set<std::string> ours = system_headers(device),
                              others = system_headers(read(file(unit, ".host.ii")));
  std::ranges::set_symmetric_difference(ours, others,
                                        std::inserter(headers_of_a_side_, headers_of_a_side_.end()));
  if (!headers_of_a_side_.empty()) {  // both sides include them first, so that neither has them elsewhere
    preprocess(unit, false);
    preprocess(unit, true);
    headers_of_a_side_.clear();
    device = text(".ii");
  }
  sides both = of_both_sides(device, text(".host.ii"), both_sides_);
  sides_differ_ |= both.differ;
  if (!both.refused.empty()) throw bad_source(fmt::format("{}", fmt::join(both.refused, "\n")));
  return std::move(both.text);
}

void compilation::translate_all() {
  int numbers = 0;
  bool has_main = false, fails = false;
  std::string refused;
  for (std::size_t i = 0; i < units_.size(); ++i) {
    translation t = is_c(units_[i]) ? translation{read(file(i, ".ii"))}
                                    : translate(text_of(i), numbers, by_, units_.size() == 1, older_);
    for (const refusal& r : t.refused) {
      refused += (refused.empty() ? "" : "\n") + to_text(r);
      fails |= !r.when_reached;
    }
    device_templates_.insert(device_templates_.end(), t.device_templates.begin(), t.device_templates.end());
    has_main |= t.has_main || is_c(units_[i]);
    tagged_ |= t.text.find("abi_tag(\"ap_") != t.text.npos;
    write_file(inputs_.emplace_back(file(i, is_c(units_[i]) ? ".plain.i" : ".plain.ii")), t.text);
  }
  if (fails) throw bad_source(refused);
  const bool complete = program_.object.empty() && program_.driver.empty() &&
                        std::ranges::none_of(program_.sources, is_linked) &&
                        std::ranges::none_of(program_.compiler_options, is_for_linker);
  if (!has_main && complete) throw bad_source(no_main);
}

std::future<int> compilation::compile(words command, const fs::path& input) {
  command.insert(command.end(), {"-c", input, "-o", input.string() + ".o"});
  return std::async(std::launch::async, [command = std::move(command), input] {
    return run_command(command, input.string() + ".said");
  });
}
std::future<int> compilation::compile_counted(words command, const fs::path& input) {
  const std::string assembly = input.string() + ".s", object = input.string() + ".o";
  command.insert(command.end(), {"-fsanitize-coverage=trace-pc", "-S", input, "-o", assembly});
  return std::async(std::launch::async, [this, command = std::move(command), input, assembly, object] {
    const fs::path said = input.string() + ".said";
    if (const int failed = run_command(command, said); failed != 0) return failed;
    const std::string counted = with_counted_arithmetic(read(assembly));
    write_file(assembly, counted);
    return run_command(after_compiler({"-c", assembly, "-o", object}), said);
  });
}

void compilation::compile_all() {
  words of_unit = common_;
  of_unit.insert(of_unit.end(), instrumented.begin(), instrumented.end());
  std::vector<std::future<int>> compilations;
  for (const fs::path& input : inputs_) {
    const bool of_c = input.extension() == ".i";
    words command = of_c ? without_cpp(of_unit) : of_unit;
    command.insert(command.end(), {"-x", of_c ? "cpp-output" : "c++-cpp-output"});
    compilations.push_back(program_.timed ? compile_counted(command, input) : compile(command, input));
  }
  if (!parts_) {
    const fs::path& own = inputs_.emplace_back(folder_ / "own_part.cpp");
    write_file(own, own_part());
    compilations.push_back(compile(after_compiler(options_of_own_part), own));
  }
  for (auto& c : compilations) c.wait();
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    if (compilations[i].get() != 0) fail(inputs_[i].string() + ".said");
}

void compilation::link(const std::string& object) const {
  words command = after_compiler({"-shared", "-Wl,-Bsymbolic", "-Wl,-z,lazy", "-o", object});
  for (const wrapped_function& f : wrapped) command.push_back(std::string("-Wl,--wrap=") + f.name);
  for (const fs::path& input : inputs_) command.push_back(input.string() + ".o");
  if (parts_) command.push_back(parts_->own_part);
  if (tagged_) {
    const fs::path script = folder_ / "sections.ld";
    write_file(script, sections_of_templates(device_templates_));
    command.push_back("-Wl,-T," + script.string());
  }
  std::ranges::copy_if(program_.sources, std::back_inserter(command), is_linked);
  std::ranges::copy_if(program_.compiler_options, std::back_inserter(command), is_for_linker);
  command.emplace_back("-lstdc++");  // which gcc leaves out
  run_or_fail(command, folder_ / "link.said");
}

bool compilation::can_be_prepared() const {
  return std::ranges::any_of(units_, is_cuda) &&
         std::ranges::all_of(program_.compiler_options, [](const std::string& o) {
           return is_for_linker(o) || is_for_preprocessor(o) || is_for_compiler(o) || included_first(o);
         });
}

// Extensions of PyTorch, whose stand-ins are larger than all others.
bool compilation::is_extension() const {
  return program_.driver.empty() && std::ranges::any_of(units_, [](const std::string& unit) {
           const std::string text = read(unit);
           return text.find("#include <torch/") != text.npos || text.find("#include <ATen/") != text.npos;
         });
}

preparation compilation::how_to_prepare() const {
  words header;
  std::ranges::copy_if(common_, std::back_inserter(header),
                       [](const std::string& o) { return !is_for_preprocessor(o); });
  const words more = preprocessing();
  header.insert(header.end(), more.begin(), more.end());
  header.insert(header.end(), {"-x", "c++-header"});
  words own = after_compiler(options_of_own_part);
  own.emplace_back("-c");
  return {.compile_header = std::move(header),
          .compile_own_part = std::move(own),
          .header = fmt::format("#include \"{}\"\n{}", fmt::join(first_headers, "\"\n#include \""),
                                is_extension() ? "#include \"antiphase/plain/bindings/bindings.h\"\n" : ""),
          .own_part = own_part(),
          .compiler = found_in_path(compiler_.back()),
          .include = include_ / "antiphase"};
}

void compilation::run(const std::string& object, const std::optional<prepared_parts>& parts) {
  parts_ = parts;
  inputs_.clear();
  preprocess();
  translate_all();
  compile_all();
  link(object);
}

}  // namespace

temporary_folder::temporary_folder(const fs::path& in) {
  std::string pattern = in / "antiphase-check-XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr)
    throw device_error(fmt::format("no folder can be made in {}: {}", in.string(), std::strerror(errno)));
  path_ = pattern;
  watched_ = watch_over(path_, watcher_);
  const std::lock_guard lock(of_watchers);
  if (watched_ >= 0) watchers()[path_] = watched_;
}

temporary_folder::~temporary_folder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  {
    const std::lock_guard lock(of_watchers);
    watchers().erase(path_);
  }
  if (watched_ >= 0) close(watched_);
  if (watcher_ > 0) waitpid(watcher_, nullptr, 0);
}

namespace {

void require_room_for_programs(const fs::path& folder) {
  struct statvfs about {};
  if (statvfs(folder.c_str(), &about) == 0 && (about.f_flag & ST_NOEXEC) != 0)
    throw device_error(
        fmt::format("programs cannot be run in {}, which is mounted noexec: expected another place in TMPDIR",
                    folder.string()));
}

}  // namespace

compiled::compiled(const plain_program& p)
    : object_(p.object.empty() ? folder_.path() / "program.so" : fs::path(p.object)) {
  require_files(p);
  require_room_for_programs(fs::absolute(object_).parent_path());
  std::error_code ignored;
  if (!p.object.empty() && fs::exists(object_, ignored)) return;
  // C++20 if nothing else is asked for. A program that is not valid in the first may be in the other.
  const bool older = asks_for_older(p.compiler_options);
  std::future<void> made;  // parts for later programs; its destructor waits for them
  bool sides_differ = false;
  const auto compile = [&](bool as_older, bool both_sides) {
    compilation steps(p, folder_.path(), as_older, both_sides);
    try {
      if (steps.can_be_prepared())
        if (const auto parts = prepared(steps.how_to_prepare(), made)) try {
            return steps.run(object(), parts);
          } catch (const bad_source&) {
            // the program's fault, or that of the parts: compiled without them, its errors are its own
          }
      steps.run(object(), {});
    } catch (const bad_source&) {
      sides_differ = steps.sides_differ();
      throw;
    }
  };
  try {
    compile(older, true);
  } catch (const bad_source& first) {
    if (!std::string_view(first.what()).starts_with(does_not_compile)) throw;
    const bool differed = sides_differ;
    for (const bool other : {false, true}) try {
        if (!other && !differed) continue;
        compile(other ? !older : older, other);
        return;
      } catch (const bad_source&) {  // the first errors are those of the program
      }
    throw;
  }
}

}  // namespace antiphase::plain
