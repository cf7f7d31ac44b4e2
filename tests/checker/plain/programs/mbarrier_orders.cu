// SPDX-License-Identifier: Apache-2.0
// What an mbarrier's arrivals and waits order, by their order and scope. Pedantic: the default scope
// between blocks of a cluster, a second initialisation without inval. Broken: relaxed arrivals and waits
// without fences, the default scope for global memory, an initialisation while others still wait.
#include <cstdint>
#include <cstdio>

__device__ unsigned at(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }
#define WAIT(form, word, parity)                                                                  \
  asm volatile("{\n.reg .pred p;\nL:\nmbarrier." form " p, [%0], %1;\n@!p bra L;\n}" ::"r"(word), \
               "r"(parity)                                                                        \
               : "memory")

// Fences make the arrival a release, and the wait an acquire.
__global__ void relaxed_arrival(const int* from, int* to) {
  __shared__ int tile[32];
  __shared__ uint64_t full;
  const int t = threadIdx.x % 32;
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 32;" ::"r"(at(&full)) : "memory");
  __syncthreads();
  if (threadIdx.x < 32) {
    tile[t] = from[t];
#ifndef BROKEN
    asm volatile("fence.acq_rel.cta;" ::: "memory");
#endif
    asm volatile("mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [%0];" ::"r"(at(&full)) : "memory");
    return;
  }
  WAIT("try_wait.parity.shared::cta.b64", at(&full), 0);
  to[t] = tile[31 - t];  // FOUND: race
}
__global__ void relaxed_wait(const int* from, int* to) {
  __shared__ int tile[32];
  __shared__ uint64_t full;
  const int t = threadIdx.x % 32;
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 32;" ::"r"(at(&full)) : "memory");
  __syncthreads();
  if (threadIdx.x < 32) {
    tile[t] = from[t];
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at(&full)) : "memory");
    return;
  }
  WAIT("test_wait.parity.relaxed.cta.shared::cta.b64", at(&full), 0);
#ifndef BROKEN
  __threadfence_block();
#endif
  to[t] = tile[31 - t];  // FOUND: race
}
// An arrival is no wait, though it returns a state: thread 32 knows of phase 0's end by a flag alone.
__global__ void arrival_is_no_wait(const int* from, int* to) {
  __shared__ int tile[32];
  __shared__ uint64_t full;
  __shared__ volatile int told;
  const int t = threadIdx.x;
  if (t == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 32;" ::"r"(at(&full)) : "memory");
  if (t == 0) told = 0;
  __syncthreads();
  uint64_t state = 0;
  if (t < 32) {
    tile[t] = from[t];
    asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1];" : "=l"(state) : "r"(at(&full)) : "memory");
    asm volatile("{\n.reg .pred p;\nL:\nmbarrier.test_wait.shared::cta.b64 p, [%0], %1;\n@!p bra L;\n}" ::"r"(
                     at(&full)),
                 "l"(state)
                 : "memory");
    if (t == 0) told = 1;
  } else if (t == 32) {
    while (told == 0) {
    }
    asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1];" : "=l"(state) : "r"(at(&full)) : "memory");
#ifndef BROKEN
    WAIT("test_wait.parity.shared::cta.b64", at(&full), 0);
#endif
    for (int i = 0; i < 32; ++i) to[i] = tile[31 - i];  // FOUND: race
  }
}
// A fence makes a relaxed arrival at the cluster's barrier a release. Between blocks, an mbarrier's waits and
// arrivals need the cluster's scope.
__global__ void __cluster_dims__(2, 1, 1) between_blocks(const int* from, int* to) {
  __shared__ int got[32], also[32];
  __shared__ uint64_t told;
  const int t = threadIdx.x;
  const auto other = [](unsigned address) {
    unsigned rank, there;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank ^ 1));
    return there;
  };
  if (t == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 32;" ::"r"(at(&told)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
  asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(other(at(&got[t]))), "r"(from[t]) : "memory");
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(other(at(&told)))
               : "memory");
#ifdef BROKEN
  WAIT("try_wait.parity.relaxed.cluster.shared::cta.b64", at(&told), 0);
#else
  WAIT("try_wait.parity.acquire.cluster.shared::cta.b64", at(&told), 0);
#endif
  const int sum = got[31 - t];  // FOUND: race
  asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(other(at(&also[t]))), "r"(sum) : "memory");
#ifndef BROKEN
  asm volatile("fence.acq_rel.cluster;" ::: "memory");
#endif
  asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
  to[blockIdx.x * 32 + t] = also[31 - t];  // FOUND: race
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}
// A flag tells block 1 that block 0 has begun, an arrival of the default scope tells block 0 the same.
__global__ void __cluster_dims__(2, 1, 1) of_default_scope(const int* from, int* to, int* flag) {
  __shared__ int got[32], kept[32];
  __shared__ uint64_t told;
  const int t = threadIdx.x;
  const auto of = [&](unsigned rank, const void* p) {
    unsigned there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(at(p)), "r"(rank));
    return there;
  };
  if (blockIdx.x == 0) {
    if (t == 0) {
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 32;" ::"r"(at(&told)) : "memory");
      asm volatile("st.release.gpu.s32 [%0], 1;" ::"l"(flag) : "memory");
    }
    __syncwarp();
    WAIT("try_wait.parity.shared::cta.b64", at(&told), 0);
    int far;
    asm volatile("ld.shared::cluster.s32 %0, [%1];"  // LETTER: race
                 : "=r"(far)
                 : "r"(of(1, &kept[31 - t]))
                 : "memory");
    to[t] = far + got[31 - t];  // LETTER: race
#ifdef BROKEN
    to[t] = to[95 - t];  // FOUND: race
#endif
  } else {
    int set = 0;
    while (set == 0) asm volatile("ld.acquire.gpu.s32 %0, [%1];" : "=r"(set) : "l"(flag) : "memory");
    kept[t] = from[t];
    to[64 + t] = from[t];
    asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(of(0, &got[t])), "r"(from[t]) : "memory");
    asm volatile("mbarrier.arrive.release.cta.shared::cluster.b64 _, [%0];" ::"r"(of(0, &told)) : "memory");
  }
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}
__global__ void initialised_twice(int* to) {
  __shared__ uint64_t word;
  for (int i = 0; i < 2; ++i) {
    if (threadIdx.x == 0) {
      const unsigned parties = blockDim.x;
#ifdef BROKEN
      asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;"  // FOUND: overwritten in use
                   ::"r"(at(&word)),
                   "r"(parties)
                   : "memory");
#else
      asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;"  // LETTER: barrier misuse
                   ::"r"(at(&word)),
                   "r"(parties)
                   : "memory");
#endif
    }
    __syncthreads();
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at(&word)) : "memory");
    WAIT("try_wait.parity.shared::cta.b64", at(&word), 0);
#ifndef BROKEN
    __syncthreads();
#endif
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(at(&word)) : "memory");
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at(&word)) : "memory");
  }
  to[threadIdx.x] = threadIdx.x;
}

int main() {
  int host[64], *from, *to, *flag;
  for (int i = 0; i < 64; ++i) host[i] = 7 * i + 1;
  cudaMalloc(&from, sizeof host), cudaMalloc(&to, 2 * sizeof host);
  cudaMalloc(&flag, sizeof *flag), cudaMemset(flag, 0, sizeof *flag);
  cudaMemcpy(from, host, sizeof host, cudaMemcpyHostToDevice);
  int wrong = 0;
  const auto look = [&](const char* name, int count, auto expected) {
    int result[64];
    cudaMemcpy(result, to, sizeof result, cudaMemcpyDeviceToHost);
    for (int i = 0; i < count; ++i)
      if (result[i] != expected(i)) wrong = 1, std::printf("%s: %d is %d\n", name, i, result[i]);
  };
  const auto reversed = [&](int i) { return host[31 - i]; };
  cudaMemset(to, 0, 2 * sizeof host);
  relaxed_arrival<<<1, 64>>>(from, to), look("relaxed arrival", 32, reversed);
  relaxed_wait<<<1, 64>>>(from, to), look("relaxed wait", 32, reversed);
  arrival_is_no_wait<<<1, 64>>>(from, to), look("arrival", 32, reversed);
  between_blocks<<<2, 32>>>(from, to), look("between blocks", 64, [&](int i) { return host[i % 32]; });
  of_default_scope<<<2, 32>>>(from, to, flag);
#ifndef BROKEN
  look("of default scope", 32, [&](int i) { return 2 * host[31 - i]; });
#endif
  initialised_twice<<<1, 32>>>(to), look("initialised", 32, [](int i) { return i; });
  cudaFree(from), cudaFree(to), cudaFree(flag);
  return wrong;
}
