# SPDX-License-Identifier: Apache-2.0
"""When double buffering pays, and with what: the library's model, asked from Python."""
import os

from . import _library


def advise(about, **question):
    """Which policy and how many buffers suit a product, a scan or a kernel of one's own, as predicted; nothing runs, no GPU is needed.

    advise("gemm", m=4096, n=4096, k=4096)            a product of float32 (count=: so many of them)
    advise("scan", count=1000000, size=4)             inclusive sums of that many elements of size bytes
    advise("kernel", smem=16384, compute="900clk")    blocks that load smem bytes into a slot, wait, and compute from it; also regs=, load=,
                                                      threads=, fixed=, copy="async" or "registers", as `antiphase advise --help` says

    device: the name of a machine profile ("H200" if not given), or the path of a file that `antiphase info --measure` wrote (.json).

    Returns a dictionary: 'pick' (policy, seconds, limit, parts), 'predicted' (all policies), 'pipelined' (its 'stages', each with gain,
    occupancy, bytes in flight, limit), and sentences: 'recommends', 'limits', 'changes'. Raises ValueError for questions that make no
    sense. docs/model.md says how good predictions are.
    """
    import json  # a tenth of what importing antiphase would take

    device = question.pop("device", None)
    if about == "kernel":
        question = {"kernel": ",".join(f"{member}={value}" for member, value in question.items())}
    if device is not None and os.fspath(device).endswith(".json"):
        with open(device, encoding="utf-8") as file:
            question["profile"] = file.read()
    elif device is not None:
        question["device"] = device
    return json.loads(_library.advice(json.dumps({"about": about, **question})))
