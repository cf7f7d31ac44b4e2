#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs steps of JAX programs on a GPU, without and with the preloaded library: a line PASS or FAIL for each.

    jax_clients.py [--only PART] [--steps N] [--rounds N] [--output FILE] LIBRARIES

XLA has its default settings; products are FP32 (JAX_DEFAULT_MATMUL_PRECISION=highest). XLA captures those of
a step into CUDA graphs, each as a child graph of a larger one. A client passes if it ends, its results agree
and it is not slower. LIBRARIES is a folder with libantiphase.so.0 and libantiphase_cublas.so. Clients whose
packages are missing, or that need a second GPU, are left out. FILE receives medians and differences as JSON,
a series as in bench/results/experiments. Exit status: 0 if all that ran have passed, 1 if one failed, 2
usage.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from clients_on_gpu import of_python, require_libraries

WARM = 3
# Relative differences: of the first two losses, and of later ones, where training amplifies the effect of
# another order of addition.
MOST_DIFFERENCE = 1e-5
MOST_LATER = 1e-2
MOST_TIME = 1.05  # relative to the time without the library


class LeftOut(Exception):
    pass


def flax_transformer(jax):
    import optax
    from flax import linen as nn

    jnp = jax.numpy

    class Block(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = x + nn.MultiHeadDotProductAttention(num_heads=12)(nn.LayerNorm()(x))
            return x + nn.Dense(768)(nn.gelu(nn.Dense(3072)(nn.LayerNorm()(x))))

    class Model(nn.Module):
        @nn.compact
        def __call__(self, tokens):
            x = nn.Embed(8192, 768)(tokens)
            for _ in range(6):
                x = Block()(x)
            return nn.Dense(8192)(nn.LayerNorm()(x))

    model, by = Model(), optax.adam(1e-4)
    tokens = jax.random.randint(jax.random.key(1), (8, 512), 0, 8192)
    weights = model.init(jax.random.key(2), tokens)

    def loss(weights):
        return optax.softmax_cross_entropy_with_integer_labels(
            model.apply(weights, tokens), jnp.roll(tokens, 1, 1)
        ).mean()

    return optimised(jax, by, loss, weights)


def equinox_mlp(jax):
    import equinox
    import optax

    model = equinox.nn.MLP(1024, 1024, 4096, 3, key=jax.random.key(1))
    x, y = (jax.random.normal(jax.random.key(key), (8192, 1024)) for key in (2, 3))
    weights, rest = equinox.partition(model, equinox.is_array)

    def loss(weights):
        return ((jax.vmap(equinox.combine(weights, rest))(x) - y) ** 2).mean()

    return optimised(jax, optax.adamw(1e-4), loss, weights)


def optimised(jax, by, loss, weights):
    import optax

    @jax.jit
    def step(state):
        weights, memory = state
        value, gradient = jax.value_and_grad(loss)(weights)
        change, memory = by.update(gradient, memory, weights)
        return (optax.apply_updates(weights, change), memory), value

    return step, (weights, by.init(weights))


def numpyro_regression(jax):
    import numpyro
    from numpyro import distributions, infer

    jnp = jax.numpy
    x = jax.random.normal(jax.random.key(1), (20000, 512))
    y = jnp.tanh(x @ jax.random.normal(jax.random.key(2), (512, 256))).sum(1)

    def model(x, y):
        first = numpyro.sample("first", distributions.Normal(0, 1).expand([512, 256]).to_event(2))
        second = numpyro.sample("second", distributions.Normal(0, 1).expand([256]).to_event(1))
        numpyro.sample("y", distributions.Normal(jnp.tanh(x @ first) @ second, 1.0), obs=y)

    fit = infer.SVI(model, infer.autoguide.AutoNormal(model), numpyro.optim.Adam(1e-3), infer.Trace_ELBO())
    state = fit.init(jax.random.key(3), x, y)
    return jax.jit(lambda state: fit.update(state, x, y)), state


def scan_of_products(jax):
    weights = jax.random.normal(jax.random.key(1), (8, 1024, 1024)) / 32
    x = jax.random.normal(jax.random.key(2), (2048, 1024))

    def loss(weights, x):
        return (jax.lax.scan(lambda x, w: (jax.numpy.tanh(x @ w), None), x, weights)[0] ** 2).mean()

    @jax.jit
    def step(weights):
        value, gradient = jax.value_and_grad(loss)(weights, x)
        return weights - 0.1 * gradient, value

    return step, weights


def loop_of_products(jax):
    matrix = jax.random.normal(jax.random.key(1), (1024, 1024))
    matrix = matrix @ matrix.T / 1024

    @jax.jit
    def step(x):
        def body(state):
            count, x = state
            x = matrix @ x
            return count + 1, x / jax.numpy.linalg.norm(x)

        x = jax.lax.while_loop(lambda state: state[0] < 20, body, (0, x))[1]
        return x, (x * (matrix @ x)).sum()

    return step, jax.random.normal(jax.random.key(2), (1024, 768))


def sharded_products(jax):
    if len(jax.devices()) < 2:
        raise LeftOut("there is one GPU")
    from jax.sharding import PartitionSpec

    mesh = jax.make_mesh((2,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))
    x = jax.random.normal(jax.random.key(1), (8192, 2048))
    weights = [
        jax.random.normal(jax.random.key(2), (2048, 8192)) / 45,
        jax.random.normal(jax.random.key(3), (8192, 2048)) / 90,
    ]

    @jax.shard_map(
        mesh=mesh,
        in_specs=(PartitionSpec(None, "d"), PartitionSpec("d", None), PartitionSpec()),
        out_specs=PartitionSpec(),
    )
    def forward(first, second, x):
        return jax.lax.psum(jax.numpy.tanh(x @ first) @ second, "d")

    @jax.jit
    def step(x):
        for _ in range(4):
            x = forward(*weights, x)
            x = x / jax.numpy.linalg.norm(x) * 4096
        return x, (x**2)[::7].sum()

    return step, x


CLIENTS = {
    "scan": scan_of_products,
    "while": loop_of_products,
    "equinox": equinox_mlp,
    "numpyro": numpyro_regression,
    "flax": flax_transformer,
    "shard_map": sharded_products,
}


def within(name, steps):
    """One client in a process of its own: its losses, and the milliseconds of each step after warm-up."""
    import jax

    step, state = CLIENTS[name](jax)
    losses, times = [], []
    for at in range(WARM + steps):
        start = time.perf_counter()
        state, loss = step(state)
        jax.block_until_ready((state, loss))
        times.append((time.perf_counter() - start) * 1e3)
        losses.append(float(loss))
    print("RESULT " + json.dumps({"losses": losses, "ms": times[WARM:]}))


def one_run(libraries, name, steps, preloaded, cache):
    # Each variant has its own compilation cache: XLA times kernels and cuBLAS while it compiles, and chooses
    # between them.
    environment = (
        os.environ
        | of_python(libraries)
        | {
            "XLA_PYTHON_CLIENT_MEM_FRACTION": "0.6",
            "JAX_DEFAULT_MATMUL_PRECISION": "highest",
            "JAX_COMPILATION_CACHE_DIR": f"{cache}/{preloaded}",
        }
    )
    if preloaded:
        environment |= {
            "LD_PRELOAD": str((libraries / "libantiphase_cublas.so").resolve()),
            "ANTIPHASE_REPORT": "1",
        }
    done = subprocess.run(
        [sys.executable, __file__, "--within", name, "--steps", str(steps), libraries],
        text=True,
        capture_output=True,
        env=environment,
        timeout=200,
    )
    result = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    if done.returncode == 3:
        raise LeftOut(done.stderr.strip().splitlines()[-1])
    report = [line for line in done.stderr.splitlines() if line.startswith("antiphase")]
    if not result:
        words = (
            [line for line in done.stderr.splitlines() if "rror" in line]
            or done.stderr.splitlines()
            or ["it said nothing"]
        )
        return None, words[-1][:300]
    return json.loads(result[0][len("RESULT ") :]), report[-1] if report else ""


def compared(libraries, name, steps, rounds):
    """(verdict, text of the line, the series)."""
    runs = {False: [], True: []}
    said = ""
    with tempfile.TemporaryDirectory() as cache:
        for preloaded in (False, True) * rounds:
            result, words = one_run(libraries, name, steps, preloaded, cache)
            if result is None:
                return False, f"{'with' if preloaded else 'without'} the library: {words}", None
            runs[preloaded].append(result)
            said = words or said

    pairs = list(zip(runs[False][0]["losses"], runs[True][0]["losses"]))
    first, later = (max(abs(a - b) / max(abs(a), 1e-30) for a, b in some) for some in (pairs[:2], pairs))
    medians = {which: statistics.median(ms for run in runs[which] for ms in run["ms"]) for which in runs}
    words = f"{medians[False]:.3g} -> {medians[True]:.3g} ms, {medians[False] / medians[True]:.2f}x, losses differ by {first:.1e}, then {later:.1e}; {said}"
    series = {
        "name": f"JAX: {name}",
        "difference": first,
        "difference_later": later,
        "variants": [
            {"what": what, "us": round(1e3 * medians[which], 1)}
            for what, which in (("cuBLAS", False), ("antiphase", True))
        ],
    }
    return (
        first <= MOST_DIFFERENCE and later <= MOST_LATER and medians[True] <= MOST_TIME * medians[False],
        words,
        series,
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("libraries", type=pathlib.Path, metavar="LIBRARIES")
    parser.add_argument("--only", default="", metavar="PART")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=2, help="processes each way, alternately")
    parser.add_argument("--output", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--within", choices=CLIENTS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.within:
        try:
            return within(options.within, options.steps)
        except (LeftOut, ImportError) as why:
            print(why, file=sys.stderr)
            sys.exit(3)
    libraries = require_libraries(parser, options.libraries)
    names = [name for name in CLIENTS if options.only in name]
    if not names:
        parser.error(f"there is no client '{options.only}': expected a part of {', '.join(CLIENTS)}")
    failures, all_series = 0, []
    for name in names:
        start = time.monotonic()
        try:
            good, words, series = compared(libraries, name, options.steps, options.rounds)
        except LeftOut as why:
            print(f"LEFT OUT {name}: {why}", flush=True)
            continue
        except subprocess.TimeoutExpired:
            good, words, series = False, "it takes too long", None
        failures += not good
        all_series += [series] if series else []
        print(f"{'PASS' if good else 'FAIL'} {name}: {words} ({time.monotonic() - start:.0f} s)", flush=True)
    if options.output:
        options.output.write_text(json.dumps({"series": all_series}, indent=1) + "\n")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
