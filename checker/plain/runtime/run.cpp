// SPDX-License-Identifier: Apache-2.0
// A run of a program in this process: from main to its end.
#include "run.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <stdexcept>
#include <typeinfo>
#include <utility>
#include <vector>

#include "checker/order/places.hpp"
#include "checker/plain/runtime/launches/launch_state.hpp"
#include "checker/plain/runtime/launches/streams.hpp"
#include "checker/plain/runtime/memory/memory.hpp"
#include "checker/plain/runtime/memory/undefined_values.hpp"
#include "checker/runs/executor.hpp"
#include "checker/runs/process/process.hpp"
#include "runtime.hpp"

namespace antiphase::plain {

program_run current_run;

namespace {
struct run_end {
  std::jmp_buf jump;
  std::exception_ptr thrown;
  int exit_code = 0;
  std::string differs;  // the first result that a driver's holds() did not expect
};
run_end ending;
int tried = 0;  // the change of the program
}  // namespace

unsigned seed() { return checker_detail::seed_of(device()); }
undefined_values& undefined_results() {
  static undefined_values all;
  return all;
}
void end_run(std::exception_ptr why) {
  undefined_results().launch_failed();
  ending.thrown = std::move(why);
  std::longjmp(ending.jump, 1);
}
void end_run_at(const std::string& at, std::exception_ptr why) {
  followed().ended_at = at;
  end_run(std::move(why));
}
void end_run(const std::string& why) { end_run_with(std::runtime_error(why)); }

bool on_host_thread() { return pthread_equal(pthread_self(), current_run.host) != 0; }
code_place line_at(const void* code) {
  const std::vector<code_place> lines = checker_detail::lines_of(code);
  const auto own = std::ranges::find_if_not(lines, checker_detail::is_machinery);
  return own != lines.end() ? *own : code_place{};
}
void only_by_main(const char* what, place where, const void* code) {
  if (!is_followed() || on_host_thread()) return;
  const code_place at =
      where.line() != 0 ? code_place{where.file_name(), static_cast<int>(where.line())} : line_at(code);
  checker_detail::refuse_run(fmt::format(
      "{}:{}: {} by a second thread of the host: antiphase check follows what the thread of main() "
      "has CUDA do. Let that thread make the calls, on streams of their own",
      checker_detail::shown(at.file), at.line, what));
}
std::string message_of(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& e) {
    return e.what();
  }
}
std::string text_of(place where) {
  return fmt::format("{}:{}", checker_detail::shown(where.file_name()), where.line());
}
void refused(const char* why) {
  followed().set_current(nullptr);
  end_run_with(bad_source(why));
}
namespace {
// True for what a program's own check of its results throws.
bool is_of_host(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::runtime_error& e) {
    return typeid(e) == typeid(std::runtime_error);
  } catch (...) {
    return false;
  }
}

// Runs main. An exception out of it counts as a failed check of results.
void run_host(const std::string& object, bool driven, int argc, char** argv) {
  try {
    ending.exit_code = load(object, driven)(argc, argv, environ);
  } catch (const error&) {
    throw;
  } catch (const std::exception& e) {
    ending.thrown = std::make_exception_ptr(
        std::runtime_error(std::string("the program ended with an exception: ") + e.what()));
  } catch (...) {
    ending.thrown = std::make_exception_ptr(std::runtime_error("the program ended with an exception"));
  }
}

}  // namespace

void try_change(int number) { tried = number; }
bool is_tried(int number) {
  if (number != tried) return false;
  followed().findings.tried_change = true;
  return true;
}

void run_main(const std::string& object, const plain_program& of, const context& where) {
  checker_detail::model& m = checker_detail::model_of(where.runs_on());
  current_run = {&where.runs_on(), &m, pthread_self()};
  forget_textures();
  take_larger_stacks(!of.nvcc.empty() || of.sources.front().ends_with(".ptx"));
  forget_tensor_memory();
  follow_stacks();
  coverage.most_threads = of.most_threads;
  coverage.most_accesses = of.most_accesses;
  m.history.effort.most = 10 * of.most_accesses;
  m.patient = of.most_accesses == 0;
  follow_memory(m);
  follow_ordinary_memory(m);
  m.loops.before_store = keep_before_store;
  m.reads_unwritten = unwritten_may_be_read;
  m.findings.shared_place = shared_place;
  m.findings.mbarrier_name = mbarrier_name;
  static std::vector<std::string> words;
  static std::vector<char*> argv;
  words.assign(1, of.sources.front());
  words.insert(words.end(), of.arguments.begin(), of.arguments.end());
  for (std::string& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  if (setjmp(ending.jump) == 0)
    run_host(object, !of.driver.empty() || !of.nvcc.empty(), static_cast<int>(words.size()), argv.data());
  if (const std::exception_ptr deadlock = end_of_waiting_launch()) ending.thrown = deadlock;
  // Of a kernel's PTX and its one launch nothing follows.
  if (!of.driver.empty() || of.sources.front().ends_with(".ptx")) m.ended_at.clear();
  checker_detail::end_if_forked(ending.thrown ? 1 : ending.exit_code);
  begin_schedule();
  checker_detail::active = nullptr;
  m.host_touches = nullptr;
  m.host_finds_old = nullptr;
  m.host_reads_atomically = nullptr;
  m.host.unhooked_range = nullptr;
  const bool unlaunched = coverage.launches == 0 && m.findings.all().empty();
  if (ending.thrown && unlaunched && is_of_host(ending.thrown))
    throw bad_request(message_of(ending.thrown) + " " + checker_detail::before_launches);
  if (ending.thrown && !(coverage.sampled && is_of_host(ending.thrown)))
    std::rethrow_exception(ending.thrown);
  if (ending.exit_code != 0) {
    if (coverage.sampled) return;  // blocks were left out
    if (unlaunched)
      throw bad_request(
          fmt::format("the program ended with {} {}", ending.exit_code, checker_detail::before_launches));
    throw std::runtime_error(
        fmt::format("the program ended with {}{}{}", ending.exit_code,
                    last_error(false) != cudaSuccess
                        ? fmt::format(", after the error \"{}\"", error_text(last_error(false)))
                        : "",
                    ending.differs.empty() ? "" : ": " + ending.differs));
  }
  report_leaks();
  if (m.starts_dependents && !coverage.overlapped)
    m.findings.say(
        "griddepcontrol, or cudaGridDependencySynchronize() and its like, has no effect, as no launch allows "
        "it: launches follow each other without cudaLaunchAttributeProgrammaticStreamSerialization");
  if (coverage.launches == 0 && m.findings.all().empty())
    throw bad_request(std::string("the program ended ") + checker_detail::before_launches);
}

}  // namespace antiphase::plain

using namespace antiphase;

extern "C" {
bool antiphase_tried(int number) { return plain::is_tried(number); }
void antiphase_plain_differs(const char* how) {
  if (plain::ending.differs.empty()) plain::ending.differs = how;
}

[[noreturn]] void antiphase_plain_exit(int code) {
  if (!checker_detail::is_run_process()) {  // a child that the program has forked
    std::fflush(nullptr);
    _exit(code);
  }
  plain::ending.exit_code = code;
  std::longjmp(plain::ending.jump, 1);
}
[[noreturn]] void antiphase_plain_abort() { plain::end_run("the program called abort()"); }
[[noreturn]] void antiphase_plain_assert(const char* what, const char* file, unsigned line, const char*) {
  const std::string said = fmt::format("assertion failed: {}", what);
  auto& m = plain::followed();
  if (m.current() == nullptr)
    plain::end_run(fmt::format("{}:{}: {}", checker_detail::shown(file), line, said));
  if (plain::coverage.misled)
    m.say_misled();
  else
    m.note_here(finding_kind::gave_up, m.places.number_of_code(__builtin_return_address(0)), said, "", {});
  m.history.stop("an assertion failed");
  __builtin_unreachable();
}
}
