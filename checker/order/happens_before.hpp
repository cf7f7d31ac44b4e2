// SPDX-License-Identifier: Apache-2.0
// The happens-before relation: vector clocks of a run.
#pragma once
#include <antiphase/executor/cpu/machine.hpp>
#include <array>
#include <deque>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "launch_order.hpp"

namespace antiphase::checker_detail {

class event_log;

// As `ordering`; total: a fence.sc.
enum class order : std::uint8_t { relaxed, acquire, release, both, total };

// Kinds of actors in a block. An asynchronous actor knows what its issuer knew; others know how many of its
// groups are done.
enum class actor_kind : std::uint8_t {
  thread,
  copies,
  stores_reading,
  stores_writing,
  matrix,
  loads,
  tensor_products,  // tcgen05: products and copies of a thread; loads and stores of a warp
  tensor_loads,
  tensor_stores
};
struct actor_record {
  actor_kind kind = actor_kind::thread;
  int thread = -1;    // the issuer
  stamp counted = 0;  // an mbarrier counts its copies up to here
  // Arrivals of the issuer at mbarriers that did not wait for its copies: their last group, and the issuer's
  // time then.
  struct plain_arrival {
    stamp group = 0, time = 0;
  };
  std::vector<plain_arrival> arrivals = {};
  stamp read = 0;  // of bulk stores: their sources have been waited for up to here
};

struct block_record {
  extent3 index;
  int threads = 0;
  std::uint32_t cluster = 0;              // 0: not in a cluster
  std::uint32_t lowest = 0, highest = 0;  // its shared memory, as offsets in the shadow
  bool is_stream_work = false;            // no block of a kernel: a copy and the like
  bool copies_staged = false;             // it copies from pageable memory of the host
  bool ended = false;
  bool published = false;  // a release wider than block scope: others can know of it
  // most waits of one of its threads at the cluster's barrier; after one, the cluster's blocks have all begun
  int met = 0;
  std::vector<block_number> begun = {};  // the cluster's other blocks of which an mbarrier has told one
  std::vector<actor_record> actors;
};

// Asynchronous work of one kind by one thread, in groups.
struct own_actor {
  actor number = 0;     // 0: not yet used
  stamp closed = 0;     // groups committed
  stamp waited = 0;     // groups known to be done
  stamp last_used = 0;  // last group that is not empty
  stamp tracked = 0;    // groups that an mbarrier waits for
  place_number last_place = 0;
  // groups closed by cp.async.mbarrier.arrive, not by a commit: each counts with the group after it
  std::vector<stamp> parts;

  void wait(int groups_left);
  bool in_flight() const { return number != 0 && last_used > std::max(waited, tracked); }
};

// Reach of a volatile access: system scope, with a name of its own in findings.
constexpr scope volatile_reach{static_cast<std::uint8_t>(scope::system) + 1};

using by_reach = std::array<knowledge_ptr, 4>;  // at block, cluster, device and system scope
inline std::size_t circles_of(scope reach) {
  return std::min<std::size_t>(static_cast<std::size_t>(reach), 4);
}

// Patterns that a thread's atomic operations on one location have begun (PTX ISA, memory consistency model):
// a release followed by a relaxed write there is a release pattern, a relaxed read followed by an acquire
// there an acquire pattern.
struct begun_patterns {
  by_reach released, read;
  by_reach taken, taken_seen;  // what reads have last taken in: a loop that polls finds the same again
};

// A thread's last proxy fence, and what it covers.
struct proxy_fenced {
  knowledge_ptr known;  // of others, as the thread knew it then; null: no fence yet
  stamp time = 0;       // the thread's own time then
  stamp copies = 0;     // its own cp.async groups waited for then
};

// Volatile writes of a lane since it last met others: number of the last, and the first at each place.
// Numbers count all volatile accesses of the run.
struct lane_writes {
  struct write {
    place_number place;
    std::uint64_t number;
    const void* address;
  };
  stamp time = 0;
  std::uint64_t last = 0;
  std::vector<write> first;
};

struct thread_model {
  // First the members that every access looks at.
  block_number block = 0;
  std::uint16_t warp = 0;
  std::uint32_t lane = 0;                         // its bit in the warp
  stamp floor = 0;                                // known->own->floor
  stamp* time = nullptr;                          // the warp's
  stamp* loads_done = nullptr;                    // the warp's time at its latest release or barrier
  block_number first_visible = 0;                 // blocks before it are all known
  std::uint32_t shared_low = 0, shared_high = 0;  // the block's, as offsets in the shadow
  int block_threads = 0;
  int index = 0;

  knowledge_ptr known;
  by_space<proxy_fenced> fenced;
  by_reach released;                               // by fences, for later relaxed stores
  by_reach acquirable;                             // read by relaxed loads, for a later fence
  std::map<std::uintptr_t, begun_patterns> begun;  // by location
  // Releases read by relaxed loads of threads that this one has met since. They order nothing, but rule out
  // old values.
  knowledge_ptr heard;
  knowledge_ptr hinted;  // see atomic_hints
  own_actor copies, stores_read, stores_written, matrix;
  std::array<own_actor, 3> tensor;  // by machine::tensor_work; loads and stores: of a warp's first lane
  // number of the latest atomic write seen, by location
  std::map<std::uintptr_t, std::uint64_t> seen;
  int barriers = 0;  // block barriers passed
  int met = 0;       // cluster barriers passed
  lane_writes written;
  bool misled = false;  // it has read memory that blocks left out of the launch might have written

  actor as_actor() const { return static_cast<actor>(index); }
};

struct block_model {
  block_number number = 0;
  std::vector<thread_model> threads;
  std::vector<stamp> times;  // by warp; then, by warp, times of the latest release
};

enum class meeting : bool { of_some, of_block };  // of_block: all of its threads that have not ended

// The happens-before relation of a run. Threads learn of each other's pasts by barriers, releases and
// acquires, proxy fences and waits for copies; `knows` says whether an access of another is in a thread's
// past. Memory itself is not modelled here: see access_history.
//
// Assumes: accesses and synchronisation of a thread are reported in program order, blocks are numbered in
// ascending order, and everything is reported by one OS thread.
class happens_before {
 public:
  explicit happens_before(const launch_order& launches) : launches_(launches) { reset(); }
  void reset();

  // Blocks with the same `cluster` (unique in the run, not 0) reach each other's shared memory.
  block_model* begin_block(const block_record& of);
  void end_block(block_model& b);
  void end_launch();                        // of blocks that were left unfinished
  block_number add_block(block_record of);  // without thread_models
  thread_model lone_thread();               // in a block added for it: for a copy by the host's order
  block_number next_block() const { return static_cast<block_number>(blocks_.size()); }
  block_record& block(block_number b) { return blocks_[b]; }
  const block_record& block(block_number b) const { return blocks_[b]; }
  // The running block of the same cluster that has this shared memory; 0: none.
  block_number owner_of(block_number of_cluster, std::size_t offset, std::size_t bytes) const;
  block_number past_owner_of(block_number of_cluster, std::size_t offset) const;  // that has ended

  bool knows(const thread_model& t, block_number block, actor a, stamp time) const;
  // For a read or a copy: it is over, whether or not what it wrote can be seen.
  bool knows_over(const thread_model& t, block_number block, actor a, stamp time) const;
  // Relaxed operations have read its release, or a write after its fence.sc. They order nothing.
  bool has_heard(const thread_model& t, block_number block, actor a, stamp time) const;
  bool knows_fenced(const thread_model& t, space in, block_number block, actor a, stamp time) const;
  bool has_begun(const thread_model& t, block_number other) const;
  bool one_cluster(block_number a, block_number b) const {
    return blocks_[a].cluster != 0 && blocks_[a].cluster == blocks_[b].cluster;
  }
  bool strong(scope a, block_number block_a, scope b, block_number block_b) const;
  bool host_acquired(block_number block, actor a, stamp time) const;
  void host_learns(const knowledge_ptr& more) { host_known_ = join(host_known_, more, 0); }
  // The host has read its release, in a scope that does not reach the host.
  bool host_heard(block_number block, actor a, stamp time) const {
    return covers(host_heard_, block, a, time);
  }
  void host_hears(const knowledge_ptr& more) {
    if (more != nullptr) host_heard_ = join(host_heard_, more, 0);
  }

  // Barrier of these threads: of a warp, a block or a cluster.
  void meet(std::span<thread_model* const> threads, meeting of);
  // `what`: its name in a drawn schedule.
  void release(thread_model& t, knowledge_ptr& into, const char* what = nullptr);
  void acquire(thread_model& t, const knowledge_ptr& from, const char* what = nullptr);
  knowledge_ptr publish(thread_model& t);  // all it knows and has done
  knowledge_ptr so_far(thread_model& t);   // the same, for what findings say: no order comes of it
  void learn_also(thread_model& t, by_reach knowledge::*what, std::size_t by, const knowledge_ptr& more);
  void learn_over(thread_model& t, const knowledge_ptr& of);
  void proxy_fence(thread_model& t, std::initializer_list<space> of = {space::shared, space::global});
  void wait_for_launch(thread_model& t);
  // True after such a wait, or if the launch in progress overlaps none.
  bool has_waited(const thread_model& t) const;

  // Asynchronous actors. open_group: number of the group that a thread's work joins; add_actor: for example
  // an mbarrier's; landed: knowledge that the actor is done up to `time`.
  stamp open_group(thread_model& t, own_actor& a, actor_kind kind, place_number at);
  actor add_actor(block_number of, actor_record a);
  knowledge_ptr landed(block_number block, actor number, stamp time) const;

  // Log of a run that will be drawn; null in most runs.
  event_log* log = nullptr;
  void write_down(const thread_model& t, const char* what, copy_group in = {}) const;
  void write_down_wait(const thread_model& t, const char* what, copy_group done = {}) const;

 private:
  static void learn(thread_model& t, knowledge_ptr known);
  knowledge_ptr joined(const knowledge_ptr& a, const knowledge_ptr& b, block_number block);
  void meet_in_cluster(std::span<thread_model* const> threads);
  bool covers(const knowledge_ptr& k, block_number block, actor a, stamp time) const;

  const launch_order& launches_;
  std::deque<block_record> blocks_;  // by number; 0: the host
  std::vector<std::unique_ptr<block_model>> alive_, idle_;
  knowledge_ptr host_known_, host_heard_;  // what the host has acquired of launches not yet synchronised
  // The same pair is often joined many times: by each thread that waits for one barrier.
  struct {
    knowledge_ptr a, b, both;
  } last_join_;
};

}  // namespace antiphase::checker_detail
