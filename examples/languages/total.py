# SPDX-License-Identifier: Apache-2.0
"""Sums numbers in Triton. One line is wrong: two programs may load the same total."""
import numpy as np
import triton
import triton.language as tl


@triton.jit
def total(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    part = tl.sum(tl.load(x + i, mask=i < n, other=0.0))
    tl.store(out, tl.load(out) + part)


x, out = np.ones(1000, np.float32), np.zeros(1, np.float32)
total[(4,)](x, out, 1000, BLOCK=256)
print(out)
