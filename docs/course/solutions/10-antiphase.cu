// SPDX-License-Identifier: Apache-2.0
// Lab 10: attention by two groups of threads in antiphase: one multiplies while the other is at its softmax.
#include <cmath>
#include <cstdio>
#include <vector>

struct mbarrier {
  unsigned long long word;
  __device__ unsigned address() { return static_cast<unsigned>(__cvta_generic_to_shared(&word)); }
  // A phase ends when so many have arrived, and the bytes that were announced have landed.
  __device__ void init(int parties) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(address()), "r"(parties) : "memory");
  }
  __device__ void arrive() {
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(address()) : "memory");
  }
  // Arrives, and announces bytes of bulk copies.
  __device__ void expect(int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(address()), "r"(bytes) : "memory");
  }
  // Until the phase of that parity has ended: 0 is the first, 1 the second, 0 the third. A new barrier counts
  // as one whose phase of parity 1 has ended.
  __device__ void wait(int parity) {
    unsigned ended = 0;
    while (ended == 0)
      asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                   : "=r"(ended)
                   : "r"(address()), "r"(parity)
                   : "memory");
  }
};
// The initialisation of mbarriers becomes known to the copy engine.
__device__ void fence_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
// Copies of 16 bytes or a multiple, aligned to 16, by the copy engine. One thread starts them.
__device__ void bulk_load(void* to, const void* from, int bytes, mbarrier& full) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
          static_cast<unsigned>(__cvta_generic_to_shared(to))),
      "l"(from), "r"(bytes), "r"(full.address())
      : "memory");
}
// Named barriers, of `threads` threads: whoever waits, and whoever only arrives.
__device__ void wait_at(int barrier, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}
__device__ void arrive_at(int barrier, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

constexpr int dim = 4, keys = 4, stages = 3;  // numbers in a row; rows of K and V in a slot; slots
constexpr int group_size = 32;                // a query each. Real groups are warpgroups of 128
constexpr int queries = 2 * group_size;       // of a block
constexpr int block_size = queries + 32;      // the last warp loads

// O = softmax(Q K^T) V for n rows of Q, K, V and O, row by row.
__global__ void attention(const float* Q, const float* K, const float* V, float* O, int n) {
  __shared__ alignas(128) float k_slot[stages][keys][dim], v_slot[stages][keys][dim];
  __shared__ float weight[queries][keys];  // through shared memory, where the tests see them
  __shared__ mbarrier full[stages], empty[stages];
  const int t = threadIdx.x, tiles = (n + keys - 1) / keys;
  if (t == 0) {
    for (int s = 0; s < stages; ++s) full[s].init(1), empty[s].init(queries);
    fence_init();
  }
  __syncthreads();
  if (t >= queries) {
    for (int i = 0; t == queries && i < tiles; ++i) {
      const int s = i % stages, bytes = min(keys, n - i * keys) * dim * 4;
      empty[s].wait(i / stages % 2 ^ 1);
      full[s].expect(2 * bytes);
      bulk_load(k_slot[s], K + i * keys * dim, bytes, full[s]);
      bulk_load(v_slot[s], V + i * keys * dim, bytes, full[s]);
    }
    return;
  }

  const int row = blockIdx.x * queries + t;
  float q[dim], o[dim] = {}, score[keys], largest = -INFINITY, sum = 0;
  for (int d = 0; d < dim; ++d) q[d] = row < n ? Q[row * dim + d] : 0;
  const auto multiply_k = [&](int i) {  // score = q K^T
    for (int k = 0; k < keys; ++k) {
      score[k] = i * keys + k < n ? 0 : -INFINITY;
      for (int d = 0; d < dim && i * keys + k < n; ++d) score[k] += q[d] * k_slot[i % stages][k][d];
    }
  };
  const auto softmax = [&] {  // turns scores into weights, and rescales what has been added up
    float now = largest;
    for (const float s : score) now = fmaxf(now, s);
    const float scale = expf(largest - now);
    largest = now, sum *= scale;
    for (float& x : o) x *= scale;
    for (int k = 0; k < keys; ++k) sum += weight[t][k] = expf(score[k] - largest);
  };
  const auto multiply_v = [&](int i) {  // o += weights V
    for (int k = 0; k < keys && i * keys + k < n; ++k)
      for (int d = 0; d < dim; ++d) o[d] += weight[t][k] * v_slot[i % stages][k][d];
  };
  const int group = t / group_size;
  const auto take_turn = [&] { wait_at(1 + group, queries); };
  const auto pass_turn = [&] { arrive_at(2 - group, queries); };
  if (group == 1) pass_turn();  // the first turn is of group 0
  for (int i = 0; i < tiles; ++i) {
    full[i % stages].wait(i / stages % 2);
    take_turn();
    if (i > 0) {
      multiply_v(i - 1);
      empty[(i - 1) % stages].arrive();
    }
    multiply_k(i);
    if (group == 0 || i < tiles - 1) pass_turn();
    softmax();
  }
  multiply_v(tiles - 1);
  for (int d = 0; d < dim; ++d)
    if (row < n) O[row * dim + d] = o[d] / sum;
}

int main() {
  const int n = 50;
  std::vector<float> host(n * dim, 0.5f);
  float *Q, *K, *V, *O;
  for (float** p : {&Q, &K, &V, &O}) cudaMalloc(p, n * dim * 4);
  for (float* p : {Q, K, V}) cudaMemcpy(p, host.data(), n * dim * 4, cudaMemcpyHostToDevice);
  attention<<<(n + queries - 1) / queries, block_size>>>(Q, K, V, O, n);
  cudaMemcpy(host.data(), O, n * dim * 4, cudaMemcpyDeviceToHost);
  for (float* p : {Q, K, V, O}) cudaFree(p);
  int wrong = 0;
  for (const float h : host) wrong += !(std::fabs(h - 0.5f) < 1e-6f);
  std::printf("%d of %d outputs are wrong\n", wrong, n * dim);
  return wrong != 0;
}
