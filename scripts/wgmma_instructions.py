#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes include/antiphase/device/wgmma_instructions.cuh: inline assembly takes no list of registers from a template.

    wgmma_instructions.py           writes the header
    wgmma_instructions.py --check   exit status 1 if the header is not what would be written
"""
import argparse
import pathlib
import sys

COLUMNS = (64, 128, 256)
HEAD = """// SPDX-License-Identifier: Apache-2.0
// The wgmma instructions with their lists of registers. Written by scripts/wgmma_instructions.py; change that.
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
    """The items, some to a line, each line between `start` and `end`; the last one without its comma."""
    lines = [", ".join(items[i:i + per_line]) for i in range(0, len(items), per_line)]
    return ",\n".join(lines).replace("\n", end + "\n" + start).join((start, end))


def instruction(columns, a_in_registers):
    """One form. The operands after the sum: A (one descriptor or four registers), B, scale-d, and whether A and B are transposed."""
    registers = columns // 2
    following = iter(range(registers, registers + 9))
    a = [f"%{next(following)}" for _ in range(4 if a_in_registers else 1)]
    b, accumulate = f"%{next(following)}", f"%{next(following)}"
    transposed = [f"%{next(following)}" for _ in range(1 if a_in_registers else 2)]
    sums = in_lines([f"%{i}" for i in range(registers)], 16, '               "', '"')
    outputs = in_lines([f'"+f"(sum[{i}])' for i in range(registers)], 8, "                 ", "")
    template = "int TransposedB" if a_in_registers else "int TransposedA, int TransposedB"
    parameter = "const std::uint32_t (&a)[4]" if a_in_registers else "std::uint64_t a"
    inputs = ['"r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3])' if a_in_registers else '"l"(a)', '"l"(b)', '"r"(static_cast<int>(accumulate))']
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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    check = parser.parse_args().check
    header = pathlib.Path(__file__).resolve().parent.parent / "include/antiphase/device/wgmma_instructions.cuh"
    text = HEAD + "".join(instruction(columns, a_in_registers) for columns in COLUMNS for a_in_registers in (False, True)) + TAIL
    if not check:
        header.write_text(text)
    elif header.read_text() != text:
        sys.exit(f"{header} is not what this script writes: run it and commit the result")


if __name__ == "__main__":
    main()
