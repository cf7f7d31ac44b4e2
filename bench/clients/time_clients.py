#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times unmodified programs on a GPU, alternately with cuBLAS and with antiphase in its place.

    time_clients.py [--only PART] [--rounds N] [--profile] [--commit ID] [--output FILE] LIBRARIES

LIBRARIES is a folder with libantiphase.so.0 and libantiphase_cublas.so. The Python package is that of the
tree that contains this script. Clients of PyTorch and CuPy run in one process each, which alternates between
antiphase.enable() and disable(). JAX looks up cuBLAS's symbols once, so it alternates between processes,
every other one with the library preloaded. A client runs once each way before it is timed. PART selects the
clients whose names contain it: `program:` those of client_sciences.py and client_networks.py, whose errors are compared against
FP64. --profile also asks `antiphase run --profile` what it predicts that a step of these gains. FILE receives the medians and quartiles as JSON, a series as in
bench/results/experiments. Exit status: 0 if each client ran and its results agree, 1 if not, 2 usage.
"""
import argparse
import datetime
import functools
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from client_models import gpt, loss_of, torch_clients
from clients_on_gpu import of_python, require_libraries

FRAMEWORKS = ("torch", "cupy", "jax")
METHOD = (
    "bench/clients/time_clients.py: with and without antiphase alternately, {rounds} rounds after one each way; torch between two events, CuPy and JAX "
    "by the host's clock; calls included. FP32 with TF32 off. difference: of results, relative to the Frobenius norm, or of losses."
)


def summary(us):
    ordered = sorted(us)
    quartile = len(ordered) // 4
    return {
        "us": round(statistics.median(ordered), 1),
        "lower_quartile": round(ordered[quartile], 1),
        "upper_quartile": round(ordered[-1 - quartile], 1),
    }


def series(name, cublas, antiphase, **more):
    return {
        "name": name,
        "variants": [{"what": "cuBLAS"} | summary(cublas), {"what": "antiphase"} | summary(antiphase)],
    } | more


# ---- Clients of PyTorch ----------------------------------------------------------------------------------


LOSS_STEPS = 25
LOSSES = f"torch: losses of {LOSS_STEPS} steps, 6 layers of 512"


def torch_loss_curve(torch, antiphase):
    """The largest difference of losses over some steps of training, relative to the loss with cuBLAS."""

    def curve():
        torch.manual_seed(1)
        model = gpt(torch, 512, 512, 6, 8, 512)
        by, generator, losses = (
            torch.optim.AdamW(model.parameters(), lr=1e-3),
            torch.Generator("cuda").manual_seed(5),
            [],
        )
        for _ in range(LOSS_STEPS):
            tokens = (
                torch.arange(513, device="cuda")
                * torch.randint(1, 9, (8, 1), device="cuda", generator=generator)
                % 512
            )
            loss = loss_of(torch, model, tokens[:, :-1], tokens[:, 1:])
            by.zero_grad()
            loss.backward()
            by.step()
            losses.append(loss.item())
        return losses

    stock = curve()
    with antiphase.enabled():
        ours = curve()
    return {
        "name": LOSSES,
        "difference": max(abs(a - b) / abs(a) for a, b in zip(stock, ours)),
        "steps": LOSS_STEPS,
    }


def programs():
    """{name: a function that makes the program's step}."""
    import client_networks
    import client_sciences

    both = client_sciences.PROGRAMS | client_networks.PROGRAMS
    return {f"program: {name}": make for name, make in both.items()}


def steps_within(options):
    """A program alone, as `antiphase run --profile` is asked about it: as many steps as options.rounds."""
    import torch
    from client_programs import Made

    step = programs()[options.only](Made())
    for _ in range(options.rounds):
        step()
    torch.cuda.synchronize()


def predicted_us(name, options, us):
    """What `antiphase run --profile` predicts that a step gains, which takes the GPU about `us`."""
    steps = max(5, min(100, int(5e5 / us)))
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "profile.json")
        of_program = [
            __file__,
            "--within",
            "steps",
            "--rounds",
            str(steps),
            "--only",
            name,
            str(options.libraries),
        ]
        subprocess.run(
            [sys.executable, "-m", "antiphase", "run", "--profile", "--json", str(file), *of_program],
            check=True,
            stderr=subprocess.DEVNULL,
        )
        gain = json.loads(file.read_text())["gain"]
    return {key: round(1e6 * gain[key] / steps, 1) for key in ("seconds", "gpu_seconds")}


def torch_within(options):
    import antiphase
    import torch
    from client_programs import Made, parts_of

    def us(client, calls):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        time.sleep(0.02)
        for _ in range(1 + calls // 4):  # after a rest, clocks rise and queues fill
            client()
        begin.record()
        for _ in range(calls):
            client()
        end.record()
        torch.cuda.synchronize()
        return begin.elapsed_time(end) * 1e3 / calls

    def difference(a, b):
        return None if a is None else ((a.double() - b.double()).norm() / a.double().norm()).item()

    def timed(name, make):
        client = make()
        stock = client()
        with antiphase.enabled():
            ours = client()
        found = difference(stock, ours)
        del stock, ours
        calls = max(1, min(200, int(1e4 / us(client, 1))))
        times = [], []
        for _ in range(options.rounds):
            times[0].append(us(client, calls))
            with antiphase.enabled():
                times[1].append(us(client, calls))
        return series(name, *times, calls=calls) | ({} if found is None else {"difference": found})

    def errors(make):
        """Of a program's first step, relative to FP64 in the Frobenius norm: with cuBLAS, and with antiphase."""
        exact = parts_of(make(Made(torch.float64))())
        scale = sum(x.norm() ** 2 for x in exact) ** 0.5

        def error():
            found = parts_of(make(Made())())
            return (sum((x.double() - y).norm() ** 2 for x, y in zip(found, exact)) ** 0.5 / scale).item()

        stock = error()
        with antiphase.enabled():
            return {"cuBLAS": stock, "antiphase": error()}

    def of_program(name, make):
        found = {"errors": errors(make)}
        torch.cuda.empty_cache()
        step = make(Made())
        if options.profile:
            found["predicted_us"] = predicted_us(name, options, us(step, 1))

        def client():
            step()

        return timed(name, lambda: client) | found

    for name, make in torch_clients(torch).items():
        if options.only in name:
            options.write(timed(name, make))
            torch.cuda.empty_cache()
    for name, make in programs().items():
        if options.only in name:
            try:
                options.write(of_program(name, make))
            except RuntimeError as error:
                options.write({"name": name, "failed": str(error)})
            torch.cuda.empty_cache()
    if options.only in LOSSES:
        options.write(torch_loss_curve(torch, antiphase))


# ---- Clients of CuPy and JAX -----------------------------------------------------------------------------


def host_us(call, calls, wait):
    wait()
    time.sleep(0.02)
    call()
    start = time.perf_counter()
    for _ in range(calls):
        call()
    wait()
    return (time.perf_counter() - start) * 1e6 / calls


def cupy_within(options):
    import antiphase
    import cupy

    random, linear = cupy.random.default_rng(1), cupy.linalg

    def normal(*shape):
        return random.standard_normal(shape, dtype="float32")

    def product(extent):
        a, b = normal(extent, extent), normal(extent, extent)
        return lambda: a @ b

    def ridge():
        x, y, one = normal(50000, 1024), normal(50000, 32), cupy.eye(1024, dtype="float32")
        return lambda: linear.solve(x.T @ x + 1000 * one, x.T @ y)

    def whitening():
        x = normal(20000, 2048)

        def step():
            moved = x - x.mean(0)
            return moved @ linear.inv(linear.cholesky(moved.T @ moved / len(x))).T

        return step

    made = {f"cupy: a @ b of {n}": functools.partial(product, n) for n in (1024, 4096, 8192)}
    made |= {
        "program: ridge regression (CuPy), 50000 x 1024, 32 targets": ridge,
        "program: whitening by a Cholesky factor (CuPy), 20000 x 2048": whitening,
    }
    for name, make in made.items():
        if options.only not in name:
            continue
        client, wait = make(), cupy.cuda.Device().synchronize
        stock = client()
        with antiphase.enabled():
            ours = client()
        found = float(linear.norm(stock - ours) / linear.norm(stock))
        times = [], []
        for _ in range(options.rounds):
            times[0].append(host_us(client, 5, wait))
            with antiphase.enabled():
                times[1].append(host_us(client, 5, wait))
        options.write(series(name, *times, difference=found))


JAX_EXTENTS = (2048, 8192)


def jax_within(options):
    """One of the alternating processes: writes its times only."""
    import jax
    import jax.numpy as jnp

    for extent in JAX_EXTENTS:
        if options.only not in jax_name(extent):
            continue
        a = jax.random.normal(jax.random.PRNGKey(0), (extent, extent))
        dot = jax.jit(lambda x: jnp.dot(x, x, precision="highest"))
        result = dot(a).block_until_ready()
        last = [result]

        def call():
            last[0] = dot(a)

        us = [host_us(call, 5, lambda: last[0].block_until_ready()) for _ in range(options.rounds)]
        options.write({"extent": extent, "us": us, "first": [float(x) for x in result[0, :64]]})


def jax_name(extent):
    return f"jax: jnp.dot of {extent}, HIGHEST"


def jax_series(options):
    if not any(options.only in jax_name(extent) for extent in JAX_EXTENTS):
        return
    runs = {}
    for turn in range(4):
        ours = turn % 2
        preload = {"LD_PRELOAD": str(options.libraries / "libantiphase_cublas.so")} if ours else {}
        for found in within("jax", options, XLA_PYTHON_CLIENT_PREALLOCATE="false", **preload):
            runs.setdefault(found["extent"], ([], []))[ours].append(found)
    for extent, (stock, ours) in runs.items():
        first, second = stock[0]["first"], ours[0]["first"]
        apart = sum((a - b) ** 2 for a, b in zip(first, second)) ** 0.5 / sum(a * a for a in first) ** 0.5
        yield series(
            jax_name(extent),
            *([us for run in runs_of for us in run["us"]] for runs_of in (stock, ours)),
            difference=apart,
        )


# ---- The program -----------------------------------------------------------------------------------------


def within(framework, options, **environment):
    """Runs a client in a process of its own and yields the JSON values that it writes, one per line."""
    environment = (
        os.environ
        | of_python(options.libraries)
        | {
            "ANTIPHASE_REPORT": "0",
            "LD_LIBRARY_PATH": f"{options.libraries}:{os.environ.get('LD_LIBRARY_PATH', '')}",
        }
        | environment
    )
    command = [
        sys.executable,
        __file__,
        "--within",
        framework,
        "--rounds",
        str(options.rounds),
        "--only",
        options.only,
        *["--profile"] * options.profile,
        str(options.libraries),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        for line in process.stdout:
            yield json.loads(line)
    if process.returncode != 0:
        raise RuntimeError(f"the clients of {framework} ended with status {process.returncode}")


def shown(found):
    said = []
    if "variants" in found:
        cublas, ours = (v["us"] for v in found["variants"])
        said.append(f"cuBLAS {cublas:.1f} us, antiphase {ours:.1f} us, {cublas / ours:.2f}x")
    if "difference" in found:
        said.append(f"difference {found['difference']:.1e}")
    if "errors" in found:
        said.append("errors " + ", ".join(f"{error:.1e}" for error in found["errors"].values()))
    if "predicted_us" in found:
        said.append(f"a gain of {found['predicted_us']['seconds']:.1f} us predicted")
    if "failed" in found:
        said.append(found["failed"])
    return f"{found['name']}: {', '.join(said)}"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("libraries", type=pathlib.Path, metavar="LIBRARIES")
    parser.add_argument("--only", default="", metavar="PART")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--output", type=pathlib.Path)
    parser.add_argument(
        "--most-apart", type=float, default=1e-5, help="the largest difference that is agreement"
    )
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--within", choices=(*FRAMEWORKS, "steps"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error(f"{options.rounds} rounds: expected one or more")
    options.libraries = require_libraries(parser, options.libraries)
    if options.within:
        options.write = lambda value: print(json.dumps(value), flush=True)
        return globals()[f"{options.within}_within"](options)
    found, failed = [], False
    for framework in FRAMEWORKS:
        try:
            for one in jax_series(options) if framework == "jax" else within(framework, options):
                found.append(one)
                stock, ours = one.get("errors", {"cuBLAS": 0, "antiphase": 0}).values()
                agrees = (
                    "failed" not in one
                    and one.get("difference", 0) <= options.most_apart  # false of a NaN
                    and ours <= max(2 * stock, options.most_apart)
                )
                failed |= not agrees
                print(shown(one) + ("" if agrees else ": NO AGREEMENT"), flush=True)
        except RuntimeError as error:
            failed = True
            print(f"time_clients.py: {error}", file=sys.stderr)
    if options.output:
        machine = subprocess.run(
            ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
            text=True,
            capture_output=True,
            check=True,
        ).stdout
        name, driver = machine.splitlines()[0].split(", ")
        options.output.write_text(
            json.dumps(
                {
                    "schema": 1,
                    "command": "experiment",
                    "question": "what libantiphase_cublas.so brings to unmodified programs",
                    "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
                    "machine": {"name": name, "driver": driver},
                    "commit": options.commit,
                    "method": METHOD.format(rounds=options.rounds),
                    "series": found,
                },
                indent=1,
            )
            + "\n"
        )
    sys.exit(failed)


if __name__ == "__main__":
    main()
