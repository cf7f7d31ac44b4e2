# SPDX-License-Identifier: Apache-2.0
"""Calls of the kernels of Gluon's tutorials at small shapes: ENTRY is the kernel in list.json."""
import torch
import triton.experimental.gluon.language as gl

import sources

ENTRY = None
torch.manual_seed(1)
FOLDER = sources.folder("byoshimi-gmail/triton", "python/tutorials/gluon")


def tutorial(name):
    return __import__(name)


def copied(call, size, *more):
    x, y = torch.randn(size), torch.empty(size)
    call(x, y, *more)
    assert (x == y).all()


def product(call, m, n, k, *more):
    a, b, c = torch.randn(m, k).half(), torch.randn(k, n).half(), torch.empty(m, n).half()
    call(a, b, c, *more)
    torch.testing.assert_close(c.float(), a.float() @ b.float(), rtol=1e-2, atol=0.1)


def small_mma_kernel():
    made = tutorial("05-wgmma")
    for in_registers in (False, True):
        a, b, c = torch.randn(64, 32).half(), torch.randn(32, 32).half(), torch.randn(64, 32)
        d = torch.empty_like(c)
        made.small_mma(a, b, c, d, 16, in_registers, 4)
        torch.testing.assert_close(d, a.float() @ b.float() + c, rtol=1e-3, atol=0.1)


def memcpy_1d_kernel():
    layout = gl.BlockedLayout([1], [32], [4], [0])
    copied(tutorial("02-layouts").memcpy_1d_impl, 5000, 2048, layout, 4)


def persistent(name, *more):
    made = tutorial("07-persistence")
    product(getattr(made, name), 208, 160, 304, 64, 64, 64, *more, 4, made.PersistentTileScheduler)


ENTRIES = {
    "matmul_pipelined_kernel": lambda: [
        product(tutorial("07-persistence").matmul_pipelined, 128, 96, 304, 64, 64, 64, n, 4) for n in (2, 3)
    ],
    "persistent_matmul_kernel": lambda: persistent("persistent_matmul", 3),
    "persistent_matmul_pipelined_kernel": lambda: [
        persistent("persistent_matmul_pipelined", n) for n in (3, 4)
    ],
    "memcpy_kernel": lambda: copied(tutorial("01-intro").memcpy, 500, 64),
    "memcpy_1d_cpasync_kernel": lambda: copied(tutorial("03-async-copy").memcpy_1d_cpasync, 1000, 256),
    "copy_scalar_kernel": lambda: copied(tutorial("01-intro").copy_scalar, 1),
    "blocked_matmul_kernel": lambda: product(
        tutorial("05-wgmma").blocked_matmul, 100, 80, 160, 64, 64, 64, False, 4
    ),
    "memcpy_1d_tma_kernel": lambda: copied(tutorial("04-tma").memcpy_1d_tma, 500, 64),
}
if ENTRY:
    (ENTRIES.get(ENTRY) or globals()[ENTRY])()
