// SPDX-License-Identifier: Apache-2.0
// Who moves the tiles of a single-pass scan between global memory and the ring: the copy engine, or the
// threads of two warps.
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

// What happens to a tile, in turn (single_pass.cuh).
enum tile_event { loaded, reduced, prefixed, scanned, stored };

// Both have the same functions. The loading and the storing warp have an object of it each; all lanes call,
// addresses and bytes are multiples of 16.
//   compiled             whether the architecture has what it needs
//   loaders              who commits `loaded`
//   initialised()        barriers have been initialised; one thread
//   results_written()    by each scanning warp, before it commits `scanned`
//   acquire(ring, at)    the loading warp owns the slot and may fill it
//   load(...)            starts to fill it
//   filled_by_lanes()    the lanes have written to it as well
//   commit(ring, at, n)  the tile has been started, n bytes of it by load(): `loaded` is committed as soon as
//                        they have landed
//   finish(ring, at)     the loading warp has no more tiles, which the slot says by its number: all of them
//                        are committed, this one too
//   store(...)           the storing warp begins to empty a slot
//   release(ring, at)    gives it back, as soon as it has been read
//   finish_stores()      before the storing warp ends

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

// A tile is a group of asynchronous copies of the loading warp, and nobody but that warp learns when it has
// landed: it commits `loaded` of a tile after it has started in_flight - 1 more. If it had to wait for a slot
// with tiles that are not committed, blocks would wait for their totals in vain for as long, and perhaps that
// slot's tile for those blocks; so it commits all it has started before it waits. What it waits for then is a
// tile of a lower number, and so on to the lowest that is not finished: its loading warp waits for no slot,
// since the tiles before it are finished, and for nothing else but its copies.
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
    constexpr int at_once = 8;  // reads of shared memory on their way
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

 protected:  // the tests have faulty ones
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

  int open_ = 0;  // tiles that have been started and not committed
  slot_cursor oldest_;
};

template <ring_policy P> using tile_copies =
    std::conditional_t<P.mover == tile_mover::copy_engine, copies_by_engine<P>, copies_by_threads<P>>;

}  // namespace AP_TARGET
}  // namespace antiphase::scans
