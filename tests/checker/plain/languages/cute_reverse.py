# SPDX-License-Identifier: Apache-2.0
"""Blocks of an array reversed through shared memory, in CuTe DSL. Broken: without the barrier."""
import cutlass
import numpy as np
from cutlass import cute
from cutlass.cute.runtime import from_dlpack

BROKEN = 0
THREADS = 128


@cute.kernel
def reverse(source: cute.Tensor, target: cute.Tensor, by: cutlass.Float32):
    t, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * THREADS + t
    shared = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(THREADS))
    shared[t] = source[i] * by
    if cutlass.const_expr(not BROKEN):
        cute.arch.sync_threads()
    target[i] = shared[THREADS - 1 - t]  # FOUND: race


@cute.jit
def reversed_blocks(source: cute.Tensor, target: cute.Tensor, by: cutlass.Float32):
    blocks = cute.size(source) // THREADS
    reverse(source, target, by).launch(grid=(blocks, 1, 1), block=(THREADS, 1, 1))


assert cutlass.utils.HardwareInfo().get_max_active_clusters(2) == 66
source, target = np.arange(512, dtype=np.float32), np.zeros(512, np.float32)
reversed_blocks(from_dlpack(source), from_dlpack(target), 2.0)
assert BROKEN or np.array_equal(target, 2 * source.reshape(4, 128)[:, ::-1].ravel())
