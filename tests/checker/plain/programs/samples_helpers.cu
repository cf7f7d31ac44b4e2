// SPDX-License-Identifier: Apache-2.0
// Headers of CUDA's samples, OpenMP on the host, and copies between devices, of which there is one. Broken:
// the second stream does not wait for the copy.
#include <cuda_runtime.h>
#include <helper_cuda.h>
#include <helper_functions.h>
#include <omp.h>

__global__ void add(int* x, int by) { x[threadIdx.x] += by; }  // FOUND: race

int main(int argc, char** argv) {
  const int device = findCudaDevice(argc, (const char**)argv);
  int n = checkCmdLineFlag(argc, (const char**)argv, "n")
              ? getCmdLineArgumentInt(argc, (const char**)argv, "n")
              : 64;
  if (omp_get_num_threads() != 1 || omp_get_thread_num() != 0 || omp_get_wtime() <= 0) return EXIT_FAILURE;
  int numbers[64], peers = 1, *from, *to;
#pragma omp parallel for
  for (int i = 0; i < 64; ++i) numbers[i] = i + INT_MAX - INT_MAX;
  checkCudaErrors(cudaMalloc(&from, sizeof numbers));
  checkCudaErrors(cudaMalloc(&to, sizeof numbers));
  checkCudaErrors(cudaDeviceCanAccessPeer(&peers, device, 1));
  if (peers) checkCudaErrors(cudaDeviceEnablePeerAccess(1, 0));
  cudaStream_t one, two;
  cudaEvent_t copied;
  cudaStreamCreate(&one), cudaStreamCreate(&two), cudaEventCreate(&copied);
  StopWatchInterface* timer = nullptr;
  sdkCreateTimer(&timer);
  sdkStartTimer(&timer);
  checkCudaErrors(cudaMemcpy(from, numbers, sizeof numbers, cudaMemcpyHostToDevice));
  checkCudaErrors(cudaMemcpyPeer(to, device, from, device, sizeof numbers));
  add<<<1, n, 0, one>>>(from, 1);
  checkCudaErrors(cudaMemcpyPeerAsync(to, device, from, device, sizeof numbers, one));
  cudaEventRecord(copied, one);
#ifndef BROKEN
  cudaStreamWaitEvent(two, copied);
#endif
  add<<<1, n, 0, two>>>(to, 2);
  getLastCudaError("add");
  checkCudaErrors(cudaDeviceSynchronize());
  sdkStopTimer(&timer);
  checkCudaErrors(cudaMemcpy(numbers, to, sizeof numbers, cudaMemcpyDeviceToHost));
  const bool measured = sdkGetTimerValue(&timer) > 0;
  sdkDeleteTimer(&timer);
  checkCudaErrors(cudaFree(from));
  checkCudaErrors(cudaFree(to));
  for (int i = 0; i < 64; ++i)
    if (numbers[i] != i + 3) return std::printf("%d at %d\n", numbers[i], i), EXIT_FAILURE;
  return measured ? EXIT_SUCCESS : EXIT_FAILURE;
}
