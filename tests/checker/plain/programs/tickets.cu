// SPDX-License-Identifier: Apache-2.0
// Launches on two streams find their last block by a word each, or by one word in turn, and share what may be
// shared: a lock, a queue, a ring of messages and a sum.
// Broken: blocks of both launches count in one word. Each launch is right when it runs alone.
constexpr int blocks = 4;
__device__ unsigned wraps[2], set_back[2], in_turn;
__device__ int lock, next, head, total, messages[8];

__global__ void sum(const int* in, int* parts, int* out, unsigned* ticket) {
  const int b = blockIdx.x;
  parts[b] = in[b];
  __threadfence();
  if (atomicInc(ticket, blocks - 1) != blocks - 1) return;  // FOUND: race
  __threadfence();
  for (int i = 0; i < blocks; ++i) *out += parts[i];
}
__global__ void largest(const int* in, int* parts, int* out, unsigned* ticket) {
  const int b = blockIdx.x;
  parts[b] = in[b];
  __threadfence();
  if (atomicAdd(ticket, 1) != blocks - 1) return;
  __threadfence();
  for (int i = 0; i < blocks; ++i) *out = max(*out, parts[i]);
  atomicExch(ticket, 0);  // FOUND: race
}
__global__ void shared(int* out) {
  while (atomicCAS(&lock, 0, 1) != 0) {
  }
  __threadfence();
  *reinterpret_cast<volatile int*>(&total) += 1;
  __threadfence();
  atomicExch(&lock, 0);
  for (int i = atomicAdd(&next, 1); i < 2 * blocks; i = atomicAdd(&next, 1)) atomicAdd(out + i % blocks, i);
  atomicExch(&messages[atomicInc(reinterpret_cast<unsigned*>(&head), 7)], blockIdx.x);
}

int main() {
  int h[blocks] = {3, 1, 4, 1}, *in, *p, out[2];
  cudaMalloc(&in, sizeof h), cudaMalloc(&p, 256), cudaMemset(p, 0, 256);
  cudaMemcpy(in, h, sizeof h, cudaMemcpyHostToDevice);
  unsigned *ticket, *other, *turn;
  cudaGetSymbolAddress(reinterpret_cast<void**>(&ticket), wraps);
  cudaGetSymbolAddress(reinterpret_cast<void**>(&other), set_back);
  cudaGetSymbolAddress(reinterpret_cast<void**>(&turn), in_turn);
  cudaDeviceSynchronize();
  cudaStream_t s[2];
  for (auto& one : s) cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
  for (int i = 0; i < 2; ++i) {
#ifdef BROKEN
    const int own = 0;
#else
    const int own = i;
#endif
    sum<<<blocks, 1, 0, s[i]>>>(in, p + 8 * i, p + 32 + i, ticket + own);
    largest<<<blocks, 1, 0, s[i]>>>(in, p + 8 * i, p + 34 + i, other + own);
    shared<<<blocks, 1, 0, s[i]>>>(p + 40);
  }
  cudaEvent_t done;
  cudaEventCreate(&done);
  sum<<<blocks, 1, 0, s[0]>>>(in, p, p + 32, turn);
  cudaEventRecord(done, s[0]), cudaStreamWaitEvent(s[1], done);
  sum<<<blocks, 1, 0, s[1]>>>(in, p + 8, p + 33, turn);
  cudaDeviceSynchronize();
  cudaMemcpy(out, p + 32, sizeof out, cudaMemcpyDeviceToHost);
  for (auto& one : s) cudaStreamDestroy(one);
  cudaEventDestroy(done), cudaFree(in), cudaFree(p);
  return out[0] == 18 && out[1] == 18 ? 0 : 1;
}
