#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times torch's scans on a GPU: torch's own, the same led by antiphase.enable(scans=True), and antiphase.torch's.

    time_scans.py [--only PART] [--rounds N] [--commit ID] [--output FILE] LIBRARIES

LIBRARIES is a folder with libantiphase.so.0 and libantiphase_cublas.so. The Python package is that of the
tree that contains this script. The three alternate in one process. PART selects the calls whose names contain
it. FILE receives the medians and quartiles as JSON, a series as in bench/results/experiments. Each line says
what was predicted, too, in parentheses, and whether the call was overridden. Exit status: 0 if results agree, 1 if
not, 2 usage.
"""
import argparse
import datetime
import json
import math
import os
import pathlib
import subprocess
import sys
import time

from clients_on_gpu import of_python, require_libraries
from time_clients import summary

METHOD = (
    "bench/clients/time_scans.py: torch's own scan, torch's as led, and antiphase.torch's alternately, {rounds} rounds of several calls one after the "
    "other between two events, so that a call takes the longer of its times on the host and on the GPU; results in torch's memory. led: "
    "whether enable(scans=True) led the call."
)
MILLION = 10**6
# operator of torch, dtype, shape, axis
CALLS = [
    *(("cumsum", "float32", (1 << n,), 0) for n in (10, 16, 20, 22, 24, 26, 28)),
    ("cumsum", "float32", (MILLION, 32), 0),
    ("cumsum", "float32", (MILLION, 2), 0),
    ("cumsum", "float32", (2000, 100), 0),
    ("cumsum", "float32", (4096, 65536), 0),
    ("cumsum", "float32", (4096, 65536), 1),
    ("cumsum", "float32", (65536, 4096), 1),
    ("cumsum", "float32", (MILLION, 128), 1),
    ("cumsum", "float32", (64, 1024, 1024), 1),
    ("cumsum", "float32", (32, 50257), 1),
    ("cumsum", "float32", (128, 128), 1),
    ("cumsum", "float32", (256, MILLION), 1),
    ("cumsum", "float64", (1 << 25,), 0),
    ("cumsum", "bfloat16", (1 << 28,), 0),
    ("cumsum", "bfloat16", (64, 32000), 1),
    ("cumsum", "float16", (8192, 8192), 0),
    ("cumsum", "int64", (1 << 26,), 0),
    ("cumsum", "int32", (1 << 26,), 0),
    ("cumsum", "int32", (16384, 4096), 1),
    ("cumsum", "bool", (1 << 26,), 0),
    ("cumprod", "float32", (1 << 26,), 0),
    ("cumprod", "float32", (4096, 4096), 1),
    ("cumprod", "float32", (100000, 64), 0),
    ("cummax", "float32", (1 << 16,), 0),
    ("cummax", "float32", (1 << 26,), 0),
    ("cummax", "float32", (256, 65536), 1),
    ("cummax", "float32", (16384, 4096), 1),
    ("cummax", "float32", (100000, 64), 0),
    ("cummin", "int64", (8192, 4096), 0),
    ("logcumsumexp", "float32", (1 << 24,), 0),
    ("logcumsumexp", "float32", (16384, 4096), 1),
    ("logcumsumexp", "float32", (100000, 64), 0),
]


def name_of(operator, dtype, shape, axis):
    return f"{operator} {dtype} {' x '.join(map(str, shape))} along {axis}"


def made(torch, dtype, shape, operator):
    generator = torch.Generator("cuda").manual_seed(1)
    if dtype == "bool":
        return torch.rand(shape, device="cuda", generator=generator) < 0.5
    kind = getattr(torch, dtype)
    if not kind.is_floating_point:
        return torch.randint(-100, 100, shape, device="cuda", generator=generator, dtype=kind)
    x = torch.randn(shape, device="cuda", generator=generator).to(kind)
    return 1 + x / 1e4 if operator == "cumprod" else x


def difference(torch, found, expected):
    """The largest difference, relative to the largest magnitude; infinity if indices or integers differ."""
    worst = 0.0
    for one, other in zip(*((x if isinstance(x, tuple) else (x,)) for x in (found, expected))):
        if not other.is_floating_point():
            worst = max(worst, 0 if torch.equal(one, other) else math.inf)
            continue
        apart = (one.double() - other.double()).abs_().max().item()
        worst = max(worst, apart / max(other.abs().max().item(), 1e-30))
    return worst


def times(torch, call, seconds):
    """us of a call, in several calls of `seconds` in all."""
    call()
    torch.cuda.synchronize()
    start = time.perf_counter()
    call()
    torch.cuda.synchronize()
    count = max(1, min(200, int(seconds / (time.perf_counter() - start))))
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(count):
        call()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1e3 / count


def measure(options):
    import torch

    import antiphase
    import antiphase.torch
    from antiphase import _torch_lead_scans as lead

    found, wrong = [], []
    for about in CALLS:
        name = name_of(*about)
        if options.only not in name:
            continue
        operator, dtype, shape, axis = about
        x = made(torch, dtype, shape, operator)
        call = lambda: getattr(torch, operator)(x, axis)
        direct = lambda: getattr(antiphase.torch, operator)(x, axis)
        expected = call()
        apart = difference(torch, direct(), expected)
        lead.scans.computed = 0
        with antiphase.enabled(scans=True):
            apart = max(apart, difference(torch, call(), expected))
        led = lead.scans.computed > 0
        # torch's own sums of 16 bits are off by 3.5e-2 of FP64's, its products of 2^26 factors by 0.35
        most = 0.1 if expected.__class__ is torch.Tensor and expected.dtype.itemsize == 2 else 1e-3
        if apart > (0.5 if operator == "cumprod" else most):
            wrong.append(name)
        del expected
        taken = {"torch": [], "led": [], "antiphase.torch": []}
        for _ in range(options.rounds):
            taken["torch"].append(times(torch, call, 0.1))
            with antiphase.enabled(scans=True):
                taken["led"].append(times(torch, call, 0.1))
            taken["antiphase.torch"].append(times(torch, direct, 0.1))
        _, _, row = lead._decide(
            {v: k for k, v in lead._torch_scans.NAMES.items()}[operator],
            x,
            axis,
            lead._torch_scans.result_type(x, {"cumsum": "sum", "cumprod": "product"}.get(operator), None),
        )
        one = {
            "name": name,
            "variants": [{"what": what} | summary(us) for what, us in taken.items()],
            "led": led,
            "predicted_us": {"torch": round(row.theirs, 1), "antiphase": round(row.ours, 1)},
            "difference": apart,
        }
        found.append(one)
        theirs, ours, alone = (variant["us"] for variant in one["variants"])
        print(
            f"{name:44} torch {theirs:10.1f} ({row.theirs:10.1f})  led {ours:9.1f}  antiphase.torch {alone:9.1f} ({row.ours:8.1f}) us  "
            f"{theirs / ours:8.2f}x {'led' if led else 'passed on'}, {theirs / alone:8.2f}x  off by {apart:.1e}",
            flush=True,
        )
        del x
        torch.cuda.empty_cache()
    ratios = [one["variants"][0]["us"] / one["variants"][1]["us"] for one in found]
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"{len(ratios)} calls: geometric mean {mean:.2f}x, worst {min(ratios):.2f}x")
    return found, wrong


def options_of(description):
    """The arguments of the command line; restarts Python with the libraries that they name."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", metavar="PART")
    parser.add_argument("--rounds", type=int, default=5, metavar="N")
    parser.add_argument("--commit", default="", metavar="ID")
    parser.add_argument("--output", type=pathlib.Path, metavar="FILE")
    parser.add_argument("libraries", type=pathlib.Path)
    options = parser.parse_args()
    libraries = require_libraries(parser, options.libraries)
    wanted = of_python(libraries)
    if any(os.environ.get(name) != value for name, value in wanted.items() if name != "PYTHONPATH"):
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **wanted})
    return options


def write(options, question, method, found):
    """Writes --output, if it is asked for."""
    import torch

    if options.output:
        driver = subprocess.run(
            ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"],
            capture_output=True,
            text=True,
        ).stdout.splitlines()
        document = {
            "schema": 1,
            "command": "experiment",
            "question": question,
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "machine": {"name": torch.cuda.get_device_name(), "driver": driver[0] if driver else ""},
            "torch": torch.__version__,
            "commit": options.commit,
            "method": method.format(rounds=options.rounds),
            "series": found,
        }
        options.output.write_text(json.dumps(document, indent=1) + "\n")


def main():
    options = options_of(__doc__)
    found, wrong = measure(options)
    write(options, "what antiphase brings to torch's scans", METHOD, found)
    for name in wrong:
        print(f"results differ: {name}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
