# SPDX-License-Identifier: Apache-2.0
"""Numba's kernels on arrays of the device and of the host. Broken: a reduction without its last barrier."""
import numpy as np
from numba import cuda, float32

BROKEN = 0


@cuda.jit(device=True)
def halved(n):
    return n // 2


@cuda.jit
def block_sums(x, sums, last):
    buffer = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    buffer[t] = x[cuda.grid(1)]
    half = 32
    while half > 0:
        cuda.syncthreads()
        if t < half:
            buffer[t] += buffer[t + half]
        half = halved(half)
    if not last:
        cuda.syncthreads()
    if t == 63:
        sums[cuda.blockIdx.x] = buffer[0]  # FOUND: race


@cuda.jit
def turned(x, to):
    whole, t = cuda.shared.array(0, float32), cuda.threadIdx.x
    upper = cuda.shared.array(0, float32)[32:]  # of the same memory
    whole[t] = x[t]
    cuda.syncthreads()
    to[t] = whole[-1 - t] + upper[t % 32]


@cuda.jit("void(float32[:, :], float32, int32[:])")
def scale(x, by, count):
    i, j = cuda.grid(2)
    if i < x.shape[0] and j < x.shape[1]:
        x[i, j] *= by
        cuda.atomic.add(count, 0, 1)


@cuda.jit("void(int32[:, :])")
def shifted(rows):
    column, grid = cuda.grid(1), cuda.cg.this_grid()
    for row in range(1, rows.shape[0]):
        rows[row, column] = rows[row - 1, (column + 40) % rows.shape[1]] + 1
        grid.sync()


x = np.arange(256, dtype=np.float32)
sums = cuda.device_array(4, np.float32)
block_sums[4, 64](cuda.to_device(x), sums, BROKEN)
assert BROKEN or np.array_equal(sums.copy_to_host(), x.reshape(4, 64).sum(1))
to = np.zeros(64, np.float32)
turned[1, 64, 0, 256](x[:64], to)
assert np.array_equal(to, np.arange(63, -1, -1) + np.tile(np.arange(32, 64), 2))
rows, count = np.ones((6, 10), np.float32), np.zeros(1, np.int32)
scale[(1, 2), (8, 8)](rows[:, ::2], 3, count)
assert count[0] == 30 and np.array_equal(rows[0], [3, 1] * 5)
wave = np.zeros((5, 64), np.int32)
assert shifted.overloads[shifted.signatures[0]].max_cooperative_grid_blocks(32) >= 2
shifted[2, 32](wave)
assert np.array_equal(wave[:, 7], range(5))
