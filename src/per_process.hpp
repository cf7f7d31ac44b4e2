// SPDX-License-Identifier: Apache-2.0
// What is made at its first use, in processes that fork while other threads are at work: a child has none of
// them, so that a lock which one held stays locked there for ever, and what it was changing stays half
// changed.
#pragma once
#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <memory>

namespace antiphase {
namespace per_process_detail {

inline std::atomic<std::uint64_t> forks{0};  // that led to this process
inline const int counting = pthread_atfork(nullptr, nullptr, [] { ++forks; });

}  // namespace per_process_detail

// Something that does not change any more. A function's static variable would have a lock; here who comes
// while it is being made makes another, and the first that is ready is kept for ever.
template <class T> class made_once {
 public:
  template <class Make> T& get(Make make) {
    if (T* const known = one_.load(std::memory_order_acquire)) return *known;
    std::unique_ptr<T> mine(new T(make()));
    T* first = nullptr;
    return one_.compare_exchange_strong(first, mine.get(), std::memory_order_acq_rel,
                                        std::memory_order_acquire)
               ? *mine.release()
               : *first;
  }

 private:
  std::atomic<T*> one_{nullptr};
};

// Something with locks, or guarded by some: a child begins with a new one, and leaves its parent's as it
// lies.
template <class T> class per_process {
 public:
  constexpr per_process() = default;
  per_process(const per_process&) = delete;
  per_process& operator=(const per_process&) = delete;
  ~per_process() {
    if (const entry* const last = last_.load(); last != nullptr && last->fork == per_process_detail::forks)
      delete last;
  }
  T& get() {
    entry* const last = last_.load(std::memory_order_acquire);
    if (last != nullptr && last->fork == per_process_detail::forks.load(std::memory_order_relaxed))
      return last->is;
    return renewed(last);
  }
  T* operator->() { return &get(); }

 private:
  struct entry {
    std::uint64_t fork;
    entry* parents;  // so that no search for leaks complains of it
    T is{};
  };
  T& renewed(entry* last) {
    auto mine = std::unique_ptr<entry>(new entry{per_process_detail::forks, last});
    return last_.compare_exchange_strong(last, mine.get(), std::memory_order_acq_rel,
                                         std::memory_order_acquire)
               ? mine.release()->is
               : last->is;
  }

  std::atomic<entry*> last_{nullptr};
};

// The same for what is never destroyed, because threads may still call while the program ends.
template <class T> union lasting {
  T is{};
  ~lasting() {}
};

}  // namespace antiphase
