// The stacks that fibers run on.
#include "fiber.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <new>

namespace antiphase::cpu_detail {
namespace {
std::size_t page() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}
std::size_t stride() { return stack_arena::stack_bytes + page(); }
}  // namespace

stack_arena::~stack_arena() {
  if (base_ != nullptr) munmap(base_, count_ * stride());
}

void stack_arena::reserve(std::size_t count) {
  if (base_ != nullptr) munmap(base_, count_ * stride());
  base_ = nullptr;
  count_ = 0;
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
  return context;
}

}  // namespace antiphase::cpu_detail
