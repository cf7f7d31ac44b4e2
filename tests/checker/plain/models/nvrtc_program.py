# SPDX-License-Identifier: Apache-2.0
"""NVRTC and the driver's API of cuda-python; broken: threads beyond the array."""
import numpy as np
from cuda.bindings import driver, nvrtc

BROKEN = 0

saxpy = """\
extern "C" __global__
void saxpy(float a, float *x, float *y, float *out, size_t n)
{
  size_t tid = blockIdx.x * blockDim.x + threadIdx.x;
  if (tid < n) {
    out[tid] = a * x[tid] + y[tid];  // FOUND: access outside memory
  }
}
"""


def ok(result):
    error, *rest = result
    assert error == driver.CUresult.CUDA_SUCCESS or error == nvrtc.nvrtcResult.NVRTC_SUCCESS, error
    return rest[0] if len(rest) == 1 else rest


program = ok(nvrtc.nvrtcCreateProgram(str.encode(saxpy), b"saxpy.cu", 0, [], []))
ok(nvrtc.nvrtcCompileProgram(program, 2, [b"--fmad=false", b"--gpu-architecture=compute_90"]))
size = ok(nvrtc.nvrtcGetPTXSize(program))
ptx = b" " * size
ok(nvrtc.nvrtcGetPTX(program, ptx))
ok(driver.cuInit(0))
device = ok(driver.cuDeviceGet(0))
context = ok(driver.cuCtxCreate(0, device))
code = np.char.array(ptx)
module = ok(driver.cuModuleLoadData(code.ctypes.data))
kernel = ok(driver.cuModuleGetFunction(module, b"saxpy"))

n = 1000
a = np.array([2.0], dtype=np.float32)
count = np.array(n + BROKEN, dtype=np.uint64)
x, y, out = np.arange(n, dtype=np.float32), np.ones(n, np.float32), np.zeros(n, np.float32)
stream = ok(driver.cuStreamCreate(0))
on_device = [ok(driver.cuMemAlloc(x.nbytes)) for _ in range(3)]
ok(driver.cuMemcpyHtoDAsync(on_device[0], x.ctypes.data, x.nbytes, stream))
ok(driver.cuMemcpyHtoDAsync(on_device[1], y.ctypes.data, y.nbytes, stream))
pointers = [np.array([int(p)], dtype=np.uint64) for p in on_device]
arguments = [a, *pointers, count]
addresses = np.array([argument.ctypes.data for argument in arguments], dtype=np.uint64)
ok(driver.cuLaunchKernel(kernel, 8, 1, 1, 128, 1, 1, 0, stream, addresses.ctypes.data, 0))
ok(driver.cuMemcpyDtoHAsync(out.ctypes.data, on_device[2], out.nbytes, stream))
ok(driver.cuStreamSynchronize(stream))
assert BROKEN or np.array_equal(out, 2 * x + 1)
for p in on_device:
    ok(driver.cuMemFree(p))
