# SPDX-License-Identifier: Apache-2.0
"""Sums by atomic additions of blocks, and a product by Tensor Cores, in TileLang. Broken: the additions are not
atomic."""
import tilelang
import tilelang.language as T
import torch

BROKEN = 0


@tilelang.jit
def sums(N):
    @T.prim_func
    def add_up(A: T.Tensor((4 * N,), "float32"), B: T.Tensor((N,), "float32")):
        with T.Kernel(4, threads=N) as block:
            for i in T.Parallel(N):
                if BROKEN:
                    B[i] = B[i] + A[block * N + i]
                else:
                    T.atomic_add(B[i], A[block * N + i])

    return add_up


@tilelang.jit(out_idx=[-1])
def product(M, N, K, tile, depth):
    @T.prim_func
    def multiply(
        A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"), C: T.Tensor((M, N), "float16")
    ):
        with T.Kernel(T.ceildiv(N, tile), T.ceildiv(M, tile), threads=128) as (x, y):
            a, b = T.alloc_shared((tile, depth), "float16"), T.alloc_shared((depth, tile), "float16")
            c = T.alloc_fragment((tile, tile), "float32")
            T.clear(c)
            for k in T.serial(T.ceildiv(K, depth)):
                T.copy(A[y * tile, k * depth], a)
                T.copy(B[k * depth, x * tile], b)
                T.gemm(a, b, c)
            T.copy(c, C[y * tile, x * tile])

    return multiply


a, b = torch.arange(512, device="cuda").float(), torch.zeros(128, device="cuda")
sums(128)(a, b)
assert BROKEN or torch.equal(b, a.reshape(4, 128).sum(0))
if not BROKEN:
    x, y = (torch.arange(64 * 64, device="cuda") % n - 3 for n in (7, 5))
    x, y = x.reshape(64, 64).half(), y.reshape(64, 64).half()
    assert torch.equal(product(64, 64, 64, 64, 32)(x, y), (x.float() @ y.float()).half())
