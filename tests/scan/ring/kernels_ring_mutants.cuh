// SPDX-License-Identifier: Apache-2.0
// The single-pass scan with one fault each: its ring, its exchange of totals, or its copies of tiles
// replaced.
#include <antiphase/scan/detail/single_pass.cuh>

#include "tests/scan/ring/ring_mutants.hpp"

namespace antiphase::scan_test {
inline namespace AP_TARGET {

using scans::single_pass_rules;

enum class slip {
  none,
  flag_beside_value,
  flag_without_release,
  flag_before_value,
  half_of_the_value,
  stale_epoch,
  no_proxy_fence,
  released_before_read,
  tail_too_short,
  tail_too_long,
  no_wait_for_prefix,
  no_wait_for_totals,
  no_wait_for_slot,
  no_wait_for_others,
  one_copy_too_few,
  full_ring_not_waited,
  end_not_waited,
  group_left_open,
  given_back_before_read,
};

// A total and its flag in two words instead of one: correct with release and acquire.
template <slip F> struct separate_flag {
  template <class T>
  AP_DEV static void put(std::uint64_t* states, std::uint32_t tile, std::uint32_t tag, const T& total) {
    std::uint64_t* const words = states + std::uint64_t{tile} * 2;
    const auto write = [&] { *reinterpret_cast<pack<T, 1>*>(words) = {total}; };
    const std::uint64_t flag = tag;
    if (F == slip::flag_before_value) {
      store_release(words + 1, flag);
      write();
      return;
    }
    write();
    F == slip::flag_without_release ? store_relaxed(words + 1, flag) : store_release(words + 1, flag);
  }
  template <scans::reading How, class T> AP_DEV static bool get(const std::uint64_t* states,
                                                                std::uint32_t tile, std::uint32_t tag,
                                                                T& total, bool wanted) {
    if (!wanted) return false;
    const std::uint64_t* const words = states + std::uint64_t{tile} * 2;
    if (load_acquire(words + 1) != tag) return false;
    total = reinterpret_cast<const pack<T, 1>*>(words)->element[0];
    return true;
  }
};
// Publishes the flag with a value that is not yet the total; the total follows after a delay.
struct value_later {
  template <class T>
  AP_DEV static void put(std::uint64_t* states, std::uint32_t tile, std::uint32_t tag, const T& total) {
    scans::put_state(states, tile, tag, T(0));
    int polls = 0;
    poll([&] { return polls++ == 3; });
    scans::put_state(states, tile, tag, total);
  }
  template <scans::reading How, class T> AP_DEV static bool get(const std::uint64_t* states,
                                                                std::uint32_t tile, std::uint32_t tag,
                                                                T& total, bool wanted) {
    return scans::get_state<How>(states, tile, tag, total, wanted);
  }
};

// Tiles moved by TMA, and by threads.
template <slip F, class Whole> struct broken_engine : Whole {
  AP_DEV static void results_written() {
    if constexpr (F != slip::no_proxy_fence) Whole::results_written();
  }
  template <class Ring> AP_DEV void release(Ring& ring, typename Whole::slot_cursor at) {
    if constexpr (F == slip::released_before_read)
      ring.release(at, by_warp{});
    else
      Whole::release(ring, at);
  }
};
template <slip F, class Whole> struct broken_threads : Whole {
  using slot_cursor = typename Whole::slot_cursor;
  template <class Ring> AP_DEV void commit(Ring& ring, slot_cursor at, std::uint32_t bytes) {
    constexpr int in_flight = small_async_ring.in_flight;
    if constexpr (F != slip::one_copy_too_few && F != slip::group_left_open)
      return Whole::commit(ring, at, bytes);
    if constexpr (F != slip::group_left_open) copy_async_commit();
    if (++this->open_ < in_flight) return;
    copy_async_wait<F == slip::one_copy_too_few ? in_flight : in_flight - 1>();
    this->commit_oldest(ring);
  }
  template <class Ring> AP_DEV void acquire(Ring& ring, slot_cursor at) {
    if (F == slip::full_ring_not_waited && ballot(ring.is_free(at)) != all_lanes) commit_all(ring);
    Whole::acquire(ring, at);
  }
  template <class Ring> AP_DEV void finish(Ring& ring, slot_cursor at) {
    if constexpr (F != slip::end_not_waited) return Whole::finish(ring, at);
    commit_all(ring);
    ring.commit(at, scans::loaded, by_warp{});
  }
  AP_DEV void store(void* to, const void* from, std::uint32_t bytes) {
    to_ = to, from_ = from, bytes_ = bytes;
    if constexpr (F != slip::given_back_before_read) Whole::store(to, from, bytes);
  }
  template <class Ring> AP_DEV void release(Ring& ring, slot_cursor at) {
    Whole::release(ring, at);
    if constexpr (F == slip::given_back_before_read) Whole::store(to_, from_, bytes_);
  }

 private:
  template <class Ring> AP_DEV void commit_all(Ring& ring) {
    while (this->open_ > 0) this->commit_oldest(ring);
  }

  void* to_;
  const void* from_;
  std::uint32_t bytes_;
};

template <slip F, scans::ring_policy P> struct broken_rules : single_pass_rules<P> {
  using whole = single_pass_rules<P>;
  using all_tiles = typename whole::tiles;
  using tiles = std::conditional_t<P.mover == scans::tile_mover::threads, broken_threads<F, all_tiles>,
                                   broken_engine<F, all_tiles>>;
  static constexpr bool aside =
      F == slip::flag_beside_value || F == slip::flag_without_release || F == slip::flag_before_value;
  using exchange = std::conditional_t<
      aside, separate_flag<F>,
      std::conditional_t<F == slip::half_of_the_value, value_later, typename whole::exchange>>;

  struct ring : whole::ring {
    using all = typename whole::ring;
    using slot_cursor = typename all::slot_cursor;
    AP_DEV void acquire(slot_cursor at) {
      if constexpr (F != slip::no_wait_for_slot) all::acquire(at);
    }
    AP_DEV void wait(slot_cursor at, int event) {
      if (F == slip::no_wait_for_prefix && event == scans::prefixed) return;
      if (F == slip::no_wait_for_totals && event == scans::reduced) return;
      all::wait(at, event);
    }
  };
  struct readers : whole::readers {
    AP_DEV void wait(typename whole::readers::slot_cursor at) {
      if constexpr (F != slip::no_wait_for_others) whole::readers::wait(at);
    }
  };
  AP_DEV static std::uint32_t tag(std::uint64_t epoch) {
    return whole::tag(F == slip::stale_epoch ? 0 : epoch);
  }
  AP_DEV static int present(int count) {
    return count + (F == slip::tail_too_long) - (F == slip::tail_too_short);
  }
};

template <slip F, scans::ring_policy P = small_ring>
ring_mutant made(const char* name, const char* broken = nullptr, finding_kind by = {}, const char* says = "",
                 std::size_t offset = 0, std::size_t out_offset = 0, std::int64_t tiles = 7) {
  using elements = scans::typed_elements<float, float, float, scans::sum, scans::lines_kind::one, P>;
  using scan = scans::single_pass<elements, broken_rules<F, P>>;
  return {name, broken, {by, says}, kernel_of<scan>(name), {offset, out_offset, tiles}};
}

std::vector<ring_mutant> ring_mutants() {
  using enum finding_kind;
  constexpr const char* wrong = "is wrong";
  return {
      made<slip::none>("whole"),
      made<slip::none>("whole_anywhere", nullptr, {}, "", 1, 3),
      made<slip::flag_beside_value>("flag_beside_value"),
      made<slip::flag_without_release>("flag_without_release", "a flag after its value without a release",
                                       race, "global memory"),
      made<slip::flag_before_value>("flag_before_value", "a flag released before its value is written", race,
                                    "global memory"),
      made<slip::half_of_the_value>("value_later", "a flag with a value that is not the total yet",
                                    wrong_result, wrong),
      made<slip::stale_epoch>("stale_epoch", "totals of the launch before taken for this one's", wrong_result,
                              wrong),
      made<slip::no_proxy_fence>("no_proxy_fence", "results handed to the copy engine without a fence",
                                 missing_proxy_fence, "fence_async"),
      made<slip::released_before_read>("released_before_read",
                                       "a slot given back before its store has read it", overwritten_in_use,
                                       "shared memory"),
      made<slip::tail_too_short>("tail_too_short", "the last element left out", wrong_result, wrong),
      made<slip::tail_too_long>("tail_too_long", "an element past the end of the array", outside_memory,
                                "global memory"),
      made<slip::no_wait_for_prefix>("no_wait_for_prefix", "scans before it knows what lies before", race,
                                     "shared memory"),
      made<slip::no_wait_for_totals>("no_wait_for_totals", "adds the warps' totals up before they are there",
                                     race, "shared memory"),
      made<slip::no_wait_for_slot>("no_wait_for_slot", "loads into slots that no thread has released",
                                   overwritten_in_use, "shared memory"),
      made<slip::no_wait_for_others>("no_wait_for_others",
                                     "writes results over elements that others have yet to read", race,
                                     "shared memory", 1, 3),
      made<slip::none, small_async_ring>("async_whole"),
      made<slip::none, small_async_ring>("async_whole_anywhere", nullptr, {}, "", 1, 3),
      made<slip::one_copy_too_few, small_async_ring>("async_one_copy_too_few",
                                                     "a tile committed before its copies have landed",
                                                     read_before_landing, "copy_async_wait"),
      made<slip::full_ring_not_waited, small_async_ring>(
          "async_full_ring_not_waited",
          "tiles committed before their copies have landed, as there is no free slot", read_before_landing,
          "copy_async_wait"),
      made<slip::end_not_waited, small_async_ring>("async_end_not_waited",
                                                   "the last tile committed before its copies have landed",
                                                   read_before_landing, "copy_async_wait", 0, 0, 1),
      made<slip::group_left_open, small_async_ring>(
          "async_group_left_open", "copies that belong to no group yet when they are waited for",
          read_before_landing, "copy_async_wait"),
      made<slip::given_back_before_read, small_async_ring>("async_given_back_before_read",
                                                           "a slot given back before it has been stored",
                                                           overwritten_in_use, "asynchronous copy"),
      made<slip::no_wait_for_slot, small_async_ring>("async_no_wait_for_slot",
                                                     "loads into slots that no thread has released",
                                                     overwritten_in_use, "asynchronous copy"),
      made<slip::no_wait_for_prefix, small_async_ring>(
          "async_no_wait_for_prefix", "scans before it knows what lies before", race, "shared memory"),
      made<slip::tail_too_long, small_async_ring>(
          "async_tail_too_long", "an element past the end of the array", outside_memory, "global memory"),
  };
}

}  // namespace AP_TARGET
}  // namespace antiphase::scan_test
