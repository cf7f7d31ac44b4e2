// SPDX-License-Identifier: Apache-2.0
// Arguments of kernels with copy constructors and destructors, which run on the host alone: once for a
// launch. Broken: one element too many through such an argument.
#include <memory>

int copied, destroyed;
struct counted {
  int* at;
  int* of_host;  // no kernel can reach it
  explicit counted(int* p) : at(p), of_host(&copied) {}
  counted(const counted& o) : at(o.at), of_host(o.of_host) { ++*of_host; }
  ~counted() { ++destroyed, *of_host += 0; }
};
struct array {  // owns its memory, and so do its copies
  std::shared_ptr<int> owner;
  int* at = nullptr;
  explicit array(int n) {
    cudaMalloc(&at, n * sizeof(int));
    owner.reset(at, [](int* p) { cudaFree(p); });
  }
};
struct buffer {  // no copies, but a pointer
  int* at = nullptr;
  explicit buffer(int n) { cudaMalloc(&at, n * sizeof(int)); }
  buffer(const buffer&) = delete;
  ~buffer() { cudaFree(at); }
  operator int*() const { return at; }
};
struct anything {  // of a trivial copy and a constructor that takes whatever comes
  int* at = nullptr;
  anything() = default;
  anything(const anything&) = default;
  anything& operator=(const anything& o) { return at = o.at, *this; }
  template <class T> explicit anything(T&& t) : at(t.get()) {}
};

__global__ void fill(counted c, int value) { c.at[threadIdx.x] = value; }
template <class T> __global__ void twice(T t, long long n, const int* more) {
  if (threadIdx.x < n) t.at[threadIdx.x] += t.at[threadIdx.x] + *more;
}
template <class F> __global__ void each(F f, unsigned n) {
#ifdef BROKEN
  ++n;
#endif
  if (threadIdx.x < n) f(threadIdx.x);
}
template <int By, class... A> __global__ void add(int* to, A... more) {
  to[threadIdx.x] += By + (*more.at + ...);
}
template <class T> __global__ void clear(T* p, int n = 32) {
  if (threadIdx.x < n) p[threadIdx.x] = 0;
}
namespace deep {
template <class T> __global__ void copy(T from, int* to) { to[threadIdx.x] = from.at[threadIdx.x]; }
}  // namespace deep
__global__ void copy(anything from, int* to) { to[threadIdx.x] = from.at[threadIdx.x]; }

int main() {
  array a(32), one(1);
  buffer to(32);
  clear<<<1, 1>>>(one.at, 1);
  {
    const counted c(a.at);
    fill<<<1, 32>>>(c, 3);
    twice<<<1, 32>>>(c, 32, one.at);  // int for long long, int* for const int*
    int value = 5;
    void* all[] = {const_cast<counted*>(&c), &value};
    cudaLaunchKernel(fill, dim3(1), dim3(32), all);
    if (copied != 2 || destroyed != 2) return 1;
  }
  twice<<<1, 32>>>(a, 32, one.at);                               // 10
  each<<<1, 64>>>([a] __device__(int i) { a.at[i] += i; }, 32);  // FOUND: access outside memory
  clear<int><<<1, 32>>>(to);
  add<1><<<1, 32>>>(to.at, a, one);
  deep::copy<<<1, 32>>>(a, to);
  anything any(a.owner);
  copy<<<1, 32>>>(any, to.at);
  int h[32];
  cudaMemcpy(h, to, sizeof h, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 32; ++i)
    if (h[i] != 10 + i) return 2;
  return a.owner.use_count() == 1 ? 0 : 3;
}
