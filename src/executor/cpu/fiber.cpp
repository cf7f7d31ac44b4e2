// The stacks that fibers run on.
#include "fiber.hpp"

#include <sys/mman.h>
#include <unistd.h>

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
  base_ = nullptr;
  count_ = 0;
}

void stack_arena::reserve(std::size_t count) {
  release();
  void* memory = mmap(nullptr, count * stride(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  base_ = static_cast<unsigned char*>(memory);
  count_ = count;
  // A guard page that cannot be set (too many mappings) costs a diagnosis, not correctness.
  for (std::size_t i = 0; i < count; ++i)
    if (mprotect(base_ + i * stride(), page(), PROT_NONE) != 0) break;
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
