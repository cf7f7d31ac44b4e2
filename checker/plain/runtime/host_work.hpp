// SPDX-License-Identifier: Apache-2.0
// Ordinary memory of the host that work of a stream touches, which main may not touch before it has waited:
// what host functions read and write, and what copies of a graph do.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "checker/runs/model.hpp"

namespace antiphase::plain {

// Work is done here at once, when main asks for it. So an access of main's to memory that earlier work has
// touched is a race unless main has waited for that work: by a call of CUDA, by an atomic operation on a word
// that a host function has stored to, or by a lock or the like that both have taken.
class host_work {
 public:
  explicit host_work(checker_detail::model& m) : m_(m) {}
  // A host function begins, and ends; it runs on main's stack, below `frame`.
  void begin(checker_detail::block_number block, const void* frame);
  void end(const checker_detail::past& with_it);
  bool runs() const { return runs_; }
  // A copy of a graph, which has just been done.
  void copied(const void* p, std::size_t bytes, checker_detail::access_kind kind, machine::place at,
              stream on);
  // main, or the host function in progress, comes to these bytes.
  void touched(const void* p, std::size_t bytes, checker_detail::access_kind kind, const void* code,
               bool atomic);
  void read_atomically(const void* p);  // by main
  void comes_to_lock();
  void freed(const void* p, std::size_t bytes, const void* code);
  // An atomic load of main's may find what was there before a host function stored to it.
  std::optional<std::uint64_t> old_value(const void* p, std::size_t bytes, bool shows_old);
  bool watches() const { return m_.host.checks_all_host_memory; }

 private:
  struct piece {
    checker_detail::block_number block = 0;  // of the launch that stands for it
    checker_detail::past with_it;            // launches that have ended when it has
    bool locks = false;                      // it has come to a lock
    bool is_copy = false;
  };
  struct touch {
    std::size_t work;  // index in work_
    checker_detail::access_kind kind;
    unsigned char bytes;  // a bit for each of the granule's
    bool atomic;
    checker_detail::place_number place;
  };
  struct word {  // that a host function has stored to atomically
    std::size_t work;
    std::uint64_t before;
    bool shown;
  };
  static constexpr std::uintptr_t granule = 8;
  static constexpr std::size_t most_granules = 1 << 20;  // of larger memory the first ones are followed

  bool is_waited_for(const piece& w) const { return !m_.launches.unsynchronised(w.block); }
  void wait_for(const piece& w) { m_.launches.synchronize(w.with_it); }
  template <class Visit> static void each_granule(const void* p, std::size_t bytes, Visit visit);
  void set_watch();
  void forget_waited();
  void record(const void* p, std::size_t bytes, const touch& t);
  void check_access(const void* p, std::size_t bytes, checker_detail::access_kind kind, const void* code,
                    bool atomic, const char* action);

  checker_detail::model& m_;
  bool runs_ = false;
  int looked_ = 0;
  std::uintptr_t frame_ = 0;
  std::deque<piece> work_;
  std::unordered_map<std::uintptr_t, std::vector<touch>> touched_;  // by number of the granule
  std::unordered_map<std::uintptr_t, word> words_;                  // by address
};

}  // namespace antiphase::plain
