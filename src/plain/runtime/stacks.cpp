// SPDX-License-Identifier: Apache-2.0
// Stacks of a plain CUDA program's threads: as large as local memory may be, and a finding where one
// overflows.
#include <fmt/format.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>

#include "runtime.hpp"
#include "src/checker/order/missing.hpp"
#include "src/checker/runs/model.hpp"
#include "src/executor/cpu/fiber.hpp"

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

}  // namespace

// Each register of PTX takes room in a frame.
void take_larger_stacks(bool larger) { mebibytes_of_stack = larger ? 4 : 1; }
void follow_stacks() {
  if (ANTIPHASE_ASAN != 0) return;
  stack_arena::grow({mebibytes_of_stack * mebibyte, bytes_of_guard});
  static std::array<unsigned char, 64 * 1024> memory;
  const stack_t own{.ss_sp = memory.data(), .ss_flags = 0, .ss_size = memory.size()};
  struct sigaction how = {};
  how.sa_sigaction = on_fault;
  how.sa_flags = SA_SIGINFO | SA_ONSTACK;
  if (sigaltstack(&own, nullptr) == 0) sigaction(SIGSEGV, &how, &before);
}

}  // namespace antiphase::plain
