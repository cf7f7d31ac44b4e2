// SPDX-License-Identifier: Apache-2.0
// Votes of three warps, the second one divergent: lanes that have ended since they voted still count.
// Broken: a vote in place of a __syncwarp(), which it is not.
#include <cstdio>

__global__ void vote(unsigned char* out, int half) {
  __shared__ unsigned char passed[96];
  const int i = threadIdx.x;
  const bool above = i >= half;
  out[4 * i] = __any_sync(0xffffffffu, above);
  out[4 * i + 1] = __popc(__ballot_sync(0xffffffffu, above));
  passed[i] = 1;
  if (__all_sync(0xffffffffu, above)) out[4 * i + 2] = 1;
#ifndef BROKEN
  __syncwarp();  // votes order no memory
#endif
  out[4 * i + 3] = passed[i ^ 1];  // FOUND: race or uninitialised memory read
}

int main() {
  const int warp = 32, threads = 3 * warp, half = 3 * warp / 2;
  unsigned char host[4 * threads] = {}, *device;
  cudaMalloc(&device, sizeof host);
  cudaMemcpy(device, host, sizeof host, cudaMemcpyHostToDevice);
  vote<<<1, threads>>>(device, half);
  cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost);
  cudaFree(device);
  for (int i = 0; i < threads; ++i) {
    const int above = i < warp ? 0 : i < 2 * warp ? 2 * warp - half : warp;
    if (host[4 * i] != (above > 0) || host[4 * i + 1] != above || host[4 * i + 2] != (above == warp) ||
        host[4 * i + 3] != 1) {
      std::printf("thread %d: %d %d %d %d\n", i, host[4 * i], host[4 * i + 1], host[4 * i + 2],
                  host[4 * i + 3]);
      return 1;
    }
  }
  return 0;
}
