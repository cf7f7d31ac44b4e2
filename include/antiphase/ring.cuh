// SPDX-License-Identifier: Apache-2.0
// The ring in a single header for nvcc (C++17, no library): N buffers between loads and computation.
// Written by scripts/generate/ring_header.py from the headers named below; change those.
//
// Copy it next to your .cu file. Where every thread loads and computes, `pipeline` runs the loop over
// staged_copies (registers, sm_75) or async_copies (cp.async, sm_80). Where warps have roles, `channel`
// passes slots from one to the next: mbarriers (sm_80), bulk and tensor copies (sm_90).
//
//   using namespace antiphase::ring;
//
//   nvcc -arch=sm_80 my.cu                                 or -gencode arch=compute_90a,code=sm_90a
//   antiphase check my.cu                                  its races and missing waits, without a GPU
#if !defined(ANTIPHASE_RING)  // of any copy of it
#define ANTIPHASE_RING
#if defined(AP_FN) && !defined(AP_CHECKED)
#error "antiphase/ring.cuh stands alone: include it or the other headers of antiphase's kernels, not both"
#endif
// clang-format off
#include <cuda.h>  // the types of tensor maps: no library
#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>

#define AP_FN __host__ __device__ __forceinline__
#define AP_DEV __device__ __forceinline__
#define AP_UNROLL _Pragma("unroll")
// 1 for compute-sanitizer's racecheck, which does not understand that one lane's arrival orders its warp
#if !defined(AP_EVERY_LANE_ARRIVES)
#define AP_EVERY_LANE_ARRIVES 0
#endif

#if defined(AP_CHECKED)  // by antiphase check, which names the line that calls a device function
#line 38 "/include/antiphase/ring.cuh"
#endif

namespace antiphase::ring {
struct mbarrier;

// core/cursor.hpp
// -----------------------------------------------------------------------------------------------------------
// A cursor only moves forward, and lives on across the tiles of a persistent kernel. An agent may hold
// several: the slot to use next, the slot to release next. The parity is that of the round: the number of
// times the ring has wrapped, modulo 2.
template <int N> struct cursor {
  static_assert(N > 0, "a ring needs at least one slot");
  static constexpr int stages = N;

  int index = 0;        // which slot, 0 ... N-1
  unsigned parity = 0;  // which round, modulo 2

  AP_FN constexpr cursor& operator++() {
    if (++index == N) {
      index = 0;
      parity ^= 1;
    }
    return *this;
  }
  AP_FN constexpr cursor operator++(int) {
    const cursor before = *this;
    ++*this;
    return before;
  }
  // The position one step before.
  AP_FN constexpr cursor before() const {
    cursor at = *this;
    if (at.index-- == 0) {
      at.index = N - 1;
      at.parity = parity ^ 1;
    }
    return at;
  }
  AP_FN constexpr bool operator==(const cursor& other) const {
    return index == other.index && parity == other.parity;
  }
};

// core/channel.hpp
// -----------------------------------------------------------------------------------------------------------
// The number of parties that commit an event, by kind, for the declaration of a channel. A warp is one party:
// one lane arrives, after a warp_sync (mbarrier's by_warp).
AP_FN constexpr int threads(int count) { return count; }
AP_FN constexpr int warps(int count) { return AP_EVERY_LANE_ARRIVES ? 32 * count : count; }

// In every round a slot passes its events in order: event e has happened once Parties[e] commits have
// arrived, and the last event releases the slot for the next round. Producer and consumer are the two-event
// case {full, empty}:
//
//   channel<mbarrier, 3, threads(1), warps(4)> ring;  // in shared memory: one producer thread, four warps
//   if (thread_index() == 0) ring.init(), fence_mbarrier_init();
//   block_barrier();
//
//   cursor<3> at;                                     // the producer
//   for (int i = 0; i < steps; ++i, ++at) {
//     ring.acquire(at);
//     bulk_load(slot[at.index], from + i * size, size, ring.barrier[0][at.index]);
//     ring.commit(at, 0, bytes{size});
//   }
//   ring.finish(at);
//
//   cursor<3> at;                                     // each consumer warp
//   for (int i = 0; i < steps; ++i, ++at) {
//     ring.wait(at);
//     use(slot[at.index]);
//     ring.release(at, by_warp{});
//   }
//
// Barrier: mbarrier, or anything with init(parties), arrive(how...), wait(parity, who...). `how` says how a
// party arrives: bytes in flight, a whole warp, when copies have landed.
//
// Three rules hold for every ring:
//   start         the first N acquires of the first event pass at once;
//   continuation  cursors go on from tile to tile, the ring never restarts;
//   tail          finish() waits until every slot has been released.
template <class Barrier, int N, int... Parties> struct channel {
  static_assert(N > 0, "a ring needs at least one slot");
  static_assert(sizeof...(Parties) > 0, "a slot needs at least one event");
  static_assert(((Parties > 0) && ...), "an event that no thread commits never happens");

  using slot_cursor = cursor<N>;
  static constexpr int stages = N;
  static constexpr int events = sizeof...(Parties);
  static constexpr int first = 0;
  static constexpr int last = events - 1;

  Barrier barrier[events][N];

  // Call from one thread, before any other use.
  AP_DEV void init() {
    int event = 0;
    (init(event++, Parties), ...);
  }
  AP_DEV void init(int event, int parties) {
    for (Barrier& b : barrier[event]) {
      b.init(parties);
#if defined(AP_CHECKED)
      if constexpr (std::is_same_v<Barrier, mbarrier>)
        machine::mbarrier_stands_for(&b.word, {static_cast<int>(&b - barrier[event]), event, events});
#endif
    }
  }

  // Waits until the caller owns the slot: until the event before `event` has happened (before the first
  // event, the last one of the previous round).
  template <class... How> AP_DEV void acquire(slot_cursor at, int event = first, How... who) {
    barrier[event > first ? event - 1 : last][at.index].wait(event > first ? at.parity : at.parity ^ 1,
                                                             who...);
  }
  // Whether acquire() of the first event would pass at once. Needs a barrier with ended(parity).
  AP_DEV bool is_free(slot_cursor at) const { return barrier[last][at.index].ended(at.parity ^ 1); }
  // Arrives for one party of an event.
  template <class... How> AP_DEV void commit(slot_cursor at, int event = first, How... how) {
    barrier[event][at.index].arrive(how...);
  }
  // Waits until the event has happened in this round: its parties' writes are visible then.
  template <class... How> AP_DEV void wait(slot_cursor at, int event = first, How... who) {
    barrier[event][at.index].wait(at.parity, who...);
  }
  // Commits the last event.
  template <class... How> AP_DEV void release(slot_cursor at, How... how) { commit(at, last, how...); }
  // Waits until every slot has been released: then no other agent uses the channel any more. `at` is the next
  // position of the first event.
  template <class... How> AP_DEV void finish(slot_cursor at, How... who) {
    for (int i = 0; i < N; ++i, ++at) acquire(at, first, who...);
  }
};

// core/pipeline.hpp
// -----------------------------------------------------------------------------------------------------------
// Every thread loads and computes, and loads run N - 1 steps ahead of the computation:
//
//   async_copies<3> ring;
//   pipeline line{ring};
//   line.run(
//       steps, [&](int i, int slot) { load_tile(s.tile[slot], i); },  // starts the transfer of unit i
//       [&](int i, int slot) { multiply(s.tile[slot]); });            // uses it
//
// The order of a step is wait(i), acquire and load(i + lead), compute(i), commit(i + lead), release(i). The
// commit comes after the computation, since a ring that stages loads in registers stores them there, when
// they have had the whole computation to arrive; to cp.async and bulk copies it makes no difference. Units
// past the end are empty, so that a ring which counts groups has one in every step. With one stage this is
// the textbook loop: acquire, load, commit, wait, compute, release.
//
// `position` goes on from run to run: a persistent kernel may call run() once per tile on the same ring.
template <class C> struct pipeline {
  static constexpr int lead = C::stages - 1;

  C& channel;
  cursor<C::stages> position{};

  template <class Load, class Compute> AP_DEV void run(int steps, Load load, Compute compute) {
    cursor<C::stages> head = position;
    for (int i = 0; i < lead; ++i) {  // prologue
      channel.acquire(head);
      if (i < steps) load(i, head.index);
      channel.commit(head++);
    }
    for (int i = 0; i < steps; ++i, ++position) {  // steady state
      if constexpr (lead == 0) {
        channel.acquire(head);
        load(i, head.index);
        channel.commit(head++);
        channel.wait(position);
        compute(i, position.index);
      } else {
        channel.wait(position);
        channel.acquire(head);
        if (i + lead < steps) load(i + lead, head.index);
        compute(i, position.index);
        channel.commit(head++);
      }
      channel.release(position);
    }
    for (int i = 0; i < lead; ++i, ++position) {  // drain: the empty units past the end
      channel.wait(position);
      channel.release(position);
    }
  }
};
template <class C> pipeline(C&) -> pipeline<C>;

// device/architecture.cuh
// -----------------------------------------------------------------------------------------------------------
// For kernels that users compile for several architectures, all of which may be older than the device.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
constexpr bool has_bulk_copies = false;
#else
constexpr bool has_bulk_copies = true;
#endif

// device/index.cuh
// -----------------------------------------------------------------------------------------------------------
constexpr int warp_size = 32;

AP_DEV int thread_index() { return static_cast<int>(threadIdx.x); }
AP_DEV int lane_index() { return thread_index() % warp_size; }

// device/shared.cuh
// -----------------------------------------------------------------------------------------------------------
// The 32-bit address in the block's shared memory, as TMA and mbarriers take it.
AP_DEV std::uint32_t shared_address(const void* p) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}

// device/warp.cuh
// -----------------------------------------------------------------------------------------------------------
constexpr unsigned all_lanes = ~0u;

// warp_sync       the lanes in `mask` meet; orders memory accesses among them
// uniform         the value of lane 0, known to the compiler as warp-uniform
AP_DEV void warp_sync(unsigned mask = all_lanes) { __syncwarp(mask); }

// warp_index: the number of this warp in the block, as a uniform value, so that the compiler knows that
// branches on it are warp-uniform. Otherwise ptxas keeps descriptors in vector registers, and role branches
// cost instructions. It contains a shuffle of the whole warp: all lanes must call it, before any has
// returned; in a divergent branch it may hang. The checker verifies this.
template <class T> AP_DEV T uniform(T value) { return __shfl_sync(all_lanes, value, 0); }
AP_DEV int warp_index() { return uniform(thread_index() / warp_size); }

// device/elect.cuh
// -----------------------------------------------------------------------------------------------------------
// elect_one: true in one lane of the warp, which the compiler knows to be one: it puts no loop around what
// that lane issues, as it does where a condition of the lane's index chooses it. All lanes call.
AP_DEV bool elect_one() {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  std::uint32_t yes;
  asm volatile("{.reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p;}" : "=r"(yes));
  return yes != 0;
#else
  return lane_index() == 0;
#endif
}

// device/barrier.cuh
// -----------------------------------------------------------------------------------------------------------
// block_barrier: all threads of the block that have not ended meet, at the same place in the code. Orders all
// memory accesses among them. named_barrier: `threads` threads, a multiple of the warp size, meet at barrier
// `id` (1 ... 15; 0 is the block's). sync arrives and waits, arrive only arrives.
AP_DEV void block_barrier() { __syncthreads(); }
AP_DEV void named_barrier_sync(int id, int threads) {
  asm volatile("barrier.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
AP_DEV void named_barrier_arrive(int id, int threads) {
  asm volatile("barrier.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// device/copy_async.cuh
// -----------------------------------------------------------------------------------------------------------
//   copy_async<Bytes>    copies 4, 8 or 16 bytes, both addresses aligned to Bytes. Only `from_source` of them
//                        are read, the rest is filled with zeros: for edges. With 0, `from` must still be a
//                        valid pointer value. Readable: all of them may be read, which saves instructions
//   copy_async_commit    closes the group of all copies since the last commit; it may be empty
//   copy_async_wait<N>   returns when all but the last N groups have landed, visible to this thread: others
//                        need a barrier too
template <int Bytes, bool Readable = false>
AP_DEV void copy_async(void* to, const void* from, int from_source) {
  static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16);
  const auto at = shared_address(to);
  if (Bytes > 4 && !Readable &&
      from_source % Bytes != 0) {  // 4 bytes at a time: compute-sanitizer counts a copy as a whole
    AP_UNROLL
    for (int i = 0; i < Bytes; i += 4) {
      const int left = from_source - i, some = left < 0 ? 0 : left < 4 ? left : 4;
      asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(at + i),
                   "l"(static_cast<const char*>(from) + (left > 0 ? i : 0)), "r"(some)
                   : "memory");
    }
    return;
  }
  if constexpr (Bytes == 16)  // only the 16-byte form may bypass L1
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(from_source)
                 : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(at), "l"(from), "n"(Bytes),
                 "r"(from_source)
                 : "memory");
}
AP_DEV void copy_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int GroupsLeft> AP_DEV void copy_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(GroupsLeft) : "memory");
}

// channel/staged_copies.cuh
// -----------------------------------------------------------------------------------------------------------
// All threads of the block take part. The load of a unit fills registers; store(slot) writes them to shared
// memory at the commit, after the computation of the step, which hides the load's latency. With one stage
// this is the textbook loop.
//
//   staged_copies<2, decltype(store)> ring{store};  // store: [&](int slot) { ... }
//   pipeline{ring}.run(steps, load, compute);
//
template <int N, class Store> struct staged_copies {
  static constexpr int stages = N;
  Store store;

  AP_DEV void acquire(cursor<N>) {}
  AP_DEV void commit(cursor<N> at) { store(at.index); }
  AP_DEV void wait(cursor<N>) { block_barrier(); }
  AP_DEV void release(cursor<N>) {
    if constexpr (N == 1) block_barrier();
  }
};

// channel/async_copies.cuh
// -----------------------------------------------------------------------------------------------------------
// The participating threads and their barrier: the whole block, or `Threads` of it at a named barrier.
struct whole_block {
  AP_DEV static void meet() { block_barrier(); }
};
template <int Barrier, int Threads> struct part_of_block {
  AP_DEV static void meet() { named_barrier_sync(Barrier, Threads); }
};

// The load of a unit is any number of copy_async:
//
//   async_copies<3> ring;
//   pipeline{ring}.run(steps, load, compute);  // load(i, slot): copy_async<16>(...)
//
// In step i the groups of units up to i + N - 2 are closed. With at most N - 2 groups in flight unit i has
// landed, and the barrier makes it visible to all threads. The same barrier follows every thread's use of the
// slot that is loaded next, so acquire need not wait. With one stage, release is that barrier.
template <int N, class Group = whole_block> struct async_copies {
  static constexpr int stages = N;

  AP_DEV void acquire(cursor<N>) {}
  AP_DEV void commit(cursor<N>) { copy_async_commit(); }
  AP_DEV void wait(cursor<N>) {
    copy_async_wait<(N > 2 ? N - 2 : 0)>();
    Group::meet();
  }
  AP_DEV void release(cursor<N>) {
    if constexpr (N == 1) Group::meet();
  }
};

// The same where a part of every unit is loaded into registers: store(slot) writes it to shared memory at the
// commit.
template <int N, class Store> struct mixed_copies : async_copies<N> {
  Store store;

  AP_DEV void commit(cursor<N> at) {
    store(at.index);
    copy_async_commit();
  }
};

// device/mbarrier.cuh
// -----------------------------------------------------------------------------------------------------------
// How to arrive. bytes: the phase also waits for this many bytes of bulk copies, already issued or about to
// be.
struct bytes {
  int count;
};
struct by_warp {};  // the party is a whole warp: all lanes call, one arrives for them
// As by_warp, for a slot that the warp has read by ordinary loads and that bulk copies fill again
struct read_by_warp {};
// the thread arrives when all its copy_async copies have landed (copy_async_arrive)
struct with_copies {};

// A phase ends when all parties have arrived and all expected bytes have landed. wait(parity) returns when
// the phase of that parity has ended; before the first phase, parity 1 counts as ended. Usable as the barrier
// of channel<>. The transaction count allows 2^20 - 1 bytes per phase.
struct mbarrier {
  std::uint64_t word;

  // try_wait, which suspends the warp for a while, begins with sm_90 as bulk copies do
  static constexpr bool waits_itself = has_bulk_copies;
  AP_DEV void init(int parties) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(this)), "r"(parties)
                 : "memory");
  }
  AP_DEV void arrive() {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(this)) : "memory");
  }
  AP_DEV void arrive(bytes n) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(this)),
                 "r"(n.count)
                 : "memory");
  }
  AP_DEV void arrive(with_copies) {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(shared_address(this)) : "memory");
  }
  AP_DEV bool ended(unsigned parity) const {
    std::uint32_t yes;
    if constexpr (waits_itself)
      asm volatile(
          "{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
          : "=r"(yes)
          : "r"(shared_address(this)), "r"(parity)
          : "memory");
    else
      asm volatile(
          "{.reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
          : "=r"(yes)
          : "r"(shared_address(this)), "r"(parity)
          : "memory");
    return yes != 0;
  }
  AP_DEV void wait(unsigned parity) const {
#if defined(AP_CHECKED) && !defined(AP_WAIT_BY_PTX)  // which checks the loop below, too
    return machine::mbarrier_wait(const_cast<std::uint64_t*>(&word), parity, machine::place::current());
#endif
    while (!ended(parity)) {
      // without it, polling warps take issue slots from working ones
      if constexpr (!waits_itself) __nanosleep(32);
    }
  }
  // The sync orders the other lanes' accesses before the leader's arrival, which publishes them.
  AP_DEV void arrive(by_warp) {
    warp_sync();
    if (AP_EVERY_LANE_ARRIVES || lane_index() == 0) arrive();
  }
  AP_DEV void arrive(read_by_warp);
};

// fence_mbarrier_init: makes initialised mbarriers visible to TMA. fence_async: orders this thread's ordinary
// accesses to shared memory before TMA's accesses after the next barrier.
AP_DEV void fence_mbarrier_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
AP_DEV void fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// An arrival alone does not wait for loads in flight: a bulk copy that it allows could overwrite what they
// have yet to read. Seen on an H200, where attention's kernels loaded scales right before a release.
AP_DEV void mbarrier::arrive(read_by_warp) {
  fence_async();
  arrive(by_warp{});
}

// device/mbarrier_arrivals.cuh
// -----------------------------------------------------------------------------------------------------------
//   invalidate         the mbarrier is one no longer: its memory may serve otherwise, or be initialised again
//   expect             the current phase waits for this many more bytes; no arrival. Orders nothing (sm_90)
//   arrive_many        `count` arrivals, 1 or more, by this thread (sm_90)
//   arrive_remote      arrives at the mbarrier that the block of that rank has at the address of `mine`.
//                      After wait_remote() this thread's earlier accesses can be seen there. That block must
//                      have begun and not yet ended (sm_90)
//   release_remote     the same for a thread that has only read: its writes need not be seen there. Without
//                      the fence of the whole GPU that arrive_remote is made with: the empty event of a ring
//                      that another block fills
//   wait_remote        wait() for a phase at which other blocks of the cluster arrive
//   copy_async_arrive  this thread arrives, as one of the parties, when all its copy_async copies, committed
//                      or not, have landed. Waiters see those copies, but nothing else that this thread did
//                      (sm_80)
//   copy_async_track   the current phase also waits for those copies; no arrival (sm_80)
AP_DEV void invalidate(mbarrier& at) {
  asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(shared_address(&at)) : "memory");
}
AP_DEV void expect(mbarrier& at, bytes n) {
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&at)),
               "r"(n.count)
               : "memory");
}
AP_DEV void arrive_many(mbarrier& at, int count) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&at)), "r"(count)
               : "memory");
}
AP_DEV void arrive_remote(mbarrier& mine, int rank) {
  asm volatile(
      "{.reg .b32 there; mapa.shared::cluster.u32 there, %0, %1; "
      "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [there];}" ::"r"(shared_address(&mine)),
      "r"(rank)
      : "memory");
}
AP_DEV void release_remote(mbarrier& mine, int rank) {
  asm volatile(
      "{.reg .b32 there; mapa.shared::cluster.u32 there, %0, %1; "
      "mbarrier.arrive.shared::cluster.b64 _, [there];}" ::"r"(shared_address(&mine)),
      "r"(rank)
      : "memory");
}
AP_DEV void wait_remote(const mbarrier& at, unsigned parity) {
  std::uint32_t ended;
  do {
    asm volatile(
        "{.reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2; selp.u32 %0, "
        "1, 0, p;}"
        : "=r"(ended)
        : "r"(shared_address(&at)), "r"(parity)
        : "memory");
  } while (ended == 0);
}
AP_DEV void copy_async_arrive(mbarrier& at) { at.arrive(with_copies{}); }
AP_DEV void copy_async_track(mbarrier& at) {
  asm volatile("cp.async.mbarrier.arrive.shared.b64 [%0];" ::"r"(shared_address(&at)) : "memory");
}

// device/fences.cuh
// -----------------------------------------------------------------------------------------------------------
//   fence_async_global      fence_async() for global memory: orders ordinary writes to it before TMA's reads
//                           and writes there, once a barrier or a release has ordered the two threads (sm_90)
//   fence_async_all         both fence_async() and fence_async_global()
AP_DEV void fence_async_global() { asm volatile("fence.proxy.async.global;" ::: "memory"); }
AP_DEV void fence_async_all() { asm volatile("fence.proxy.async;" ::: "memory"); }

// device/bulk.cuh
// -----------------------------------------------------------------------------------------------------------
// Addresses and sizes are multiples of 16 bytes.
//   bulk_load        global to shared; the bytes count towards the current phase of the mbarrier, which must
//                    expect them
//   bulk_store       shared to global, in groups
//   bulk_commit      closes the group of all bulk_store since the last one
//   bulk_wait_read   returns when the sources of all but the last N groups may be overwritten
//   bulk_wait        returns when the destinations of all but the last N groups have been written
AP_DEV void bulk_load(void* to, const void* from, std::uint32_t size, mbarrier& landed) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
          shared_address(to)),
      "l"(from), "r"(size), "r"(shared_address(&landed))
      : "memory");
}
AP_DEV void bulk_store(void* to, const void* from, std::uint32_t size) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to),
               "r"(shared_address(from)), "r"(size)
               : "memory");
}
AP_DEV void bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
template <int GroupsLeft> AP_DEV void bulk_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(GroupsLeft) : "memory");
}
template <int GroupsLeft> AP_DEV void bulk_wait() {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(GroupsLeft) : "memory");
}

// core/tensor_map.hpp
// -----------------------------------------------------------------------------------------------------------
// Swizzles of shared memory, as supported by TMA and Tensor Cores: rows of 32, 64 or 128 bytes have their
// pieces of 16 bytes in an order that depends on the row, so that a column of pieces has no bank conflict.
enum class swizzle : unsigned char { none, bytes_32, bytes_64, bytes_128 };

// Bytes of a row. none: a row is one piece.
AP_FN constexpr std::uint32_t width_of(swizzle s) { return 16u << static_cast<unsigned>(s); }
// Bytes after which the pattern repeats; swizzled memory is aligned to them.
AP_FN constexpr std::uint32_t period_of(swizzle s) { return 8 * width_of(s); }

// The swizzled address of a byte in shared memory: the index of the piece in its row is XORed with bits 7 to
// 9 of the address, which count units of 128 bytes.
AP_FN constexpr std::uint32_t swizzled(std::uint32_t address, swizzle s) {
  return address ^ (address >> 3 & (width_of(s) - 16));
}

constexpr int tensor_dimensions = 5;  // at most

// A tensor, and the box of it that one TMA copy moves. The innermost dimension comes first; its elements are
// contiguous. encode() makes a tensor_map of it.
struct tensor_layout {
  const void* data = nullptr;                    // of the device, aligned to 16 bytes
  int element_bytes = 2;                         // 1, 2, 4 or 8
  int dimensions = 2;                            // 2 to 5
  std::uint64_t extent[tensor_dimensions] = {};  // elements
  std::uint64_t stride[tensor_dimensions] = {};  // bytes, multiples of 16; [0] is ignored
  // elements, at most 256; [0] a multiple of 16 bytes; if swizzled, exactly a row
  std::uint32_t box[tensor_dimensions] = {};
  swizzle pattern = swizzle::none;
};

// A tensor_layout as encoded by the driver. Passed to a kernel as its __grid_constant__ parameter.
struct alignas(128) tensor_map {
  std::uint64_t word[16];
};

// encode(): the tensor_map of a layout, for a kernel's __grid_constant__ parameter. Asks the driver; throws
// std::runtime_error.
inline tensor_map encode(const tensor_layout& t) {
  static void* const encoder = [] {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result{};
#if CUDART_VERSION >= 12050
    const cudaError_t failed = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000,
                                                                cudaEnableDefault, &result);
#else
    const cudaError_t failed =
        cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &found, cudaEnableDefault, &result);
#endif
    if (failed != cudaSuccess || result != cudaDriverEntryPointSuccess)
      throw std::runtime_error("the driver has no cuTensorMapEncodeTiled: expected one for CUDA 12 or newer");
    return found;
  }();
  const CUtensorMapDataType type = t.element_bytes == 1   ? CU_TENSOR_MAP_DATA_TYPE_UINT8
                                   : t.element_bytes == 2 ? CU_TENSOR_MAP_DATA_TYPE_UINT16
                                   : t.element_bytes == 4 ? CU_TENSOR_MAP_DATA_TYPE_UINT32
                                                          : CU_TENSOR_MAP_DATA_TYPE_UINT64;
  const cuuint32_t steps[tensor_dimensions] = {1, 1, 1, 1};
  cuuint64_t extents[tensor_dimensions], strides[tensor_dimensions];
  for (int i = 0; i < t.dimensions; ++i) extents[i] = t.extent[i], strides[i] = t.stride[i];
  CUtensorMap map;
  const CUresult result = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(encoder)(
      &map, type, static_cast<cuuint32_t>(t.dimensions), const_cast<void*>(t.data), extents, strides + 1,
      t.box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, static_cast<CUtensorMapSwizzle>(t.pattern),
      CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS)
    throw std::runtime_error("cuTensorMapEncodeTiled refuses the tensor, error " + std::to_string(result) +
                             ": expected data and strides of multiples of 16 bytes, boxes of at most 256 "
                             "elements a side and one row of the swizzle");
  tensor_map encoded;
  static_assert(sizeof encoded == sizeof map);
  std::memcpy(&encoded, &map, sizeof map);
  return encoded;
}

// device/tensor_copy.cuh
// -----------------------------------------------------------------------------------------------------------
// tensor_load: copies the box whose first element has these indices, innermost first, from global to shared
// memory. The innermost index is a multiple of 16 bytes (anything else is an illegal instruction on an H200).
// Elements outside the tensor, negative indices included, are filled with zeros; the box's bytes count in
// full towards the current phase of the mbarrier. In shared memory the box is dense, each byte at
// swizzled(address, pattern); `to` is aligned to the pattern's period, at least 128 bytes. The map must lie
// in the kernel's params. prefetch_map: fetches the map ahead of the first copy.
AP_DEV void prefetch_map(const tensor_map& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}
AP_DEV void tensor_load(void* to, const tensor_map& map, mbarrier& landed, int x, int y) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], "
      "[%2];" ::"r"(shared_address(to)),
      "l"(&map), "r"(shared_address(&landed)), "r"(x), "r"(y)
      : "memory");
}
AP_DEV void tensor_load(void* to, const tensor_map& map, mbarrier& landed, int x, int y, int z) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], "
      "[%2];" ::"r"(shared_address(to)),
      "l"(&map), "r"(shared_address(&landed)), "r"(x), "r"(y), "r"(z)
      : "memory");
}
AP_DEV void tensor_load(void* to, const tensor_map& map, mbarrier& landed, int x, int y, int z, int w) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, "
      "%6}], [%2];" ::"r"(shared_address(to)),
      "l"(&map), "r"(shared_address(&landed)), "r"(x), "r"(y), "r"(z), "r"(w)
      : "memory");
}

// device/tensor_store.cuh
// -----------------------------------------------------------------------------------------------------------
// tensor_store: the mirror of tensor_load (device/tensor_copy.cuh), in the groups of bulk_store: bulk_commit,
// bulk_wait_read, bulk_wait (device/bulk.cuh). The box lies in shared memory as tensor_load would put it
// there: dense, swizzled by the map's pattern, aligned to the pattern's period and to 128 bytes. Elements
// outside the tensor are not written. The innermost index is a multiple of 16 bytes. Unlike with a load,
// indices must not be negative, and where the box extends beyond a row of the tensor, that row must end at a
// multiple of 16 bytes: an H200 reports an illegal instruction for the first, and does not split a piece of
// 16 bytes (measured).
AP_DEV void tensor_store(const tensor_map& map, const void* from, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];" ::"l"(&map),
               "r"(shared_address(from)), "r"(x), "r"(y)
               : "memory");
}
AP_DEV void tensor_store(const tensor_map& map, const void* from, int x, int y, int z) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(&map),
               "r"(shared_address(from)), "r"(x), "r"(y), "r"(z)
               : "memory");
}
AP_DEV void tensor_store(const tensor_map& map, const void* from, int x, int y, int z, int w) {
  asm volatile(
      "cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%2, %3, %4, %5}], [%1];" ::"l"(&map),
      "r"(shared_address(from)), "r"(x), "r"(y), "r"(z), "r"(w)
      : "memory");
}

// device/multicast.cuh
// -----------------------------------------------------------------------------------------------------------
// bulk_load_multicast, tensor_load_multicast: as bulk_load (device/bulk.cuh) and tensor_load
// (device/tensor_copy.cuh), issued by one thread of one block. `ranks` is a bit mask of the destination
// blocks of the cluster. In each of them the bytes land at the shared address of `to`, and count at the
// mbarrier at the address of `landed`, which must expect them. The destination blocks must have begun and
// initialised their mbarriers, and must not end before they have waited.
AP_DEV void bulk_load_multicast(void* to, const void* from, std::uint32_t size, mbarrier& landed,
                                unsigned ranks) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, "
      "[%3], %4;" ::"r"(shared_address(to)),
      "l"(from), "r"(size), "r"(shared_address(&landed)), "h"(static_cast<unsigned short>(ranks))
      : "memory");
}
AP_DEV void tensor_load_multicast(void* to, const tensor_map& map, mbarrier& landed, unsigned ranks, int x,
                                  int y) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
      "[%1, {%4, %5}], [%2], %3;" ::"r"(shared_address(to)),
      "l"(&map), "r"(shared_address(&landed)), "h"(static_cast<unsigned short>(ranks)), "r"(x), "r"(y)
      : "memory");
}
AP_DEV void tensor_load_multicast(void* to, const tensor_map& map, mbarrier& landed, unsigned ranks, int x,
                                  int y, int z) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
      "[%1, {%4, %5, %6}], [%2], "
      "%3;" ::"r"(shared_address(to)),
      "l"(&map), "r"(shared_address(&landed)), "h"(static_cast<unsigned short>(ranks)), "r"(x), "r"(y), "r"(z)
      : "memory");
}

// device/cluster.cuh
// -----------------------------------------------------------------------------------------------------------
// A cluster is kernel::cluster blocks, neighbours along x; cluster_rank() is this block's number, 0 ...
// cluster_extent() - 1.
//   cluster_arrive, cluster_wait   every running thread of every block of the cluster arrives once, then
//                                  waits once; accesses before an arrival are visible after the wait. Threads
//                                  may call at different places in the code; ended threads count as arrived
//   cluster_arrive_silent          arrives without publishing this thread's accesses: it does not wait for
//                                  its own writes
//   cluster_barrier                cluster_arrive and cluster_wait
//   map_shared(p, rank)            the address of p in the block of that rank, for ordinary reads and writes.
//                                  That block must have begun and not yet ended, which a cluster barrier
//                                  before the first access and one after the last ensure
AP_DEV int cluster_rank() {
  int rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
AP_DEV int cluster_extent() {
  int extent;
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(extent));
  return extent;
}
AP_DEV void cluster_arrive() { asm volatile("barrier.cluster.arrive.release;" ::: "memory"); }
AP_DEV void cluster_arrive_silent() { asm volatile("barrier.cluster.arrive.relaxed;" ::: "memory"); }
AP_DEV void cluster_wait() { asm volatile("barrier.cluster.wait.acquire;" ::: "memory"); }
AP_DEV void cluster_barrier() {
  cluster_arrive();
  cluster_wait();
}
template <class T> AP_DEV T* map_shared(T* mine, int rank) {
  T* theirs;
  asm("mapa.u64 %0, %1, %2;" : "=l"(theirs) : "l"(mine), "r"(rank));
  return theirs;
}

// device/launch.cuh
// -----------------------------------------------------------------------------------------------------------
// A kernel with overlaps_previous may begin as soon as every block of the previous kernel in the stream has
// called start_next_grid or has ended.
//   wait_for_previous_grid      returns when the previous kernel has ended and its writes are visible. Every
//                               thread calls it before it reads memory that earlier work on the stream
//                               writes, or writes memory which that work accesses. Every such kernel must
//                               call it, since the next kernel waits only for this one's end
//   wait_for_previous_grid(p)   the same, after touching every 64 bytes of the kernel's params: the first
//                               access to each costs about 0.1 us (H200), which then overlaps the wait
//   start_next_grid             lets the next kernel begin. That kernel sees this block's later writes too,
//                               after its own wait. Call it after this kernel's wait: called earlier, the
//                               kernel after the next may begin too, and so on, and their waiting blocks take
//                               the multiprocessors over which this kernel's blocks would spread
//                               (docs/notebook/gemm.md, "A row of launches"). Where each block has a
//                               multiprocessor to itself, calling it first is as good, or better
//   compute_first               forces the value to be computed here: the compiler tends to move such
//                               computations after the wait that follows
// No-ops where grids do not overlap: before sm_90, and on the CPU executor.
AP_DEV void wait_for_previous_grid() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
AP_DEV void start_next_grid() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
AP_DEV void compute_first(std::uint32_t x) {
  // ptxas moves arithmetic freely, but not past a predicated instruction with a side effect that depends on
  // it. This one's effect is negligible, and only one value of 2^32 executes it.
  asm volatile("{\n.reg .pred p;\nsetp.eq.u32 p, %0, 0x7fedcb31;\n@p nanosleep.u32 0;\n}" ::"r"(x)
               : "memory");
}
template <class Params> AP_DEV void wait_for_previous_grid(const Params& p) {
  const char* const bytes = reinterpret_cast<const char*>(&p);
  std::uint32_t all = 0;
  AP_UNROLL
  for (std::size_t at = 0; at < sizeof p; at += 64)
    all ^= *reinterpret_cast<const std::uint32_t*>(bytes + at);
  compute_first(all);
  wait_for_previous_grid();
}

// The way in which launch() starts a kernel: with clusters of blocks, neighbours along x, or so that it may
// begin while the kernel before it in the stream ends (wait_for_previous_grid).
struct launch_shape {
  dim3 grid, block;
  std::size_t shared_bytes = 0;  // dynamic
  int cluster = 1;
  bool overlaps_previous = false;
};
// Throws std::runtime_error.
template <class... Params, class... Args>
void launch(void (*kernel)(Params...), const launch_shape& shape, cudaStream_t stream, Args&&... args) {
  cudaLaunchAttribute attribute[2] = {};
  cudaLaunchConfig_t config = {};
  config.gridDim = shape.grid, config.blockDim = shape.block;
  config.dynamicSmemBytes = shape.shared_bytes, config.stream = stream, config.attrs = attribute;
  if (shape.cluster > 1) {
    attribute[config.numAttrs].id = cudaLaunchAttributeClusterDimension;
    attribute[config.numAttrs].val.clusterDim.x = static_cast<unsigned>(shape.cluster);
    attribute[config.numAttrs].val.clusterDim.y = 1;
    attribute[config.numAttrs++].val.clusterDim.z = 1;
  }
  if (shape.overlaps_previous) {
    attribute[config.numAttrs].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute[config.numAttrs++].val.programmaticStreamSerializationAllowed = 1;
  }
  cudaError_t failed = cudaSuccess;
  if (shape.shared_bytes > 48 * 1024)
    failed = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(shape.shared_bytes));
  if (failed == cudaSuccess)
    failed = cudaLaunchKernelEx(&config, kernel, static_cast<Args&&>(args)...);
  if (failed != cudaSuccess)
    throw std::runtime_error(std::string("launching a kernel failed: ") + cudaGetErrorString(failed));
}

// device/registers.cuh
// -----------------------------------------------------------------------------------------------------------
// Sets the number of registers per thread from here on: release_registers lowers it, request_registers raises
// it. All lanes of all warps of the warpgroup call. Released registers are free for other roles; the block
// has threads times registers at entry in all. request_registers blocks until enough are free, forever if
// that never happens. The checker verifies which warps
// call.
template <int Registers> AP_DEV void release_registers() {
  static_assert(Registers % 8 == 0 && Registers >= 24 && Registers <= 256);
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Registers));
}
template <int Registers> AP_DEV void request_registers() {
  static_assert(Registers % 8 == 0 && Registers >= 24 && Registers <= 256);
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Registers));
}

// device/vector.cuh
// -----------------------------------------------------------------------------------------------------------
// N elements moved in one access where the machine can: 4 floats are one 16-byte access. Addresses must be
// aligned to the whole pack. A pack may alias the array of T in memory.
template <class T, int N> struct alignas(sizeof(T) * N) [[gnu::may_alias]] pack { T element[N]; };
template <int N, class T> AP_DEV pack<T, N> load_pack(const T* from) {
  return *reinterpret_cast<const pack<T, N>*>(from);
}
template <int N, class T> AP_DEV void store_pack(T* to, const pack<T, N>& p) {
  *reinterpret_cast<pack<T, N>*>(to) = p;
}

// device/line_store.cuh
// -----------------------------------------------------------------------------------------------------------
// The sums of wgmma() or mma() lie across the lanes in an order that memory does not like. by_lines() passes
// a warp's 16 rows through shared memory, so that lanes next to each other get neighbours; all lanes call.
//   box               line_box_bytes of shared memory of the warp alone, aligned to 16 bytes
//   pair(a, b)        the bits of two neighbours as Staged: twice its size
//   use(column,       called for every line of at most 128 bytes of each row, from this column on, all of
//       width)        whose columns are in the box: row i from i * line_box_pitch on
// by_pieces() calls use(row, column, piece) for every 16 bytes of a row instead, which begin at this column;
// lanes next to each other have neighbours. store_lines() stores the rows in memory, by lines of 128 bytes.
//   first             row 0, column 0 in memory; rows are row_stride elements apart
//   rows, columns     how many there are from there on; the others are not stored
constexpr int line_box_pitch = 144;  // bytes: rows of 128 bytes, in different banks
constexpr int line_box_bytes = 16 * line_box_pitch;

template <class Staged, int Registers, class Pair, class Use>
AP_DEV void by_lines(unsigned char* box, const float (&sum)[Registers], Pair pair, Use use) {
  constexpr int size = static_cast<int>(sizeof(Staged)), columns = 2 * Registers, width = 128 / size;
  using pair_type = decltype(pair(0.f, 0.f));
  static_assert(sizeof(pair_type) == 2 * sizeof(Staged));
  const int lane = lane_index();
  AP_UNROLL
  for (int line = 0; line < (columns + width - 1) / width; ++line) {
    warp_sync();
    AP_UNROLL
    for (int i = 0; i < width / 8; ++i)
      if (line * width + i * 8 < columns) {
        AP_UNROLL
        for (int half = 0; half < 2; ++half) {
          const int r = line * width / 2 + 4 * i + 2 * half;
          *reinterpret_cast<pair_type*>(box + (lane / 4 + 8 * half) * line_box_pitch +
                                        (i * 8 + lane % 4 * 2) * size) = pair(sum[r], sum[r + 1]);
        }
      }
    warp_sync();
    use(line * width, columns - line * width < width ? columns - line * width : width);
  }
}
template <class Staged, int Registers, class Pair, class Use>
AP_DEV void by_pieces(unsigned char* box, const float (&sum)[Registers], Pair pair, Use use) {
  constexpr int piece = 16 / static_cast<int>(sizeof(Staged));
  by_lines<Staged>(box, sum, pair, [&](int first, int width) {
    const int pieces = width / piece;
    for (int q = lane_index(); q < 16 * pieces; q += warp_size)
      use(q / pieces, first + q % pieces * piece,
          reinterpret_cast<const Staged*>(box + q / pieces * line_box_pitch + q % pieces * 16));
  });
}

template <class Out, int Registers, class Pair>
AP_DEV void store_lines(unsigned char* box, const float (&sum)[Registers], Out* first,
                        std::int64_t row_stride, int rows, int columns, Pair pair) {
  constexpr int piece = 16 / static_cast<int>(sizeof(Out));
  const bool whole = reinterpret_cast<std::uintptr_t>(first) % 16 == 0 && row_stride % piece == 0;
  by_pieces<Out>(box, sum, pair, [&](int row, int column, const Out* from) {
    if (row >= rows || column >= columns) return;
    Out* const to = first + row * row_stride + column;
    if (whole && column + piece <= columns)
      store_pack<piece>(to, load_pack<piece>(from));
    else
      for (int e = 0; e < piece && column + e < columns; ++e) to[e] = from[e];
  });
}

// device/wgmma.cuh
// -----------------------------------------------------------------------------------------------------------
constexpr int warpgroup_size = 128;  // four warps, the first one's index a multiple of four

// The index along which an operand is contiguous in shared memory: k, or mn, the row of A or column of B
// ("transposed").
enum class major : int { k, mn };

// Layout of an operand of 16-bit numbers in shared memory, in pieces of 16 bytes: eight elements along the
// major index.
// Eight rows of width_of(swizzle) bytes make a block; `leading` and `stride` are the bytes between blocks:
//   k, swizzled    a block is 8 rows or columns by width; stride: to the next 8 rows or columns; leading: not
//                  used
//   k, none        a block is 8 rows or columns by 8 k; stride: to the next 8 rows or columns; leading: to
//                  the next 8 k
//   mn, swizzled   a block is 8 k by width; stride: to the next 8 k; leading: to the next width of rows or
//                  columns
//   mn, none       a block is 8 k by 8 rows or columns; stride: to the next 8 rows or columns; leading: to
//                  the next 8 k
// `start` may lie inside a row of the pattern (the next 16 k of a k-major operand); the pattern itself is
// aligned to its period. All numbers are multiples of 16 bytes below 256 KiB.
struct matrix_descriptor {
  std::uint64_t bits;
};
AP_DEV matrix_descriptor describe(const void* start, int leading, int stride, swizzle pattern) {
  const auto field = [](unsigned bytes) { return std::uint64_t{(bytes & 0x3FFFFu) >> 4}; };
  const std::uint64_t mode = pattern == swizzle::none ? 0 : 4 - static_cast<std::uint64_t>(pattern);
  return {field(shared_address(start)) | field(static_cast<unsigned>(leading)) << 16 |
          field(static_cast<unsigned>(stride)) << 32 | mode << 62};
}
// The descriptor of an operand of the same layout that begins this many bytes further, a multiple of 16.
AP_DEV matrix_descriptor further(matrix_descriptor d, int bytes) {
  return {d.bits + static_cast<std::uint64_t>(bytes / 16)};
}

// The descriptors of a ring of slots, one after the other in memory: of an operand that begins `bytes` into a
// slot, a multiple of 16. Its start is computed once for the warp, not by each lane: descriptors in vector
// registers cost a dozen instructions before each wgmma. All lanes of a warp call.
struct descriptor_ring {
  matrix_descriptor first;
  int slot_bytes;
  AP_DEV matrix_descriptor operator()(int slot, int bytes = 0) const {
    const auto low =
        static_cast<std::uint32_t>(first.bits) + static_cast<std::uint32_t>((slot * slot_bytes + bytes) / 16);
    return {first.bits >> 32 << 32 | uniform(low)};
  }
};
AP_DEV descriptor_ring describe_slots(const void* first, int slot_bytes, int leading, int stride,
                                      swizzle pattern) {
  const matrix_descriptor d = describe(first, leading, stride, pattern);
  return {{d.bits >> 32 << 32 | uniform(static_cast<std::uint32_t>(d.bits))}, slot_bytes};
}

// A is 64 x 16, B is 16 x N, N a multiple of 8 up to 256. A thread's share of the 64 x N sum is N / 2
// registers: four of each 8 columns, as mma.m16n8k16 holds them, warp w having rows 16 w to 16 w + 15. All
// threads of the warpgroup call with the same arguments.
//   wgmma_fence     required before the first wgmma, and before one whose registers the thread has accessed
//                   since
//   wgmma_commit    closes the group of all wgmma since the last commit
//   wgmma_wait<N>   returns when all but the last N groups are done: their registers may be used, and as far
//                   as this warp is concerned their operands overwritten
//   pin_registers   keeps the compiler from moving accesses to the registers across it; no instruction
AP_DEV void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
AP_DEV void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int GroupsLeft> AP_DEV void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(GroupsLeft) : "memory");
}
template <int Registers> AP_DEV void pin_registers(float (&sum)[Registers]) {
  AP_UNROLL
  for (int i = 0; i < Registers; ++i) asm volatile("" : "+f"(sum[i])::"memory");
}

// wgmma, wgmma_bf16: start sum += A B, or sum = A B if not `accumulate`; A and B of f16 or bf16 in shared
// memory. Until wgmma_wait the sum's registers must not be read, nor written but by another of its shape.
#define AP_TEXT_8 "%0, %1, %2, %3"
#define AP_SUM_8 "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
#define AP_TEXT_16 AP_TEXT_8 ", %4, %5, %6, %7"
#define AP_SUM_16 AP_SUM_8, "+f"(sum[4]), "+f"(sum[5]), "+f"(sum[6]), "+f"(sum[7])
#define AP_TEXT_24 AP_TEXT_16 ", %8, %9, %10, %11"
#define AP_SUM_24 AP_SUM_16, "+f"(sum[8]), "+f"(sum[9]), "+f"(sum[10]), "+f"(sum[11])
#define AP_TEXT_32 AP_TEXT_24 ", %12, %13, %14, %15"
#define AP_SUM_32 AP_SUM_24, "+f"(sum[12]), "+f"(sum[13]), "+f"(sum[14]), "+f"(sum[15])
#define AP_TEXT_40 AP_TEXT_32 ", %16, %17, %18, %19"
#define AP_SUM_40 AP_SUM_32, "+f"(sum[16]), "+f"(sum[17]), "+f"(sum[18]), "+f"(sum[19])
#define AP_TEXT_48 AP_TEXT_40 ", %20, %21, %22, %23"
#define AP_SUM_48 AP_SUM_40, "+f"(sum[20]), "+f"(sum[21]), "+f"(sum[22]), "+f"(sum[23])
#define AP_TEXT_56 AP_TEXT_48 ", %24, %25, %26, %27"
#define AP_SUM_56 AP_SUM_48, "+f"(sum[24]), "+f"(sum[25]), "+f"(sum[26]), "+f"(sum[27])
#define AP_TEXT_64 AP_TEXT_56 ", %28, %29, %30, %31"
#define AP_SUM_64 AP_SUM_56, "+f"(sum[28]), "+f"(sum[29]), "+f"(sum[30]), "+f"(sum[31])
#define AP_TEXT_72 AP_TEXT_64 ", %32, %33, %34, %35"
#define AP_SUM_72 AP_SUM_64, "+f"(sum[32]), "+f"(sum[33]), "+f"(sum[34]), "+f"(sum[35])
#define AP_TEXT_80 AP_TEXT_72 ", %36, %37, %38, %39"
#define AP_SUM_80 AP_SUM_72, "+f"(sum[36]), "+f"(sum[37]), "+f"(sum[38]), "+f"(sum[39])
#define AP_TEXT_88 AP_TEXT_80 ", %40, %41, %42, %43"
#define AP_SUM_88 AP_SUM_80, "+f"(sum[40]), "+f"(sum[41]), "+f"(sum[42]), "+f"(sum[43])
#define AP_TEXT_96 AP_TEXT_88 ", %44, %45, %46, %47"
#define AP_SUM_96 AP_SUM_88, "+f"(sum[44]), "+f"(sum[45]), "+f"(sum[46]), "+f"(sum[47])
#define AP_TEXT_104 AP_TEXT_96 ", %48, %49, %50, %51"
#define AP_SUM_104 AP_SUM_96, "+f"(sum[48]), "+f"(sum[49]), "+f"(sum[50]), "+f"(sum[51])
#define AP_TEXT_112 AP_TEXT_104 ", %52, %53, %54, %55"
#define AP_SUM_112 AP_SUM_104, "+f"(sum[52]), "+f"(sum[53]), "+f"(sum[54]), "+f"(sum[55])
#define AP_TEXT_120 AP_TEXT_112 ", %56, %57, %58, %59"
#define AP_SUM_120 AP_SUM_112, "+f"(sum[56]), "+f"(sum[57]), "+f"(sum[58]), "+f"(sum[59])
#define AP_TEXT_128 AP_TEXT_120 ", %60, %61, %62, %63"
#define AP_SUM_128 AP_SUM_120, "+f"(sum[60]), "+f"(sum[61]), "+f"(sum[62]), "+f"(sum[63])
#define AP_TEXT_136 AP_TEXT_128 ", %64, %65, %66, %67"
#define AP_SUM_136 AP_SUM_128, "+f"(sum[64]), "+f"(sum[65]), "+f"(sum[66]), "+f"(sum[67])
#define AP_TEXT_144 AP_TEXT_136 ", %68, %69, %70, %71"
#define AP_SUM_144 AP_SUM_136, "+f"(sum[68]), "+f"(sum[69]), "+f"(sum[70]), "+f"(sum[71])
#define AP_TEXT_152 AP_TEXT_144 ", %72, %73, %74, %75"
#define AP_SUM_152 AP_SUM_144, "+f"(sum[72]), "+f"(sum[73]), "+f"(sum[74]), "+f"(sum[75])
#define AP_TEXT_160 AP_TEXT_152 ", %76, %77, %78, %79"
#define AP_SUM_160 AP_SUM_152, "+f"(sum[76]), "+f"(sum[77]), "+f"(sum[78]), "+f"(sum[79])
#define AP_TEXT_168 AP_TEXT_160 ", %80, %81, %82, %83"
#define AP_SUM_168 AP_SUM_160, "+f"(sum[80]), "+f"(sum[81]), "+f"(sum[82]), "+f"(sum[83])
#define AP_TEXT_176 AP_TEXT_168 ", %84, %85, %86, %87"
#define AP_SUM_176 AP_SUM_168, "+f"(sum[84]), "+f"(sum[85]), "+f"(sum[86]), "+f"(sum[87])
#define AP_TEXT_184 AP_TEXT_176 ", %88, %89, %90, %91"
#define AP_SUM_184 AP_SUM_176, "+f"(sum[88]), "+f"(sum[89]), "+f"(sum[90]), "+f"(sum[91])
#define AP_TEXT_192 AP_TEXT_184 ", %92, %93, %94, %95"
#define AP_SUM_192 AP_SUM_184, "+f"(sum[92]), "+f"(sum[93]), "+f"(sum[94]), "+f"(sum[95])
#define AP_TEXT_200 AP_TEXT_192 ", %96, %97, %98, %99"
#define AP_SUM_200 AP_SUM_192, "+f"(sum[96]), "+f"(sum[97]), "+f"(sum[98]), "+f"(sum[99])
#define AP_TEXT_208 AP_TEXT_200 ", %100, %101, %102, %103"
#define AP_SUM_208 AP_SUM_200, "+f"(sum[100]), "+f"(sum[101]), "+f"(sum[102]), "+f"(sum[103])
#define AP_TEXT_216 AP_TEXT_208 ", %104, %105, %106, %107"
#define AP_SUM_216 AP_SUM_208, "+f"(sum[104]), "+f"(sum[105]), "+f"(sum[106]), "+f"(sum[107])
#define AP_TEXT_224 AP_TEXT_216 ", %108, %109, %110, %111"
#define AP_SUM_224 AP_SUM_216, "+f"(sum[108]), "+f"(sum[109]), "+f"(sum[110]), "+f"(sum[111])
#define AP_TEXT_232 AP_TEXT_224 ", %112, %113, %114, %115"
#define AP_SUM_232 AP_SUM_224, "+f"(sum[112]), "+f"(sum[113]), "+f"(sum[114]), "+f"(sum[115])
#define AP_TEXT_240 AP_TEXT_232 ", %116, %117, %118, %119"
#define AP_SUM_240 AP_SUM_232, "+f"(sum[116]), "+f"(sum[117]), "+f"(sum[118]), "+f"(sum[119])
#define AP_TEXT_248 AP_TEXT_240 ", %120, %121, %122, %123"
#define AP_SUM_248 AP_SUM_240, "+f"(sum[120]), "+f"(sum[121]), "+f"(sum[122]), "+f"(sum[123])
#define AP_TEXT_256 AP_TEXT_248 ", %124, %125, %126, %127"
#define AP_SUM_256 AP_SUM_248, "+f"(sum[124]), "+f"(sum[125]), "+f"(sum[126]), "+f"(sum[127])
#define AP_WGMMA(name, type, n, a_at, b_at, if_at, ta_at, tb_at) \
  template <major A = major::k, major B = major::k> \
  AP_DEV void name(float (&sum)[n / 2], matrix_descriptor a, matrix_descriptor b, bool accumulate) { \
    asm volatile("{ .reg .pred p; setp.ne.b32 p, " if_at ", 0; " \
                 "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." type "." type " {" AP_TEXT_##n \
                 "}, " a_at ", " b_at ", p, 1, 1, " ta_at ", " tb_at "; }" \
                 : AP_SUM_##n \
                 : "l"(a.bits), "l"(b.bits), "r"(static_cast<int>(accumulate)), \
                   "n"(static_cast<int>(A)), "n"(static_cast<int>(B))); \
  }
#define AP_WGMMA_ROW(n, p0, p1, p2, p3, p4) \
  AP_WGMMA(wgmma, "f16", n, p0, p1, p2, p3, p4) AP_WGMMA(wgmma_bf16, "bf16", n, p0, p1, p2, p3, p4)
AP_WGMMA_ROW(8, "%4", "%5", "%6", "%7", "%8")
AP_WGMMA_ROW(16, "%8", "%9", "%10", "%11", "%12")
AP_WGMMA_ROW(24, "%12", "%13", "%14", "%15", "%16")
AP_WGMMA_ROW(32, "%16", "%17", "%18", "%19", "%20")
AP_WGMMA_ROW(40, "%20", "%21", "%22", "%23", "%24")
AP_WGMMA_ROW(48, "%24", "%25", "%26", "%27", "%28")
AP_WGMMA_ROW(56, "%28", "%29", "%30", "%31", "%32")
AP_WGMMA_ROW(64, "%32", "%33", "%34", "%35", "%36")
AP_WGMMA_ROW(72, "%36", "%37", "%38", "%39", "%40")
AP_WGMMA_ROW(80, "%40", "%41", "%42", "%43", "%44")
AP_WGMMA_ROW(88, "%44", "%45", "%46", "%47", "%48")
AP_WGMMA_ROW(96, "%48", "%49", "%50", "%51", "%52")
AP_WGMMA_ROW(104, "%52", "%53", "%54", "%55", "%56")
AP_WGMMA_ROW(112, "%56", "%57", "%58", "%59", "%60")
AP_WGMMA_ROW(120, "%60", "%61", "%62", "%63", "%64")
AP_WGMMA_ROW(128, "%64", "%65", "%66", "%67", "%68")
AP_WGMMA_ROW(136, "%68", "%69", "%70", "%71", "%72")
AP_WGMMA_ROW(144, "%72", "%73", "%74", "%75", "%76")
AP_WGMMA_ROW(152, "%76", "%77", "%78", "%79", "%80")
AP_WGMMA_ROW(160, "%80", "%81", "%82", "%83", "%84")
AP_WGMMA_ROW(168, "%84", "%85", "%86", "%87", "%88")
AP_WGMMA_ROW(176, "%88", "%89", "%90", "%91", "%92")
AP_WGMMA_ROW(184, "%92", "%93", "%94", "%95", "%96")
AP_WGMMA_ROW(192, "%96", "%97", "%98", "%99", "%100")
AP_WGMMA_ROW(200, "%100", "%101", "%102", "%103", "%104")
AP_WGMMA_ROW(208, "%104", "%105", "%106", "%107", "%108")
AP_WGMMA_ROW(216, "%108", "%109", "%110", "%111", "%112")
AP_WGMMA_ROW(224, "%112", "%113", "%114", "%115", "%116")
AP_WGMMA_ROW(232, "%116", "%117", "%118", "%119", "%120")
AP_WGMMA_ROW(240, "%120", "%121", "%122", "%123", "%124")
AP_WGMMA_ROW(248, "%124", "%125", "%126", "%127", "%128")
AP_WGMMA_ROW(256, "%128", "%129", "%130", "%131", "%132")
#undef AP_WGMMA
#undef AP_WGMMA_ROW

}  // namespace antiphase::ring
#endif
