// SPDX-License-Identifier: Apache-2.0
// Stacks of fibers.
#include "core/executor/cpu/order/fiber.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <new>
#include <type_traits>

#if ANTIPHASE_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace antiphase::cpu_detail {
namespace {
std::size_t page() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }
// Every guard page splits a mapping, and Linux limits a process to 65,530 mappings: a few dozen workers with
// a thousand stacks each would use them all up, and further allocations would fail. A stack without a guard
// costs a diagnosis, not correctness.
constexpr std::size_t most_guards = 16 * 1024;
std::atomic<std::size_t> guards_of_all{0};  // of all arenas and waiting mappings

std::size_t guard_of(stack_arena::sizes s) { return s.guard == 0 ? page() : s.guard; }
std::size_t stride(stack_arena::sizes s) { return s.stack + guard_of(s); }
constinit stack_arena::sizes sizes_now{};

// Mappings of destroyed arenas, for reuse: protecting guard pages and first touches of memory took a fifth of
// the time where executors are often made and destroyed. Pages are not returned to the system meanwhile: that
// would take longer than they cost, since few of a stack are ever touched.
struct mapping {
  unsigned char* base = nullptr;
  std::size_t count = 0, guards = 0;
  stack_arena::sizes sizes = {};

  std::size_t bytes() const { return count * stride(sizes); }
  void unmap() const {
    munmap(base, bytes());
    guards_of_all.fetch_sub(guards, std::memory_order_relaxed);
  }
};
class waiting_mappings {
 public:
  // The smallest with room for `count` stacks; none: base is null. Neither call blocks: in a forked process,
  // the thread that holds the lock may not exist.
  mapping take(std::size_t count) {
    const std::unique_lock lock(guard_, std::try_to_lock);
    if (!lock) return {};
    std::size_t best = length_;
    for (std::size_t i = 0; i < length_; ++i)
      if (all_[i].sizes == sizes_now && all_[i].count >= count &&
          (best == length_ || all_[i].count < all_[best].count))
        best = i;
    return best == length_ ? mapping{} : without(best);
  }
  // Unmaps the oldest ones to make room for it.
  void keep(const mapping& m) {
    const std::unique_lock lock(guard_, std::try_to_lock);
    if (!lock || m.count > stack_arena::most_waiting) return m.unmap();
    while (length_ == all_.size() || stacks_ + m.count > stack_arena::most_waiting) without(0).unmap();
    all_[length_++] = m;
    stacks_ += m.count;
  }

 private:
  mapping without(std::size_t i) {
    const mapping m = all_[i];
    std::copy(all_.begin() + static_cast<std::ptrdiff_t>(i) + 1,
              all_.begin() + static_cast<std::ptrdiff_t>(length_--),
              all_.begin() + static_cast<std::ptrdiff_t>(i));
    stacks_ -= m.count;
    return m;
  }

  std::mutex guard_;
  std::array<mapping, 64> all_;
  std::size_t length_ = 0, stacks_ = 0;
};
static_assert(std::is_trivially_destructible_v<waiting_mappings>);  // executors may outlive statics
constinit waiting_mappings waiting;

// Clears AddressSanitizer's poison of frames that a fiber was unwound from or never returned from: the next
// one starts on a clean stack.
void forget([[maybe_unused]] const void* stack, [[maybe_unused]] std::size_t bytes) {
#if ANTIPHASE_ASAN
  __asan_unpoison_memory_region(stack, bytes);
#endif
}
}  // namespace

void stack_arena::grow(sizes to) { sizes_now = to; }

stack_arena::~stack_arena() { release(); }

void stack_arena::release() {
  if (base_ == nullptr) return;
  for (std::size_t i = 0; i < count_; ++i)
    forget(base_ + i * stride(sizes_) + guard_of(sizes_), sizes_.stack);
  waiting.keep({base_, count_, guards_, sizes_});
  guards_ = 0;
  base_ = nullptr;
  count_ = 0;
}

void stack_arena::reserve(std::size_t count) {
  release();
  if (const mapping m = waiting.take(count); m.base != nullptr) {
    base_ = m.base;
    count_ = m.count;
    guards_ = m.guards;
    sizes_ = m.sizes;
    return;
  }
  const auto mapped = [count](sizes each) {
    return mmap(nullptr, count * stride(each), PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  };
  sizes_ = sizes_now;
  void* memory = mapped(sizes_);
  if (memory == MAP_FAILED) memory = mapped(sizes_ = sizes{});  // where address space is short
  if (memory == MAP_FAILED) throw std::bad_alloc();
  base_ = static_cast<unsigned char*>(memory);
  count_ = count;
  // A few pages of each are used. It is a hint: kernels without huge pages refuse it.
  if (sizes_ != sizes{}) madvise(memory, count * stride(sizes_), MADV_NOHUGEPAGE);
  for (std::size_t i = 0; i < count; ++i) {
    if (guards_of_all.fetch_add(1, std::memory_order_relaxed) >= most_guards ||
        mprotect(base_ + i * stride(sizes_), guard_of(sizes_), PROT_NONE) != 0) {
      guards_of_all.fetch_sub(1, std::memory_order_relaxed);
      break;
    }
    ++guards_;
  }
}

boost::context::stack_context stack_arena::stack(std::size_t index) const {
  const std::size_t stagger = index % 32 * 128;
  boost::context::stack_context context;
  context.sp = base_ + (index + 1) * stride(sizes_) - stagger;
  context.size = sizes_.stack - stagger;
  forget(static_cast<unsigned char*>(context.sp) - context.size, context.size);
  return context;
}

}  // namespace antiphase::cpu_detail
