// SPDX-License-Identifier: Apache-2.0
// Vectors with the arithmetic of the samples' helper_math.h: particles are moved, and meet their neighbours.
// Broken: a particle looks at its neighbour while that one is moved.
#include <helper_math.h>

#include <cstdio>

constexpr int count = 64;

__global__ void move(float4* at, const float3* speed, float3* away) {
  __shared__ float4 all[count];
  const int t = threadIdx.x;
  all[t] = at[t] + make_float4(speed[t] * 0.5f, 0.0f);
#ifndef BROKEN
  __syncthreads();
#endif
  const float3 between = make_float3(all[(t + 1) % count]) - make_float3(all[t]);  // FOUND: race
  away[t] = cross(normalize(between), make_float3(0, 0, 1));
  at[t] = clamp(all[t], 0.0f, 100.0f);
}

int main() {
  float4 at[count];
  float3 speed[count], away[count];
  for (int i = 0; i < count; ++i) at[i] = make_float4(2.0f * i, 1, 0, 1), speed[i] = make_float3(2);
  float4* p;
  float3 *s, *a;
  cudaMalloc(&p, sizeof at), cudaMalloc(&s, sizeof speed), cudaMalloc(&a, sizeof away);
  cudaMemcpy(p, at, sizeof at, cudaMemcpyHostToDevice);
  cudaMemcpy(s, speed, sizeof speed, cudaMemcpyHostToDevice);
  move<<<1, count>>>(p, s, a);
  cudaMemcpy(at, p, sizeof at, cudaMemcpyDeviceToHost);
  cudaMemcpy(away, a, sizeof away, cudaMemcpyDeviceToHost);
  cudaFree(p), cudaFree(s), cudaFree(a);
  float4 sum = {};
  for (int i = 0; i < 3; ++i) sum += at[i];
  sum -= make_float4(3);
  const float2 least = fminf(make_float2(at[5]), make_float2(7));
  if (dot(sum, sum) != 6 * 6 + 3 * 3 + 0 + 0 || least.x != 7 || least.y != 2 || away[0].y != -1 ||
      length(away[0]) != 1 || lerp(at[0], at[1], 0.5f).x != 2)
    return std::printf("%f %f %f %f\n", dot(sum, sum), least.x, away[0].y, length(away[0])), 1;
}
