# SPDX-License-Identifier: Apache-2.0
"""A ring of two buffers in Gluon. Broken: the wait leaves the copy in flight that is read."""
import numpy as np
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy

BROKEN = 0


@gluon.jit
def column_sums(x, out, rows, COLUMNS: gl.constexpr, IN_FLIGHT: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    i = gl.arange(0, COLUMNS, layout=layout)
    shared: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, order=[0])
    buffers = gl.allocate_shared_memory(gl.float32, [2, COLUMNS], layout=shared)
    async_copy.async_load(buffers.index(0), x + i)
    async_copy.commit_group()
    sums = gl.zeros([COLUMNS], gl.float32, layout=layout)
    for row in range(rows):
        if row + 1 < rows:
            async_copy.async_load(buffers.index((row + 1) % 2), x + (row + 1) * COLUMNS + i)
        async_copy.commit_group()
        async_copy.wait_group(IN_FLIGHT)
        sums += buffers.index(row % 2).load(layout)  # FOUND: read before landing
    gl.store(out + i, sums)


x, out = np.arange(4 * 128, dtype=np.float32).reshape(4, 128), np.zeros(128, np.float32)
column_sums[(1,)](x, out, 4, COLUMNS=128, IN_FLIGHT=1 + BROKEN)
assert BROKEN or np.array_equal(out, x.sum(0))
