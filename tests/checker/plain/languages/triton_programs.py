# SPDX-License-Identifier: Apache-2.0
"""Triton's kernels on arrays of NumPy. Broken: a mask, an atomic operation and the order of an unlock are missing."""
import numpy as np
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

BROKEN = 0


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr, MASKED: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if MASKED:
        tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)
    else:
        both = tl.load(x + i) + tl.load(y + i)  # FOUND: access outside memory
        tl.store(out + i, both)


@triton.jit
def weighted_sum(pair, scales, out, total, BLOCK: tl.constexpr, ATOMIC: tl.constexpr):
    x, y = pair
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    z = tl.load(x + i) * scales[0] + tl.load(y + i) * scales[1]
    tl.store(out + i, z)
    if ATOMIC:
        tl.atomic_add(total, tl.sum(z))
    else:
        tl.store(total, tl.load(total) + tl.sum(z))  # FOUND: race


# More threads than elements: all of them load, the first of them store; in a loop, and where the value is an address.
@triton.jit
def counted_places(keys, counts, places, n, BLOCK: tl.constexpr):
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        tl.store(keys + i, tl.load(keys + i, mask=i < n) * 2, mask=i < n)
    tl.debug_barrier()
    for i in range(n):
        key = tl.load(keys + i)
        place = tl.load(counts + key)
        tl.store(places + 8 * key + place, i)
        tl.store(counts + key, place + 1)


@triton.jit
def more_threads_than_elements(x, totals, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    y = tl.load(x + i) + 1
    tl.store(x + i, y)
    tl.store(totals, tl.load(totals) + tl.sum(y))


@triton.jit
def sums_in_place(x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, tl.cumsum(tl.load(x + i, mask=i < n, other=0), 0), mask=i < n)


@triton.autotune(
    [triton.Config({"BLOCK": 128}, num_warps=w) for w in (4, 8)], key=["n"], reset_to_zero=["counts"]
)
@triton.heuristics({"EVEN": lambda a: a["n"] % a["BLOCK"] == 0})
@triton.jit
def histogram(x, counts, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    tl.atomic_add(counts + tl.load(x + i, mask=inside, other=0), 1, mask=None if EVEN else inside)


@triton.jit
def locked_sum(x, out, lock, BLOCK: tl.constexpr, RELAXED: tl.constexpr):
    i = tl.arange(0, BLOCK)
    mine = tl.load(x + tl.program_id(0) * BLOCK + i)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(out + i, tl.load(out + i) + mine)  # FOUND: race
    if RELAXED:
        tl.atomic_xchg(lock, 0, sem="relaxed")
    else:
        tl.debug_barrier()
        tl.atomic_xchg(lock, 0)


@triton.jit
def matmul(a, b, c, N, K, TILE: tl.constexpr, DEEP: tl.constexpr):
    m = tl.program_id(0) * TILE + tl.arange(0, TILE)
    n = tl.program_id(1) * TILE + tl.arange(0, TILE)
    k = tl.arange(0, DEEP)
    sums = tl.zeros((TILE, TILE), tl.float32)
    for start in range(0, K, DEEP):
        left = tl.load(a + m[:, None] * K + (start + k)[None, :])
        sums = tl.dot(left, tl.load(b + (start + k)[:, None] * N + n[None, :]), sums)
    tl.store(c + m[:, None] * N + n[None, :], sums)


@triton.jit
def doubled(x, out, TILE: tl.constexpr):
    at = [tl.program_id(0) * TILE, tl.program_id(1) * TILE]
    out.store(at, x.load(at) * 2)


@triton.jit
def doubled_by_its_own(x, out, M, N, TILE: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [M, N], [N, 1], [TILE, TILE])
    target = tl.make_tensor_descriptor(out, [M, N], [N, 1], [TILE, TILE])
    at = [tl.program_id(0) * TILE, tl.program_id(1) * TILE]
    target.store(at, source.load(at) * 2)


@triton.jit
def summed_by_addresses(addresses, one, out, n, BLOCK: tl.constexpr, MASKED: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(addresses + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    if MASKED:
        mine = tl.load(x + i, mask=i < n, other=0.0)
    else:
        mine = tl.load(x + i)  # FOUND: access outside memory
    mine += tl.load(one.to(tl.pointer_type(tl.float32)))
    tl.store(out + tl.program_id(0) * BLOCK + i, mine)


@triton.jit(debug=True)
def told(x, most, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    mine = tl.load(x + i)
    tl.device_print("it has", mine)
    tl.device_assert(mine < most, "too large")
    tl.store(x + i, mine + 1)


def run(random):
    x, y = random.random(500, np.float32), random.random(500, np.float32)
    out = np.zeros(500, np.float32)
    add[(4,)](x, y, out, 500, BLOCK=128, MASKED=not BROKEN)
    assert BROKEN or np.array_equal(out, x + y)

    both, out, total = random.random(512, np.float32), np.zeros(256, np.float32), np.zeros(1, np.float32)
    weighted_sum[(2,)]((both[:256], both[256:]), (2.0, 3), out, total, BLOCK=128, ATOMIC=not BROKEN)
    assert np.allclose(out, 2 * both[:256] + 3 * both[256:])
    assert BROKEN or np.isclose(total[0], out.sum())

    x, totals = random.integers(0, 9, 32).astype(np.float32), np.ones(1, np.float32)
    expected = x + 1
    more_threads_than_elements[(1,)](x, totals, BLOCK=32)
    assert np.array_equal(x, expected) and totals[0] == 1 + expected.sum()
    keys, counts, places = (
        np.array([0, 1, 0, 2, 1, 0], np.int32),
        np.zeros(5, np.int32),
        np.zeros(40, np.int32),
    )
    counted_places[(1,)](keys, counts, places, 6, BLOCK=4)
    assert list(counts) == [3, 0, 2, 0, 1] and list(places[:3]) == [0, 2, 5] and list(places[16:18]) == [1, 4]
    x[:] = random.integers(0, 9, 32)
    expected = np.cumsum(x[:20])
    sums_in_place[(1,)](x, 20, BLOCK=32)
    assert np.array_equal(x[:20], expected)

    x, counts = random.integers(0, 7, 500).astype(np.int32), np.zeros(7, np.int32)
    histogram[lambda chosen: (triton.cdiv(500, chosen["BLOCK"]),)](x, counts, 500)
    assert np.array_equal(counts, np.bincount(x, minlength=7))
    assert histogram.best_config.num_warps == 4

    x, out, lock = (
        random.integers(0, 9, (4, 128)).astype(np.float32),
        np.zeros(128, np.float32),
        np.zeros(1, np.int32),
    )
    locked_sum[(4,)](x, out, lock, BLOCK=128, RELAXED=BROKEN)
    assert BROKEN or np.array_equal(out, x.sum(0))

    a, b = (random.standard_normal((64, 64)).astype(np.float16) for _ in range(2))
    c = np.zeros((64, 64), np.float32)
    matmul[(1, 1)](a, b, c, 64, 64, TILE=64, DEEP=16, num_stages=3)
    assert np.abs(c - a.astype(np.float32) @ b.astype(np.float32)).max() < 1e-3

    x, out = random.random((32, 64), np.float32), np.zeros((32, 64), np.float32)
    doubled[(1, 2)](
        TensorDescriptor.from_tensor(x, [32, 32]), TensorDescriptor.from_tensor(out, [32, 32]), TILE=32
    )
    assert np.array_equal(out, 2 * x)
    triton.set_allocator(lambda size, align, stream: np.empty(size, np.int8))
    out[:] = 0
    doubled_by_its_own[(1, 2)](x, out, 32, 64, TILE=32)
    assert np.array_equal(out, 2 * x)

    rows, one, out = list(random.random((3, 60), np.float32)), np.ones(1, np.float32), np.zeros((3, 64))
    addresses = np.array([row.ctypes.data for row in rows])
    before, out = addresses.copy(), out.astype(np.float32)
    summed_by_addresses[(3,)](addresses, one.ctypes.data, out, 60, BLOCK=64, MASKED=not BROKEN)
    assert BROKEN or np.array_equal(out[:, :60], np.stack(rows) + 1)
    assert np.array_equal(addresses, before)

    x = np.arange(4, dtype=np.float32)
    told[(0,)](x, 4.0, BLOCK=4)
    told[(1, 0)](x, 4.0, BLOCK=4)
    assert np.array_equal(x, np.arange(4))
    told[(1,)](x, 4.0, BLOCK=4)
    assert np.array_equal(x, np.arange(1, 5))


run(np.random.default_rng(1))
