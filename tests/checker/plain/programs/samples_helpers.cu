// SPDX-License-Identifier: Apache-2.0
// Headers of CUDA's samples, OpenMP on the host, and copies between devices, of which there is one. Broken:
// the second stream does not wait for the copy.
#include <cuda_runtime.h>
#include <helper_cuda.h>
#include <helper_functions.h>
#include <omp.h>
#include <unistd.h>

__global__ void add(int* x, int by) { x[threadIdx.x] += by; }  // FOUND: race

// Numbers and pictures through files.
bool files_are_read_as_written() {
  char name[64];
  std::snprintf(name, sizeof name, P_tmpdir "/antiphase-%d.pgm", getpid());
  const float numbers[] = {1.5f, -2, 3};
  float* read = nullptr;
  unsigned n = 0, width = 0, height = 0;
  bool right = sdkWriteFile(name, numbers, 3, 0.0f, false) && sdkReadFile(name, &read, &n, false) && n == 3 &&
               read[0] == 1.5f && read[1] == -2 && read[2] == 3;
  free(read);
  unsigned char picture[] = {0, 51, 255, 9, 10, 13}, *bytes = nullptr;
  float* shares = nullptr;
  right = right && sdkSavePGM(name, picture, 3, 2) && sdkLoadPGM(name, &bytes, &width, &height) &&
          width == 3 && height == 2 && memcmp(bytes, picture, 6) == 0 &&
          sdkLoadPGM(name, &shares, &width, &height) && shares[1] == 0.2f && shares[2] == 1;
  free(bytes), free(shares);
  char* const found = sdkFindFilePath(name, "");
  right = right && found != nullptr && strcmp(found, name) == 0 && sdkFindFilePath("none.pgm", "") == nullptr;
  free(found);
  remove(name);
  int registers = 0, timeout = 1, pools = 0;
  cudaDeviceGetAttribute(&registers, cudaDevAttrMaxRegistersPerMultiprocessor, 0);
  cudaDeviceGetAttribute(&timeout, cudaDevAttrKernelExecTimeout, 0);
  cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, 0);
  cudaDeviceProp device;
  cudaGetDeviceProperties(&device, 0);
  right = right && device.streamPrioritiesSupported == 1 && device.maxBlocksPerMultiProcessor == 32;
  return right && registers == 65536 && timeout == 0 && pools == 1;
}

int main(int argc, char** argv) {
  if (!files_are_read_as_written()) return EXIT_FAILURE;
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
