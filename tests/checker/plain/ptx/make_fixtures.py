#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles the kernels of this file with Triton (no GPU needed) and examples/plain_cuda/sum.cu with nvcc to the PTX
modules of the folder. Only for those who change a kernel: the modules are part of the sources.

    make_fixtures.py [NVCC]
"""
import pathlib
import re
import subprocess
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

FOLDER = pathlib.Path(__file__).resolve().parent


@triton.jit
def product(a, b, c, n, k, TILE: tl.constexpr, STEP: tl.constexpr):
    rows = tl.program_id(0) * TILE + tl.arange(0, TILE)
    columns = tl.program_id(1) * TILE + tl.arange(0, TILE)
    steps = tl.arange(0, STEP)
    from_a = a + rows[:, None] * k + steps[None, :]
    from_b = b + steps[:, None] * n + columns[None, :]
    sums = tl.zeros((TILE, TILE), tl.float32)
    for _ in range(0, k, STEP):
        sums = tl.dot(tl.load(from_a), tl.load(from_b), sums)
        from_a += STEP
        from_b += STEP * n
    tl.store(c + rows[:, None] * n + columns[None, :], sums)


@triton.jit
def softmax(to, x, n, WIDTH: tl.constexpr):
    columns = tl.arange(0, WIDTH)
    row = tl.load(x + tl.program_id(0) * n + columns, mask=columns < n, other=-float("inf"))
    powers = tl.exp(row - tl.max(row, 0))
    tl.store(to + tl.program_id(0) * n + columns, powers / tl.sum(powers, 0), mask=columns < n)


def without_debug_sections(text):
    text = re.sub(r"\t\.section\s+\.debug[^{]*\{[^}]*\}\n", "", text)
    text = re.sub(r'"[^"]*/(triton/[^"]*)"', r'"site-packages/\1"', text)
    return re.sub(r'"[^"]*/(make_fixtures\.py|sum\.cu)"', r'"\1"', text)


def compiled(kernel, signature, constants, **options):
    by_16 = {(k,): [["tt.divisibility", 16]] for k, t in enumerate(signature.values()) if t != "constexpr"}
    made = triton.compile(
        ASTSource(kernel, signature, constants, by_16), target=GPUTarget("cuda", 90, 32), options=options
    )
    (FOLDER / f"{kernel.__name__}.ptx").write_text(without_debug_sections(made.asm["ptx"]))


def main():
    compiled(
        product,
        {
            "a": "*fp16",
            "b": "*fp16",
            "c": "*fp32",
            "n": "i32",
            "k": "i32",
            "TILE": "constexpr",
            "STEP": "constexpr",
        },
        {(5,): 64, (6,): 32},
        num_warps=4,
        num_stages=3,
    )
    compiled(
        softmax, {"to": "*fp32", "x": "*fp32", "n": "i32", "WIDTH": "constexpr"}, {(3,): 256}, num_warps=4
    )
    source = FOLDER.parents[3] / "examples/plain_cuda/sum.cu"
    nvcc = sys.argv[1] if len(sys.argv) > 1 else "nvcc"
    made = FOLDER / "sum.ptx"
    subprocess.run([nvcc, "-O3", "-lineinfo", "-ptx", "-arch=sm_90", source, "-o", made], check=True)
    made.write_text(without_debug_sections(made.read_text()))


main()
