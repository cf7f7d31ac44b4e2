#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times unmodified programs on a GPU, alternately with cuBLAS and with antiphase in its place.

    time_clients.py [--only PART] [--rounds N] [--commit ID] [--output FILE] LIBRARIES

LIBRARIES is a folder with libantiphase.so.0 and libantiphase_cublas.so. The Python package is that of the
tree that contains this script. Clients of PyTorch and CuPy run in one process each, which alternates between
antiphase.enable() and disable(). JAX looks up cuBLAS's symbols once, so it alternates between processes,
every other one with the library preloaded. A client runs once each way before it is timed. PART selects the
clients whose names contain it. FILE receives the medians and quartiles as JSON, a series as in
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
import time

from clients_on_gpu import of_python, require_libraries

FRAMEWORKS = ("torch", "cupy", "jax")
METHOD = (
    "scripts/time_clients.py: with and without antiphase alternately, {rounds} rounds after one each way; torch between two events, CuPy and JAX "
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


def gpt(torch, vocabulary, width, layers, heads, context):
    """A language model like GPT-2."""
    nn, functional = torch.nn, torch.nn.functional

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.before_attention, self.before_mlp = nn.LayerNorm(width), nn.LayerNorm(width)
            self.projections, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x):
            q, k, v = (
                part.unflatten(-1, (heads, -1)).transpose(1, 2)
                for part in self.projections(self.before_attention(x)).chunk(3, dim=-1)
            )
            x = x + self.out(
                functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
            )
            return x + self.down(functional.gelu(self.up(self.before_mlp(x))))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.token, self.place = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
            self.blocks = nn.Sequential(*(Block() for _ in range(layers)))
            self.norm, self.logits = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

        def forward(self, tokens):
            return self.logits(
                self.norm(self.blocks(self.token(tokens) + self.place.weight[: tokens.shape[1]]))
            )

    return Model().cuda()


def loss_of(torch, model, tokens, following):
    return torch.nn.functional.cross_entropy(model(tokens).flatten(0, 1), following.flatten())


def torch_clients(torch):
    """{name: a function that makes the client}. A client is a function that returns its result or None. Each
    is made, timed and dropped before the next one."""
    generator = torch.Generator("cuda").manual_seed(1)

    def randn(*shape):
        return torch.randn(*shape, device="cuda", generator=generator)

    def product(m, n, k):
        a, b = randn(m, k), randn(n, k)
        return lambda: a @ b.T

    def bmm(count, extent):
        a, b = randn(count, extent, extent), randn(count, extent, extent)
        return lambda: torch.bmm(a, b)

    def added(m, n, k):
        a, b, c = randn(m, k), randn(n, k), randn(m, n)
        return lambda: torch.addmm(c, a, b.T, beta=1)

    def mlp_step():
        layers = [layer for _ in range(4) for layer in (torch.nn.Linear(4096, 4096), torch.nn.ReLU())]
        model, x = torch.nn.Sequential(*layers).cuda(), randn(8192, 4096)
        by = torch.optim.SGD(model.parameters(), lr=1e-6)

        def step():
            by.zero_grad()
            model(x).square().mean().backward()
            by.step()

        return step

    def gpt2(train):
        torch.manual_seed(1)
        model = gpt(torch, 50304, 768, 12, 12, 1024)
        tokens = torch.randint(0, 50304, (8, 1024), device="cuda")
        by = torch.optim.AdamW(model.parameters(), lr=1e-6, fused=True)

        def step():
            by.zero_grad()
            loss_of(torch, model, tokens, tokens).backward()
            by.step()

        def forward():
            with torch.no_grad():
                return model(tokens)

        return step if train else forward

    def encoder_step(layers, *shape, tokens=torch.nn.Identity):
        """Blocks as those of BERT-base and ViT-B, after what makes tokens of inputs of a shape."""
        layer = torch.nn.TransformerEncoderLayer(768, 12, 3072, dropout=0, batch_first=True)
        blocks = torch.nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        model, x = torch.nn.Sequential(tokens(), blocks).cuda(), randn(*shape)
        by = torch.optim.AdamW(model.parameters(), lr=1e-6, fused=True)

        def step():
            by.zero_grad()
            model(x).square().mean().backward()
            by.step()

        return step

    class Patches(torch.nn.Module):
        """196 patches of 16 x 16 pixels and a token of the class."""

        def __init__(self):
            super().__init__()
            self.project = torch.nn.Conv2d(3, 768, 16, 16)
            self.kind = torch.nn.Parameter(torch.zeros(1, 1, 768))

        def forward(self, x):
            patches = self.project(x).flatten(2).transpose(1, 2)
            return torch.cat((self.kind.expand(len(x), -1, -1), patches), 1)

    def muon():
        x0 = randn(4096, 4096) / 64

        def steps():
            x = x0 / x0.norm()
            for _ in range(5):
                a = x @ x.T
                x = 3.4445 * x + (-4.775 * a + 2.0315 * (a @ a)) @ x
            return x

        return steps

    def factors(function, extent, definite=False):
        a = randn(extent, extent)
        if definite:
            a = a @ a.T / extent + torch.eye(extent, device="cuda")

        def run():
            function(a)

        return run

    made = {
        f"torch: product {m} x {n} x {k}": functools.partial(product, m, n, k)
        for m, n, k in (
            (512, 512, 512),
            (1024, 1024, 1024),
            (4096, 4096, 4096),
            (1, 4096, 4096),
            (16, 4096, 4096),
            (7680, 7680, 128),
        )
    }
    made |= {
        f"torch: bmm {count} of {extent}^3": functools.partial(bmm, count, extent)
        for count, extent in ((64, 512), (1000, 128))
    }
    made |= {
        "torch: addmm 6000 x 6000 x 256, beta 1": functools.partial(added, 6000, 6000, 256),
        "torch: addmm 5999 x 5999 x 256, beta 1": functools.partial(added, 5999, 5999, 256),
        "torch: MLP step, 4 layers of 4096, 8192 rows": mlp_step,
        "torch: GPT-2 124M step, 8 x 1024 tokens": functools.partial(gpt2, True),
        "torch: GPT-2 124M forward, 8 x 1024 tokens": functools.partial(gpt2, False),
        "torch: encoder step, 6 layers of 768, 8 x 1024 tokens": functools.partial(
            encoder_step, 6, 8, 1024, 768
        ),
        "torch: BERT-base's blocks, step, 16 x 512 tokens": functools.partial(encoder_step, 12, 16, 512, 768),
        "torch: ViT-B step, 64 x 224 x 224 pixels": functools.partial(
            encoder_step, 12, 64, 3, 224, 224, tokens=Patches
        ),
        "torch: Muon, 4096": muon,
    }
    linear = torch.linalg
    for extent in (8192, 16384):
        made |= {
            f"torch: cholesky {extent}": functools.partial(factors, linear.cholesky, extent, True),
            f"torch: lu_factor {extent}": functools.partial(factors, linear.lu_factor, extent),
            f"torch: qr {extent}": functools.partial(factors, linear.qr, extent),
        }
    made["torch: eigh 4096"] = functools.partial(factors, linear.eigh, 4096, True)
    return made


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


def torch_within(options):
    import antiphase
    import torch

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

    for name, make in torch_clients(torch).items():
        if options.only in name:
            options.write(timed(name, make))
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

    for extent in (1024, 4096, 8192):
        name = f"cupy: a @ b of {extent}"
        if options.only not in name:
            continue
        a, b = (
            cupy.random.default_rng(seed).standard_normal((extent, extent), dtype="float32")
            for seed in (1, 2)
        )
        stock = a @ b
        with antiphase.enabled():
            ours = a @ b
        found = float(cupy.linalg.norm(stock - ours) / cupy.linalg.norm(stock))
        times, wait = ([], []), cupy.cuda.Device().synchronize
        for _ in range(options.rounds):
            times[0].append(host_us(lambda: a @ b, 5, wait))
            with antiphase.enabled():
                times[1].append(host_us(lambda: a @ b, 5, wait))
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
    parser.add_argument("--within", choices=FRAMEWORKS, help=argparse.SUPPRESS)
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
                agrees = one.get("difference", 0) <= options.most_apart  # false of a NaN
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
