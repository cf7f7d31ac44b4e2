// SPDX-License-Identifier: Apache-2.0
// Stacks of a plain CUDA program's threads: as large as local memory may be, and a finding where one
// overflows, where a recursion takes more than cudaLimitStackSize, and where a frame was overwritten.
#include <fmt/format.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "checker/order/missing.hpp"
#include "checker/plain/runtime/run.hpp"
#include "checker/plain/runtime/runtime.hpp"
#include "checker/runs/model.hpp"
#include "core/executor/cpu/order/fiber.hpp"

namespace antiphase::plain {
namespace {

using cpu_detail::stack_arena;

// GPUs give a thread 512 KiB at most; instrumented code takes more of the host's stack than machine code
// there.
constexpr std::size_t mebibyte = 1024 * 1024, bytes_of_guard = 64 * 1024;
std::size_t mebibytes_of_stack = 1;

std::uintptr_t overflowed_at = 0;  // code
struct sigaction before = {};

// Continues in place of the code that has overflowed its stack.
[[noreturn]] void report_overflow() {
  auto& m = *checker_detail::active;
  m.note_here(finding_kind::outside_memory,
              m.places.number_of_code(reinterpret_cast<const void*>(overflowed_at)),
              fmt::format("local variables and calls of a thread take more than {} MiB", mebibytes_of_stack),
              "", sentence::local_memory);
  m.history.stop("a thread's stack has overflowed");
  __builtin_unreachable();
}

void on_fault(int, siginfo_t* info, void* interrupted) {
  const auto at = reinterpret_cast<std::uintptr_t>(info->si_addr);
  auto* const m = checker_detail::active;
  const std::uintptr_t low = m != nullptr && m->current() != nullptr ? m->host.stack.low : 0;
  auto& registers = static_cast<ucontext_t*>(interrupted)->uc_mcontext;
  if (at >= low || at + bytes_of_guard < low ||
      mprotect(reinterpret_cast<void*>(low - bytes_of_guard / 2), bytes_of_guard / 2,
               PROT_READ | PROT_WRITE) != 0) {
    sigaction(SIGSEGV, &before, nullptr);  // and again
    return;
  }
#if defined(__x86_64__)
  overflowed_at = static_cast<std::uintptr_t>(registers.gregs[REG_RIP]);
  registers.gregs[REG_RSP] = static_cast<greg_t>(low / 64 * 64 - 8);  // as after a call
  registers.gregs[REG_RIP] = static_cast<greg_t>(reinterpret_cast<std::uintptr_t>(&report_overflow));
#elif defined(__aarch64__)
  overflowed_at = registers.pc;
  registers.sp = low / 64 * 64;
  registers.pc = reinterpret_cast<std::uintptr_t>(&report_overflow);
#endif
}

// A GPU's local memory holds what a kernel and the functions that it calls are known to need, but of a
// recursion cudaLimitStackSize bytes. Code here has larger frames than there: only a multiple of the limit is
// surely too much.
constexpr std::uintptr_t surely = 8, usual_limit = 1024;

struct call {
  std::uintptr_t code, frame;
};
// The calls of the thread that runs, innermost first.
std::vector<call> calls_up_to(std::uintptr_t top) {
  struct walk {
    std::uintptr_t top;
    std::vector<call> calls = {};
  } all{.top = top};
  _Unwind_Backtrace(
      [](_Unwind_Context* frame, void* to) {
        walk& w = *static_cast<walk*>(to);
        const std::uintptr_t at = _Unwind_GetCFA(frame);
        if (at > w.top || (!w.calls.empty() && at < w.calls.back().frame)) return _URC_END_OF_STACK;
        w.calls.push_back({_Unwind_GetIP(frame), at});
        return _URC_NO_REASON;
      },
      &all);
  return all.calls;
}

// A thread's stack is used down to `address`: reports a recursion that takes too much of it.
void look_for_recursion(std::uintptr_t address, std::uintptr_t& lowest_checked) {
  auto& m = *checker_detail::active;
  lowest_checked = 0;
  if (address - m.host.stack.low < 2 * bytes_of_guard) return;  // to look takes stack, too
  lowest_checked = address - std::min(address - m.host.stack.low, surely * usual_limit);
  const std::vector<call> calls = calls_up_to(m.host.stack.low + m.host.stack.size);
  const std::uintptr_t limit = plain::limit(cudaLimitStackSize);
  for (std::size_t i = 0; i < calls.size(); ++i) {  // the innermost call, and the outermost from its place
    const auto outermost = std::find_if(calls.rbegin(), calls.rend() - static_cast<std::ptrdiff_t>(i + 1),
                                        [&](const call& c) { return c.code == calls[i].code; });
    if (outermost == calls.rend() - static_cast<std::ptrdiff_t>(i + 1)) continue;
    if (outermost->frame - calls[i].frame <= surely * limit) return;
    lowest_checked = 0;
    return m.note_here(finding_kind::outside_memory,
                       m.places.number_of_code(reinterpret_cast<const void*>(calls[i].code)),
                       "a recursion takes more local memory than a thread has", "",
                       checker_detail::explain(sentence::stack_limit, limit));
  }
}

}  // namespace

// Each register of PTX takes room in a frame, so that frames say nothing of the limit of a recursion.
void take_larger_stacks(bool larger) { mebibytes_of_stack = larger ? 4 : 1; }
void follow_stacks() {
  if (ANTIPHASE_ASAN != 0) return;
  stack_arena::grow({mebibytes_of_stack * mebibyte, bytes_of_guard});
  if (mebibytes_of_stack == 1) followed().host.on_deep_stack = look_for_recursion;
  followed().host.unchecked_depth = surely * usual_limit;
  static std::array<unsigned char, 64 * 1024> memory;
  const stack_t own{.ss_sp = memory.data(), .ss_flags = 0, .ss_size = memory.size()};
  struct sigaction how = {};
  how.sa_sigaction = on_fault;
  how.sa_flags = SA_SIGINFO | SA_ONSTACK;
  if (sigaltstack(&own, nullptr) == 0) sigaction(SIGSEGV, &how, &before);
}

}  // namespace antiphase::plain

// A function is about to return, and what g++ has stored after its arrays has changed.
extern "C" [[noreturn]] void antiphase_plain_overwritten_stack(const void* code) {
  using namespace antiphase;
  auto* const m = checker_detail::active;
  if (m == nullptr || m->current() == nullptr) std::abort();
  m->note_here(finding_kind::outside_memory, m->places.number_of_code(code),
               "something has written past an array of the function that returns", "",
               sentence::within_array);
  m->history.stop("a thread's stack was overwritten");
  __builtin_unreachable();
}
