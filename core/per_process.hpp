// SPDX-License-Identifier: Apache-2.0
// Objects made at first use, safe in processes that fork while other threads run. A child has none of those
// threads: a lock that one of them held stays locked for ever, and the data under it half changed.
#pragma once
#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <memory>

namespace antiphase {
namespace per_process_detail {

inline std::atomic<std::uint64_t> forks{0};  // between the first process and this one
inline const int counting = pthread_atfork(nullptr, nullptr, [] { ++forks; });

}  // namespace per_process_detail

// A value that is made at first use and never changes. Lock-free, unlike a function's static variable: racing
// threads each make one, and the first published is kept for the life of the process.
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

// An object with locks, or guarded by one: a forked child starts with a new one and leaves its parent's
// untouched.
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
      return last->value;
    return renewed(last);
  }
  T* operator->() { return &get(); }

 private:
  struct entry {
    std::uint64_t fork;
    entry* parents;  // keeps the parent's reachable, for leak checkers
    T value{};
  };
  T& renewed(entry* last) {
    auto mine = std::unique_ptr<entry>(new entry{per_process_detail::forks, last});
    return last_.compare_exchange_strong(last, mine.get(), std::memory_order_acq_rel,
                                         std::memory_order_acquire)
               ? mine.release()->value
               : last->value;
  }

  std::atomic<entry*> last_{nullptr};
};

// Never destroyed: threads may still call while the program ends.
template <class T> union lasting {
  T value{};
  ~lasting() {}
};

}  // namespace antiphase
