# SPDX-License-Identifier: Apache-2.0
"""PyCUDA's SourceModule; broken: reads one element too many."""
import numpy
import pycuda.autoinit  # noqa: F401
import pycuda.driver as drv
from pycuda.compiler import SourceModule

BROKEN = 0

multiply = SourceModule(
    """
__global__ void multiply(float* to, const float* a, const float* b) {
  const int i = threadIdx.x;
  to[i] = a[i + %d] * b[i];  // FOUND: access outside memory
}
"""
    % BROKEN
).get_function("multiply")
a, b = numpy.arange(400, dtype=numpy.float32), numpy.ones(400, numpy.float32)
to = numpy.zeros_like(a)
multiply(drv.Out(to), drv.In(a), drv.In(b), block=(400, 1, 1), grid=(1, 1))
assert BROKEN or numpy.array_equal(to, a)

on_device = drv.mem_alloc(a.nbytes)
drv.memcpy_htod(on_device, a)
twice = SourceModule("__global__ void twice(float* x) { x[threadIdx.x] *= 2; }").get_function("twice")
twice(on_device, block=(400, 1, 1))
back = numpy.empty_like(a)
drv.memcpy_dtoh(back, on_device)
assert BROKEN or numpy.array_equal(back, 2 * a)
