// SPDX-License-Identifier: Apache-2.0
// The happens-before relation of a run, and what breaks it.
#pragma once
#include <algorithm>
#include <antiphase/checker.hpp>
#include <antiphase/executor/cpu/machine.hpp>
#include <array>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "event_log.hpp"
#include "shadow.hpp"

namespace antiphase::checker_detail {

using source = machine::place;

// An asynchronous actor of a block, which knows what its issuer knew, and of which others know how far it is done.
enum class actor_kind : std::uint8_t { thread, copies, stores_reading, stores_writing, matrix, loads };
struct actor_record {
  actor_kind kind = actor_kind::thread;
  int thread = -1;  // whose copies
};

struct block_record {
  extent3 index;
  int threads = 0;
  std::uint32_t cluster = 0;  // 0: of its own
  bool ended = false;
  bool published = false;  // others can know of it: a release at more than block scope
  int met = 0;             // how often one of its threads has waited at the cluster's barrier: once, and all of its blocks have begun
  std::vector<actor_record> actors;
  std::uint32_t lowest = 0, highest = 0;  // its shared memory, as offsets; empty once it has ended
};

// A thread's own asynchronous work of one kind, in groups.
struct own_actor {
  actor number = 0;     // 0: never used
  stamp closed = 0;     // groups
  stamp waited = 0;     // groups known to be done
  bool open = false;    // something has been issued since the last group was closed
  stamp last_used = 0;  // the last group that holds anything
  stamp tracked = 0;    // groups that an mbarrier waits for
  place_number last_place = 0;
  std::vector<stamp> parts;  // counted as groups, but closed by an mbarrier that began to wait: they belong to the group behind them
};

using by_reach = std::array<knowledge_ptr, 3>;  // of block, cluster, and device scope or wider

// What a thread's atomic operations on one location have begun: a release before a relaxed write there is a release pattern, a relaxed read
// before an acquire there an acquire pattern (PTX ISA, memory consistency model).
struct begun_patterns {
  by_reach released, read;
};

// What a thread's last proxy fence has passed on.
struct proxy_fenced {
  knowledge_ptr known;  // what the thread knew; null: there was none
  stamp time = 0;       // how far it was itself
  stamp copies = 0;     // and its copies
};

// A lane's volatile writes since it met others: the last one, and the first at each place. In the order of all such accesses.
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
  std::uint32_t shared_low = 0, shared_high = 0;  // the block's shared memory, as offsets
  int block_threads = 0;
  int index = 0;

  knowledge_ptr known;
  by_space<proxy_fenced> fenced;
  by_reach released;                               // by fences, for relaxed stores to come
  by_reach acquirable;                             // read by relaxed loads, for a fence to come
  std::map<std::uintptr_t, begun_patterns> begun;  // by location
  knowledge_ptr heard;  // read by relaxed loads of threads that this one has met since: no order, but no old values
  own_actor copies, stores_read, stores_written, matrix;
  std::map<std::uintptr_t, std::uint64_t> seen;  // the latest atomic write that it has seen, by location: its number
  int barriers = 0;                              // of the block, passed
  int met = 0;                                   // of the cluster
  lane_writes written;
  bool misled = false;  // it has read what blocks that were left out may have been to write
};

struct block_model {
  block_number number = 0;
  std::vector<thread_model> threads;
  std::vector<stamp> times;  // by warp
};

using ranges = std::span<const std::span<const unsigned char>>;  // of memory

enum class access_kind : std::uint8_t { read, write };
enum class order : std::uint8_t { relaxed, acquire, release, both, total };  // as `ordering`; total: a fence of sequential consistency

class model {
 public:
  model();

  // runs, launches, blocks --------------------------------------------------------------------------------------------------------
  void reset();  // between runs
  // Launches on one stream are ordered, as are all with the default stream (null); those of two other streams are not, unless
  // synchronize() came between. A chained one may begin while the ones before it on its stream still run, back to the last that is not
  // overlaps_previous; its threads know of them from wait_for_launch on.
  void begin_launch(const char* kernel, const void* params, std::size_t params_bytes, stream on, bool overlaps_previous = false);
  void end_launch();
  void synchronize(stream on);                                // null: all
  void synchronize_default();                                 // the default stream, and those that are ordered with it
  void apart_from_default(stream s) { apart_.push_back(s); }  // it is ordered with the default stream no more than with others
  // What an event stands for that is recorded on a stream: the launches under way that whoever waits for it comes after.
  struct past_launch {
    block_number first, last;
    stream on;
  };
  using launches = std::vector<past_launch>;
  launches recorded(stream on) const;
  void order_after(stream on, const launches& these);  // what comes on the stream from now on
  void synchronize(const launches& these);             // the host
  // Blocks of one cluster, a number that no other has in the run and that is not 0, reach each other's shared memory.
  block_model* begin_block(extent3 index, int threads, unsigned char* shared, std::size_t shared_bytes, std::uint32_t cluster = 0);
  void end_block(block_model& b);
  void end_thread(thread_model& t);
  // At the cluster's barrier: it arrives, whether or not that releases anything; it has waited, for whatever that told it.
  void arrive_in_cluster(thread_model& t);
  void cluster_met(thread_model& t);
  void set_current(thread_model* t) {
    put_back();
    ++effort_;
    current_ = t;
    read_again_ = 0;
  }
  thread_model* current() { return current_; }

  // memory of the device, by the host: `on` says after what it comes
  void* allocate(std::size_t bytes) { return memory_.allocate(bytes); }
  void free(void* p);
  // False if there is no such memory to touch.
  bool host_access(const void* p, std::size_t bytes, access_kind kind, stream on, const char* what);

  // Variables of the device that lie in the program's own image, in [low, high): known to all as they are.
  void follow_as_written(const void* p, std::size_t bytes);  // allocated memory
  void follow_variables(std::uintptr_t low, std::uintptr_t high);
  // A block's shared memory is nobody's, but for the variables that it asks for (plain CUDA).
  void follow_shared_variables() { shared_by_variables_ = true; }
  void begin_shared_variable(const void* p, std::size_t bytes);
  // The host's own access to memory that it shares with the device (managed): the launches it touches must have been waited for.
  // An atomic one of system scope does not disturb those of kernels.
  void host_touch(const void* p, std::size_t bytes, access_kind kind, const void* code, bool atomic = false);
  void host_acquires(const void* p);  // what was released by the write that it reads
  // From here on, what nobody has written may have been left out: launches ran a part of their blocks only.
  void forgive_unwritten() { forgiving_ = true; }
  bool forgiving() const { return forgiving_; }
  void say_misled() {
    say("what a kernel did with memory that blocks which did not run would have written is not judged. --blocks all runs them all");
  }
  // Called before the first thing that depends on the schedule; null: nobody asks.
  std::function<void()> schedule_begins;
  // A finding of the host's. `memory` and `missing` may be empty.
  // `shown`, if given, is what a drawn schedule shows of it.
  void note(finding_kind kind, const std::string& kernel, place_number at, std::string action, std::string memory, std::string missing,
            const std::optional<event_log::question>& shown = {});
  // The same in two steps: who it is, of the current thread, and that it is a finding.
  finding_side side_here(place_number at, const char* action) const;
  void note(finding_kind kind, const std::string& kernel, place_number at, const finding_side& by, std::string missing);
  // Something that the report should say beside the findings, once.
  void say(const std::string& what) {
    if (std::find(notes_.begin(), notes_.end(), what) == notes_.end()) notes_.push_back(what);
  }
  const std::vector<std::string>& notes() const { return notes_; }
  // One of the current thread.
  void note_here(finding_kind kind, place_number at, std::string action, std::string memory, std::string missing);
  // What lies at an offset in the current block's shared memory, and in the program's image; null: nobody knows.
  std::string (*shared_place)(std::size_t offset) = nullptr;
  std::string (*variable_name)(const void* p) = nullptr;
  source host_place;  // of the host's copies, where it is known
  // How a host's access to any memory is judged; null: not at all.
  void (*host_touches)(const void* p, std::size_t bytes, access_kind kind, const void* code) = nullptr;

  // accesses of the current thread; address of the instruction behind it
  void access(const void* p, std::size_t bytes, access_kind kind, const void* code);
  // An atomic operation: before it is performed (reads, writes or both) ...
  void atomic(const void* p, std::size_t bytes, bool reads, bool writes, order how, const void* code);
  void fence(order how);

  // order among threads -------------------------------------------------------------------------------------------------------------
  // Of a block, or of a cluster; whole_block: all that have not ended.
  void meet(std::span<thread_model* const> threads, bool whole_block);
  // `what` it is, for a schedule that is drawn.
  void release(thread_model& t, knowledge_ptr& into, const char* what = nullptr);
  void acquire(thread_model& t, const knowledge_ptr& from, const char* what = nullptr);
  void proxy_fence(thread_model& t, std::initializer_list<space> of = {space::shared, space::global});
  void mbarrier_fence(thread_model& t);  // for the barriers that it has initialised alone
  void wait_for_launch(thread_model& t);

  // a thread's asynchronous copies (cp.async)
  void issue_copy(thread_model& t, const void* to, const void* from, std::size_t bytes, std::size_t bytes_read, place_number at);
  void commit_copies(thread_model& t);
  void wait_copies(thread_model& t, int groups_left);

  // barriers in shared memory that count arrivals and bytes
  void init_barrier(thread_model& t, const void* word, place_number at);
  void touch_barrier(thread_model& t, const void* word, place_number at);
  void arrive_barrier(thread_model& t, const void* word);
  void end_phase(block_model& b, const void* word);
  void wait_barrier(thread_model& t, const void* word);
  // An arrival that follows when this thread's copies so far have landed: their number, and when it is there.
  stamp track_copies(thread_model& t, const void* word);
  void arrive_with_copies(thread_model& t, const void* word, stamp tracked);
  void issue_load(thread_model& t, const void* to, const void* from, std::size_t bytes, const void* word, place_number at);
  void issue_load(thread_model& t, const void* to, std::size_t bytes, ranges from, const void* word, place_number at);

  // bulk stores
  void issue_store(thread_model& t, const void* to, const void* from, std::size_t bytes, place_number at);
  // `updates`: the scope of what it does to each number there, if it does not just write.
  void issue_store(thread_model& t, ranges to, const void* from, std::size_t bytes, place_number at, scope updates = scope{});
  void commit_stores(thread_model& t);
  void wait_stores(thread_model& t, int groups_left, bool written);

  // Tensor Core operations that read shared memory until they have been waited for (wgmma), by all lanes of a warp; those of a warpgroup
  // are one actor. What a thread of it has waited for, it knows to be done. Accumulators are registers, of which the model knows nothing.
  void issue_matrix(std::span<thread_model* const> warp, ranges from, place_number at);
  void issue_matrix(thread_model& t, const void* from, std::size_t bytes, place_number at);
  void commit_matrix(thread_model& t);
  void wait_matrix(thread_model& t, int groups_left);

  // The current thread's volatile accesses, which lanes of a warp may count on lockstep for (lockstep.cpp).
  void volatile_read(const void* p, const void* code);
  void volatile_write(const void* p, std::size_t bytes, const void* code);

  // Atomic and volatile writes may stay unseen by threads that nothing has told of them (old_values.cpp). If this is on, each does once for
  // each thread: the first load of it brings what stood there before.
  bool late_writes = false;
  // Whether the current thread's load, about to happen, brings that; then it has been judged.
  bool brings_old(const void* p, std::size_t bytes, order how, const void* code, std::uint64_t& old);
  // The same for a load that follows as an ordinary instruction: until the next call of anything here, memory holds the old value.
  void lend_old(const void* p, std::size_t bytes, std::uint64_t old);
  void put_back() {
    if (lent_.to != nullptr) [[unlikely]] {
      std::memcpy(lent_.to, &lent_.value, lent_.bytes);
      lent_.to = nullptr;
    }
  }
  // A load that has brought an old value, and the write that it has not seen; null: there was none.
  struct old_load {
    finding_side load, write;
    place_number at = 0, written_at = 0;
  };
  const old_load* brought_old() const { return brought_old_ ? &*brought_old_ : nullptr; }

  // findings -----------------------------------------------------------------------------------------------------------------------
  struct found {
    finding what;  // without `first`; the places are numbers still
    place_number at = 0, earlier = 0;
    bool has_earlier = false;
    std::vector<const void*> callers;  // of the function in which the later side lies, innermost first
    event_log::snapshot drawn;
  };
  std::vector<found>& findings() { return findings_; }

  // Where a run is written down that is to be drawn; most are not.
  std::optional<event_log> log;
  finding_schedule draw(const event_log::snapshot& s) const {
    return event_log::drawn(s, [this](place_number p) { return first_line(p); });
  }

  // places in the program: known by file and line, by the address behind an instruction, or by both
  place_number number_of(source where);
  place_number number_of(const void* code, source where);
  place_number number_of_code(const void* code);
  std::vector<code_place> lines(place_number p) const;  // the innermost first
  code_place first_line(place_number p) const;          // in the kernel, if any of them is
  const void* code_of(place_number p) const;            // the address behind the instruction; null: not known
  std::uint64_t accesses() const { return accesses_; }
  // How long the run has taken so far, in accesses: atomic operations and barriers take longer.
  std::uint64_t effort() const { return accesses_ + effort_; }
  std::uint64_t most_effort = 0;  // not 0: a run that has taken longer ends, with a note; what has been found so far is told
  shadow& memory() { return memory_; }
  const std::string& kernel_name() const { return kernel_; }

  bool follows(const void* p) const { return current_ != nullptr && is_followed(p); }
  bool is_followed(const void* p, std::size_t bytes = 1) const {
    const std::size_t offset = reinterpret_cast<std::uintptr_t>(followed(p)) - memory_.lowest();
    return offset < memory_.size() && bytes <= memory_.size() - offset;
  }

  // Host memory that the current thread may use: its stack; what else it may read, `host_allows` knows (null: nothing).
  std::uintptr_t stack_low = 0, stack_high = 0;
  // Whoever compiles the program may leave out calls for addresses in here, which may go round: the current thread's stack, or all but the
  // device's memory while the host runs. Null: nobody asks.
  struct address_range {
    std::uintptr_t low, size;
  };
  address_range* ignored = nullptr;
  void ignore_stack() {
    if (ignored != nullptr) *ignored = {stack_low, stack_high - stack_low};
  }
  void ignore_host() {
    if (ignored != nullptr) *ignored = {memory_.lowest() + memory_.size(), ~memory_.size() + 1};
  }
  bool (*host_allows)(std::uintptr_t address, std::size_t bytes, access_kind kind) = nullptr;
  void (*stop)(const char* why) = nullptr;  // leaves the running thread for good
  // What an atomic or volatile load of the current thread brings, or an update that changes nothing: it may be waiting for something else.
  // And that it has written, so it is not.
  void looked(const void* p, std::uint64_t value, const void* code) {
    if (on_look != nullptr && follows(p)) on_look(p, value, code);
  }
  void wrote(const void* p) {
    if (on_write != nullptr && follows(p)) on_write();
  }
  // An ordinary read of what the thread has read before in the same place. Many of them are a loop that waits, though nothing says so.
  void read_again(const void* p, std::size_t bytes, const void* code) {
    if (++read_again_ % patience != 0 || on_look == nullptr || !follows(p)) return;
    std::uint64_t value = 0;
    std::memcpy(&value, p, std::min(bytes, sizeof value));
    on_look(p, value, code);
  }
  void (*on_look)(const void* p, std::uint64_t value, const void* code) = nullptr;
  void (*on_write)() = nullptr;
  // The current thread comes to an atomic operation: another may go first. Called before anything of it has been looked at.
  void comes_to_atomic(const void* p, bool only_reads, const void* code) {
    if (give_way == nullptr || !follows(p)) return;
    const scope reach = std::exchange(machine::next_scope, scope::device);  // others have theirs
    give_way(only_reads, code);
    machine::next_scope = reach;
  }
  void (*give_way)(bool only_reads, const void* code) = nullptr;

 private:
  friend struct hook_access;
  static constexpr std::uint64_t patience = 64;             // with reads that bring nothing new; each counts for one look
  static constexpr place_number from_source = 0x80000000u;  // an entry of sources_
  static constexpr place_number far_code = 0x40000000u;     // an entry of far_code_

  struct mbarrier_model {
    knowledge_ptr arrived;  // by all arrivals so far
    knowledge_ptr ended;    // as of the end of the last phase
    struct counted {
      block_number block;  // whose threads start them
      actor number;        // theirs, in that block
    };
    std::vector<counted> loads;  // the copies it counts
    stamp phase = 0;             // phases ended
    int initialised_by = -1;
    bool init_fenced = false;         // the copy engine sees it initialised
    int told = 0;                     // the cluster's barrier, counted from 1, behind which its other blocks know that; 0: none
    stamp last_load = 0, waited = 0;  // phases: that counts the last copy, that somebody has seen the end of
    // That copy: who started it, where, and how much of that thread's copies (cp.async) it waits for; 0: it is a load.
    block_number last_block = 0;
    int last_thread = 0;
    place_number last_place = 0;
    stamp last_tracked = 0;
  };
  struct accessor;  // the thread or engine that is about to access memory

  // What was released by the writes that a read of the value sees, by whom it reaches: a block, a cluster, all.
  using atomic_state = std::map<std::pair<std::size_t, std::uint32_t>, knowledge_ptr>;
  // The last atomic write to a location.
  struct atomic_write {
    std::uint64_t before = 0, number = 0;  // what stood there; in the order of all such writes and of fences
    std::uint32_t bytes = 0;
    bool was_written = false;  // before
    block_number block = 0;
    actor writer = 0;
    stamp time = 0;
    place_number at = 0;
    atomic_state released_before;  // what whoever reads the old value reads with it
  };
  // The last volatile read of a word by a lane.
  struct lane_read {
    std::uint64_t number = 0;
    block_number block = 0;
    stamp time = 0;
    place_number place = 0;
  };
  struct too_early {  // a read, and the write that should have come before it
    const void* at;
    thread_model* writer;
    place_number place;
    std::size_t bytes;
    reader by;
  };
  void report_lockstep(const too_early& found);
  void report_lockstep(block_number of);
  static std::uint64_t key_of(block_number block, actor thread) { return std::uint64_t{block} << 16 | thread; }
  void take_in(thread_model& t, std::uintptr_t location, const atomic_state& a, scope reach, bool acquires);
  void note_write(thread_model& t, std::uintptr_t location, const void* value, std::size_t bytes, place_number at);
  bool observed(const thread_model& t, const cell& c, const reader& r) const;

  bool in_order(stream a, stream b) const {
    if (a == b) return true;
    const stream other = a == nullptr ? b : a;
    return (a == nullptr || b == nullptr) && std::find(apart_.begin(), apart_.end(), other) == apart_.end();
  }
  block_record& record(block_number b) { return blocks_[b]; }
  bool is_variable(const void* p) const { return reinterpret_cast<std::uintptr_t>(p) - variables_low_ < variables_high_ - variables_low_; }
  // Where the cells of what lies at `p` are.
  const void* followed(const void* p) const {
    return is_variable(p) ? variables_ + (reinterpret_cast<std::uintptr_t>(p) - variables_low_) : p;
  }
  bool unsynchronised(block_number b) const;
  bool knows(const thread_model& t, block_number block, actor a, stamp time) const;
  bool knows_fenced(const thread_model& t, space in, block_number block, actor a, stamp time) const;
  bool needs_fence(const accessor& w, const cell& c, std::size_t offset) const;
  bool knows(const thread_model& t, const reader& r) const;
  // Cheap answers for what happens most; false: ask knows().
  [[gnu::always_inline]] bool surely_knows_writer(const thread_model& t, const cell& c) const {
    if (c.scope != 0) return false;
    if (c.state == cell_state::written)
      return c.block < first_visible_ || (c.block == t.block && (c.time <= t.floor || c.writer == t.index));
    if (c.state != cell_state::copied || c.block != t.block) return false;
    const std::vector<stamp>& copies = t.known->own->copies;
    const auto at = static_cast<std::size_t>(c.writer - t.block_threads);
    return at < copies.size() && c.time <= copies[at];
  }
  [[gnu::always_inline]] bool surely_knows_readers(const thread_model& t, const cell& c) {
    const auto levelled = [&](const reader& r) { return r.block == t.block && r.time <= t.floor && r.kind == warp_reads; };
    if (c.first.lanes != 0 && !levelled(c.first)) return false;
    for (std::uint32_t more = c.more; more != 0; more = memory_.group(more).next)
      if (!levelled(memory_.group(more).of)) return false;
    return true;
  }
  std::uint32_t warps_of(const reader& r) const {  // in a group of its like
    return r.by_copy() ? 1 : static_cast<std::uint32_t>((blocks_[r.block].threads + 31) / 32);
  }
  bool ordered_launch(block_number b) const;
  bool overlapped_launch(block_number b) const;
  knowledge_ptr publish(thread_model& t);
  knowledge_ptr fenced_by(const thread_model& t, space in) const;
  bool has_taken_long() const { return most_effort != 0 && effort() > most_effort; }
  // Whole words of global memory, or of the thread's own block.
  bool surely_reaches(const thread_model& t, std::size_t offset, std::size_t bytes) const {
    if (offset % 4 != 0 || offset >= memory_.size() || bytes > memory_.size() - offset) return false;
    return offset >= shadow::shared_bytes || (offset >= t.shared_low && offset + bytes <= t.shared_high);
  }
  static space space_of(std::size_t offset) { return offset < shadow::shared_bytes ? space::shared : space::global; }
  using circle = std::pair<std::size_t, std::uint32_t>;  // threads that reach each other: of a block, of a cluster, all
  std::array<circle, 3> circles_around(const thread_model& t) const;
  static circle before_fences(circle of) { return {3 + of.first, of.second}; }  // what passed the total fences before the writes
  void learn_also(thread_model& t, by_reach knowledge::*what, std::size_t by, const knowledge_ptr& more);
  void left_behind(block_number block, int thread, place_number at, const char* what, const char* missing);
  knowledge_ptr joined(const knowledge_ptr& a, const knowledge_ptr& b, block_number block);
  stamp open_group(thread_model& t, own_actor& a, actor_kind kind, place_number at);
  knowledge_ptr landed(block_number block, actor number, stamp time) const;
  actor loads_counted_by(mbarrier_model& b, block_number started_in, int thread);
  static void close_group(own_actor& a);
  void learn(thread_model& t, knowledge_ptr known);
  static void wait_groups(own_actor& a, int groups_left);
  void join_warpgroup(thread_model& t);

  void visit(const accessor& w, const void* p, std::size_t bytes);
  // Whole words that the current thread reads for the first time at this time and place, or writes, of memory that is its own block's or
  // global. False: something more is to be looked at; nothing has been told or counted.
  bool reads_anew(const void* p, std::size_t bytes, const void* code);
  bool writes_anew(const void* p, std::size_t bytes, const void* code);
  // An ordinary write that comes behind all that the cell remembers.
  [[gnu::always_inline]] void write_over(cell& c, const thread_model& t, place_number place) {
    memory_.clear_readers(c);
    c.block = t.block;
    c.writer = static_cast<actor>(t.index);
    c.state = cell_state::written;
    c.scope = 0;
    c.time = *t.time;
    c.place = place;
  }
  // Into the log, which there is.
  void write_down(event_kind kind, const void* p, std::size_t bytes, place_number place);
  void write_down_copy(const thread_model& t, copy_group in, const void* to, std::size_t bytes, place_number place) {
    if (log) log->copy({t.block, t.index}, in, to, bytes, place);
  }
  static std::uintptr_t copy_groups(const thread_model& t, actor_kind k) {  // of this thread alone: no mbarrier lies so low
    return (std::uintptr_t{t.block} * 2048 + static_cast<std::uintptr_t>(t.index)) * 8 + static_cast<std::uintptr_t>(k);
  }
  void write_down_order(const thread_model& t, event_kind kind, const char* what, copy_group done = {}) {
    if (log) log->order({t.block, t.index}, kind, what, done);
  }
  void read_cell(const accessor& w, cell& c, std::size_t offset);
  void write_cell(const accessor& w, cell& c, std::size_t offset);
  void add_reader(const thread_model& t, const reader& r, cell& c);
  void check_readers(const accessor& w, cell& c, std::size_t offset);
  void cover(const accessor& w, cell& c);
  bool strong(scope a, block_number block_a, scope b, block_number block_b) const;
  block_number owner_of(block_number of_cluster, std::size_t offset, std::size_t bytes) const;
  bool has_begun(const thread_model& t, block_number other) const;
  bool told_of(const thread_model& t, const mbarrier_model& b, const void* word) const;
  bool reachable(const accessor& w, const void* p, std::size_t bytes);
  template <class Do> void each_reader(const cell& c, Do f);
  mbarrier_model& barrier(const void* word);
  static reader warp_reader(const thread_model& t, place_number place) { return {t.block, t.warp, 0, warp_reads, *t.time, t.lane, place}; }

  void report(const accessor& w, finding_kind kind, std::size_t offset, const cell* earlier_write, const reader* earlier_reader,
              std::string missing);
  std::string missing_edge(const accessor& w, const cell* write, const reader* read) const;
  std::string describe_memory(const accessor& w, std::size_t offset) const;
  finding_side side_of_write(const cell& c) const;
  finding_side side_of_reader(const reader& r) const;
  finding_side side_of(const accessor& w) const;
  found& entry(finding_kind kind, place_number at, place_number earlier, bool has_earlier, bool& fresh);

  shadow memory_;
  thread_model* current_ = nullptr;
  std::deque<block_record> blocks_;  // by number; 0 is the host
  std::vector<std::unique_ptr<block_model>> alive_, idle_;
  block_number launch_first_ = 1;
  block_number first_visible_ = 1;  // all before it are known to the whole launch
  block_number first_pending_ = 1;  // and all before this one to any launch to come
  stream launch_stream_ = nullptr;
  std::vector<std::string> notes_;
  launches unordered_, pending_;
  launches unsynchronised_;                                // that the host has not waited for
  knowledge_ptr host_known_;                               // of those, by acquiring
  std::vector<stream> apart_;                              // not ordered with the default stream
  std::vector<std::pair<stream, block_number>> ordered_;   // streams and launches of others that they come after
  std::uintptr_t variables_low_ = 0, variables_high_ = 0;  // in the program's image
  const unsigned char* variables_ = nullptr;               // and where their cells are
  bool shared_by_variables_ = false, forgiving_ = false;
  bool misled_ = false, misled_before_ = false;  // a thread of this run was, of a launch before this one
  launches chain_;                               // that a chained launch to come on their stream may overlap
  block_number before_ = 0;  // of a chained launch: a block that stands for all before it; who knows of it knows of them
  std::string kernel_;
  std::uintptr_t params_low_ = 0, params_high_ = 0;
  std::map<std::uint32_t, mbarrier_model> barriers_;  // by their place in shared memory
  std::unordered_map<std::uintptr_t, atomic_state> atomics_;
  std::vector<source> sources_;
  std::unordered_map<place_number, source> also_;  // places known by both
  std::map<std::tuple<const char*, unsigned, unsigned>, place_number> source_numbers_;
  std::vector<const void*> far_code_;
  std::map<std::tuple<finding_kind, place_number, place_number>, std::size_t> entries_;
  std::vector<found> findings_;
  std::uint64_t accesses_ = 0, effort_ = 0;
  std::uint64_t read_again_ = 0;                                    // since the current thread was taken
  std::pair<const void*, const void*> last_slow_read_;              // and the code
  std::unordered_map<std::uintptr_t, atomic_write> atomic_writes_;  // by location
  // The last one of a thread, by its key: its number, for each scope that it has at least.
  std::unordered_map<std::uint64_t, std::array<std::uint64_t, 3>> total_fences_;
  std::uint64_t atomic_number_ = 0;
  static constexpr std::size_t most_lane_reads = 1 << 14;
  std::unordered_map<std::uint64_t, std::array<lane_read, 32>> lane_reads_;  // by word and warp
  static std::uint64_t key_of(const void* word, std::uint16_t warp) {
    return reinterpret_cast<std::uintptr_t>(word) | std::uint64_t{warp} << 48;
  }
  std::vector<too_early> too_early_;
  std::uint64_t volatile_accesses_ = 0;
  std::unordered_set<place_number> updates_;  // places of atomic operations that have read and written
  std::optional<old_load> brought_old_;
  struct {
    void* to = nullptr;
    std::size_t bytes = 0;
    std::uint64_t value = 0;
  } lent_;
  // Joining is often asked for the same pair: all threads of a block that wait for one barrier.
  struct {
    knowledge_ptr a, b, both;
  } last_join_;
};

// Where the code of this binary starts, or of the program that it has loaded to check it: places of instrumented code are offsets from
// here.
extern std::uintptr_t code_base;

// The model of the run on this OS thread; null: nothing is followed.
extern thread_local constinit model* active;

}  // namespace antiphase::checker_detail
