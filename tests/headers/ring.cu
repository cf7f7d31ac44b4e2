// SPDX-License-Identifier: Apache-2.0
// All device functions of antiphase/ring.cuh that an architecture has, as in a user's build, with the option
// of the architecture alone. Names of the program's own and of CUDA's do not collide with theirs.
#include <antiphase/ring.cuh>

using namespace antiphase::ring;

struct storage {
  alignas(1024) float tile[4][256];
  channel<mbarrier, 4, threads(1), warps(4)> slots;
};
static int ring = 0;

__global__ void copies(const float* from, float* to, int steps) {
  __shared__ storage s;
  const int t = thread_index() + 32 * warp_index();
  float next = 0;
  const auto store = [&](int slot) { s.tile[slot][t] = next; };
  const auto load = [&](int i, int slot) {
    copy_async<4>(&s.tile[slot][t], from + i * 128 + t, 4);
    copy_async<8>(&s.tile[slot][2 * t], from + i * 128 + t, 4);
    copy_async<16>(&s.tile[slot][4 * t], from + i * 128 + t, 0);
  };
  const auto compute = [&](int, int slot) { to[t] += s.tile[slot][t]; };
  async_copies<1> one;
  async_copies<4, part_of_block<1, 64>> part;
  mixed_copies<2, decltype(store)> mixed{{}, store};
  staged_copies<2, decltype(store)> staged{store};
  pipeline{one}.run(steps, load, compute);
  pipeline{part}.run(steps, load, compute);
  pipeline{mixed}.run(steps, load, compute);
  pipeline{staged}.run(
      steps, [&](int i, int) { next = from[i]; }, compute);
  s.slots.init();
  cursor<4> at;
  s.slots.acquire(at);
  s.slots.commit(at, 0, with_copies{});
  copy_async_arrive(s.slots.barrier[0][0]);
  copy_async_track(s.slots.barrier[0][1]);
  s.slots.wait(at++);
  s.slots.release(at.before(), by_warp{});
  if (s.slots.is_free(at)) named_barrier_arrive(2, 64);
  invalidate(s.slots.barrier[0][0]);
  warp_sync();
  s.slots.finish(at);
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
__global__ void by_tma(const __grid_constant__ tensor_map map, const float* from, float* to) {
  extern __shared__ __align__(1024) unsigned char memory[];
  storage& s = *reinterpret_cast<storage*>(memory);
  mbarrier& full = s.slots.barrier[0][0];
  fence_mbarrier_init();
  fence_async(), fence_async_global(), fence_async_all();
  prefetch_map(map);
  expect(full, bytes{64});
  arrive_many(full, 2);
  full.arrive(bytes{64});
  bulk_load(s.tile, from, 64, full);
  bulk_load_multicast(s.tile, from, 64, full, 3);
  tensor_load(s.tile, map, full, 0, 0), tensor_load(s.tile, map, full, 0, 0, 0);
  tensor_load(s.tile, map, full, 0, 0, 0, 0);
  tensor_load_multicast(s.tile, map, full, 3, 0, 0), tensor_load_multicast(s.tile, map, full, 3, 0, 0, 0);
  full.wait(0);
  tensor_store(map, s.tile, 0, 0), tensor_store(map, s.tile, 0, 0, 0), tensor_store(map, s.tile, 0, 0, 0, 0);
  bulk_store(to, s.tile, 64);
  bulk_commit();
  bulk_wait_read<1>();
  bulk_wait<0>();
  arrive_remote(full, (cluster_rank() + 1) % cluster_extent()), release_remote(full, 0);
  wait_for_previous_grid(map), wait_for_previous_grid(), start_next_grid();
  if (elect_one()) to[1] = 0;
  wait_remote(full, 1);
  cluster_arrive(), cluster_wait(), cluster_arrive_silent(), cluster_wait(), cluster_barrier();
  to[0] = *map_shared(&s.tile[0][0], 1);
}

__global__ void __launch_bounds__(384, 1) products(float* to) {
  __shared__ storage s;
  if (warp_index() < 4)
    release_registers<40>();
  else
    request_registers<232>();
  float sum[32], wide[64], widest[128], narrow[4], odd[108];
  const matrix_descriptor a = describe(s.tile, 16, 1024, swizzle::bytes_128), b = further(a, 32);
  wgmma_fence();
  wgmma(sum, a, b, false), wgmma_bf16<major::k, major::mn>(sum, a, b, true);
  wgmma(wide, a, b, false), wgmma_bf16(wide, a, b, true);
  wgmma(widest, a, b, false), wgmma_bf16(widest, a, b, true);
  const descriptor_ring slots = describe_slots(s.tile, 1024, 16, 1024, swizzle::bytes_128);
  wgmma(narrow, slots(1), slots(2, 32), false), wgmma_bf16(odd, slots(0), b, false);
  wgmma_commit();
  wgmma_wait<0>();
  pin_registers(sum);
  to[threadIdx.x] = sum[0] + wide[0] + widest[0] + narrow[0] + odd[0];
  __shared__ __align__(16) unsigned char box[line_box_bytes];
  store_lines(box, sum, to, 64, 16, 61, [](float a, float b) { return make_float2(a, b); });
}
#endif

int main() {
  tensor_layout t;
  t.extent[0] = t.extent[1] = t.box[0] = t.box[1] = 64;
  t.stride[1] = period_of(swizzle::none);
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  launch_shape shape;
  shape.cluster = 2, shape.overlaps_previous = true;
  launch(products, shape, nullptr, static_cast<float*>(nullptr));
#endif
  return ring + int(encode(t).word[0]);
}
