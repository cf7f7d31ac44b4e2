#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the wgmma headers in include/antiphase/device, as inline assembly cannot expand a register list.

The headers are wgmma_instructions.cuh and wgmma_tf32_instructions.cuh. A template cannot generate the
operands of an asm statement, so each form of the instruction is written out.

    wgmma_instructions.py           writes the headers
    wgmma_instructions.py --check   exit status 1 if a header is not what would be written
"""
import argparse
import pathlib
import sys

COLUMNS = (64, 128, 256)
TF32_COLUMNS = (64,)
HEAD = """// SPDX-License-Identifier: Apache-2.0
// The wgmma instructions{of} with their lists of registers.
// Written by scripts/wgmma_instructions.py; change that.
#pragma once
#include <antiphase/core/portable.hpp>
#include <cstdint>

// clang-format off
#if AP_ON_GPU
namespace antiphase {
inline namespace AP_TARGET {
"""
TAIL = """
}  // namespace AP_TARGET
}  // namespace antiphase
#endif
"""


def in_lines(items, per_line, start, end):
    """The items, several to a line, each line between `start` and `end`; no comma after the last item."""
    lines = [", ".join(items[i : i + per_line]) for i in range(0, len(items), per_line)]
    return ",\n".join(lines).replace("\n", end + "\n" + start).join((start, end))


def instruction(columns, a_in_registers):
    """One form. The operands after the accumulators: A (one descriptor or four registers), B, scale-d, and
    whether A and B are transposed."""
    registers = columns // 2
    following = iter(range(registers, registers + 9))
    a = [f"%{next(following)}" for _ in range(4 if a_in_registers else 1)]
    b, accumulate = f"%{next(following)}", f"%{next(following)}"
    transposed = [f"%{next(following)}" for _ in range(1 if a_in_registers else 2)]
    sums = in_lines([f"%{i}" for i in range(registers)], 16, '               "', '"')
    outputs = in_lines([f'"+f"(sum[{i}])' for i in range(registers)], 8, "                 ", "")
    template = "int TransposedB" if a_in_registers else "int TransposedA, int TransposedB"
    parameter = "const std::uint32_t (&a)[4]" if a_in_registers else "std::uint64_t a"
    inputs = [
        '"r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3])' if a_in_registers else '"l"(a)',
        '"l"(b)',
        '"r"(static_cast<int>(accumulate))',
    ]
    inputs += ['"n"(TransposedB)'] if a_in_registers else ['"n"(TransposedA), "n"(TransposedB)']
    source = "{" + ", ".join(a) + "}" if a_in_registers else a[0]
    return f"""
template <{template}>
AP_DEV void wgmma_instruction(float (&sum)[{registers}], {parameter}, std::uint64_t b, bool accumulate) {{
  asm volatile("{{ .reg .pred p; setp.ne.b32 p, {accumulate}, 0; wgmma.mma_async.sync.aligned.m64n{columns}k16.f32.f16.f16 {{"
{sums}
               "}}, {source}, {b}, p, 1, 1, {', '.join(transposed)}; }}"
               :
{outputs}
               : {', '.join(inputs)});
}}
"""


def tf32_instruction(columns):
    """A TF32 form with k = 8, A in registers and B in shared memory, not transposed. The operands after the
    accumulators: A, B and scale-d."""
    registers = columns // 2
    sums = in_lines([f"%{i}" for i in range(registers)], 16, '               "', '"')
    outputs = in_lines([f'"+f"(sum[{i}])' for i in range(registers)], 8, "                 ", "")
    a, b, accumulate = [f"%{registers + i}" for i in range(4)], f"%{registers + 4}", f"%{registers + 5}"
    return f"""
AP_DEV void wgmma_tf32_instruction(float (&sum)[{registers}], const std::uint32_t (&a)[4], std::uint64_t b, bool accumulate) {{
  asm volatile("{{ .reg .pred p; setp.ne.b32 p, {accumulate}, 0; wgmma.mma_async.sync.aligned.m64n{columns}k8.f32.tf32.tf32 {{"
{sums}
               "}}, {{{', '.join(a)}}}, {b}, p, 1, 1; }}"
               :
{outputs}
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(accumulate)));
}}
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    check = parser.parse_args().check
    folder = pathlib.Path(__file__).resolve().parent.parent / "include/antiphase/device"
    f16 = "".join(
        instruction(columns, a_in_registers) for columns in COLUMNS for a_in_registers in (False, True)
    )
    tf32 = "".join(tf32_instruction(columns) for columns in TF32_COLUMNS)
    for name, of, instructions in (
        ("wgmma_instructions.cuh", "", f16),
        ("wgmma_tf32_instructions.cuh", " of tf32", tf32),
    ):
        text = HEAD.replace("{of}", of) + instructions + TAIL
        if not check:
            (folder / name).write_text(text)
        elif (folder / name).read_text() != text:
            sys.exit(f"{folder / name} is not what this script writes: run it and commit the result")


if __name__ == "__main__":
    main()
