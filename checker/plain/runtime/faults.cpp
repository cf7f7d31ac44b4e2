// SPDX-License-Identifier: Apache-2.0
// Faults of a kernel's machine code: empty loops, divisions by zero, misaligned and out-of-range accesses.
#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/time.h>
#include <ucontext.h>

#include <csignal>
#include <cstring>
#include <string_view>
#include <vector>

#include "checker/order/missing.hpp"
#include "checker/order/places.hpp"
#include "checker/plain/runtime/launches/launch_state.hpp"
#include "run.hpp"

namespace antiphase::plain {
using checker_detail::model;

namespace {
#if defined(__x86_64__)
std::uintptr_t interrupted_at(const void* context) {
  return static_cast<std::uintptr_t>(static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
}
// Ends the run with a finding at the instruction that was interrupted.
[[noreturn]] void end_at(std::uintptr_t at, finding_kind kind, const char* action, sentence missing,
                         const char* why) {
  model& m = followed();
  m.note_here(kind, m.places.number_of_code(reinterpret_cast<const void*>(at + 1)), action, "", missing);
  m.set_current(nullptr);
  end_run_at(launch_in_words(), std::make_exception_ptr(checker_detail::stopped(why)));
}
// Handler of a timer. An ordinary read hoisted out of a polling loop leaves a jump to itself: nothing else
// runs and no hook is called, so only a clock can notice. Such a loop holds no lock, so the handler may do
// anything.
void look_for_empty_loop(int, siginfo_t*, void* context) {
  const std::uintptr_t at = interrupted_at(context);
  constexpr unsigned char jump_to_itself[] = {0xEB, 0xFE};
  if (std::memcmp(reinterpret_cast<const void*>(at), jump_to_itself, sizeof jump_to_itself) != 0) return;
  Dl_info info{};
  if (!is_followed() || followed().current() == nullptr || dladdr(reinterpret_cast<void*>(at), &info) == 0 ||
      reinterpret_cast<std::uintptr_t>(info.dli_fbase) != checker_detail::code_base)
    return;
  end_at(at, finding_kind::deadlock,
         "the loop never re-reads memory: the compiler hoisted the load, as nothing says that other threads "
         "change it",
         sentence::volatile_loop, "an empty loop");
}
// Division of an integer by zero ends a host program. A GPU continues with an undefined value.
void look_at_division(int, siginfo_t*, void* context) {
  if (!is_followed() || followed().current() == nullptr) {  // in host code: ends as usual
    std::signal(SIGFPE, SIG_DFL);
    return;
  }
  end_at(interrupted_at(context), finding_kind::wrong_result,
         "an integer division without a result (by zero, or of the lowest number by -1)",
         sentence::checked_divisor, "a division by zero");
}
#endif
}  // namespace
#if defined(__x86_64__)

void watch_for_signals() {
  static std::vector<unsigned char> stack(std::size_t{1} << 20);
  stack_t own{};
  own.ss_sp = stack.data();
  own.ss_size = stack.size();
  sigaltstack(&own, nullptr);
  struct sigaction action {};
  action.sa_sigaction = look_for_empty_loop;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  sigaction(SIGVTALRM, &action, nullptr);
  action.sa_sigaction = look_at_division;
  sigaction(SIGFPE, &action, nullptr);
  const itimerval often{.it_interval = {.tv_sec = 0, .tv_usec = 20'000},
                        .it_value = {.tv_sec = 0, .tv_usec = 20'000}};
  setitimer(ITIMER_VIRTUAL, &often, nullptr);
}
#else
void watch_for_signals() {}
#endif
}  // namespace antiphase::plain

using namespace antiphase;

extern "C" {
struct ubsan_place {
  const char* file;
  unsigned line, column;
};
struct ubsan_type {
  unsigned short kind, info;
  char name[1];
};
struct ubsan_mismatch {
  ubsan_place place;
  const ubsan_type* type;
  unsigned char log_alignment, access;
};
struct ubsan_bounds {
  ubsan_place place;
  const ubsan_type *array, *index;
};
void __ubsan_handle_type_mismatch_v1(ubsan_mismatch* data, std::uintptr_t p) {
  auto& m = plain::followed();
  if (m.current() == nullptr || p == 0) return;
  const unsigned alignment = 1u << data->log_alignment;
  // nvcc keeps a thread's small arrays in registers or aligns them; g++ aligns those of 16 bytes and more
  if (alignment < 16 && m.host.stack.holds(p)) return;
  // types of our own headers have names that mean nothing to the user
  const bool own = std::string_view(data->place.file).find("antiphase/plain/") != std::string_view::npos;
  m.note_here(finding_kind::misaligned, m.places.number_of_code(__builtin_return_address(0)),
              own ? "access" : fmt::format("access of type {}", data->type->name),
              fmt::format("an address that is {} more than a multiple of {}", p % alignment, alignment),
              checker_detail::explain(sentence::aligned, alignment));
  m.history.stop("a misaligned access");
}
void __ubsan_handle_out_of_bounds(ubsan_bounds* data, std::uintptr_t index) {
  auto& m = plain::followed();
  if (m.current() == nullptr) return;
  m.note_here(finding_kind::outside_memory, m.places.number_of_code(__builtin_return_address(0)),
              fmt::format("index {} of {}", static_cast<long>(static_cast<int>(index)), data->array->name),
              "", sentence::within_array);
}

}  // extern "C"