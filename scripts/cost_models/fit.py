#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fits the cost models by which `auto` chooses (library/costs) to timings of every way of random products.

    fit.py LIBRARY DATA MODELS [--write] [--rounds N] [FAMILY...]

LIBRARY is build/PRESET/bench/costs/libcost_predict.so: it reads MODELS and predicts. DATA is what measure_ways
wrote on the card that MODELS is for, plain or compressed by xz. A way is a kernel family with its parameters.
Each family (a policy, or fp16 and fp16-mma) is fitted by itself to three quarters of the products. The
others are the test set: the error of predictions, and how much longer the chosen way takes than the fastest.
--write puts the constants of products into MODELS.

To take the data anew, on a machine with that card, in eight minutes:

    cmake --preset cuda && cmake --build --preset cuda --target measure_ways cost_predict
    build/cuda/bench/costs/measure_ways 420 h200.json && xz -9 h200.json

Needs NumPy and SciPy. Exit status: 0 fine, 1 the library refuses MODELS, 2 usage.
"""
import argparse
import ctypes
import datetime
import itertools
import json
import lzma
import pathlib
import sys
import textwrap

import numpy as np
from scipy.optimize import least_squares

# Parameters shared by all families; fitted with fp64, which moves the most bytes.
SHARED = (
    "memory rate",
    "stored rate",
    "read of memory",
    "far odd rows",
    "far half rows",
    "kept",
    "not kept",
    "to fill",
)


class Library:
    def __init__(self, path, models):
        self.lib = ctypes.CDLL(str(path.resolve()))
        for name in ("cost_path", "cost_error"):
            getattr(self.lib, name).restype = ctypes.c_char_p
        for name in ("cost_value", "cost_least", "cost_most"):
            getattr(self.lib, name).restype = ctypes.c_double
        self.lib.cost_set.argtypes = (ctypes.c_int, ctypes.c_double)
        count = self.lib.cost_read(str(models).encode())
        if count < 0:
            sys.exit(self.lib.cost_error().decode())
        self.paths = [self.lib.cost_path(i).decode() for i in range(count)]
        self.values, self.least, self.most = (
            np.array([of(i) for i in range(count)])
            for of in (self.lib.cost_value, self.lib.cost_least, self.lib.cost_most)
        )

    def way(self, shape, name):
        return self.lib.way_number(*(ctypes.c_int64(x) for x in shape[:4]), int(shape[4]), name.encode())

    def set(self, at, values):
        for i, value in zip(at, values):
            self.values[i] = value
            self.lib.cost_set(int(i), float(value))

    def predict(self, ways):
        us = np.empty(len(ways))
        self.lib.cost_predict(
            len(ways),
            np.ascontiguousarray(ways, np.int32).ctypes.data_as(ctypes.POINTER(ctypes.c_int)),
            us.ctypes.data_as(ctypes.POINTER(ctypes.c_double)),
        )
        return us


def read(path, library):
    """The ways measured: numbers, families, shapes of their products, times in microseconds, products' numbers."""
    text = lzma.open(path, "rt").read() if path.suffix == ".xz" else path.read_text()
    groups = {path.split("/")[1] for path in library.paths if path.startswith("products/")}

    def family_of(policy):  # fp16-mma's numbers are those of fp16
        return max((g for g in groups if policy == g or policy.startswith(g + "-")), key=len)

    ways = []
    for number, (*shape, measured) in enumerate(json.loads(text)["products"]):
        words = measured.split()
        for name, time in zip(words[::2], words[1::2]):
            if (way := library.way(shape, name)) >= 0:  # else it no longer exists
                ways.append((way, family_of(name.partition("/")[0]), shape, float(time), number))
    return (np.array(column) for column in zip(*ways))


def regret(us, predicted, product):
    """By product: the time of the way predicted to be fastest, divided by that of the fastest way."""
    order = np.lexsort((predicted, product))
    first = order[np.r_[True, np.diff(product[order]) != 0]]
    least = np.full(product.max() + 1, np.inf)
    np.minimum.at(least, product, us)
    return us[first] / least[product[first]]


def fit(library, family, ways, us, weight, rounds):
    own = [
        i
        for i, path in enumerate(library.paths)
        if path.startswith(f"products/{family}/")
        or (family == "fp64" and path.partition("/")[2] in SHARED and path.startswith("products/"))
    ]
    at = np.array(own)
    least, most = library.least[at], library.most[at]
    scale = np.where(library.values[at] != 0, np.abs(library.values[at]), (most - least) / 10)
    first = np.clip(library.values[at], least + 1e-9 * scale, most - 1e-9 * scale) / scale

    # Errors are clipped: a few are large under any parameters. The last term keeps parameters that the data
    # do not determine near their values.
    def off(x):
        library.set(at, x * scale)
        return np.concatenate(
            [
                np.clip(np.log(library.predict(ways) / us), -1, 1) * weight,
                0.02 * len(us) ** 0.5 * 0.05 * (x - first),
            ]
        )

    found = least_squares(
        off,
        first,
        bounds=(least / scale, most / scale),
        loss="soft_l1",
        f_scale=0.1,
        diff_step=1e-3,
        max_nfev=rounds,
    )
    library.set(at, found.x * scale)


def nested(paths, values):
    all_ = {}
    for path, value in zip(paths, values):
        *groups, name = path.split("/")
        here = all_
        for group in groups:
            here = here.setdefault(group, {})
        here[name] = float(f"{value:.4g}")
    return all_


def text_of(value, depth=0):
    """JSON in which numbers share lines."""
    if not isinstance(value, dict):
        return json.dumps(value)
    indent = " " * (depth + 1)
    lines = []
    for holds_numbers, members in itertools.groupby(value.items(), lambda m: isinstance(m[1], float)):
        texts = [f"{json.dumps(name)}: {text_of(x, depth + 1)}" for name, x in members]
        if holds_numbers:
            texts = textwrap.wrap(", ".join(x.replace(" ", "\0") for x in texts), 105 - depth)
            texts = [x.replace("\0", " ").rstrip(",") for x in texts]
        lines += texts
    inner = (",\n" + indent).join(lines)
    return "{" + (inner if len(lines) == 1 and depth else f"\n{indent}{inner}\n{indent[:-1]}") + "}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("predictions", type=pathlib.Path, metavar="library")
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("models", type=pathlib.Path)
    parser.add_argument(
        "families",
        nargs="*",
        metavar="FAMILY",
        help="one whose constants are fitted, such as fp64 (default: all)",
    )
    parser.add_argument("--write", action="store_true", help="put the constants of products into MODELS")
    parser.add_argument(
        "--rounds", type=int, default=30, help="evaluations of the slope at most (default 30)"
    )
    options = parser.parse_intermixed_args()
    library = Library(options.predictions, options.models)
    ways, family, shape, us, product = read(options.data, library)
    families = sorted(set(family))
    for name in options.families:
        if name not in families:
            parser.error(f"there is no family '{name}': expected {', '.join(families)}")
    judges = product % 4 == 3
    least = np.full(product.max() + 1, np.inf)
    np.minimum.at(least, product, us)
    m, n, k, count = shape[:, :4].T
    moved = 4.0 * count * (m * n + k * (m + n))
    # Ways far from the fastest need less precision. Products limited by memory are rare in the sample but
    # much time is spent on them in practice, so they weigh more.
    weight = (least[product] / us) ** 1.5 * (1 + 3 * np.minimum(1, moved / 1e8))

    def judge(when):
        predicted = library.predict(ways)
        lost = regret(us[judges], predicted[judges], product[judges])
        off = ", ".join(
            f"{name} {np.median(np.abs(np.log(predicted / us))[judges & (family == name)]):.3f}"
            for name in families
        )
        print(
            f"{when}: off by {off}; the way taken takes {100 * (np.exp(np.log(lost).mean()) - 1):.2f} % longer than the fastest in the mean, "
            f"at most 2 % in {100 * np.mean(lost <= 1.02):.1f} %, 10 % in {100 * np.mean(lost <= 1.1):.1f} % of {len(lost)} products",
            flush=True,
        )

    judge("before")
    for name in options.families or families:
        some = ~judges & (family == name)
        fit(library, name, ways[some], us[some], weight[some], options.rounds)
        judge(name)
    for path, value, low, high in zip(library.paths, library.values, library.least, library.most):
        if min(abs(value - low), abs(high - value)) < 1e-3 * abs(value):
            print(f"at its bound: {path} = {value:.4g}")
    if options.write:
        content = json.loads(options.models.read_text())
        content |= {"fitted": f"{datetime.date.today()}, {product.max() + 1} products"}
        content["constants"]["products"] = nested(library.paths, library.values)["products"]
        options.models.write_text(text_of(content) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
