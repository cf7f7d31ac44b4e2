// SPDX-License-Identifier: Apache-2.0
// The stacks that fibers run on.
#include "fiber.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <new>

#if ANTIPHASE_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace antiphase::cpu_detail {
namespace {
std::size_t page() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}
// Every guard page splits a mapping, and Linux gives a process 65,530 mappings: a few dozen workers with a thousand stacks each would
// take them all, and nothing could be allocated any more. Stacks without a guard cost a diagnosis, not correctness.
constexpr std::size_t most_guards = 16 * 1024;
std::atomic<std::size_t> guards{0};  // of all arenas

std::size_t stride() { return stack_arena::stack_bytes + page(); }

// AddressSanitizer remembers the frames that a fiber was unwound from or never returned from; the next one starts on a clean stack.
void forget([[maybe_unused]] const void* stack, [[maybe_unused]] std::size_t bytes) {
#if ANTIPHASE_ASAN
  __asan_unpoison_memory_region(stack, bytes);
#endif
}
}  // namespace

stack_arena::~stack_arena() { release(); }

void stack_arena::release() {
  if (base_ == nullptr) return;
  for (std::size_t i = 0; i < count_; ++i) forget(base_ + i * stride() + page(), stack_bytes);
  munmap(base_, count_ * stride());
  guards.fetch_sub(guards_, std::memory_order_relaxed);
  guards_ = 0;
  base_ = nullptr;
  count_ = 0;
}

void stack_arena::reserve(std::size_t count) {
  release();
  void* memory = mmap(nullptr, count * stride(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  base_ = static_cast<unsigned char*>(memory);
  count_ = count;
  for (std::size_t i = 0; i < count; ++i) {
    if (guards.fetch_add(1, std::memory_order_relaxed) >= most_guards || mprotect(base_ + i * stride(), page(), PROT_NONE) != 0) {
      guards.fetch_sub(1, std::memory_order_relaxed);
      break;
    }
    ++guards_;
  }
}

boost::context::stack_context stack_arena::stack(std::size_t index) const {
  const std::size_t stagger = index % 32 * 128;
  boost::context::stack_context context;
  context.sp = base_ + (index + 1) * stride() - stagger;
  context.size = stack_bytes - stagger;
  forget(static_cast<unsigned char*>(context.sp) - context.size, context.size);
  return context;
}

}  // namespace antiphase::cpu_detail
