// SPDX-License-Identifier: Apache-2.0
// Scans over the threads of a block, for kernels of your own.
#pragma once
#include <antiphase/scan/detail/block.cuh>

namespace antiphase {
inline namespace AP_TARGET {

// Scans a tile of Threads x Items elements in registers: thread t holds elements t * Items ...
// t * Items + Items - 1. All threads of the block call together; the block has exactly Threads of them.
//
//   using scan = block_scan<int, scans::sum, 256, 4>;
//   struct storage { scan::storage sums; };  // of the kernel
//   ...
//   storage& s = shared<storage, shared_kind::fixed>();
//   int x[4] = {...};
//   const int total = scan::inclusive(s.sums, x, scans::sum{});
//
//   storage     the shared memory that it needs: 4 KiB at most for T of 4 bytes, less with warp shuffles. It
//               may be used again after a block barrier
//   inclusive   x0, x0.x1, x0.x1.x2 ...
//   exclusive   initial, initial.x0, initial.x0.x1 ...
//
// Both return the tile's total x0.x1 ... to every thread, without `initial`. Only the first `count` elements
// (1 or more) are valid: the others keep their values, and op never sees them.
//
// T: trivially copyable, with or without constructors, of any size. op(x, y) computes x.y. It must be
// associative, need not be commutative or have an identity, and may carry values that are the same in every
// thread. The order of operations depends on Threads, Items and count alone: results have the same bits in
// every run.
//
// How: the threads' totals are scanned by warp shuffles (two barriers), or in shared memory by Kogge and
// Stone ("A parallel algorithm for the efficient solution of a general class of recurrence equations", 1973),
// in one buffer or two.
template <scans::scannable T, scans::combines<T> Op, int Threads, int Items = 1,
          scans::method How = scans::method::warp_shuffle>
requires(Items >= 1 && How != scans::method::single_pass && How != scans::method::one_wave) class block_scan {
  using totals = scans::block_scan_of<T, Op, scans::policy{.method = How, .threads = Threads}>;

 public:
  using storage = typename totals::storage;
  static constexpr int tile = Threads * Items;

  AP_DEV static T inclusive(storage& s, T (&item)[Items], Op op, int count = tile) {
    const int present = scan_items(item, op, count);
    scans::values<T, 1> before;
    before.elements[0] = item[present > 0 ? present - 1 : 0];
    const T total = totals::prefixes(s, before, live_threads(count), op);
    if (thread_index() > 0) {
      AP_UNROLL
      for (int i = 0; i < Items; ++i)
        if (i < present) item[i] = op(before.elements[0], item[i]);
    }
    return total;
  }
  AP_DEV static T exclusive(storage& s, T (&item)[Items], const T& initial, Op op, int count = tile) {
    scans::values<T, Items> through;
    AP_UNROLL
    for (int i = 0; i < Items; ++i) through.elements[i] = item[i];
    const int present = scan_items(through.elements, op, count);
    scans::values<T, 1> before;
    before.elements[0] = through.elements[present > 0 ? present - 1 : 0];
    const T total = totals::prefixes(s, before, live_threads(count), op);
    if (present == 0) return total;
    const T first = thread_index() > 0 ? T(op(initial, before.elements[0])) : initial;
    AP_UNROLL
    for (int i = Items - 1; i > 0; --i)
      if (i < present) item[i] = op(first, through.elements[i - 1]);
    item[0] = first;
    return total;
  }

 private:
  // Scans the thread's own elements. Returns how many of them are valid.
  AP_DEV static int scan_items(T (&item)[Items], Op op, int count) {
    const int present = count - thread_index() * Items;
    AP_UNROLL
    for (int i = 1; i < Items; ++i)
      if (i < present) item[i] = op(item[i - 1], item[i]);
    return present < 0 ? 0 : present < Items ? present : Items;
  }
  AP_DEV static int live_threads(int count) { return (count + Items - 1) / Items; }
};

}  // namespace AP_TARGET
}  // namespace antiphase
