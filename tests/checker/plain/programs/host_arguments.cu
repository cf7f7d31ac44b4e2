// SPDX-License-Identifier: Apache-2.0
// Functions of the host on a stream, and a copy of a graph, in ordinary memory of the host. Broken: an
// argument that changes before the function is called, one that is deleted, a sum that main reads too early,
// a buffer taken again although its flag says that it is in use, the result of a graph that is not waited
// for, and a query of a stream whose answer is passed over.
#include <atomic>
#include <mutex>
#include <vector>
#ifdef BROKEN
constexpr bool right = false;
#else
constexpr bool right = true;
#endif

struct results {
  std::mutex lock;
  std::vector<int> of;
};
struct argument {
  results* to;
  int number;
};
void CUDART_CB take(void* data) {
  const argument& a = *static_cast<argument*>(data);
  std::lock_guard hold(a.to->lock);
  a.to->of.push_back(a.number);
}
void CUDART_CB take_and_delete(void* data) {
  take(data);
  delete static_cast<argument*>(data);
}
struct buffer {
  int* pinned;
  std::atomic<bool> used{false};
};
void CUDART_CB give_back(void* data) {
  static_cast<buffer*>(data)->used.store(false, std::memory_order_release);
}
void CUDART_CB add_up(void* data) { ++*static_cast<long*>(data); }

__global__ void add(const int* x, int* sum) { atomicAdd(sum, *x); }

int main() {
  int *x, *sum, total = 0;
  cudaMalloc(&x, sizeof(int)), cudaMalloc(&sum, sizeof(int));
  cudaMemset(sum, 0, sizeof(int));
  cudaStream_t s;
  cudaStreamCreate(&s);

  buffer b;
  cudaMallocHost(&b.pinned, sizeof(int));
  for (int i = 0; i < 3; ++i) {
    if (right)
      while (b.used.load(std::memory_order_acquire)) {
      }
    else if (b.used.load(std::memory_order_acquire))
      total = 0;
    b.used = true;
    *b.pinned = i;  // FOUND: overwritten in use
    cudaMemcpyAsync(x, b.pinned, sizeof(int), cudaMemcpyHostToDevice, s);
    cudaLaunchHostFunc(s, give_back, &b);
    add<<<1, 1, 0, s>>>(x, sum);
  }

  results r;
  argument one{&r, 0}, two{&r, 1};
  cudaLaunchHostFunc(s, take, &one);
  if (!right) one.number = 1;  // FOUND: overwritten in use
  cudaLaunchHostFunc(s, take, right ? &two : &one);
  auto* const third = new argument{&r, 2};
  cudaLaunchHostFunc(s, right ? take_and_delete : take, third);
  if (!right) delete third;  // FOUND: overwritten in use
  for (std::size_t known = 0; known < 3;) {
    std::lock_guard hold(r.lock);
    known = r.of.size();
  }
  const int last = r.of.back();

  long calls = 0;
  cudaLaunchHostFunc(s, add_up, &calls);
  if (right) cudaStreamSynchronize(s);
  const long seen = calls;  // FOUND: race

  cudaGraph_t g;
  cudaGraphNode_t copied;
  cudaGraphExec_t e;
  cudaGraphCreate(&g, 0);
  cudaGraphAddMemcpyNode1D(&copied, g, nullptr, 0, &total, sum, sizeof(int), cudaMemcpyDeviceToHost);
  cudaGraphInstantiate(&e, g, 0);
  cudaGraphLaunch(e, s);
  if (right) cudaStreamSynchronize(s);
  const int result = total;  // FOUND: race

  *b.pinned = 7;
  add<<<1, 1, 0, s>>>(b.pinned, sum);
  if (right)
    while (cudaStreamQuery(s) == cudaErrorNotReady) {
    }
  else
    cudaStreamQuery(s);
  *b.pinned = 8;  // FOUND: overwritten in use
  cudaDeviceSynchronize();
  cudaGraphExecDestroy(e), cudaGraphDestroy(g), cudaStreamDestroy(s);
  cudaFree(x), cudaFree(sum), cudaFreeHost(b.pinned);
  return seen == 9 || result == 9 || (right && (last != 2 || seen != 1 || result != 3)) ? 1 : 0;
}
