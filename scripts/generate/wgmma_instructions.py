#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the wgmma headers in include/antiphase/device, as inline assembly cannot expand a register list.

The headers are wgmma_instructions.cuh and wgmma_tf32_instructions.cuh. A template cannot generate the
operands of an asm statement, so the lists of 8, 16 ... columns are macros, each of which extends the one
before, and an instruction is a row of numbers. scripts/generate/ring_header.py takes the same rows.

    wgmma_instructions.py           writes the headers
    wgmma_instructions.py --check   exit status 1 if a header is not what would be written
"""
import argparse
import pathlib
import sys

COLUMNS = range(8, 257, 8)
TF32_COLUMNS = (8, 32, 64)
HEAD = """// SPDX-License-Identifier: Apache-2.0
// The wgmma instructions{of} with their lists of registers.
// Written by scripts/generate/wgmma_instructions.py; change that.
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


def lists(columns):
    """Macros: the registers of a sum of N columns as text (AP_TEXT_N) and as operands (AP_SUM_N)."""
    lines, previous = [], ""
    for n in range(8, max(columns) + 1, 8):
        registers = range(n // 2 - 4, n // 2)
        text = ", ".join(f"%{i}" for i in registers)
        operands = ", ".join(f'"+f"(sum[{i}])' for i in registers)
        lines.append(
            f"#define AP_TEXT_{n} " + (f'AP_TEXT_{previous} ", {text}"' if previous else f'"{text}"')
        )
        lines.append(f"#define AP_SUM_{n} " + (f"AP_SUM_{previous}, {operands}" if previous else operands))
        previous = n
    return lines


def places(n, count):
    """The numbers of the operands after the sum's registers."""
    return ", ".join(f'"%{n // 2 + i}"' for i in range(count))


# A in shared memory, A in registers: the operands after the sum's registers are A (one descriptor, or four
# registers), B, scale-d, and whether A and B are transposed.
FORMS = r"""
#define AP_WGMMA(name, type, n, a_at, b_at, if_at, ta_at, tb_at) \
  template <int TransposedA, int TransposedB> \
  AP_DEV void name(float (&sum)[n / 2], std::uint64_t a, std::uint64_t b, bool accumulate) { \
    asm volatile("{ .reg .pred p; setp.ne.b32 p, " if_at ", 0; wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." type "." type \
                 " {" AP_TEXT_##n "}, " a_at ", " b_at ", p, 1, 1, " ta_at ", " tb_at "; }" \
                 : AP_SUM_##n \
                 : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)), "n"(TransposedA), "n"(TransposedB)); \
  }
#define AP_WGMMA_OF_REGISTERS(name, type, n, a0, a1, a2, a3, b_at, if_at, tb_at) \
  template <int TransposedB> \
  AP_DEV void name(float (&sum)[n / 2], const std::uint32_t (&a)[4], std::uint64_t b, bool accumulate) { \
    asm volatile("{ .reg .pred p; setp.ne.b32 p, " if_at ", 0; wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." type "." type \
                 " {" AP_TEXT_##n "}, {" a0 ", " a1 ", " a2 ", " a3 "}, " b_at ", p, 1, 1, " tb_at "; }" \
                 : AP_SUM_##n \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(accumulate)), "n"(TransposedB)); \
  }
""".strip().split(
    "\n"
)


def header():
    """wgmma_instructions.cuh: a row for each number of columns."""
    names = ("AP_WGMMA", "AP_WGMMA_OF_REGISTERS", "AP_WGMMA_ROW")
    lines = ["", *lists(COLUMNS), *FORMS]
    lines += [
        "#define AP_WGMMA_ROW(n, p0, p1, p2, p3, p4, p5, p6) \\",
        '  AP_WGMMA(wgmma_instruction, "f16", n, p0, p1, p2, p3, p4) \\',
        '  AP_WGMMA(wgmma_bf16_instruction, "bf16", n, p0, p1, p2, p3, p4) \\',
        '  AP_WGMMA_OF_REGISTERS(wgmma_instruction, "f16", n, p0, p1, p2, p3, p4, p5, p6) \\',
        '  AP_WGMMA_OF_REGISTERS(wgmma_bf16_instruction, "bf16", n, p0, p1, p2, p3, p4, p5, p6)',
    ]
    lines += [f"AP_WGMMA_ROW({n}, {places(n, 7)})" for n in COLUMNS]
    lines += [f"#undef {name}" for name in names]
    return HEAD.replace("{of}", "") + "\n".join(lines) + "\n" + TAIL


def in_lines(items, per_line, start, end):
    """The items, several to a line, each line between `start` and `end`; no comma after the last item."""
    lines = [", ".join(items[i : i + per_line]) for i in range(0, len(items), per_line)]
    return ",\n".join(lines).replace("\n", end + "\n" + start).join((start, end))


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
    folder = pathlib.Path(__file__).resolve().parents[2] / "include/antiphase/device"
    tf32 = "".join(tf32_instruction(columns) for columns in TF32_COLUMNS)
    for name, text in (
        ("wgmma_instructions.cuh", header()),
        ("wgmma_tf32_instructions.cuh", HEAD.replace("{of}", " of tf32") + tf32 + TAIL),
    ):
        if not check:
            (folder / name).write_text(text)
        elif (folder / name).read_text() != text:
            sys.exit(f"{folder / name} is not what this script writes: run it and commit the result")


if __name__ == "__main__":
    main()
