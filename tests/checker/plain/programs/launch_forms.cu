// SPDX-License-Identifier: Apache-2.0
// Launches of kernels in parentheses, as macros write them, of one of two, through pointers; with arguments
// that convert to the parameters of a template, which may have requirements. Broken: a specialisation adds
// without an atomic operation.
#include <cstdio>

constexpr int threads = 32;

// Owns device memory, and converts to a pointer, but is not copied.
struct buffer {
  int* place = nullptr;
  explicit buffer(int n) { cudaMalloc(&place, n * sizeof(int)); }
  buffer(const buffer&) = delete;
  ~buffer() { cudaFree(place); }
  operator int*() const { return place; }
};
template <class T> __global__ void add(T* to) { atomicAdd(&to[threadIdx.x % 4], T(1)); }
template <class T, int by = 2> __global__ void add_more(T* to, int times) {
  for (int i = 0; i < times; ++i) atomicAdd(&to[threadIdx.x % 4], T(by));
}
template <class T, class... More> __global__ void add_all(T* to, More... more) {
  atomicAdd(&to[threadIdx.x % 4], T((more + ...)));
}
template <class T>
concept word = sizeof(T) == 4;
template <class T, int by>
requires word<T> &&(by > 0) && requires(T t) { t + t; }
__global__ void add_words(T* to) { atomicAdd(&to[threadIdx.x % 4], T(by)); }
template <class T> __global__ auto add_either(T* to) -> void requires word<T> {
  atomicAdd(&to[threadIdx.x % 4], T(1));
}
template <class T> __global__ void add_either(T* to) requires(!word<T>) { to[0] = T(1); }
template <> __global__ void __launch_bounds__(64) add<unsigned>(unsigned* to) {
#ifdef BROKEN
  to[threadIdx.x % 4] += 1;  // FOUND: race or overwritten in use
#else
  if (threadIdx.x > 64) return;
  atomicAdd(&to[threadIdx.x % 4], 1u);
#endif
}
__global__ void one(int* to) { atomicAdd(&to[threadIdx.x % 4], 1); }
__global__ void two(int* to) { atomicAdd(&to[threadIdx.x % 4], 2); }

#define RUN(kernel, ...) (kernel)<<<1, threads>>>(__VA_ARGS__)
#define RUN_AS(kernel, ...) kernel<<<1, threads>>>(__VA_ARGS__)

template <class T> void run(T* to) {
  add<T><<<1, threads>>>(to);
  (add<T>)<<<1, threads>>>(to);
  ((add<T>))<<<1, threads>>>(to);
}

int main(int count, char**) {
  int got[4];
  {
    buffer sums(4);
    cudaMemset(sums, 0, sizeof got);
    add<int><<<1, threads>>>(sums);                  // 1
    (add<int>)<<<1, threads>>>(sums);                // 2
    (one)<<<1, threads>>>(sums);                     // 3
    ((one))<<<1, threads>>>(sums);                   // 4
    RUN(add<int>, sums);                             // 5
    RUN_AS((add_more<int, 5>), sums, 2);             // 15
    add_more<int><<<1, threads>>>(sums.place, 1);    // 17
    add_all<int><<<1, threads>>>(sums.place, 1, 2);  // 20
    (count > 5 ? one : two)<<<1, threads>>>(sums);   // 22
    if (count > 5) (one)<<<1, threads>>>(sums);      // 22
    const auto pointer = one;
    (*pointer)<<<1, threads>>>(sums);              // 23
    (::two)<<<1, threads>>>(sums);                 // 25
    run(sums.place);                               // 28
    run(reinterpret_cast<unsigned*>(sums.place));  // 31
    add<<<1, threads>>>(sums.place);               // 32
    add_words<int, 2><<<1, threads>>>(sums);       // 34
    add_either<int><<<1, threads>>>(sums);         // 35
    cudaMemcpy(got, sums, sizeof got, cudaMemcpyDeviceToHost);
  }
  for (const int g : got)
    if (g != 35 * threads / 4) return std::fprintf(stderr, "%d\n", g), 1;
  return 0;
}
