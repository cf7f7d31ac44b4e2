// SPDX-License-Identifier: Apache-2.0
// A kernel outside of namespace antiphase, after a using-directive: no device function is ambiguous with
// declarations of CUDA's own headers.
#include <antiphase/device/atomic.cuh>
#include <antiphase/device/atomic_update.cuh>
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/block_vote.cuh>
#include <antiphase/device/bulk.cuh>
#include <antiphase/device/bytes.cuh>
#include <antiphase/device/clock.cuh>
#include <antiphase/device/cluster.cuh>
#include <antiphase/device/copy_async.cuh>
#include <antiphase/device/fences.cuh>
#include <antiphase/device/index3.cuh>
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/lanes.cuh>
#include <antiphase/device/launch.cuh>
#include <antiphase/device/math.cuh>
#include <antiphase/device/matrix.cuh>
#include <antiphase/device/registers.cuh>
#include <antiphase/device/storage.cuh>
#include <antiphase/device/vector.cuh>

using namespace antiphase;

struct every_verb {
  struct params {
    std::uint32_t* out;
    const std::uint32_t* in;
  };
  struct storage {
    alignas(16) std::uint32_t word[64];
    mbarrier ready;
  };
  static constexpr int threads = 64, cluster = 2;
  AP_DEV void threads_and_blocks(const params& p, storage& s) const {
    const int t = thread_index();
    const extent3 at = thread_index3({8, 4, 2}), block = block_index(), grid = grid_extent();
    s.word[t] = at.x + block.x + grid.x + static_cast<unsigned>(lane_index() + warp_index());
    block_barrier();
    named_barrier_arrive(1, 128);
    named_barrier_sync(1, 128);
    warp_sync();
    std::uint32_t x = shuffle(s.word[t], 3) + shuffle_up(s.word[t], 1) + shuffle_down(s.word[t], 1) +
                      shuffle_xor(s.word[t], 1) + uniform(at.x);
    x += warp_ballot(x > 3) + warp_any(x > 3) + warp_all(x > 3) + warp_match(x) + warp_match_all(x) +
         static_cast<unsigned>(bit_count(x));
    x += static_cast<unsigned>(block_barrier_count(x > 3)) + block_barrier_and(x > 3) +
         block_barrier_or(x > 3);
    cluster_arrive();
    cluster_wait();
    cluster_barrier();
    cluster_arrive_silent();
    cluster_wait();
    x += *map_shared(&s.word[t], (cluster_rank() + 1) % cluster_extent()) + shared_address(s.word);
    wait_for_previous_grid();
    start_next_grid();
    p.out[t] = x;
  }
  AP_DEV void memory(const params& p, storage& s) const {
    const int t = thread_index();
    std::uint32_t x = atomic_add(p.out, 1u) + atomic_exchange(p.out, 2u) +
                      atomic_compare_exchange(p.out, 2u, 3u) + atomic_and(p.out, 4u);
    x += atomic_or(p.out, 5u) + atomic_xor(p.out, 6u) + atomic_min(p.out, 7u) + atomic_max(p.out, 8u) +
         atomic_increment(p.out, 9u);
    x += atomic_decrement(p.out, 9u) + load_acquire(p.out) + load_relaxed(p.out);
    store_release(p.out, x);
    store_relaxed(p.out, x);
    fence();
    device_fence();
    fence_acquire_release();
    poll([&] { return load_acquire(p.out) != 0; });
    store_pack<4>(p.out + 4 * t, load_pack<4>(p.in + 4 * t));
    copy_async<16>(s.word, p.in, 16);
    copy_async_commit();
    copy_async_wait<0>();
    s.ready.init(1);
    fence_mbarrier_init();
    fence_async();
    fence_async_global();
    fence_async_all();
    s.ready.arrive(bytes{64});
    bulk_load(s.word, p.in, 64, s.ready);
    s.ready.wait(0);
    bulk_store(p.out, s.word, 64);
    bulk_commit();
    bulk_wait_read<0>();
    bulk_wait<0>();
  }
  AP_DEV void arithmetic(const params& p, storage& s) const {
    std::uint32_t a[4], b[2] = {1, 2};
    float sum[4] = {};
    ldmatrix(a, s.word);
    ldmatrix_transposed(a, s.word);
    mma(sum, a, b);
    float x =
        multiply_add(sum[0], sum[1], larger_magnitude(sum[2], sum[3])) + lower_half(a[0]) + upper_half(a[1]);
    rematerialise(x);
    p.out[0] = to_halves(x, x) + to_bf16s(x, x) + weighted_bytes(a[0], a[1], a[2]) +
               weighted_halves(a[0], a[1], a[2]);
    p.out[1] = pick_bytes(a[0], a[1], a[2]) + static_cast<std::uint32_t>(clock_now());
    p.out[2] = static_cast<std::uint32_t>(shared_size()) + *shared_tail<std::uint32_t, storage>();
    if (x > 3) trap("it is more than three");
  }
  AP_DEV void operator()(const params& p) const {
    storage& s = shared<storage, shared_kind::fixed>();
    threads_and_blocks(p, s);
    memory(p, s);
    arithmetic(p, s);
  }
};
kernel every_verb_kernel() { return kernel_of<every_verb>("every verb"); }
