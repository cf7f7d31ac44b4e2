// SPDX-License-Identifier: Apache-2.0
// Who happens before whom: the vector clocks of a run.
#pragma once
#include <antiphase/executor/cpu/machine.hpp>
#include <deque>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "launch_order.hpp"

namespace antiphase::checker_detail {

class event_log;

// as `ordering`; total: a fence of sequential consistency
enum class order : std::uint8_t { relaxed, acquire, release, both, total };

// An asynchronous actor of a block, which knows what its issuer knew, and of which others know how far it is
// done.
enum class actor_kind : std::uint8_t { thread, copies, stores_reading, stores_writing, matrix, loads };
struct actor_record {
  actor_kind kind = actor_kind::thread;
  int thread = -1;  // whose copies
};

struct block_record {
  extent3 index;
  int threads = 0;
  std::uint32_t cluster = 0;              // 0: of its own
  std::uint32_t lowest = 0, highest = 0;  // its shared memory, as offsets
  bool ended = false;
  bool published = false;  // others can know of it: a release at more than block scope
  // how often one of its threads has waited at the cluster's barrier: once, and all of its blocks have begun
  int met = 0;
  std::vector<actor_record> actors;
};

// A thread's own asynchronous work of one kind, in groups.
struct own_actor {
  actor number = 0;     // 0: never used
  stamp closed = 0;     // groups
  stamp waited = 0;     // groups known to be done
  stamp last_used = 0;  // the last group that holds anything
  stamp tracked = 0;    // groups that an mbarrier waits for
  place_number last_place = 0;
  // counted as groups, but closed by an mbarrier that began to wait: they belong to the group behind them
  std::vector<stamp> parts;

  void wait(int groups_left);
  bool in_flight() const { return number != 0 && last_used > std::max(waited, tracked); }
};

using by_reach = std::array<knowledge_ptr, 3>;  // of block, cluster, and device scope or wider
inline std::size_t circles_of(scope reach) {
  return std::min<std::size_t>(static_cast<std::size_t>(reach), 3);
}

// What a thread's atomic operations on one location have begun: a release before a relaxed write there is a
// release pattern, a relaxed read before an acquire there an acquire pattern (PTX ISA, memory consistency
// model).
struct begun_patterns {
  by_reach released, read;
};

// What a thread's last proxy fence has passed on.
struct proxy_fenced {
  knowledge_ptr known;  // what the thread knew; null: there was none
  stamp time = 0;       // how far it was itself
  stamp copies = 0;     // and its copies
};

// A lane's volatile writes since it met others: the last one, and the first at each place. In the order of
// all such accesses.
struct lane_writes {
  struct write {
    place_number place;
    std::uint64_t number;
    const void* at;
  };
  stamp time = 0;
  std::uint64_t last = 0;
  std::vector<write> first;
};

struct thread_model {
  // What every access looks at comes first.
  block_number block = 0;
  std::uint16_t warp = 0;
  std::uint32_t lane = 0;                         // its bit
  stamp floor = 0;                                // known->own->floor
  stamp* time = nullptr;                          // the warp's
  block_number first_visible = 0;                 // all blocks before it are known
  std::uint32_t shared_low = 0, shared_high = 0;  // the block's shared memory, as offsets
  int block_threads = 0;
  int index = 0;

  knowledge_ptr known;
  by_space<proxy_fenced> fenced;
  by_reach released;                               // by fences, for relaxed stores to come
  by_reach acquirable;                             // read by relaxed loads, for a fence to come
  std::map<std::uintptr_t, begun_patterns> begun;  // by location
  // read by relaxed loads of threads that this one has met since: no order, but no old values
  knowledge_ptr heard;
  own_actor copies, stores_read, stores_written, matrix;
  // the latest atomic write that it has seen, by location: its number
  std::map<std::uintptr_t, std::uint64_t> seen;
  int barriers = 0;  // of the block, passed
  int met = 0;       // of the cluster
  lane_writes written;
  bool misled = false;  // it has read what blocks that were left out may have been to write

  actor as_actor() const { return static_cast<actor>(index); }
};

struct block_model {
  block_number number = 0;
  std::vector<thread_model> threads;
  std::vector<stamp> times;  // by warp
};

enum class meeting : bool { of_some, of_block };  // of a block: all of its threads that have not ended

// The happens-before relation of a run. Threads learn of each other's pasts by barriers, releases and
// acquires, proxy fences and waits for copies; `knows` answers whether an access of another is in a thread's
// past. It knows no memory: what was accessed is no matter of its own.
//
// It assumes that the accesses of a thread and what orders them are told in the order in which they happen,
// that blocks get their numbers in ascending order, and that one OS thread tells everything.
class happens_before {
 public:
  explicit happens_before(const launch_order& launches) : launches_(launches) { reset(); }
  void reset();

  // Blocks of one cluster, a number that no other has in the run and that is not 0, reach each other's shared
  // memory.
  block_model* begin_block(const block_record& of);
  void end_block(block_model& b);
  void end_launch();                        // blocks that have not ended never will
  block_number add_block(block_record of);  // one without threads that are followed
  thread_model lone_thread();               // of a block that is added for it: a copy by the host's order
  block_number next_block() const { return static_cast<block_number>(blocks_.size()); }
  block_record& block(block_number b) { return blocks_[b]; }
  const block_record& block(block_number b) const { return blocks_[b]; }
  // The block of the same cluster, still running, to whose shared memory that belongs; 0: none.
  block_number owner_of(block_number of_cluster, std::size_t offset, std::size_t bytes) const;

  bool knows(const thread_model& t, block_number block, actor a, stamp time) const;
  bool knows_fenced(const thread_model& t, space in, block_number block, actor a, stamp time) const;
  bool has_begun(const thread_model& t, block_number other) const;
  bool one_cluster(block_number a, block_number b) const {
    return blocks_[a].cluster != 0 && blocks_[a].cluster == blocks_[b].cluster;
  }
  bool strong(scope a, block_number block_a, scope b, block_number block_b) const;
  bool host_acquired(block_number block, actor a, stamp time) const;
  void host_learns(const knowledge_ptr& more) { host_known_ = join(host_known_, more, 0); }

  // Of a block, or of a cluster.
  void meet(std::span<thread_model* const> threads, meeting of);
  // `what` it is, for a schedule that is drawn.
  void release(thread_model& t, knowledge_ptr& into, const char* what = nullptr);
  void acquire(thread_model& t, const knowledge_ptr& from, const char* what = nullptr);
  knowledge_ptr publish(thread_model& t);  // all that it knows, and has done
  void learn_also(thread_model& t, by_reach knowledge::*what, std::size_t by, const knowledge_ptr& more);
  void proxy_fence(thread_model& t, std::initializer_list<space> of = {space::shared, space::global});
  void wait_for_launch(thread_model& t);

  // Asynchronous actors: a thread's, which begins or goes on with a group; those of an mbarrier; that one has
  // come so far.
  stamp open_group(thread_model& t, own_actor& a, actor_kind kind, place_number at);
  actor add_actor(block_number of, actor_record a);
  knowledge_ptr landed(block_number block, actor number, stamp time) const;

  // Where a run is written down that is to be drawn; null: most are not.
  event_log* log = nullptr;
  void write_down(const thread_model& t, const char* what) const;
  void write_down_wait(const thread_model& t, const char* what, copy_group done = {}) const;

 private:
  static void learn(thread_model& t, knowledge_ptr known);
  knowledge_ptr joined(const knowledge_ptr& a, const knowledge_ptr& b, block_number block);
  void meet_in_cluster(std::span<thread_model* const> threads);

  const launch_order& launches_;
  std::deque<block_record> blocks_;  // by number; 0 is the host
  std::vector<std::unique_ptr<block_model>> alive_, idle_;
  knowledge_ptr host_known_;  // of launches that the host has not waited for, by acquiring
  // Joining is often asked for the same pair: all threads of a block that wait for one barrier.
  struct {
    knowledge_ptr a, b, both;
  } last_join_;
};

}  // namespace antiphase::checker_detail
