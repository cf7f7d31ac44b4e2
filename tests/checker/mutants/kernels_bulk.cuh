// SPDX-License-Identifier: Apache-2.0
// Faults of rings over mbarriers and of bulk copies (sm_90).
#include <antiphase/core/tile.hpp>
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/bulk.cuh>
#include <antiphase/device/kernel.cuh>
#include <type_traits>

#include "examples/bulk_copy.cuh"
#include "tests/channel/mutant_kernels.cuh"
#include "tests/checker/mutants/mutant.hpp"

namespace antiphase::mutants {
inline namespace AP_TARGET {

// unified
// -----------------------------------------------------------------------------------------------------------
// The unified pipeline over a channel of mbarriers: all threads load, with ordinary stores, and all threads
// use.
enum class uni {
  none,
  no_acquire,
  no_wait,
  no_commit,
  no_release,
  other_parity,
  one_party_too_few,
  one_party_too_many,
  release_before_use,
  not_initialised,
  no_barrier_after_init,
  one_stage_too_few,
  slot_not_advanced,
};
template <int N, uni F> struct unified {
  using params = test::ring_params;
  static constexpr int threads = test::ring_threads;
  static constexpr int parties = threads + (F == uni::one_party_too_many) - (F == uni::one_party_too_few);
  static constexpr int slots = F == uni::slot_not_advanced ? 1 : N - (F == uni::one_stage_too_few);
  struct storage {
    std::uint32_t word[N][threads];
    channel<mbarrier, N, antiphase::threads(parties), antiphase::threads(threads)> ring;
  };
  // The channel as seen by the pipeline, with the fault.
  struct view_of_ring {
    static constexpr int stages = N;
    storage& s;
    AP_DEV void acquire(cursor<N> at) {
      if constexpr (F != uni::no_acquire) s.ring.acquire(at);
    }
    AP_DEV void commit(cursor<N> at) {
      if constexpr (F != uni::no_commit) s.ring.commit(at);
    }
    AP_DEV void wait(cursor<N> at) {
      if constexpr (F == uni::other_parity) at.parity ^= 1;
      if constexpr (F != uni::no_wait) s.ring.wait(at);
      if constexpr (F == uni::release_before_use) s.ring.release(at);
    }
    AP_DEV void release(cursor<N> at) {
      if constexpr (F != uni::no_release && F != uni::release_before_use) s.ring.release(at);
    }
  };
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index();
    if (t == 0 && F != uni::not_initialised) s.ring.init();
    if constexpr (F != uni::no_barrier_after_init) block_barrier();
    std::uint32_t sum = 0;
    view_of_ring ring{s};
    pipeline{ring}.run(
        test::all_units, [&](int i, int slot) { s.word[slot % slots][t] = p.in[i * threads + t]; },
        [&](int i, int slot) { sum = test::folded(sum, s.word[slot % slots][test::word_used(t, i)]); });
    p.out[t] = sum;
  }
};
template <int N, uni F>
mutant made(const char* name, const char* broken = nullptr, finding_kind by = {}, const char* says = "") {
  return {.name = name,
          .broken = broken,
          .found = {by, says},
          .code = kernel_of<unified<N, F>>(name),
          .policy = {.family = "mbarriers, all threads in both roles", .program = program::ring}};
}

// roles
// -----------------------------------------------------------------------------------------------------------
using test::slip;

template <int N, slip F>
mutant roles(const char* name, const char* broken = nullptr, finding_kind by = {}, const char* says = "") {
  return {.name = name,
          .broken = broken,
          .found = {by, says},
          .code = kernel_of<test::bulk_ring<N, F>>(name),
          .policy = {.family = "bulk loads, warps in roles", .program = program::ring}};
}

// bulk copies
// -----------------------------------------------------------------------------------------------------------
// examples/bulk_copy.cuh with a fault.
using examples::bulk_copy_policy;
using examples::store_by;

enum class bulk {
  none,
  no_acquire,
  no_full_commit,
  no_full_wait,
  no_computed_commit,
  no_computed_wait,
  no_release,
  loader_advances_twice,
  storer_does_not_advance,
  computer_in_other_round,
  storer_in_other_round,
  warps_do_not_meet,
  parties_too_few,
  parties_too_many,
  bytes_too_few,
  bytes_too_many,
  no_fence_async,
  no_fence_init,
  no_barrier_after_init,
  no_wait_read,
  wait_read_short,
  no_store_commit,
  never_waited,
  tail_loaded_too_far,
  tail_stored_too_far,
  packet_too_far,
  misaligned,
};
template <bulk_copy_policy P, bulk F> struct broken_bulk_copy {
  static constexpr bool in_place = P.store == store_by::copy_engine;
  static constexpr int threads = 32 * (1 + P.warps + (in_place ? 1 : 0));
  using params = examples::bulk_copy_params;
  static constexpr int full = 0, computed = 1;
  static constexpr int computing = P.warps + (F == bulk::parties_too_many) - (F == bulk::parties_too_few);
  using ring_type = std::conditional_t<
      in_place, channel<mbarrier, P.stages, antiphase::threads(1), warps(computing), antiphase::threads(1)>,
      channel<mbarrier, P.stages, antiphase::threads(1), warps(computing)>>;
  struct storage {
    alignas(128) float tile[P.stages][P.tile];
    ring_type ring;
  };
  using place = cursor<P.stages>;

  AP_DEV static place each_tile(const params& p, place at, int advance, auto role) {
    const tiling tiles{p.size, P.tile};
    for (std::int64_t tile = block_index().x; tile < tiles.count(); tile += grid_extent().x) {
      role(at, tiles.first(tile), static_cast<int>(tiles.length(tile)));
      for (int i = 0; i < advance; ++i) ++at;
    }
    return at;
  }
  AP_DEV static place start(bool other_round) { return {0, other_round ? 1u : 0u}; }

  AP_DEV static void load(storage& s, const params& p) {
    const place end = each_tile(
        p, start(false), F == bulk::loader_advances_twice ? 2 : 1,
        [&](place at, std::int64_t first, int length) {
          float* slot = s.tile[at.index];
          const int whole = (length + (F == bulk::packet_too_far ? 3 : 0)) / 4 * 4,
                    size = whole * static_cast<int>(sizeof(float));
          constexpr int wrong = F == bulk::bytes_too_few ? -16 : F == bulk::bytes_too_many ? 16 : 0;
          if constexpr (F != bulk::no_acquire) s.ring.acquire(at);
          if (size > 0)
            bulk_load(slot + (F == bulk::misaligned ? 1 : 0), p.source + first,
                      static_cast<std::uint32_t>(size), s.ring.barrier[full][at.index]);
          for (int i = whole; i < length + (F == bulk::tail_loaded_too_far && length < P.tile ? 1 : 0); ++i)
            slot[i] = p.source[first + i];
          if constexpr (F != bulk::no_full_commit) s.ring.commit(at, full, bytes{size + wrong});
        });
    s.ring.finish(end);
  }
  AP_DEV static void compute(storage& s, const params& p, int thread) {
    each_tile(p, start(F == bulk::computer_in_other_round), 1, [&](place at, std::int64_t first, int length) {
      float* slot = s.tile[at.index];
      float* to = in_place ? slot : p.target + first;
      if constexpr (F != bulk::no_full_wait) s.ring.wait(at, full);
      const int end = length + (F == bulk::tail_stored_too_far && length < P.tile ? 1 : 0);
      for (int i = thread; i < end; i += 32 * P.warps) to[i] = examples::transformed(slot[i], first + i);
      if constexpr (in_place && F != bulk::no_fence_async) fence_async();
      if constexpr (F == bulk::warps_do_not_meet) {
        if (lane_index() == 0) s.ring.commit(at, computed);
      } else if constexpr (F != bulk::no_computed_commit) {
        s.ring.commit(at, computed, by_warp{});
      }
    });
  }
  AP_DEV static void store(storage& s, const params& p) {
    each_tile(p, start(F == bulk::storer_in_other_round), F == bulk::storer_does_not_advance ? 0 : 1,
              [&](place at, std::int64_t first, int length) {
                const float* slot = s.tile[at.index];
                const int whole = length / 4 * 4, size = whole * static_cast<int>(sizeof(float));
                if constexpr (F != bulk::no_computed_wait) s.ring.wait(at, computed);
                if (size > 0) bulk_store(p.target + first, slot, static_cast<std::uint32_t>(size));
                for (int i = whole; i < length; ++i) p.target[first + i] = slot[i];
                if constexpr (F != bulk::no_store_commit) bulk_commit();
                const bool last = first + P.tile * grid_extent().x >= p.size;
                if (F != bulk::no_wait_read && !(F == bulk::never_waited && last))
                  bulk_wait_read<F == bulk::wait_read_short ? 1 : 0>();
                if constexpr (F != bulk::no_release) s.ring.release(at);
              });
    if constexpr (F != bulk::never_waited) bulk_wait<0>();
  }
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    if (thread_index() == 0) {
      s.ring.init();
      if constexpr (F != bulk::no_fence_init) fence_mbarrier_init();
    }
    if constexpr (F != bulk::no_barrier_after_init) block_barrier();
    const int warp = warp_index();
    if (warp == 0) {
      if (lane_index() == 0) load(s, p);
    } else if (warp <= P.warps) {
      compute(s, p, thread_index() - 32);
    } else if (lane_index() == 0) {
      store(s, p);
    }
  }
};
constexpr bulk_copy_policy without_storer{.stages = 2, .warps = 2, .tile = 64};
constexpr bulk_copy_policy with_storer{.stages = 2, .warps = 2, .tile = 64, .store = store_by::copy_engine};
template <bulk_copy_policy P, bulk F>
mutant copied(const char* name, const char* broken = nullptr, finding_kind by = {}, const char* says = "") {
  return {.name = name,
          .broken = broken,
          .found = {by, says},
          .code = kernel_of<broken_bulk_copy<P, F>>(name),
          .policy = {.family = P == with_storer ? "bulk copies, one warp stores"
                                                : "bulk copies, computing warps store",
                     .program = program::bulk_copy,
                     .blocks = 2}};
}

std::vector<mutant> bulk_copies() {
  using enum finding_kind;
  constexpr const char* phase = "a wait for the end of the mbarrier's phase";
  constexpr const char* not_released = "the slot has not been released";
  constexpr const char* no_barrier = "a block barrier, or another barrier that both take part in";
  constexpr const char* waits = "waiting for parity";
  return {
      made<3, uni::none>("unified"),
      made<1, uni::none>("unified-one-stage"),
      made<3, uni::no_acquire>("unified-no-acquire", "stores to a slot that others may still use",
                               overwritten_in_use, not_released),
      made<3, uni::no_wait>("unified-no-wait", "uses a slot without waiting for it", race, no_barrier),
      made<3, uni::no_commit>("unified-no-commit", "no thread says that a slot is full", deadlock, waits),
      made<3, uni::no_release>("unified-no-release", "no thread releases a slot", deadlock, waits),
      made<3, uni::other_parity>("unified-other-parity", "waits for the phase before", race, no_barrier),
      made<3, uni::one_party_too_few>("unified-party-too-few", "a slot counts as full one arrival too early",
                                      race, no_barrier),
      made<3, uni::one_party_too_many>(
          "unified-party-too-many", "the barrier waits for one arrival that never happens", deadlock, waits),
      made<3, uni::release_before_use>("unified-release-before-use", "gives a slot back before it uses it",
                                       overwritten_in_use, not_released),
      made<3, uni::not_initialised>("unified-not-initialised", "no thread initialises the barriers",
                                    barrier_misuse, "before it is initialised"),
      made<3, uni::no_barrier_after_init>("unified-no-barrier-after-init",
                                          "uses the barriers before the others know them", race, no_barrier),
      made<3, uni::one_stage_too_few>("unified-one-stage-too-few", "two slots for three stages",
                                      overwritten_in_use, not_released),
      made<3, uni::slot_not_advanced>("unified-slot-not-advanced", "all steps use the first slot",
                                      overwritten_in_use, not_released),

      roles<3, slip::nothing>("ring"),
      roles<1, slip::nothing>("ring-one-stage"),
      roles<3, slip::loader_takes_without_acquire>("ring-no-acquire", "loads into slots that are still used",
                                                   overwritten_in_use, phase),
      roles<3, slip::loader_starts_in_the_other_round>(
          "ring-loader-in-other-round", "the loader waits for a round that never was", deadlock, waits),
      roles<3, slip::computer_does_not_wait>("ring-no-wait", "uses a slot without waiting for the load",
                                             read_before_landing, phase),
      roles<3, slip::computer_starts_in_the_other_round>(
          "ring-computer-in-other-round", "waits for the phase before", read_before_landing, phase),
      roles<3, slip::release_before_compute>("ring-release-before-use", "gives a slot back before it uses it",
                                             overwritten_in_use, not_released),
      roles<3, slip::release_without_the_warp>("ring-warp-does-not-meet",
                                               "lane 0 gives the slot back for lanes that still use it",
                                               overwritten_in_use, not_released),
      roles<3, slip::release_forgotten>("ring-no-release", "no thread releases a slot", deadlock, waits),
      roles<3, slip::commit_before_acquire>("ring-commit-before-acquire", "arrives before it owns the slot",
                                            barrier_misuse, "one arrival more"),
      roles<3, slip::bytes_too_few>("ring-bytes-too-few", "announces 16 bytes too few", deadlock,
                                    "-16 bytes missing"),
      roles<3, slip::bytes_too_many>("ring-bytes-too-many", "announces 16 bytes too many", deadlock,
                                     "16 bytes missing"),

      copied<without_storer, bulk::none>("bulk"),
      copied<without_storer, bulk::no_acquire>(
          "bulk-no-acquire", "loads into slots that no thread has released", overwritten_in_use, phase),
      copied<without_storer, bulk::no_full_commit>("bulk-no-commit", "the loader never commits", deadlock,
                                                   waits),
      copied<without_storer, bulk::no_full_wait>("bulk-no-wait", "uses a slot without waiting for the load",
                                                 read_before_landing, phase),
      copied<without_storer, bulk::no_computed_commit>("bulk-no-release", "no thread releases a slot",
                                                       deadlock, waits),
      copied<without_storer, bulk::loader_advances_twice>(
          "bulk-loader-advances-twice", "the loader skips every other slot", deadlock, waits),
      copied<without_storer, bulk::computer_in_other_round>(
          "bulk-computer-in-other-round", "waits for the phase before", read_before_landing, phase),
      copied<without_storer, bulk::warps_do_not_meet>(
          "bulk-warps-do-not-meet", "lane 0 gives the slot back for lanes that still use it",
          overwritten_in_use, not_released),
      copied<without_storer, bulk::parties_too_few>("bulk-party-too-few", "one computing warp is not counted",
                                                    overwritten_in_use, not_released),
      copied<without_storer, bulk::parties_too_many>(
          "bulk-party-too-many", "one computing warp too many is counted", deadlock, waits),
      copied<without_storer, bulk::bytes_too_few>("bulk-bytes-too-few", "announces 16 bytes too few",
                                                  deadlock, "-16 bytes missing"),
      copied<without_storer, bulk::bytes_too_many>("bulk-bytes-too-many", "announces 16 bytes too many",
                                                   deadlock, "16 bytes missing"),
      copied<without_storer, bulk::no_fence_init>("bulk-no-fence-init",
                                                  "barriers handed to the copy engine without a fence",
                                                  missing_proxy_fence, "fence_mbarrier_init"),
      copied<without_storer, bulk::no_barrier_after_init>(
          "bulk-no-barrier-after-init", "uses the barriers before the others know them", race, no_barrier),
      copied<without_storer, bulk::tail_loaded_too_far>(
          "bulk-tail-loaded-too-far", "loads one number past the end", outside_memory, "bytes past the end"),
      copied<without_storer, bulk::tail_stored_too_far>(
          "bulk-tail-stored-too-far", "stores one number past the end", outside_memory, "bytes past the end"),
      copied<without_storer, bulk::packet_too_far>(
          "bulk-packet-too-far", "rounds the size of the last load up", outside_memory, "bytes past the end"),
      copied<without_storer, bulk::misaligned>(
          "bulk-misaligned", "loads to an address that is no multiple of 16", bad_copy, "multiples of 16"),

      copied<with_storer, bulk::none>("bulk-store"),
      copied<with_storer, bulk::no_acquire>(
          "bulk-store-no-acquire", "loads into slots that are still stored from", overwritten_in_use, ""),
      copied<with_storer, bulk::no_full_wait>("bulk-store-no-load-wait",
                                              "computes in a slot without waiting for the load",
                                              read_before_landing, phase),
      copied<with_storer, bulk::no_computed_wait>("bulk-store-no-wait", "stores before the results are there",
                                                  read_before_landing, phase),
      copied<with_storer, bulk::no_computed_commit>("bulk-store-no-commit",
                                                    "the computing warps never commit", deadlock, waits),
      copied<with_storer, bulk::no_release>("bulk-store-no-release", "the storing warp gives no slot back",
                                            deadlock, waits),
      copied<with_storer, bulk::storer_in_other_round>("bulk-store-in-other-round",
                                                       "the storing warp waits for the phase before",
                                                       read_before_landing, phase),
      copied<with_storer, bulk::storer_does_not_advance>(
          "bulk-store-slot-not-advanced", "the storing warp stays at its first slot", deadlock, waits),
      copied<with_storer, bulk::warps_do_not_meet>(
          "bulk-store-warps-do-not-meet", "lane 0 commits for lanes that still compute", race, no_barrier),
      copied<with_storer, bulk::no_fence_async>("bulk-store-no-fence",
                                                "results handed to the copy engine without a fence",
                                                missing_proxy_fence, "fence_async"),
      copied<with_storer, bulk::no_wait_read>("bulk-store-no-wait-read",
                                              "gives the slot back while it is being stored from",
                                              overwritten_in_use, "bulk_wait_read"),
      copied<with_storer, bulk::wait_read_short>("bulk-store-wait-read-short",
                                                 "waits for one group of stores too few", overwritten_in_use,
                                                 "bulk_wait_read"),
      copied<with_storer, bulk::no_store_commit>("bulk-store-no-group",
                                                 "stores belong to no group: there is nothing to wait for",
                                                 overwritten_in_use, "bulk_wait_read"),
      copied<with_storer, bulk::never_waited>("bulk-store-never-waited",
                                              "ends before its last store has read the slot",
                                              never_waited_for, "bulk_commit and bulk_wait"),
  };
}

}  // namespace AP_TARGET
}  // namespace antiphase::mutants
