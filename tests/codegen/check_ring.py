#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares loops on antiphase/ring.cuh with the same loops in hand-written PTX, instruction for instruction.

    check_ring.py SOURCE.cu --nvcc TOOL --cuobjdump TOOL --include DIR

SOURCE has pairs of kernels, NAME_by_ring and NAME_by_hand. Outside of loops their code has as many
instructions. Exit status: 0 equal, 1 not, 2 usage, 77 there is nothing to read machine code with.
"""
import argparse
import difflib
import re
import sys
import tempfile

from check_codegen import ARCHITECTURE, NOTHING_TO_CHECK, disassembles, instructions, loops_of, output_of


def pairs_in(text):
    """Of each name, the instructions of the kernel on the ring and of the one by hand."""
    parts = re.split(r"^\s*Function : (\S+)\n", text, flags=re.MULTILINE)
    codes = {}
    for name, code in zip(parts[1::2], parts[2::2]):
        what, by = re.match(r"_Z\d+(\w+)_by_(ring|hand)", name).groups()
        codes.setdefault(what, {})[by] = instructions(code)
    return {what: (by["ring"], by["hand"]) for what, by in codes.items()}


def faults(ring, hand):
    if len(ring) != len(hand):
        yield f"{len(ring)} instructions on the ring, {len(hand)} by hand"
        return
    if loops_of(ring) != loops_of(hand) or not loops_of(ring):
        yield f"loops at {loops_of(ring)} on the ring, at {loops_of(hand)} by hand"
        return
    for first, last in loops_of(ring):
        both = [[text for _, text in code[first : last + 1]] for code in (ring, hand)]
        if both[0] != both[1]:
            yield "a loop differs:\n" + "\n".join(
                difflib.unified_diff(*both, "ring", "hand", lineterm="", n=1)
            )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source")
    parser.add_argument("--nvcc", required=True)
    parser.add_argument("--cuobjdump", default="")
    parser.add_argument("--include", required=True)
    options = parser.parse_args()
    if not options.cuobjdump or not disassembles(options.cuobjdump):
        print("skipped: there is no cuobjdump with nvdisasm to read the compiled code with")
        return NOTHING_TO_CHECK
    with tempfile.TemporaryDirectory() as folder:
        cubin = f"{folder}/out.cubin"
        target = f"-gencode=arch=compute_{ARCHITECTURE.removeprefix('sm_')},code={ARCHITECTURE}"
        output_of(options.nvcc, "-cubin", "-o", cubin, target, "-O3", f"-I{options.include}", options.source)
        pairs = pairs_in(output_of(options.cuobjdump, "-sass", cubin))
    failed = False
    for what, (ring, hand) in sorted(pairs.items()):
        found = list(faults(ring, hand))
        print(f"{what}: {found[0] if found else f'{len(ring)} instructions, loops equal'}")
        failed = failed or bool(found)
    return 1 if failed or len(pairs) != 3 else 0


if __name__ == "__main__":
    sys.exit(main())
