// SPDX-License-Identifier: Apache-2.0
// A run that a test feeds to the checker's model step by step: no kernel, no executor.
#pragma once
#include <gmock/gmock.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "checker/runs/model.hpp"

namespace antiphase::test {

using checker_detail::access_kind;
using checker_detail::atomic_kind;
using checker_detail::block_model;
using checker_detail::knowledge_ptr;
using checker_detail::model;
using checker_detail::order;
using checker_detail::place_number;
using checker_detail::thread_model;

// A finding between two steps; earlier is 0 if there is no earlier access.
struct seen {
  finding_kind kind;
  int earlier, step;
  bool operator==(const seen&) const = default;
  friend std::ostream& operator<<(std::ostream& to, const seen& s) {
    return to << name(s.kind) << " of step " << s.earlier << " and step " << s.step;
  }
};
using seen_list = std::vector<seen>;

// Numbered steps of a test stand for code places. Returns the address that represents one.
inline const void* code_of(int step) {
  static const char program_text[1 << 12] = {};
  return program_text + step;
}

inline stream stream_number(std::uintptr_t n) {
  return reinterpret_cast<stream>(n);
}  // NOLINT: never followed

// A thread of the run, and its actions.
class actor_thread {
 public:
  actor_thread(model& m, thread_model& t) : m_(&m), t_(&t) {}
  thread_model& operator*() const { return *t_; }

  void read(int step, const void* p, std::size_t bytes = 4) { access(step, p, bytes, access_kind::read); }
  void write(int step, const void* p, std::size_t bytes = 4) { access(step, p, bytes, access_kind::write); }
  void load(int step, const void* p, order how, scope reach) {
    atomic(step, p, atomic_kind::load, how, reach);
  }
  void store(int step, const void* p, order how, scope reach) {
    atomic(step, p, atomic_kind::store, how, reach);
  }
  void update(int step, const void* p, order how, scope reach) {
    atomic(step, p, atomic_kind::update, how, reach);
  }
  void fence(order how, scope reach) {
    m_->set_current(t_);
    m_->fence(how, reach);
  }
  void proxy_fence() { m_->clocks.proxy_fence(*t_); }

  void copy(int step, const void* to, const void* from, std::size_t bytes = 4) {
    m_->async.issue_copy(*t_, to, from, bytes, bytes, place(step));
  }
  void commit() { m_->async.commit_copies(*t_); }
  void wait(int groups_left = 0) { m_->async.wait_copies(*t_, groups_left); }

  void init(int step, const void* word) { m_->async.init_barrier(*t_, word, place(step)); }
  void arrive(const void* word, machine::mbarrier_semantics how = {}) { m_->barriers.arrive(*t_, word, how); }
  void await(const void* word, machine::mbarrier_semantics how = {}) { m_->barriers.wait(*t_, word, how); }
  void load_bulk(int step, const void* to, const void* from, const void* word, std::size_t bytes = 16) {
    const std::span range(static_cast<const unsigned char*>(from), bytes);
    m_->async.issue_load(*t_, to, bytes, {&range, 1}, word, place(step));
  }

  void store_bulk(int step, const void* to, const void* from, std::size_t bytes = 16) {
    const std::span range(static_cast<const unsigned char*>(to), bytes);
    m_->async.issue_store(*t_, {&range, 1}, from, bytes, place(step));
    m_->async.commit_stores(*t_);
  }
  void wait_read(int groups_left = 0) {
    m_->async.wait_stores(*t_, groups_left, checker_detail::stores::read);
  }
  void wait_written(int groups_left = 0) {
    m_->async.wait_stores(*t_, groups_left, checker_detail::stores::written);
  }

  void multiply(int step, const void* operand, std::size_t bytes = 16) {
    const std::span range(static_cast<const unsigned char*>(operand), bytes);
    m_->async.issue_matrix({&t_, 1}, {&range, 1}, place(step));
  }
  void commit_multiply() { m_->async.commit_matrix(*t_); }
  void wait_multiply(int groups_left = 0) { m_->async.wait_matrix(*t_, groups_left); }

 private:
  place_number place(int step) { return m_->places.number_of_code(code_of(step)); }
  void access(int step, const void* p, std::size_t bytes, access_kind kind) {
    m_->set_current(t_);
    m_->access(p, bytes, kind, code_of(step));
  }
  void atomic(int step, const void* p, atomic_kind kind, order how, scope reach) {
    m_->set_current(t_);
    m_->atomic(p, 4, kind, how, reach, code_of(step));
  }

  model* m_;
  thread_model* t_;
};

// One launch has started, and `g` is global memory that the host has written.
struct scene {
  static constexpr std::size_t shared_each = 1024;
  model m;
  unsigned char* g;

  explicit scene(std::size_t global_bytes = 256)
      : g(static_cast<unsigned char*>(m.memory.allocate(global_bytes))) {
    m.host_access(g, global_bytes, access_kind::write, nullptr, "copy to the device");
    m.begin_launch("synthetic", nullptr, 0, nullptr);
  }
  void next_launch(stream on) {
    m.end_launch();
    m.begin_launch("synthetic", nullptr, 0, on);
  }

  block_model& block(int threads = 64, std::uint32_t cluster = 0) {
    const unsigned number = made_++;
    return *m.begin_block({number}, threads, shared(number), shared_each, cluster);
  }
  unsigned char* shared(unsigned block) { return m.memory.shared() + shared_each * block; }
  actor_thread thread(block_model& b, std::size_t index) { return {m, b.threads[index]}; }

  void meet(std::initializer_list<actor_thread> threads) {
    std::vector<thread_model*> all;
    for (const actor_thread& t : threads) all.push_back(&*t);
    m.meet(all, checker_detail::meeting::of_some, nullptr);
  }
  void block_barrier(block_model& b) { cluster_barrier({&b}); }
  // The barrier of a block in which one thread has ended.
  void block_barrier_without(block_model& b, const actor_thread& ended) {
    std::vector<thread_model*> all;
    for (thread_model& t : b.threads)
      if (&t != &*ended) all.push_back(&t);
    m.meet(all, checker_detail::meeting::of_block, nullptr);
  }
  void cluster_barrier(std::initializer_list<block_model*> blocks) {
    std::vector<thread_model*> all;
    for (block_model* b : blocks)
      for (thread_model& t : b->threads) all.push_back(&t);
    m.meet(all, blocks.size() == 1 ? checker_detail::meeting::of_block : checker_detail::meeting::of_some,
           nullptr);
  }

  seen_list found() {
    seen_list all;
    const auto zero = m.places.number_of_code(code_of(0));
    for (const auto& f : m.findings.all())
      all.push_back({f.result.kind, f.has_earlier ? static_cast<int>(f.earlier_place - zero) : 0,
                     static_cast<int>(f.place - zero)});
    return all;
  }
  std::string missing() {  // of the first finding
    return m.findings.all().empty() ? std::string() : missing_text(m.findings.all().front().result);
  }

 private:
  unsigned made_ = 0;
};

}  // namespace antiphase::test
