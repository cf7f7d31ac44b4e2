#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares `antiphase count` with what Nsight Compute counts on a GPU, for the kernels of tests/checker/count.

    evaluation/count_on_gpu.py build/cuda/antiphase [--output counts.json]

Needs nvcc and ncu, and takes less than two minutes. Exit code 1: a number differs.
"""

import argparse
import csv
import io
import json
import pathlib
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[1] / "tests/checker/count/kernels.cu"

# By memory and access: the metrics of requests and of wavefronts or sectors.
METRICS = {
    ("shared", "read"): (
        "smsp__inst_executed_op_shared_ld.sum",
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    ),
    ("shared", "write"): (
        "smsp__inst_executed_op_shared_st.sum",
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    ),
    ("global", "read"): (
        "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
        "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    ),
    ("global", "write"): (
        "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
        "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    ),
}


def output_of(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        sys.exit(f"{command[0]} failed ({done.returncode}):\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def counted_here(tool):
    """By kernel, memory and access: requests, and wavefronts or sectors."""
    counts = {}
    for kernel in json.loads(output_of(tool, "count", SOURCE, "--json"))["kernels"]:
        for line in kernel["lines"]:
            key = kernel["kernel"], line["memory"], line["access"]
            requests, units = counts.get(key, (0, 0))
            more = line["wavefronts"] if line["memory"] == "shared" else line["sectors"]
            counts[key] = requests + line["requests"], units + more
    return counts


def counted_there(ncu, program):
    """The same from Nsight Compute; and the name of the GPU."""
    names = [m for pair in METRICS.values() for m in pair]
    told = output_of(ncu, "--csv", "--page", "raw", "--metrics", ",".join(names), program)
    rows = list(csv.DictReader(io.StringIO(told[told.index('"ID"') :])))
    counts = {}
    for row in rows[1:]:  # the first has the units
        kernel = row["Kernel Name"].split("(")[0]
        for key, metrics in METRICS.items():
            numbers = tuple(int(float(row[m].replace(",", ""))) for m in metrics)
            if any(numbers):
                counts[(kernel, *key)] = numbers
    return counts, rows[1].get("Device", "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tool")
    parser.add_argument("--ncu", default="ncu")
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--output", help="a JSON file for the numbers")
    asked = parser.parse_args()
    here = counted_here(asked.tool)
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "kernels"
        output_of(asked.nvcc, "-O3", "-arch=native", "-lineinfo", "-o", program, SOURCE)
        there, device = counted_there(asked.ncu, program)
    rows, differ = [], 0
    for key in sorted(here.keys() | there.keys()):
        ours, ncus = here.get(key, (0, 0)), there.get(key, (0, 0))
        differ += ours != ncus
        rows.append({"kernel": key[0], "memory": key[1], "access": key[2], "count": ours, "ncu": ncus})
        print(
            f"{key[0]:20} {key[1]:7} {key[2]:6} count {ours} ncu {ncus}{'' if ours == ncus else '   differs'}"
        )
    print(f"{len(rows) - differ} of {len(rows)} agree{' on ' + device if device else ''}")
    if asked.output:
        pathlib.Path(asked.output).write_text(
            json.dumps({"schema": 1, "device": device, "rows": rows}, indent=1)
        )
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
