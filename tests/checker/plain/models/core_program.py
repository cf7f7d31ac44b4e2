# SPDX-License-Identifier: Apache-2.0
"""A program of cuda.core: a template, a buffer, an address; broken: threads beyond the array."""

import numpy as np
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

BROKEN = 0

code = """\
template <class T> __global__ void saxpy(T a, const T* x, T* out, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a * x[i] + PLUS;  // FOUND: access outside memory
}
"""
device = Device()
device.set_current()
stream = device.create_stream()
options = ProgramOptions(std="c++17", arch=f"sm_{device.arch}", define_macro=("PLUS", "1"))
module = Program(code, code_type="c++", options=options).compile("cubin", name_expressions=("saxpy<float>",))
kernel = module.get_kernel("saxpy<float>")

n = 1000
x, out = np.arange(n, dtype=np.float32), np.zeros(n, np.float32)
given, taken = device.allocate(x.nbytes, stream=stream), device.allocate(out.nbytes, stream=stream)
staged = device.allocate(x.nbytes, stream=stream)
np.from_dlpack(staged).view(np.float32)[:] = x
given.copy_from(staged, stream=stream)
config = LaunchConfig(grid=8, block=128)
launch(stream, config, kernel, np.float32(2), given, taken.handle, np.uint32(n + BROKEN))
stream.sync()
out[:] = np.from_dlpack(taken).view(np.float32)
assert BROKEN or np.array_equal(out, 2 * x + 1)
