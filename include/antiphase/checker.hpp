// SPDX-License-Identifier: Apache-2.0
// The checker: runs kernels without a GPU and finds races, missing waits and bad accesses.
#pragma once
#include <antiphase/context.hpp>
#include <antiphase/core/finding_kind.hpp>
#include <antiphase/executor/cpu/cpu_executor.hpp>
#include <antiphase/trace.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Only kernels that are compiled into the inline namespace `checked`, with the compiler's instrumentation,
// are checked: in CMake, antiphase_checked_kernels(target SOURCES ...). The program links antiphase::checker.
// docs/check/checking.md explains what is found and how.
namespace antiphase {

// "race", "read-before-landing", ...
inline std::string id(finding_kind kind) {
  std::string text = name(kind);
  for (char& c : text)
    if (c == ' ') c = '-';
  return text;
}

struct code_place {
  std::string file;
  int line = 0;
  bool operator==(const code_place&) const = default;
};

enum class line_memory { shared, global, constant };

// One of the two accesses of a finding: what was done, where, by which thread, and when.
struct finding_side {
  std::string action;               // "write of 4 bytes", "asynchronous copy of 16 bytes"
  code_place place;                 // in the kernel
  std::vector<code_place> through;  // lines in the library's headers, innermost first
  // call stack of the kernel at `place`, innermost first, as far as known
  std::vector<code_place> callers = {};
  extent3 block;
  int thread = -1;      // -1: not done by a thread
  std::string moment;   // "after 3 block barriers, copy group 2", or empty
  bool writes = false;  // an ordinary write by a thread
};

// A sentence of the checker and the values for its blanks. All sentences and what they stand for are rows of
// one table, checker/order/sentences.h.
enum class sentence : std::uint16_t;
struct explanation {
  explanation(sentence s = {}, std::vector<std::string> v = {}) : row(s), values(std::move(v)) {}
  sentence row;  // 0: none
  std::vector<std::string> values;
  bool empty() const { return row == sentence{}; }
  missing_order order() const;
  order_scope scope() const;
  bool operator==(const explanation&) const = default;
};
std::string to_text(const explanation& e);

// Waits that a run leaves out of a kernel, to show what they are for: for data of asynchronous copies, or at
// an mbarrier; for a free slot, at the last event of a channel; or at barriers of a block or a part of it.
enum class ring_wait { none, data, slot, barrier };

// The schedule of one run: enough to replay it on any machine, bit for bit.
struct check_run {
  unsigned seed = 1;
  schedule order = schedule::random;
  landing copies = landing::late;
  int resident_blocks = 1;
  std::string script = {};  // of order schedule::script
  ring_wait without = ring_wait::none;
  bool operator==(const check_run&) const = default;
};

// Events in the drawing of a schedule. `order`: a barrier, an arrival, a fence, a commit; `wait`: until
// others have arrived or copies have landed; `flight`: a group of asynchronous copies, from issue to the end
// of the wait for it.
enum class event_kind { read, write, atomic, copy, order, wait, flight };
enum class event_mark { none, now, earlier };  // the sides of the finding

struct schedule_event {
  event_kind kind{};
  std::string action{};
  code_place place{};
  std::uint64_t times = 1;          // repetitions in a row, by the same line
  std::int64_t begin = 0, end = 0;  // counted in events of all lanes, in the order in which they ran
  event_mark mark = event_mark::none;
  bool open = false;  // goes on beyond the end of the drawing
};
// A lane of the drawing: a thread, its copies in flight, or the memory of the finding.
struct schedule_lane {
  std::string name{};
  std::vector<schedule_event> events{};
};
struct finding_schedule {
  std::vector<schedule_lane> lanes{};
  std::int64_t end = 0;
};

// A pedantic finding breaks a rule of PTX or CUDA that GPUs do not need and that programs ignore.
enum class finding_severity { error, pedantic };
const char* name(finding_severity severity);  // "error", "pedantic"

struct finding {
  finding_kind kind{};
  std::string kernel;
  std::string memory;                     // "shared memory, byte 132", or empty
  std::optional<line_memory> space = {};  // of `memory`, if it is the device's
  finding_side access;                    // the access at which it was found
  std::optional<finding_side> earlier;    // the access that it conflicts with
  explanation missing;                    // what would have ordered the two
  std::vector<explanation> remarks = {};  // on `missing`
  explanation in_practice = {};           // pedantic findings only: what GPUs do
  std::uint64_t times = 0;                // in all runs, for this pair of places
  int group = 0;                          // findings of one cause have one number, from 1 on
  check_run first;                        // the first run that showed it, shortened if check_options::shorten
  // That run, around the finding, if check_options::draw. For a wrong result the last kernel, for a leak the
  // allocation's life. Without lanes where no thread of a kernel took part.
  finding_schedule drawn{};

  finding_severity severity() const {
    return in_practice.empty() ? finding_severity::error : finding_severity::pedantic;
  }
};
std::string missing_text(const finding& f);  // `missing` and the remarks on it

// The requests of a kernel's line to memory, in all warps of a run. One is one instruction of a warp.
enum class line_action { read, write, atomic, async_copy, bulk_copy };
const char* name(line_memory memory);  // "shared", ...
const char* name(line_action what);    // "read", "write", "atomic", "async copy", "bulk copy"
struct line_count {
  std::string kernel = {};
  code_place place = {};
  line_memory memory{};
  line_action action{};
  std::uint64_t requests = 0;
  std::uint64_t lanes = 0;  // active ones, over all requests; of a bulk copy 1
  std::uint64_t bytes = 0;  // that these asked for
  // Wavefronts of shared memory, or sectors of 32 bytes of global memory; and what the same requests take
  // without bank conflicts, or if the bytes lie side by side. 0 of bulk copies and atomics in shared memory.
  std::uint64_t units = 0, ideal = 0;
};

// A kernel of a run whose blocks were given times: check_options::time. Times are ticks of the machine.
struct timed_kernel {
  // The timeline of one block, in the launch in which it does most. Its steps are the fills of the buffers
  // that were found in shared memory; where none is filled and read alternately, runs of loads to registers
  // (timeline::rings). A kernel with neither has no recorded steps.
  timeline drawn = {};
  extent3 grid = {1, 1, 1};
  int threads = 0;
  std::size_t shared_bytes = 0;             // that the block used
  int resident = 1;                         // such blocks on a multiprocessor
  std::size_t slot_bytes = 0;               // of a buffer; 0: there is none
  bool by_roles = false;                    // some warps fill the buffers, others read them
  bool asynchronous = false, bulk = false;  // how they are filled: not through registers; by bulk copies
  bool of_results = false;                  // with what the block computed, not with what it loads
  // Copies begin before the wait for the buffer in use; or a single buffer's next data wait in registers
  // while it is computed from.
  bool early = false;
  double step_ticks = 0;
  double compute_ticks = 0;  // of a step of a block alone whose loads land at once
  double load_ticks = 0;     // from issue to landing, if nothing else is loaded
  double issue_ticks = 0;    // to issue the loads of a step
  double load_bytes = 0;     // that a step's loads move, in whole sectors
  bool in_cache = false;     // the modelled machine's L2 cache has them
};

// Which run's output is shown, on standard error, if runs are processes.
enum class program_output { none, first_run };

struct check_report;
// Options of check(). The default is 20 runs, alternating over all kinds of schedules.
struct check_options {
  unsigned seed = 1;   // of the first run; run i has seed + i
  int schedules = 20;  // number of runs
  // What alternates from run to run; empty: every value.
  std::vector<schedule> orders = {};
  std::vector<landing> copies = {};
  std::vector<int> resident_blocks = {};
  // runs at a time, one OS thread each; 0: one per core. Findings do not depend on it.
  int workers = 0;
  std::string script = {};              // for runs of order schedule::script
  ring_wait without = ring_wait::none;  // in all runs; each then ends at the wait after its first finding
  std::uint64_t exhaustive = 0;  // not 0: run every possible schedule, at most this many; for tiny cases
  // for findings that only some schedules show, search for a simpler schedule; not with a single run
  bool shorten = true;
  std::optional<check_run> replay = {};  // exactly this run and no other
  // repeat the run that shows a finding and keep its schedule in finding::drawn
  bool draw = false;
  bool count = false;  // fill check_report::counts
  // Fill check_report::timed: steps, the machine, its blocks, registers and where data lie are read.
  std::optional<trace_options> time = {};
  device_limits limits = simulated_device();
  // Not 0: each run is a process, ended after so many seconds of its own time. Such a program may keep
  // state, exit or crash.
  double process_seconds = 0;
  program_output output = program_output::none;  // of such processes
  // called after each run, by one thread at a time
  std::function<void(const check_report& so_far)> progress = {};
};

// Why a program in plain CUDA was not checked.
struct check_refusal {
  std::string why;   // "does not compile", "not supported", "not run"
  code_place place;  // line 0: no place is known
  int column = 0;    // 0: not known
  std::string text;
};

// What check() found.
struct check_report {
  // each pair of places once; by cause, and these in the order of the first run that showed them
  std::vector<finding> findings;
  int runs = 0;
  // runs stopped after process_seconds, of which nothing is known
  int unfinished = 0;
  bool complete = false;                 // exhaustive checks only: all schedules were run
  std::uint64_t accesses = 0;            // by kernels, to memory that the checker tracks
  std::uint64_t tracked_bytes = 0;       // most in one run, shared and global memory
  std::uint64_t checker_bytes = 0;       // the checker's own memory for them
  std::vector<std::string> notes;        // what was not checked, such as blocks of a large launch
  std::vector<line_count> counts = {};   // of the first run, by kernel and line; if check_options::count
  std::vector<timed_kernel> timed = {};  // of the first run; if check_options::time
  // for to_json() and to_sarif(), which print it; check() throws instead
  std::vector<check_refusal> refused = {};
  // what was found and does not count, as a user wants it; find_fixes() knows it
  std::vector<finding> left_out = {};
  bool tried_change = false;  // a run came to the change that find_fixes() or find_needless() tries
  bool clean() const { return findings.empty(); }
  std::size_t errors() const;  // findings that are not pedantic
  std::size_t causes() const;  // groups of findings
};

// Runs `program` once per schedule, each time on a CPU executor that follows that schedule:
//
//   const check_report report = check(
//       [](const context& where) {
//         device_array<int> to(where, 1000);
//         const my_params params{to.data(), 1000};
//         where.runs_on().launch(checked::my_kernel(), {8, 1, 1}, &params, nullptr);
//         if (to.to_host()[999] != 42) throw std::runtime_error("the last sum is wrong");
//       },
//       {.schedules = 100});
//   std::fputs(to_text(report).c_str(), stdout);
//
// The program allocates, launches and may verify its results; several threads may call it at once. An
// exception from it is a finding (wrong_result), except bad_request and not_supported, which are rethrown.
check_report check(const std::function<void(const context&)>& program, const check_options& options = {});

// Sets an option by its command-line name: --schedules, --seed, --order, --landing, --resident, --workers,
// --exhaustive, --script or --without. Orders, landings and residents are comma-separated lists; `all` is the
// default. options_of() reads pairs of name and value. Both throw bad_request.
void set_option(check_options& options, std::string_view name, std::string_view value);
check_options options_of(std::span<const char* const> arguments);

// The report for a terminal. `command`, if given, is the command line of this check; the text then shows how
// to replay each finding by it. `after` is appended to that: arguments of the program itself.
std::string to_text(const check_report& report, const std::string& command = {},
                    const std::string& behind = {});
std::string summary(const check_report& report);  // "no finding in 20 schedules"
std::string to_json(const check_report& report, const std::string& command = {},
                    const std::string& behind = {});
// For editors: one line per finding, beginning with file, line and column as compilers print them.
// Findings without a place of their own are shown at `source`.
std::string to_lines(const check_report& report, const std::string& source);
// SARIF 2.1.0, which editors and code hosts display. File names are relative to the current folder where
// possible.
std::string to_sarif(const check_report& report, const std::string& source, const std::string& command = {},
                     const std::string& behind = {});

// Stable from run to run even if lines move: no line numbers are in it. Findings may share one.
std::string fingerprint(const finding& f);

// "read of 4 bytes by block 0, thread 62, after 1 block barrier, at smooth.cuh:42"
std::string to_text(const finding_side& side);
// `command` with the options that replay the finding.
std::string replay_command(const finding& f, const std::string& command, const std::string& behind = {});

// "--seed 7 --order priority --landing early --resident 2"
std::string to_text(const check_run& run);

const char* name(schedule order);
const char* name(landing copies);
const char* name(ring_wait wait);  // "none", "data", "slot", "barrier"

// What `antiphase check` runs: the library's own kernels, on shapes that cover all of their paths, with
// verified results.
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
  std::string variant;  // distinguishes it from others of its name
  kernel code;
  std::string unchecked = {};  // why no case launches it; empty: one does
};
std::vector<library_kernel> library_kernels();

}  // namespace antiphase
