#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times torch's FP32 attention on a GPU, and measures its errors: torch's own, the same led by antiphase.enable(),
and antiphase.torch's.

    time_attention.py [--only PART] [--rounds N] [--commit ID] [--output FILE] LIBRARIES

LIBRARIES is a folder with libantiphase.so.0 and libantiphase_cublas.so. The Python package is that of the tree that
contains this script. The three alternate in one process. PART selects the calls whose names contain it: "shape"
those of models, "random" 60 random ones, "data" errors on ten kinds of data. FILE receives medians and quartiles
as JSON, a series as in bench/results/experiments. Each line says whether the call was overridden. Exit status: 0 if results agree, and errors on the kinds of data where it is guaranteed are no larger
than torch's; 1 if not; 2 usage. It takes about four minutes on an H100.
"""
import math
import random
import sys

from time_clients import summary
from time_scans import options_of, times, write

METHOD = (
    "bench/clients/time_attention.py: torch's own attention, torch's as led, and antiphase.torch's alternately, {rounds} rounds of several calls one "
    "after the other between two events, so that a call takes the longer of its times on the host and on the GPU; results in torch's memory; "
    "TF32 is off. led: whether enable() led the call. TFLOP/s count 4 (forward) or 10 (backward) x members x heads x queries x keys x depth, "
    "half of that if causal. Errors are norms of the difference to FP64, of two heads, divided by the norm, in units of 1e-7."
)
SHAPES = [
    (8, 12, 1024, 64),
    (4, 16, 1024, 128),
    (2, 16, 4096, 64),
    (2, 16, 4096, 128),
    (1, 16, 16384, 128),
    (16, 12, 512, 64),
    (64, 12, 197, 64),
]
RANDOM = 60
PARTS = ("forward", "backward")


def calls():
    """(name, members, heads, queries, keys, depth, is causal, with a mask)."""
    for members, heads, rows, depth in SHAPES:
        for causal in (True, False):
            yield "shape", members, heads, rows, rows, depth, causal, False
    draw = random.Random(1)
    for _ in range(RANDOM):
        queries = int(2 ** draw.uniform(4, 12))
        keys = queries if draw.random() < 0.7 else int(2 ** draw.uniform(4, 12))
        depth = draw.choice([16, 32, 40, 48, 64, 64, 64, 80, 96, 128, 128])
        members, heads = draw.choice([1, 1, 2, 3, 4, 8, 16]), draw.choice([1, 4, 8, 12, 16])
        causal = draw.random() < 0.5
        yield "random", members, heads, queries, keys, depth, causal, not causal and draw.random() < 0.3


def name_of(what, members, heads, queries, keys, depth, causal, mask):
    more = ", causal" * causal + ", with a mask" * mask
    return f"{what} {members} x {heads} x {queries} x {keys} x {depth}{more}"


def tensors(torch, members, heads, queries, keys, depth, seed=1):
    """q, k, v and the gradient of the output, as the layers before and after leave them: all heads of a row side by
    side."""
    generator = torch.Generator("cuda").manual_seed(seed)
    make = lambda rows: torch.randn(
        members, rows, heads, depth, device="cuda", generator=generator
    ).transpose(1, 2)
    return make(queries), make(keys), make(keys), make(queries)


def timed(torch, options, found, wrong):
    import antiphase
    import antiphase.torch
    from antiphase import _torch_lead_attention as lead

    theirs, ours = (
        torch.nn.functional.scaled_dot_product_attention,
        antiphase.torch.scaled_dot_product_attention,
    )
    for about in calls():
        name = name_of(*about)
        if options.only not in name:
            continue
        _, members, heads, queries, keys, depth, causal, masked = about
        q, k, v, grad = tensors(torch, members, heads, queries, keys, depth)
        mask = torch.rand(members, 1, 1, keys, device="cuda") > 0.1 if masked else None

        def of(function, part):
            """The call to time."""
            if part == "forward":
                return torch.no_grad()(lambda: function(q, k, v, mask, is_causal=causal))
            with torch.enable_grad():
                leaves = [x.detach().requires_grad_() for x in (q, k, v)]
                out = function(*leaves, mask, is_causal=causal)
            return lambda: torch.autograd.grad(out, leaves, grad, retain_graph=True)

        for part in PARTS:
            work = (
                (4 if part == "forward" else 10)
                * members
                * heads
                * queries
                * keys
                * depth
                / (2 if causal else 1)
            )
            own, direct = of(theirs, part), of(ours, part)
            with antiphase.enabled():
                led_call = of(theirs, part)
                computed = lead.attention.counts()[0]
                results = led_call()
                is_led = lead.attention.counts()[0] > computed
            expected, apart = own(), 0.0
            for other in (results, direct()):
                for x, y in zip(*((r if isinstance(r, tuple) else (r,)) for r in (other, expected))):
                    apart = max(apart, ((x - y).norm() / y.norm()).item())
            if not apart < 3e-5:
                wrong.append(f"{name}, {part}: {apart:.1e}")
            del results, expected, x, y, other
            taken = {"torch": [], "led": [], "antiphase.torch": []}
            for _ in range(options.rounds):
                taken["torch"].append(times(torch, own, 0.03))
                with antiphase.enabled():
                    # the forward that belongs to a backward is overridden, too
                    taken["led"].append(times(torch, of(theirs, part), 0.03))
                taken["antiphase.torch"].append(times(torch, direct, 0.03))
            one = {
                "name": f"{name}, {part}",
                "variants": [{"what": what} | summary(us) for what, us in taken.items()],
                "led": is_led,
                "difference": apart,
                "flops": work,
            }
            found.append(one)
            a, b, c = (variant["us"] for variant in one["variants"])
            print(
                f"{one['name']:68} torch {a:9.1f} {work / a / 1e6:6.1f}  led {b:9.1f}  antiphase.torch {c:9.1f} "
                f"us {work / c / 1e6:6.1f} TFLOP/s {a / b:6.2f}x {'led' if is_led else 'passed on'}, {a / c:6.2f}x  off by {apart:.1e}",
                flush=True,
            )
        del q, k, v, grad, own, direct, led_call
        torch.cuda.empty_cache()


def kinds(torch, q, k, v):
    """Ten kinds of data; whether the error is guaranteed to be no larger than that of FP32."""
    rows = torch.rand(k.shape[:3], device="cuda", generator=torch.Generator("cuda").manual_seed(5))[..., None]
    channels = torch.ones_like(k[0, 0, 0])
    channels[3] = 1e3
    powers = 10 ** torch.linspace(-10, 10, v.shape[-1], device="cuda")
    yield "normal", True, q, k, v
    yield "Q x 8", True, 8 * q, k, v
    yield "Q and K x 8", False, 8 * q, 8 * k, v
    yield "tiny logits", True, q / 1024, k, v
    yield "K rows 1e3", False, q, torch.where(rows < 0.01, 1e3 * k, k), v
    yield "K channel 1e3", False, q, k * channels, v
    yield "V in [0, 1)", True, q, k, v.abs().fmod(1)
    yield "V rows 1e3", True, q, k, torch.where(rows < 0.01, 1e3 * v, v)
    yield "V columns 1e-10 to 1e10", True, q, k, v * powers
    yield "V = 1", True, q, k, torch.ones_like(v)


def errors(torch, options, found, wrong):
    import antiphase.torch

    functions = (
        torch.nn.functional.scaled_dot_product_attention,
        antiphase.torch.scaled_dot_product_attention,
    )
    for members, heads, rows, depth in ((4, 4, 1024, 64), (1, 4, 4096, 128)):
        *operands, grad = tensors(torch, members, heads, rows, rows, depth)
        for kind, promised, *qkv in kinds(torch, *operands):
            for causal in (False, True):
                name = f"data {kind}, {members} x {heads} x {rows} x {depth}" + ", causal" * causal
                if options.only not in name:
                    continue
                norms = []
                for function in functions:
                    leaves = [x.detach().requires_grad_() for x in qkv]
                    out = function(*leaves, is_causal=causal)
                    results = out.detach(), *torch.autograd.grad(out, leaves, grad)
                    sums = [[0.0, 0.0] for _ in results]
                    for b, h in ((0, 0), (members - 1, heads - 1)):
                        exact = [x[b, h].double().detach().requires_grad_() for x in qkv]
                        scores = exact[0] @ exact[1].mT / math.sqrt(depth)
                        if causal:
                            scores = scores.masked_fill(
                                torch.ones_like(scores, dtype=torch.bool).triu(1), -math.inf
                            )
                        o = scores.softmax(-1) @ exact[2]
                        for s, x, y in zip(
                            sums, results, (o.detach(), *torch.autograd.grad(o, exact, grad[b, h].double()))
                        ):
                            # these columns differ by twenty orders of magnitude
                            scale = y.norm(dim=0, keepdim=True) if "columns" in kind else 1.0
                            s[0] += ((x[b, h] - y) / scale).square().sum().item()
                            s[1] += (y / scale).square().sum().item()
                        del scores, o
                    norms.append([math.sqrt(e / n) * 1e7 if n else 0.0 for e, n in sums])
                one = {"name": name, "promised": promised}
                for what, (theirs, ours) in zip(
                    ("out", "q_gradient", "k_gradient", "v_gradient"), zip(*norms)
                ):
                    one[what] = {"torch": theirs, "antiphase": ours}
                    if what == "out" and promised and not ours <= theirs:
                        wrong.append(f"{name}: {ours:.2f}, torch's {theirs:.2f}")
                found.append(one)
                text = ", ".join(f"{t:.2f} -> {o:.2f}" for t, o in zip(*norms))
                print(f"{name:60} errors (1e-7) of O, dQ, dK, dV, torch's -> ours: {text}", flush=True)
                torch.cuda.empty_cache()


def main():
    options = options_of(__doc__)
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    found, wrong = [], []
    timed(torch, options, found, wrong)
    for what in ("shape", "random"):
        for led in (True, False):
            ratios = [
                one["variants"][0]["us"] / one["variants"][1]["us"]
                for one in found
                if one["name"].startswith(what) and one["led"] == led
            ]
            if ratios:
                mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
                print(
                    f"{what}, {'led' if led else 'passed on'}: {len(ratios)} calls, geometric mean {mean:.2f}x, worst {min(ratios):.2f}x"
                )
    errors(torch, options, found, wrong)
    write(options, "what antiphase brings to torch's FP32 attention", METHOD, found)
    for what in wrong:
        print(f"results differ: {what}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
