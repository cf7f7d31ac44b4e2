// SPDX-License-Identifier: Apache-2.0
// Copies of tiles between global memory and the ring of a single-pass scan: by TMA, or by the threads of two
// warps.
#pragma once
#include <antiphase/core/channel.hpp>
#include <antiphase/device/architecture.cuh>
#include <antiphase/device/bulk.cuh>
#include <antiphase/device/copy_async.cuh>
#include <antiphase/device/vector.cuh>
#include <antiphase/scan/detail/ring_policy.hpp>
#include <antiphase/scan/detail/single_pass.hpp>
#include <antiphase/scan/detail/slot_access.cuh>
#include <cstdint>

namespace antiphase::scans {
inline namespace AP_TARGET {

// The events of a tile, in order (single_pass.cuh).
enum tile_event { loaded, reduced, prefixed, scanned, stored };

// Both classes have the same interface. The loading and the storing warp have one object each; all lanes
// call; addresses and sizes are multiples of 16 bytes.
//   compiled             whether the architecture has the required instructions
//   loaders              the parties that commit `loaded`
//   initialised()        called by one thread after the barriers have been initialised
//   results_written()    called by each scanning warp before it commits `scanned`
//   acquire(ring, at)    waits until the loading warp owns the slot
//   load(...)            starts to fill the slot
//   filled_by_lanes()    called after lanes have written to the slot as well
//   commit(ring, at, n)  the whole tile has been issued, n bytes of it by load(): commits `loaded` as soon as
//                        these have landed
//   finish(ring, at)     after the last tile; the slot's number marks the end. Commits all tiles and this
//                        slot
//   store(...)           the storing warp starts to empty a slot
//   release(ring, at)    releases the slot as soon as it has been read
//   finish_stores()      called before the storing warp ends

template <ring_policy P> class copies_by_engine {
 public:
  using slot_cursor = cursor<P.stages>;
  static constexpr bool compiled = has_bulk_copies;
  static constexpr int loaders = antiphase::threads(1);

  AP_DEV static void initialised() { fence_mbarrier_init(); }
  AP_DEV static void results_written() { fence_async(); }

  template <class Ring> AP_DEV void acquire(Ring& ring, slot_cursor at) {
    ring.acquire(at);
    if (started_++ >= P.in_flight) ring.wait(landed_++, loaded);
  }
  template <class Ring>
  AP_DEV void load(Ring& ring, slot_cursor at, void* to, const void* from, std::uint32_t bytes) {
    if (lane_index() == 0 && bytes > 0) bulk_load(to, from, bytes, ring.barrier[loaded][at.index]);
  }
  AP_DEV static void filled_by_lanes() {
    fence_async();  // before the slot's next load
    warp_sync();
  }
  template <class Ring> AP_DEV void commit(Ring& ring, slot_cursor at, std::uint32_t size) {
    if (lane_index() == 0) ring.commit(at, loaded, bytes{static_cast<int>(size)});
  }
  template <class Ring> AP_DEV void finish(Ring& ring, slot_cursor at) {
    if (lane_index() == 0) ring.commit(at, loaded);
  }

  AP_DEV void store(void* to, const void* from, std::uint32_t bytes) {
    if (lane_index() != 0) return;
    if (bytes > 0) bulk_store(to, from, bytes);
    bulk_commit();
  }
  template <class Ring> AP_DEV void release(Ring& ring, slot_cursor at) {
    if (lane_index() == 0) bulk_wait_read<0>();
    ring.release(at, by_warp{});
  }
  AP_DEV static void finish_stores() {
    if (lane_index() == 0) bulk_wait<0>();
  }

 private:
  int started_ = 0;
  slot_cursor landed_;
};

// A tile is a cp.async group of the loading warp, and only that warp can wait for it: it commits `loaded` of
// a tile after it has issued in_flight - 1 more. While it waits for a slot with uncommitted tiles, other
// blocks would wait for the totals of these, and the tile in that slot perhaps for those blocks: a deadlock.
// So it commits all that it has issued before it waits. Then it waits for a tile of a lower number only, down
// to the lowest unfinished one, whose loading warp waits for no slot, since all tiles before it are finished,
// but only for its copies.
template <ring_policy P> class copies_by_threads {
 public:
  using slot_cursor = cursor<P.stages>;
  static constexpr bool compiled = has_async_copies;
  static constexpr int loaders = warps(1);

  AP_DEV static void initialised() {}
  AP_DEV static void results_written() {}

  template <class Ring> AP_DEV void acquire(Ring& ring, slot_cursor at) {
    if (open_ > 0 && ballot(ring.is_free(at)) != all_lanes) land_all(ring);
    ring.acquire(at);
  }
  template <class Ring>
  AP_DEV void load(Ring&, slot_cursor, void* to, const void* from, std::uint32_t bytes) {
    for (std::uint32_t at = first(); at < bytes; at += step)
      copy_async<copy_unit>(moved<unsigned char>(to, at), moved<const unsigned char>(from, at), copy_unit);
  }
  AP_DEV static void filled_by_lanes() {}
  template <class Ring> AP_DEV void commit(Ring& ring, slot_cursor, std::uint32_t) {
    copy_async_commit();
    if (++open_ < P.in_flight) return;
    copy_async_wait<P.in_flight - 1>();
    commit_oldest(ring);
  }
  template <class Ring> AP_DEV void finish(Ring& ring, slot_cursor at) {
    land_all(ring);
    ring.commit(at, loaded, by_warp{});
  }

  AP_DEV void store(void* to, const void* from, std::uint32_t bytes) {
    constexpr int at_once = 8;  // reads of shared memory in flight
    std::uint32_t at = first();
    for (; at + (at_once - 1) * step < bytes; at += at_once * step) {
      unit moving[at_once];
      AP_UNROLL
      for (int i = 0; i < at_once; ++i) moving[i] = *moved<const unit>(from, at + i * step);
      AP_UNROLL
      for (int i = 0; i < at_once; ++i) *moved<unit>(to, at + i * step) = moving[i];
    }
    for (; at < bytes; at += step) *moved<unit>(to, at) = *moved<const unit>(from, at);
  }
  template <class Ring> AP_DEV void release(Ring& ring, slot_cursor at) { ring.release(at, by_warp{}); }
  AP_DEV static void finish_stores() {}

 protected:  // tests derive faulty versions
  using unit = pack<std::uint32_t, copy_unit / 4>;
  static constexpr std::uint32_t step = warp_size * copy_unit;  // of all lanes together
  AP_DEV static std::uint32_t first() { return static_cast<std::uint32_t>(lane_index()) * copy_unit; }
  template <class T> AP_DEV static T* moved(void* at, std::uint32_t by) {
    return reinterpret_cast<T*>(static_cast<unsigned char*>(at) + by);
  }
  template <class T> AP_DEV static T* moved(const void* at, std::uint32_t by) {
    return reinterpret_cast<T*>(static_cast<const unsigned char*>(at) + by);
  }
  template <class Ring> AP_DEV void commit_oldest(Ring& ring) {
    ring.commit(oldest_++, loaded, by_warp{});
    --open_;
  }
  template <class Ring> AP_DEV void land_all(Ring& ring) {
    copy_async_wait<0>();
    while (open_ > 0) commit_oldest(ring);
  }

  int open_ = 0;  // tiles issued but not committed
  slot_cursor oldest_;
};

template <ring_policy P> using tile_copies =
    std::conditional_t<P.mover == tile_mover::copy_engine, copies_by_engine<P>, copies_by_threads<P>>;

}  // namespace AP_TARGET
}  // namespace antiphase::scans
