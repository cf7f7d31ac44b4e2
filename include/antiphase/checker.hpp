// SPDX-License-Identifier: Apache-2.0
// Runs kernels under the checker: races, missing waits and bad accesses, found without a GPU.
#pragma once
#include <antiphase/context.hpp>
#include <antiphase/executor/cpu/cpu_executor.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// Kernels are checked if they are compiled into the inline namespace `checked` with the compiler's
// instrumentation: in CMake, antiphase_checked_kernels(target SOURCES ...). The program links
// antiphase::checker. docs/checking.md explains what is found and how.
namespace antiphase {

enum class finding_kind {
  race,                 // two accesses that nothing orders, one of them a write
  read_before_landing,  // of the bytes of an asynchronous copy that nobody has waited for
  overwritten_in_use,   // a write, or a copy's, to bytes that are still being read, copied or landing
  uninitialised,        // a read of memory nobody has written
  outside_memory,       // an access to memory that is neither the block's nor the executor's
  missing_proxy_fence,  // ordinary writes handed to the copy engine without fence_async
  divergent_barrier,    // threads of a block at different barriers, lanes of a warp at different operations
  deadlock,             // nobody can go on
  never_waited_for,     // asynchronous copies in flight when their thread or block ends
  // arrivals or bytes that a barrier does not expect, a barrier used before it is initialised
  barrier_misuse,
  bad_copy,      // misaligned, of a bad size, or not between global and shared memory
  gave_up,       // the kernel trapped
  wrong_result,  // the program threw: its own check of the numbers failed
  // Of whole programs in plain CUDA:
  misaligned,  // an access by a type that wants a larger alignment than the address has
  bad_launch,  // a configuration that the device refuses
  leak,        // device memory that nobody has given back
};
const char* name(finding_kind kind);  // "race", "read before landing", ...

struct code_place {
  std::string file;
  int line = 0;
  bool operator==(const code_place&) const = default;
};

// One of the two sides of a finding: who did what, where, and when.
struct finding_side {
  std::string action;               // "write of 4 bytes", "asynchronous copy of 16 bytes"
  code_place at;                    // in the kernel
  std::vector<code_place> through;  // the library's headers it went through, innermost first
  // how the kernel came to `at`: the calls that were under way, innermost first, as far as known
  std::vector<code_place> callers = {};
  extent3 block;
  int thread = -1;   // -1: not a thread's doing
  std::string when;  // "after 3 block barriers, copy group 2", or empty
};

// How one run was scheduled: enough to run it again, bit for bit, anywhere.
struct check_run {
  unsigned seed = 1;
  schedule order = schedule::random;
  landing copies = landing::late;
  int resident_blocks = 1;
  std::string script = {};  // of order schedule::script
  bool operator==(const check_run&) const = default;
};

// What is drawn of a schedule. `order`: a barrier, an arrival, a fence, a commit; `wait`: until others have
// come, or copies have landed; `flight`: a group of asynchronous copies, until somebody has waited for it.
enum class event_kind { read, write, atomic, copy, order, wait, flight };
enum class event_mark { none, now, earlier };  // the sides of the finding

struct schedule_event {
  event_kind kind{};
  std::string action{};
  code_place at{};
  std::uint64_t times = 1;          // in a row, by the same line
  std::int64_t begin = 0, end = 0;  // counted in events of the lanes, in the order in which they ran
  event_mark mark = event_mark::none;
  bool open = false;  // it has not ended where the picture does
};
// A thread, the copies that it has started, or the memory that a finding is about.
struct schedule_lane {
  std::string name{};
  std::vector<schedule_event> events{};
};
struct finding_schedule {
  std::vector<schedule_lane> lanes{};
  std::int64_t end = 0;
};

struct finding {
  finding_kind kind{};
  std::string kernel;
  std::string memory;   // "shared memory, byte 132", "global memory, byte 4 of 1024 allocated", or empty
  finding_side access;  // what was going on when it was found
  std::optional<finding_side> earlier;
  std::string missing;      // what would have ordered the two, in words
  std::uint64_t times = 0;  // in all runs, for this pair of places
  check_run first;          // the first run that showed it, shortened where that was asked for
  // That run, around the finding, if check_options::draw; of a wrong result the last kernel, of a leak the
  // allocation's life. No lanes: no thread of a kernel took part.
  finding_schedule drawn{};
};

// Runs in processes of their own: whose output is shown, on standard error.
enum class program_output { none, first_run };

struct check_report;
struct check_options {
  unsigned seed = 1;   // of the first run; the others count on from it
  int schedules = 20;  // runs
  // What alternates from run to run; empty: all of them.
  std::vector<schedule> orders = {};
  std::vector<landing> copies = {};
  std::vector<int> resident_blocks = {};
  // runs at a time, one OS thread each; 0: one per core. Findings do not depend on it.
  int workers = 0;
  std::string script = {};       // of those of order schedule::script
  std::uint64_t exhaustive = 0;  // not 0: instead every schedule there is, up to so many; for tiny cases
  // look for a simpler schedule that shows a finding which only some schedules show; not of a single run
  bool shorten = true;
  std::optional<check_run> replay = {};  // exactly this run and no other
  // run what shows a finding once more, and keep its schedule: finding::drawn
  bool draw = false;
  device_limits limits = simulated_device();
  // Not 0: each run is a process of its own, so that a program may keep state, exit or crash, and ends after
  // so many seconds.
  double process_seconds = 0;
  program_output output = program_output::none;  // of such processes
  // called after each run, by one thread at a time
  std::function<void(const check_report& so_far)> progress = {};
};

// Why a program in plain CUDA was not checked.
struct check_refusal {
  std::string why;  // "does not compile", "not supported", "not run"
  code_place at;    // line 0: no place is known
  int column = 0;   // 0: not known
  std::string text;
};

struct check_report {
  std::vector<finding> findings;  // in the order of the first run that showed them; each pair of places once
  int runs = 0;
  // of them: stopped after process_seconds, so that nothing is known of what they did
  int unfinished = 0;
  bool complete = false;            // there are no other schedules; known of exhaustive checks only
  std::uint64_t accesses = 0;       // of kernels to memory that the checker follows
  std::uint64_t tracked_bytes = 0;  // the most of one run, shared and global
  std::uint64_t checker_bytes = 0;  // what the checker kept about them
  std::vector<std::string> notes;   // what was not looked at, such as blocks of a large launch
  // of to_json() and to_sarif(), which tell it too; check() throws instead
  std::vector<check_refusal> refused = {};
  bool clean() const { return findings.empty(); }
};

// Runs `program` once per schedule. It allocates, launches and may verify its results on the context it is
// given, which is the CPU executor of that schedule; it may be called by several threads at once. What it
// throws is a finding, unless it is a bad_request or not_supported: those are thrown on.
check_report check(const std::function<void(const context&)>& program, const check_options& options = {});

// Sets an option by its name: --schedules, --seed, --order, --landing, --resident, --workers, --exhaustive,
// --script. Orders, landings and residents are lists with commas; `all` stands for the default. Throws
// bad_request. options_of() reads pairs of name and value.
void set_option(check_options& options, std::string_view name, std::string_view value);
check_options options_of(std::span<const char* const> arguments);

// The report for a terminal. `command`, if given, is what a user types to run the check; the text adds the
// options that replay a run. `behind` stands at the end of it: arguments of the program itself.
std::string to_text(const check_report& report, const std::string& command = {},
                    const std::string& behind = {});
std::string summary(const check_report& report);  // "no finding in 20 schedules"
std::string to_json(const check_report& report, const std::string& command = {},
                    const std::string& behind = {});
// For editors: each finding as a line that starts with file:line:column, as compilers print them. `source` is
// where findings are shown that have no place of their own.
std::string to_lines(const check_report& report, const std::string& source);
// SARIF 2.1.0, which editors and code hosts show. Names of files are relative to the current folder where
// they can be.
std::string to_sarif(const check_report& report, const std::string& source, const std::string& command = {},
                     const std::string& behind = {});

// "read of 4 bytes by block 0, thread 62, after 1 block barrier, at smooth.cuh:42"
std::string to_text(const finding_side& side);
// `command` with the options that run again what shows the finding.
std::string replay_command(const finding& f, const std::string& command, const std::string& behind = {});

// "--seed 7 --order priority --landing early --resident 2"
std::string to_text(const check_run& run);

const char* name(schedule order);
const char* name(landing copies);

// What `antiphase check` runs: the library's own kernels, on shapes that take all of their paths, with
// results that are verified.
struct checked_case {
  std::string name;                             // gemm/async-2
  std::string about;                            // what the kernel is
  std::function<void(const context&)> program;  // for check(); throws if a result is wrong
  device_limits limits = simulated_device();    // for check_options::limits
};
const std::vector<checked_case>& library_cases();

// Every kernel that the library can launch, as it was compiled for the checker.
struct library_kernel {
  std::string by_case;  // the case that launches it
  std::string variant;  // what tells it apart from others of its name
  kernel code;
  std::string unchecked = {};  // why no case launches it; empty: one does
};
std::vector<library_kernel> library_kernels();

}  // namespace antiphase
