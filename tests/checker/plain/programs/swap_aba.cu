// SPDX-License-Identifier: Apache-2.0
// A stack of free places: threads take and give back by compare-and-swap of its head. The head counts its
// changes next to the index. Broken: it is the index alone, so that a thread may swap though others have
// taken the place it saw, and the next one, and have given back only the first (ABA).
#include <cstdio>

constexpr unsigned none = 0xFFFFFFFFu;

__device__ unsigned long long changed(unsigned long long old, unsigned to) {
#ifdef BROKEN
  return to;
#else
  return ((old >> 32) + 1) << 32 | to;
#endif
}
__device__ unsigned take(unsigned long long* head, volatile unsigned* next) {
  for (;;) {
    const unsigned long long old = atomicAdd(head, 0ull);
    const auto first = static_cast<unsigned>(old);
    if (first == none) return none;
    __threadfence();
    const unsigned second = next[first];
    if (atomicCAS(head, old, changed(old, second)) == old) return first;
  }
}
__device__ void give_back(unsigned long long* head, volatile unsigned* next, unsigned place) {
  for (;;) {
    const unsigned long long old = atomicAdd(head, 0ull);
    next[place] = static_cast<unsigned>(old);
    __threadfence();
    if (atomicCAS(head, old, changed(old, place)) == old) return;
  }
}

__global__ void use(unsigned long long* head, unsigned* next, int* users, int* shared_by_two) {
  if (threadIdx.x % 32 != 0) return;
  for (int i = 0; i < 3; ++i) {
    const unsigned a = take(head, next), b = take(head, next);
    for (const unsigned place : {a, b})
      if (place != none && atomicAdd(&users[place], 1) != 0) atomicAdd(shared_by_two, 1);
    for (const unsigned place : {a, b})
      if (place != none && (place == a || i < 2)) {
        atomicSub(&users[place], 1);
        give_back(head, next, place);
      }
  }
}

int main() {
  unsigned order[6] = {1, 2, 3, 4, 5, none}, *next;
  unsigned long long* head;
  int *users, *shared_by_two, wrong = 0;
  cudaMalloc(&head, sizeof *head), cudaMalloc(&next, sizeof order), cudaMalloc(&users, 6 * sizeof(int));
  cudaMalloc(&shared_by_two, sizeof(int));
  cudaMemset(head, 0, sizeof *head), cudaMemset(users, 0, 6 * sizeof(int)), cudaMemset(shared_by_two, 0, 4);
  cudaMemcpy(next, order, sizeof order, cudaMemcpyHostToDevice);
  use<<<1, 96>>>(head, next, users, shared_by_two);
  cudaMemcpy(&wrong, shared_by_two, sizeof wrong, cudaMemcpyDeviceToHost);
  cudaFree(head), cudaFree(next), cudaFree(users), cudaFree(shared_by_two);
  return wrong;  // FOUND SOMEWHERE: wrong result
}
