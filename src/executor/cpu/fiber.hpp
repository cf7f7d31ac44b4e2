// Fibers and their stacks, on Boost.Context.
#pragma once
#include <boost/context/fiber.hpp>
#include <boost/context/stack_context.hpp>
#include <cstddef>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#define ANTIPHASE_ASAN 1
#else
#define ANTIPHASE_ASAN 0
#endif

namespace antiphase::cpu_detail {

// The stacks of one worker: one mapping, each stack above a guard page. Tops are staggered by a few cache lines: stacks that all ended at the
// same offset would share the same few cache sets, and a block's thousand threads would evict each other at every switch.
class stack_arena {
 public:
  static constexpr std::size_t stack_bytes = ANTIPHASE_ASAN ? 256 * 1024 : 64 * 1024;
  stack_arena() = default;
  stack_arena(const stack_arena&) = delete;
  stack_arena& operator=(const stack_arena&) = delete;
  ~stack_arena();
  void reserve(std::size_t count);  // releases the old mapping: no fiber may live on it
  std::size_t count() const { return count_; }
  boost::context::stack_context stack(std::size_t index) const;

 private:
  unsigned char* base_ = nullptr;
  std::size_t count_ = 0;
};

// Hands one stack of an arena to Boost.Context, which gives it back when the fiber has ended; the arena keeps it.
struct borrowed_stack {
  boost::context::stack_context context;
  boost::context::stack_context allocate() const { return context; }
  void deallocate(boost::context::stack_context&) const noexcept {}
};

// A place to switch away from and back to. AddressSanitizer wants to be told where the stack it will see next lies.
struct fiber {
  boost::context::fiber context;
  [[maybe_unused]] void* fake_stack = nullptr;
  const void* bottom = nullptr;
  std::size_t size = 0;
};

// The fiber that the last switch of this worker left: whoever runs next files its continuation there.
struct switching {
  fiber* left = nullptr;

  void arrived([[maybe_unused]] fiber& here, boost::context::fiber&& from) {
#if ANTIPHASE_ASAN
    __sanitizer_finish_switch_fiber(here.fake_stack, &left->bottom, &left->size);
#endif
    left->context = std::move(from);
  }
  void go(fiber& from, fiber& to) {
    left = &from;
#if ANTIPHASE_ASAN
    __sanitizer_start_switch_fiber(&from.fake_stack, to.bottom, to.size);
#endif
    arrived(from, std::move(to.context).resume());
  }
};

}  // namespace antiphase::cpu_detail
