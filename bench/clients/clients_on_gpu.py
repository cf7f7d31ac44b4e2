#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests clients of antiphase on a machine with GPUs, within two minutes: a line PASS or FAIL for each step.

    clients_on_gpu.py [--steps LIST] [--limit SECONDS] [--most-us N] LIBRARIES
    clients_on_gpu.py --collect LIBRARIES          on a machine with gfortran: adds step fortran's program

    distributed   DTensor, tensor-parallel Linear and FSDP in two processes by NCCL: needs torch and two GPUs
    threads       8 threads with 4 streams each, half of them replaying graphs: the bits must be those of
                  products computed alone
    batched       cublasSgemmBatched called by a small C program, without and with the interposer
    fortran       a Fortran program with memory of the GPU
    passed        the time added to torch's small calls, computed or passed on: fails if the median exceeds
                  --most-passed-us (default 1)
    call          host time of a Python matmul call, of its parts, and of torch.mm: fails beyond --most-us
                  (default 6)

LIBRARIES is a folder with libantiphase.so.0 and libantiphase_cublas.so. The Python package and the tests are
those of the tree that contains this script. Exit status: 0 if all steps passed, 1 if one failed, 2 usage.
"""
import argparse
import itertools
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
STEPS = ("distributed", "threads", "batched", "fortran", "passed", "call")
THREADS, STREAMS, ROUNDS = 8, 4, 20


class Failed(Exception):
    pass


def run(command, seconds, **environment):
    """The output of a program. Raises Failed if it fails or takes longer than `seconds`."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(
            words,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=seconds,
            env=os.environ | environment,
        )
    except subprocess.TimeoutExpired:
        raise Failed(f"{words[0]} takes longer than {seconds} s") from None
    if done.returncode != 0:
        said = [
            line
            for line in done.stdout.splitlines()
            if line.strip() and not line.startswith(("#", "\t", "Error termination"))
        ]  # without a stack trace, such as Fortran's
        raise Failed(
            f"{' '.join(words)} returned {done.returncode}: {said[-1] if said else 'it said nothing'}"
        )
    return done.stdout


def of_python(libraries):
    return {
        "PYTHONPATH": f"{ROOT / 'python'}:{ROOT / 'python/tests'}:{os.environ.get('PYTHONPATH', '')}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "ANTIPHASE_LIBRARY": str(libraries / "libantiphase.so.0"),
        "ANTIPHASE_CUBLAS_LIBRARY": str(libraries / "libantiphase_cublas.so"),
    }


def require_libraries(parser, folder):
    """The folder's absolute path; exits with a message if it lacks a library."""
    for name in ("libantiphase.so.0", "libantiphase_cublas.so"):
        if not (folder / name).exists():
            parser.error(f"{folder} has no {name}: expected a folder with both libraries")
    return folder.resolve()


def cuda_library(name):
    """Path of a library of the CUDA toolkit, installed in the system or with torch."""
    places = [pathlib.Path("/usr/local/cuda/lib64"), pathlib.Path("/usr/local/cuda/lib")]
    for folder in map(pathlib.Path, sys.path):
        places += folder.glob("nvidia/*/lib")
    for place in places:
        found = sorted(place.glob(f"{name}.so.1[0-9]"))
        if found:
            return found[-1]
    raise Failed(f"there is no {name}.so: expected a CUDA toolkit in /usr/local/cuda, or torch's libraries")


# ---- Steps: each returns the text of its line, or raises Failed ------------------------------------------


def distributed(options):
    run(
        [sys.executable, ROOT / "python/tests/test_torch.py", "Distributed"],
        options.left(60),
        ANTIPHASE_TEST_DEVICE="cuda",
        **of_python(options.libraries),
    )
    count = run(
        [sys.executable, "-c", "import torch; print(torch.cuda.device_count())"], options.left(30)
    ).split()[-1]
    if int(count) < 2:
        raise Failed(f"there are {count} GPUs: expected 2, one for each process")
    return "sharding rules, tensor-parallel Linear and FSDP, two processes by NCCL"


def threads(options):
    return run(
        [sys.executable, __file__, "--within", "threads", options.libraries],
        options.left(60),
        **of_python(options.libraries),
    ).strip()


def call(options):
    text = run(
        [sys.executable, __file__, "--within", "call", options.libraries],
        options.left(40),
        **of_python(options.libraries),
    ).strip()
    ours = max(float(us) for us in re.findall(r"antiphase ([0-9.]+) us", text))
    if not ours <= options.most_us:
        raise Failed(f"{text}: expected {options.most_us:g} us or less")
    return text


def passed(options):
    text = run(
        [sys.executable, __file__, "--within", "passed", options.libraries],
        options.left(40),
        **of_python(options.libraries),
    ).strip()
    if not max(float(us) for us in re.findall(r"([+-][0-9.]+) us", text)) <= options.most_passed_us:
        raise Failed(f"{text}: expected {options.most_passed_us:g} us or less")
    return text


def batched(options):
    with tempfile.TemporaryDirectory() as folder:
        program, needed = pathlib.Path(folder) / "batched", [
            cuda_library(name) for name in ("libcublas", "libcudart")
        ]
        run(
            [
                "gcc",
                "-std=c11",
                "-O2",
                ROOT / "tests/cublas/batched_on_gpu.c",
                "-o",
                program,
                *needed,
                "-lm",
                *(f"-Wl,-rpath,{library.parent}" for library in needed),
                f"-Wl,-rpath-link,{needed[0].parent}",
            ],
            options.left(30),
        )
        run([program], options.left(30))
        said = run(
            [program],
            options.left(30),
            LD_PRELOAD=str(options.libraries / "libantiphase_cublas.so"),
            LD_LIBRARY_PATH=str(options.libraries),
            ANTIPHASE_LEAST="0",
            ANTIPHASE_REPORT="1",
        )
    if "1 of 1 products computed" not in said:
        raise Failed(f"the interposer has not taken it: {said.strip()!r}")
    return said.splitlines()[0]


def fortran(options):
    program = options.libraries / "fortran_on_gpu"
    if not program.exists():
        raise Failed(f"{program} is missing: --collect makes it where there is gfortran")
    said = run([program], options.left(30), LD_LIBRARY_PATH=str(options.libraries)).strip()
    if said != "right":
        raise Failed(f"it said {said!r}")
    return "a product of 300 x 100 x 200 of a Fortran program"


# ---- Parts that run in a process with torch --------------------------------------------------------------


def threads_within():
    import threading

    import antiphase
    import torch

    shapes = [
        (512, 512, 512),
        (1000, 300, 700),
        (64, 4096, 1024),
        (1024, 1024, 1024),
        (33, 2000, 129),
        (2048, 64, 4096),
        (777, 555, 333),
        (1, 4096, 4096),
    ]
    generator = torch.Generator().manual_seed(1)
    cases = []
    for t in range(THREADS):
        for s in range(STREAMS):
            m, n, k = shapes[(t + 3 * s) % len(shapes)]
            a, b = (torch.randn(shape, generator=generator).cuda() for shape in ((m, k), (k, n)))
            cases.append((t, s, a, b, antiphase.matmul(a, b).clone()))
    torch.cuda.synchronize()
    streams = [[torch.cuda.Stream() for _ in range(STREAMS)] for _ in range(THREADS)]
    graphs = {}
    for t, s, a, b, _ in cases:  # captured here: torch requires captures to be one after the other
        if t % 2 == 0:
            graphs[t, s] = graph, held = torch.cuda.CUDAGraph(), []
            with torch.cuda.graph(graph, stream=streams[t][s]):
                held.append(antiphase.matmul(a, b))
    torch.cuda.synchronize()
    wrong, start = [], threading.Barrier(THREADS)

    def work(t):
        try:
            mine, found = [case for case in cases if case[0] == t], []
            start.wait()
            for _ in range(ROUNDS):
                for _, s, a, b, alone in mine:
                    with torch.cuda.stream(streams[t][s]):
                        if (t, s) in graphs:
                            graph, held = graphs[t, s]
                            held[0].zero_()
                            graph.replay()
                            c = held[0].clone()
                        else:
                            c = antiphase.matmul(a, b)
                        found.append((s, c, alone))
            for stream in streams[t]:
                stream.synchronize()
            wrong.extend(
                (t, s)
                for s, c, alone in found
                if not torch.equal(c.view(torch.int32), alone.view(torch.int32))
            )
        except Exception as error:  # a thread's exception would be lost
            wrong.append((t, repr(error)))

    workers = [threading.Thread(target=work, args=(t,)) for t in range(THREADS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if wrong:
        sys.exit(
            f"{len(wrong)} of {THREADS * STREAMS * ROUNDS} products differ: of thread and stream {wrong[:4]}"
        )
    print(
        f"{THREADS * STREAMS * ROUNDS} products of {THREADS} threads x {STREAMS} streams, half of them replayed: all bits as alone"
    )


def passed_within():
    import antiphase
    import torch

    def randn(*shape):
        return torch.randn(*shape, device="cuda")

    square, half, members, wide = randn(64, 64), randn(64, 64).half(), randn(4, 64, 64), randn(4096, 4096)
    layer, layer_without = torch.nn.Linear(768, 768).cuda(), torch.nn.Linear(768, 768, bias=False).cuda()
    row, rows, wide_row = randn(1, 768), randn(8, 768), randn(1, 4096)
    calls = {
        "mm 64^3": lambda: square @ square,
        "mm 64^3 f16": lambda: half @ half,
        "bmm 4 of 64^3": lambda: members @ members,
        "linear 1 x 768": lambda: layer(row),
        "linear 1 x 768 without bias": lambda: layer_without(row),
        "linear 8 x 768": lambda: layer(rows),
        "mm 1 x 4096^2": lambda: wide_row @ wide,
    }
    lines = []
    with torch.no_grad():
        for name, function in calls.items():
            times = {True: [], False: []}
            for turn in range(80):
                led = turn % 2 == 0
                (antiphase.enable if led else antiphase.disable)()
                for repeat in range(4):
                    torch.cuda.synchronize()
                    start = time.perf_counter()
                    for _ in range(50):
                        function()
                    if repeat:  # the first one of a turn starts with the other variant's code in the caches
                        times[led].append((time.perf_counter() - start) * 2e4)
            ours, stock = (statistics.median(times[led]) for led in (True, False))
            lines.append(f"{name} {stock:.2f} {ours - stock:+.2f} us")
    print(", ".join(lines))


def call_within():
    import antiphase
    import torch
    from antiphase import _arrays, _library, _products

    def microseconds(function):
        """Host time of a call. Valid if the GPU keeps up with the host, or its queue has room for all
        calls."""
        times = []
        for _ in range(60):
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(100):
                function()
            times.append((time.perf_counter() - start) * 1e4)
        return statistics.median(times)

    kind, lines = _arrays.kind_of(torch.empty(0), "a tensor"), []
    for extent in (64, 1024):
        a, b = (torch.randn(extent, extent, device="cuda") for _ in range(2))
        for _ in range(3):
            antiphase.matmul(a, b)
        filled, shape, strides, _, size, spare, device = _products._quick_plans[
            a.shape, a.stride(), b.shape, b.stride(), a.get_device()
        ]
        args, place = spare[-1]
        results = itertools.cycle([torch.empty(shape, device="cuda").data_ptr() for _ in range(5000)])

        def elsewhere():
            args.c = next(results)
            _library.sgemm_of_pointers(place, None)

        guard = kind.guard(a, b) or (lambda a, b: None)
        parts = {
            "antiphase": lambda: antiphase.matmul(a, b),
            "of which the library": lambda: _library.sgemm_of_pointers(place, None),
            "the library where each result lies elsewhere": elsewhere,
            "a tensor": lambda: kind.quick_empty(shape, strides, torch.float32),
            "torch's guards": lambda: guard(a, b),
            "torch.mm": lambda: torch.mm(a, b),
        }
        lines.append(
            f"{extent}^3: " + ", ".join(f"{name} {microseconds(part):.1f} us" for name, part in parts.items())
        )
    print("; ".join(lines))


# ---- The program -----------------------------------------------------------------------------------------


def collect(libraries):
    with tempfile.TemporaryDirectory() as folder:
        run(
            [
                "gfortran",
                f"-J{folder}",
                "-static-libgfortran",
                "-static-libgcc",
                ROOT / "bindings/fortran/antiphase.f90",
                ROOT / "tests/c_api/fortran_on_gpu.f90",
                "-o",
                libraries / "fortran_on_gpu",
                libraries / "libantiphase.so.0",
                "/usr/local/cuda/lib64/libcudart_static.a",
                "-ldl",
                "-lrt",
                "-lpthread",
            ],
            60,
        )
    for needed in re.findall(r"libquadmath\S+ => (/\S+)", run(["ldd", libraries / "fortran_on_gpu"], 10)):
        shutil.copy(needed, libraries)
    print(
        f"carry {libraries} to the machine with the GPU: {', '.join(sorted(path.name for path in libraries.iterdir()))}"
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("libraries", type=pathlib.Path, metavar="LIBRARIES")
    parser.add_argument("--steps", default=",".join(STEPS))
    parser.add_argument("--limit", type=float, default=115, help="seconds for all")
    parser.add_argument("--most-us", type=float, default=6)
    parser.add_argument("--most-passed-us", type=float, default=1)
    parser.add_argument("--collect", action="store_true")
    parser.add_argument("--within", choices=("threads", "passed", "call"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.within:
        return globals()[f"{options.within}_within"]()
    options.libraries = require_libraries(parser, options.libraries)
    steps = options.steps.split(",")
    if unknown := set(steps) - set(STEPS):
        parser.error(f"there is no step {', '.join(sorted(unknown))}: expected some of {', '.join(STEPS)}")
    try:
        if options.collect:
            return collect(options.libraries)
    except Failed as error:
        sys.exit(f"clients_on_gpu.py: {error}")
    end, failures = time.monotonic() + options.limit, 0

    def left(most):
        seconds = min(most, end - time.monotonic())
        if seconds <= 0:
            raise Failed(f"no time is left of {options.limit:g} s")
        return round(seconds, 1)

    options.left = left
    for step in steps:
        start = time.monotonic()
        try:
            verdict, words = "PASS", globals()[step](options)
        except Failed as error:
            verdict, words = "FAIL", error
            failures += 1
        print(f"{verdict} {step}: {words} ({time.monotonic() - start:.1f} s)", flush=True)
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
