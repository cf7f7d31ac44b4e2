# SPDX-License-Identifier: Apache-2.0
"""CuPy's RawKernel and RawModule; broken: without the barrier between steps, and a value of another type."""
import cupy as cp
import numpy as np

BROKEN = 0

saxpy = cp.RawKernel(
    r"""
extern "C" __global__ void saxpy(const float* x, float* y, float a, int n) {
  int i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
""",
    "saxpy",
)
module = cp.RawModule(
    code=r"""
template <typename T> __global__ void block_sum(const T* x, T* out, int n) {
  extern __shared__ float s[];
  int t = threadIdx.x;
  s[t] = t < n ? x[t] : T(0);
  for (int h = blockDim.x / 2; h > 0; h /= 2) {
#ifndef BROKEN
    __syncthreads();
#endif
    if (t < h) s[t] += s[t + h];  // FOUND: race
  }
  if (t == 0) out[0] = s[0];
}
""",
    options=("-std=c++17", "-DBROKEN") if BROKEN else ("-std=c++17",),
    name_expressions=["block_sum<float>"],
)
n = 1000
x, y = cp.arange(n, dtype=cp.float32), cp.ones(n, dtype=cp.float32)
saxpy(((n + 255) // 256,), (256,), (x, y, cp.float32(2), n))
assert np.array_equal(cp.asnumpy(y), 2 * np.arange(n) + 1)
out = cp.empty(1, dtype=cp.float32)
module.get_function("block_sum<float>")((1,), (128,), (y, out, np.int32(100)), shared_mem=512)
if not BROKEN:
    assert out.get()[0] == 100 * 100
