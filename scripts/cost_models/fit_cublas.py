#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fits the cost model of cuBLAS on an H200 (library/costs) to the measurements in bench/results, and checks it by
cross-validation.

    fit_cublas.py [RESULTS]

Needs NumPy and SciPy. tests/gemm/test_gain.cpp tests the decisions that follow from this model and the
library's own predictions.
"""
import json
import pathlib
import sys

import numpy
from scipy.optimize import least_squares

LEAST = 200  # (m n k)^(1/3): below, most of the time is latency
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import packed  # noqa: E402

CARD = json.loads((ROOT / "library/costs/h200.json").read_text())
COST = CARD["constants"]["cublas"]
MULTIPROCESSORS = CARD["multiprocessors"]
# Constants of the model that are not fitted.
CLOCK, VECTOR_RATE, FEW_ROWS_RATE = COST["clock"], COST["vector rate"], COST["few rows rate"]
KEPT_VECTOR_RATE, DEEP_LINE, DEEP_K = COST["kept vector rate"], COST["deep line"], COST["deep k"]
KEPT, NOT_KEPT = (CARD["constants"]["products"][name] for name in ("kept", "not kept"))
TILES = ((128, 128), (64, 64), (128, 32), (32, 32))
PARTS = (1, 2, 4, 8, 16, 32)
# (name, initial value, least, most). The fit finds a local optimum: put its results into the file until they stay.
PARAMETERS = (
    ("start", COST["start"], 0.5, 6),
    ("rate", COST["rate"], 1e6, 6e6),
    ("unaligned", COST["unaligned"], 0, 2),
    ("worse", COST["worse"], 0.9, 1.4),
    ("alone", COST["alone"], 1, 3),
    ("fill", COST["fill"], 0, 200),
    ("add up", COST["add up"], 0.3, 6),
    ("add up rate", COST["add up rate"], 0.5e6, 40e6),
    *((f"reached by {m} x {n}", COST["reached"][f"{m}x{n}"], 0.1, 1) for m, n in TILES),
)


def products(results):
    """Rows of m, n, k, count, adds C, A transposed, B transposed, microseconds, converted to column-major as
    in cuBLAS."""

    def row(r, time):
        a, b = r["layout"][1] == "t", r["layout"][0] == "t"  # measured row-major: A and B change places
        return r["n"], r["m"], r["k"], r.get("count", 1), r.get("beta", 0) != 0, a, b, time

    rows = []
    for path in sorted(results.glob("*-bench-*.json")):
        for r in json.loads(path.read_text())["records"]:
            if (
                r["protocol"] == "graph"
                and r.get("data") == "normal"
                and "cublas_fp32" in r.get("time_us", {})
            ):
                rows.append(row({**r, **r["shape"]}, r["time_us"]["cublas_fp32"]))
    for series in json.loads((results / "experiments/20261122-shapes.json").read_text())["series"]:
        rows += [row(r, r["cublas_us"]) for r in series["products"]]
    all = numpy.array([r for r in rows if (r[0] * r[1] * r[2] * r[3]) ** (1 / 3) >= LEAST], float)
    return all[:, :7], all[:, 7]


def model(p, of):
    m, n, k, count, adds, a, b = of.T
    start, rate, unaligned, worse, alone, fill, add_up, add_up_rate, *reached = p
    moved = 4 * count * (m * k + k * n + m * n * (1 + adds))
    begins_anywhere = (numpy.where(a > 0, k, m) % 4 != 0) | (numpy.where(b > 0, n, k) % 4 != 0)
    read = moved / rate * numpy.where(begins_anywhere, 1 + unaligned, 1)

    def least(tile, share, tiles, prologue, read):
        best = numpy.full(len(of), numpy.inf)
        for parts in PARTS:
            rounds = numpy.maximum(alone, numpy.ceil(tiles * parts / MULTIPROCESSORS))
            time = numpy.maximum(
                read, tile * (numpy.ceil(k / parts) + prologue) * rounds / (128 * CLOCK * share)
            )
            if parts > 1:
                time = numpy.where(
                    k >= 64 * parts, time + add_up + parts * count * m * n * 8 / add_up_rate, numpy.inf
                )
            best = numpy.minimum(best, time)
        return best

    best = numpy.full(len(of), numpy.inf)
    for (longer, shorter), share in zip(TILES, reached):
        tiles = count * numpy.minimum(
            numpy.ceil(m / longer) * numpy.ceil(n / shorter), numpy.ceil(m / shorter) * numpy.ceil(n / longer)
        )
        best = numpy.minimum(best, least(longer * shorter, share, tiles, fill, read))
    few = (numpy.minimum(m, n) <= 4) | ((n <= 8) & (a == 0))
    few_rows = (m > 1) & (m <= 4) & (b == 0)
    steps = worse * least(TILES[-1][0] * TILES[-1][1], reached[-1], count, 0, 0)
    of_few = numpy.maximum(moved / numpy.where(few_rows, FEW_ROWS_RATE, VECTOR_RATE), steps)
    far = numpy.clip((moved - KEPT) / (NOT_KEPT - KEPT), 0, 1)
    of_vector = numpy.maximum(
        moved * ((1 - far) / KEPT_VECTOR_RATE + far / VECTOR_RATE), DEEP_LINE * numpy.minimum(1, k / DEEP_K)
    )
    of_few = numpy.where(numpy.minimum(m, n) == 1, of_vector, of_few)
    return start + numpy.where(few_rows | few, of_few, worse * best)


def fitted(of, times):
    first, least, most = (numpy.array([p[i] for p in PARAMETERS]) for i in (1, 2, 3))

    def off(scaled):  # clipped: a few products are far off under any parameters
        return numpy.clip(numpy.log(model(scaled * first, of) / times), -0.6, 0.6)

    return (
        first
        * least_squares(
            off,
            numpy.ones(len(first)),
            bounds=(least / first, most / first),
            loss="soft_l1",
            f_scale=0.1,
            diff_step=1e-3,
            max_nfev=80,
        ).x
    )


def main():
    results = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "bench/results"
    of, times = products(packed.unpacked(results))
    for (name, *_), value in zip(PARAMETERS, fitted(of, times)):
        print(f"{name:24} {value:.4g}")
    order, unseen = numpy.random.default_rng(1).permutation(len(times)), numpy.empty(len(times))
    for fold in range(5):
        left_out = order[fold::5]
        rest = numpy.setdiff1d(order, left_out)
        unseen[left_out] = model(fitted(of[rest], times[rest]), of[left_out])
    error = numpy.abs(numpy.log(unseen / times))
    print(
        f"{len(times)} products; where it was not fitted to them, off by {numpy.median(error):.3f} in the median, {error.mean():.3f} on average"
    )


if __name__ == "__main__":
    main()
