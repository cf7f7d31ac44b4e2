# SPDX-License-Identifier: Apache-2.0
"""advise(): the library's performance model of double buffering, from Python."""
import operator
import os

from . import _library


def _plain(value):
    """An array library's number as an int or a float, for JSON."""
    try:
        return operator.index(value)
    except TypeError:
        pass
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(
            f"antiphase: advise is asked with {_library.shown(value)}: expected numbers and texts"
        ) from None


def _profile(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(
            f"antiphase: {path} cannot be read ({error}): expected what `antiphase info --measure` wrote"
        ) from None


def advise(about, **question):
    """Predicts which policy and how many buffers suit a product, a scan or a kernel of your own. Nothing
    runs, and no GPU is needed.

    advise("gemm", m=4096, n=4096, k=4096)            a float32 product (count=: a batch of that many)
    advise("scan", count=1000000, size=4)             inclusive sums of `count` elements of `size` bytes
    advise("kernel", smem=16384, compute="900clk")    blocks that load smem bytes into a slot, wait, and
                                                      compute from it; also regs=, load=, threads=, fixed=, blocks=,
                                                      copy="async", "bulk" or "registers", form="pipeline" or
                                                      "roles", as in `antiphase advise --help`

    device: the name of a machine profile (default "H200"), or the path of a .json file that `antiphase info
    --measure` wrote.

    Returns a dictionary: 'pick' (policy, seconds, limit, parts), 'predicted' (all policies), 'pipelined' (its
    'stages', each with gain, occupancy, bytes in flight, limit), and sentences: 'recommends', 'limits',
    'changes'. Raises ValueError for values that are out of range, not known or not readable, TypeError for
    values that are neither numbers nor text. docs/learn/model.md states how far predictions are off.
    """
    import json  # a tenth of what importing antiphase would take

    device = question.pop("device", None)
    if about == "kernel":
        question = {"kernel": ",".join(f"{member}={value}" for member, value in question.items())}
    if device is not None:
        if not isinstance(device, (str, os.PathLike)):
            raise TypeError(
                f"antiphase: device is {_library.shown(device)}: expected the name of a profile, or the path of a file"
            )
        device = os.fsdecode(device)
        if device.endswith(".json"):
            question["profile"] = _profile(device)
        else:
            question["device"] = device
    return json.loads(_library.advice(json.dumps({"about": about, **question}, default=_plain)))
