// SPDX-License-Identifier: Apache-2.0
// Host API calls of a program: memory of every kind, streams, events, errors, attributes, launches by
// address.
#include <cstdio>
#include <cstring>

constexpr int n = 64;
__managed__ int managed[n];
__device__ int variable[n];
__constant__ int constant[2];

__device__ __noinline__ int twice(int x) { return 2 * x; }
__global__ void add(int* to, const int* from, int by) {
  to[threadIdx.x] = twice(from[threadIdx.x]) + by + constant[1];
  variable[threadIdx.x] = to[threadIdx.x];
}
__global__ void use_managed() { managed[threadIdx.x] += 1; }

#define HOLDS(what) \
  if (!(what)) return std::printf("line %d does not hold\n", __LINE__), 1

int main() {
  cudaDeviceProp p;
  int attribute = 0;
  HOLDS(cudaGetDeviceProperties(&p, 0) == cudaSuccess && p.major == 9 && p.warpSize == 32 &&
        p.maxThreadsPerBlock == 1024);
  HOLDS(cudaDeviceGetAttribute(&attribute, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0) == cudaSuccess &&
        attribute == 227 * 1024);
  HOLDS(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 1 << 20) == cudaSuccess);
  cudaStream_t s;
  cudaEvent_t begin, end;
  cudaStreamCreate(&s), cudaEventCreate(&begin), cudaEventCreate(&end);
  cudaStreamAttrValue window{};
  HOLDS(cudaStreamSetAttribute(s, cudaStreamAttributeAccessPolicyWindow, &window) == cudaSuccess);
  HOLDS(cudaStreamAttachMemAsync(s, managed) == cudaSuccess);

  // Pinned memory, of all three calls; what is set on a stream is there after its event.
  int *pinned, *mapped, plain[n], *from, *to, *of_stream;
  cudaMallocHost(&pinned, sizeof plain), cudaHostAlloc(&mapped, sizeof plain, cudaHostAllocDefault);
  HOLDS(cudaHostRegister(plain, sizeof plain, cudaHostRegisterDefault) == cudaSuccess);
  cudaMalloc(&from, sizeof plain), cudaMallocManaged(&to, sizeof plain),
      cudaMallocAsync(&of_stream, sizeof plain, s);
  cudaMemPrefetchAsync(to, sizeof plain, 0, s),
      cudaMemAdvise(to, sizeof plain, cudaMemAdviseSetPreferredLocation, 0);
  for (int i = 0; i < n; ++i) pinned[i] = i;
  cudaPointerAttributes of;
  HOLDS(cudaPointerGetAttributes(&of, from + 1) == cudaSuccess && of.type == cudaMemoryTypeDevice &&
        of.devicePointer == from + 1 && of.hostPointer == nullptr);
  HOLDS(cudaPointerGetAttributes(&of, to) == cudaSuccess && of.type == cudaMemoryTypeManaged);
  HOLDS(cudaPointerGetAttributes(&of, mapped) == cudaSuccess && of.type == cudaMemoryTypeHost);
  HOLDS(cudaPointerGetAttributes(&of, plain + 1) == cudaSuccess && of.type == cudaMemoryTypeHost);
  HOLDS(cudaPointerGetAttributes(&of, &p) == cudaSuccess && of.type == cudaMemoryTypeUnregistered);
  const int constants[2] = {1, 5};
  void *address, *arguments[3];
  int by = 3;
  cudaMemcpyToSymbol(constant, &constants[1], sizeof(int), sizeof(int));
  HOLDS(cudaGetSymbolAddress(&address, variable) == cudaSuccess);
  cudaEventRecord(begin, s);
  cudaMemcpyAsync(from, pinned, sizeof plain, cudaMemcpyHostToDevice, s);
  cudaMemsetAsync(of_stream, 0, sizeof plain, s);
  const int* source = from;
  arguments[0] = &to, arguments[1] = &source, arguments[2] = &by;
  HOLDS(cudaLaunchKernel((void*)add, dim3(1), dim3(n), arguments, 0, s) == cudaSuccess);
  cudaMemcpyAsync(mapped, address, sizeof plain, cudaMemcpyDeviceToHost, s);
  cudaMemcpyAsync(plain, of_stream, sizeof plain, cudaMemcpyDeviceToHost, s);
  cudaEventRecord(end, s);
#ifndef BROKEN
  HOLDS(cudaEventSynchronize(end) == cudaSuccess);
#endif
  for (int i = 0; i < n; ++i)
    HOLDS(to[i] == 2 * i + 8 && mapped[i] == to[i] && plain[i] == 0);  // FOUND: race
  float ms = 0;
  HOLDS(cudaEventElapsedTime(&ms, begin, end) == cudaSuccess && ms > 0);
  cudaStream_t other;
  cudaStreamCreate(&other), cudaStreamWaitEvent(other, end), cudaFreeAsync(of_stream, other),
      cudaStreamSynchronize(other);

  managed[5] = 7;
  use_managed<<<1, n>>>();
  cudaDeviceSynchronize();
  HOLDS(managed[5] == 8 && managed[6] == 1);

  // Rows with a pitch, there and back; a symbol as a whole.
  char* rows;
  size_t pitch;
  HOLDS(cudaMallocPitch(&rows, &pitch, 100, 4) == cudaSuccess && pitch % 32 == 0 && pitch >= 100);
  char grid[4][100], back[4][100];
  std::memset(grid, 3, sizeof grid), std::memset(back, 0, sizeof back);
  cudaMemset(rows, 1, 4 * pitch);
  cudaMemcpy2D(rows, pitch, grid, 100, 100, 4, cudaMemcpyHostToDevice);
  cudaMemcpy2D(back, 100, rows, pitch, 100, 4, cudaMemcpyDeviceToHost);
  HOLDS(std::memcmp(grid, back, sizeof grid) == 0);
  HOLDS(cudaMemcpyFromSymbol(plain, variable, sizeof plain) == cudaSuccess && plain[1] == 10);
  HOLDS(cudaPeekAtLastError() == cudaSuccess && cudaGetLastError() == cudaSuccess &&
        std::strcmp(cudaGetErrorString(cudaSuccess), "no error") == 0);
  void* driver = nullptr;
  cudaDriverEntryPointQueryResult found;
  cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &driver, cudaEnableDefault, &found);
  HOLDS(driver != nullptr && found == cudaDriverEntryPointSuccess);
  void* by_version = nullptr;
  cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &by_version, 12000, cudaEnableDefault, &found);
  HOLDS(driver == by_version);
  int* reached;
  HOLDS(cudaHostGetDevicePointer(&reached, plain, 0) == cudaSuccess);
  add<<<1, n>>>(to, reached, 0);
  cudaDeviceSynchronize();
  HOLDS(to[1] == 25);
  cudaHostUnregister(plain), cudaFreeHost(pinned), cudaFreeHost(mapped), cudaFree(from), cudaFree(to),
      cudaFree(rows);
  cudaEventDestroy(begin), cudaEventDestroy(end), cudaStreamDestroy(s), cudaStreamDestroy(other);
  return 0;
}
