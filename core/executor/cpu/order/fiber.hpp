// SPDX-License-Identifier: Apache-2.0
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

// The stacks of one worker: one mapping, each stack above a guard page, as long as the process has guards
// left. Tops are staggered by a few cache lines: stacks that all ended at the same offset would share the
// same few cache sets, and a block's thousand threads would evict each other at every switch. Mappings of
// destroyed arenas are reused by later ones, up to most_waiting stacks.
class stack_arena {
 public:
  static constexpr std::size_t most_waiting = 4096;
  struct sizes {
    std::size_t stack = ANTIPHASE_ASAN ? 256 * 1024 : 64 * 1024, guard = 0;  // guard 0: a page
    bool operator==(const sizes&) const = default;
  };
  // Of all that this process reserves from now on; their memory is taken as it is touched.
  static void grow(sizes to);
  stack_arena() = default;
  stack_arena(const stack_arena&) = delete;
  stack_arena& operator=(const stack_arena&) = delete;
  ~stack_arena();
  void reserve(std::size_t count);  // releases the old mapping, which no fiber may use
  std::size_t count() const { return count_; }
  boost::context::stack_context stack(std::size_t index) const;

 private:
  void release();
  unsigned char* base_ = nullptr;
  std::size_t count_ = 0;
  std::size_t guards_ = 0;
  sizes sizes_ = {};
};

// Lends a stack of an arena to Boost.Context, which "deallocates" it when the fiber ends; the arena keeps it.
struct borrowed_stack {
  boost::context::stack_context context;
  boost::context::stack_context allocate() const { return context; }
  void deallocate(boost::context::stack_context&) const noexcept {}
};

// A context to switch from and back to. AddressSanitizer must be given the bounds of the stack that is
// switched to.
struct fiber {
  boost::context::fiber context;
  [[maybe_unused]] void* fake_stack = nullptr;
  const void* bottom = nullptr;
  std::size_t size = 0;
  bool entered = false;
};

// The fiber that this worker's last switch left: the next one to run stores its continuation there.
struct switching {
  fiber* left = nullptr;

  void arrived(fiber& here, boost::context::fiber&& from) {
    here.entered = true;
    landed(here);
    left->context = std::move(from);
  }
  void go(fiber& from, fiber& to) {
    left = &from;
    departs(from, to);
#if ANTIPHASE_ASAN
    try {
      arrived(from, std::move(to.context).resume());
    } catch (const boost::context::detail::forced_unwind&) {  // end(from)
      landed(from);
      throw;
    }
#else
    arrived(from, std::move(to.context).resume());
#endif
  }
  // Unwinds the stack of `to` and returns.
  void end(fiber& from, fiber& to) {
    left = &from;
    departs(from, to);
    to.context = boost::context::fiber{};
    if (!to.entered) {  // it never ran, so it cannot announce its own switch
      landed(to);
      departs(to, from);
    }
    landed(from);
    to.entered = false;
  }
  // Abandons a fiber without unwinding it: what its frames own leaks, and so does the handle.
  void leave(fiber& of) { [[maybe_unused]] auto* lost = new boost::context::fiber(std::move(of.context)); }
  // Runs the body of a fiber, which ends only by being unwound.
  template <class Run> void leaves_for_good(Run run) {
#if ANTIPHASE_ASAN
    try {
      run();
    } catch (const boost::context::detail::forced_unwind&) {
      __sanitizer_start_switch_fiber(nullptr, left->bottom, left->size);
      throw;
    }
#else
    run();
#endif
  }

 private:
#if ANTIPHASE_ASAN
  void departs(fiber& from, const fiber& to) {
    __sanitizer_start_switch_fiber(&from.fake_stack, to.bottom, to.size);
  }
  void landed(fiber& here) { __sanitizer_finish_switch_fiber(here.fake_stack, &left->bottom, &left->size); }
#else
  void departs(fiber&, const fiber&) {}
  void landed(fiber&) {}
#endif
};

}  // namespace antiphase::cpu_detail
