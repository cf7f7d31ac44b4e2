// SPDX-License-Identifier: Apache-2.0
// Records when its blocks load, wait and compute, by marks of antiphase/record.h. `antiphase trace --read
// marked.json --output marked.html` draws it.
#include <antiphase/record.h>
#include <cuda_pipeline.h>

constexpr int threads = 128, tile = 4 * threads, tiles = 12;

// Sums of four neighbours, a tile at a time from two buffers.
__global__ void sums(const float* from, float* to, antiphase::span_log log) {
  __shared__ float buffer[2][tile];
  antiphase::span_marks mark(log);
  const int x = threadIdx.x;
  const auto load = [&](int t) {
    if (t < tiles) {
      mark.begin(antiphase::span_kind::load, t, t % 2);
      __pipeline_memcpy_async(&buffer[t % 2][4 * x], from + t * tile + 4 * x, 16);
    }
    __pipeline_commit();
  };
  load(0);
  for (int t = 0; t < tiles; ++t) {
    load(t + 1);
    mark.begin(antiphase::span_kind::wait, t, t % 2);
    __pipeline_wait_prior(1);
    __syncthreads();
    mark.begin(antiphase::span_kind::compute, t, t % 2);
    float sum = 0;
    for (int i = 0; i < 4; ++i) sum += buffer[t % 2][4 * x + i];
    to[t * threads + x] = sum;
    mark.begin(antiphase::span_kind::release, t, t % 2);
    __syncthreads();
  }
  mark.end();
}

int main() {
  float *from = nullptr, *to = nullptr;
  cudaMalloc(&from, sizeof(float) * tile * tiles);
  cudaMalloc(&to, sizeof(float) * threads * tiles);
  cudaMemset(from, 0, sizeof(float) * tile * tiles);
  antiphase::span_recorder recorder(threads / 32);
  sums<<<1, threads>>>(from, to, recorder.log());
  antiphase::recorded_kernel sums;
  sums.name = "sums", sums.variant = "two buffers", sums.step_bytes = sizeof(float) * tile;
  recorder.write("marked.json", sums);
  cudaFree(from), cudaFree(to);
}
