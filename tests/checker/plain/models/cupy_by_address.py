# SPDX-License-Identifier: Apache-2.0
"""CuPy's kernels made once by memoize, on arrays and torch's tensors by their addresses; broken: one too far."""
import cupy
import numpy as np
import torch

BROKEN = 0


@cupy.memoize(for_each_device=True)
def kernel(name, broken):
    code = r"""
extern "C" __global__ void add(const float* x, const float* more, float* y, const int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + more[i + FAR];  // FOUND: access outside memory
}
"""
    return cupy.RawModule(code=code, options=(f"-DFAR={broken}",)).get_function(name)


@cupy.util.memoize()
def old_kernel():
    return cupy.cuda.compile_with_cache(
        r"""extern "C" __global__ void set(float* y, unsigned long long x) {
  unsigned lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  y[lane] = *(const float*)x;
}"""
    ).get_function("set")


n = 100
x, y = cupy.arange(n, dtype=cupy.float32), cupy.empty(n, dtype=cupy.float32)
t = torch.randn(n)
before = np.array(t.numpy())
assert kernel("add", BROKEN) is kernel("add", BROKEN)
kernel("add", BROKEN)(grid=(1,), block=(128,), args=[x.data.ptr, t.data_ptr(), y.data.ptr, np.int32(n)])
assert BROKEN or np.array_equal(cupy.asnumpy(y), np.arange(n, dtype=np.float32) + before)
kernel("add", 0)((1,), (128,), (x[:50].data.ptr + 4, y, np.uint64(t.data_ptr()), 49))
assert BROKEN or np.array_equal(t.numpy()[:49], np.arange(1, 50, dtype=np.float32) + cupy.asnumpy(y)[:49])
old_kernel()((1,), (1,), (y, x.data.ptr + 28))
assert BROKEN or cupy.asnumpy(y)[0] == 7
