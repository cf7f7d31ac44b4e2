#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fits the laws by which `auto` chooses (src/gemm/*/*_plan.cpp, stream_forms.cpp, choose.cpp) to what was measured on an H200, judges them by
cross-validation, and writes the factors of its tuning for them.

    fit_laws.py [--fit] [--take TUNE] [--tuning FILE] [--compare TOOL] [POLICY...]

Without --fit it judges the numbers below, which are those of the program; with it, it prints better ones, if there are. Measured were
  * random products by `antiphase tune`, of which bench/results/experiments/20261126-tune-means.json keeps the geometric mean of each class
    of shapes and policy, and which products and divisions of K it is of,
  * all forms of stream, of some of these products and of those of bench/results (20261125-stream-forms.json, 20261125-stream-kept.json,
    20261126-stream-direct.json, and 20261126-stream-alone.json, of an H100),
  * all policies and forms, of products whose rows begin anywhere and of batches (20261125-all-policies.json),
  * products by `dots` with all divisions of their sums (20261125-dots-divisions.json), by lanes also before there was a kernel for operands
    across k (20261125-dots-lanes.json),
  * the products of bench/results, each by the policy that auto took then: maps and the suite for the fit, random ones and those of serving
    to judge it.
The numbers for who copies (stream) are of later kernels than those files: they were scaled by the ratios of
bench/results/experiments/20261126-uneven.json. Those of narrow were fitted to the single times of the tune, which are not kept (9 MB). A fit from
here would undo both until all forms have been timed anew.
--take keeps the means of a file of `antiphase tune --json` in the place of those. --tuning writes the factors that they make for the laws of
now, in the place of a tuning's factors: no new measurement, but the same one beside other predictions. --compare says whether the program
antiphase predicts the same; test report.laws asks that. Needs NumPy; judging and fitting need SciPy too. Exit status: 0 fine, 1 they differ,
77 there is no NumPy.
"""
import copy
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("fit_laws.py: there is no NumPy", file=sys.stderr)
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[1]
CLASSES = ROOT / "bench/results/experiments/20261126-tune-means.json"
DIVISIONS_OF_DOTS = ROOT / "bench/results/experiments/20261125-dots-divisions.json"
PLAIN_LANES = ROOT / "bench/results/experiments/20261125-dots-lanes.json"  # before there was a kernel for operands across k
FORMS_OF_STREAM = ROOT / "bench/results/experiments/20261125-stream-forms.json"
KEPT_BY_STREAM = ROOT / "bench/results/experiments/20261125-stream-kept.json"  # the same for one form, whose walks are others since
LATER_BY_STREAM = [ROOT / f"bench/results/experiments/20261126-stream-{name}.json" for name in ("direct", "alone")]  # forms that came later
ALL_POLICIES = ROOT / "bench/results/experiments/20261125-all-policies.json"
PLACES = 132  # multiprocessors
KEPT, KEPT_WARPS, MOST_ROUNDS = 9, 4, 16  # its number; of a block; of a walk
MOST_BRIEF_ROWS = 1 << 15  # that the copy engine is left (stream_forms.hpp)
BYTES_OF_L2 = 4e7
BYTES_KEPT, NONE_KEPT = 2.4e7, 5e7  # of one line's long operand, that it still has when they are read again; of which it has nothing any more
INF = np.inf


class Products:
    """Columns m, n, k, count, adds (to C), and layouts (two letters each), all of the same length."""
    def __init__(self, m, n, k, count, adds, layout):
        self.m, self.n, self.k, self.count, self.adds = (np.asarray(x, float) for x in (m, n, k, count, adds))
        self.layout = np.asarray(layout)
        self.long, self.short = np.maximum(self.m, self.n), np.minimum(self.m, self.n)
        self.of_c = 4 * self.m * self.n * (1 + self.adds)
        self.bytes = self.count * (4 * self.k * (self.m + self.n) + self.of_c)
        self.read_of_c = 4 * self.count * self.m * self.n * self.adds
        self.rows = odd(self.n)  # whether C's begin anywhere: it lies by rows
        self.half_rows = ~self.rows & (self.n > 1) & (self.n % 8 != 0)  # or in the midst of a sector of 32 bytes

    def __len__(self):
        return len(self.m)

    def some(self, which):
        return Products(*(getattr(self, name)[which] for name in ("m", "n", "k", "count", "adds", "layout")))

    def and_(self, other):
        return Products(*(np.concatenate([getattr(p, name) for p in (self, other)]) for name in ("m", "n", "k", "count", "adds", "layout")))


def odd(extent):  # is_uneven() of cost.hpp
    return (extent > 1) & (extent % 4 != 0)


class Seen:
    """How operands lie, of each product: as it was measured. `Blind`: in the mean over the four layouts, which the program predicts."""
    def __init__(self, p):
        a, b = np.char.startswith(p.layout, "t"), np.char.endswith(p.layout, "n")
        self.a_across, self.b_across = a.astype(float), b.astype(float)  # k
        # Where there is one row, it does not matter how far it is to the next one.
        self.a_odd, self.b_odd = (np.where(across, odd(lines) & (p.k > 1), odd(p.k) & (lines > 1)).astype(float)
                                  for across, lines in ((a, p.m), (b, p.n)))
        self.copied = np.maximum(self.a_odd, self.b_odd)
        self.long_across, self.short_across = (np.where(p.m >= p.n, one, other)
                                               for one, other in ((self.a_across, self.b_across), (self.b_across, self.a_across)))
        self.long_odd, self.short_odd = (np.where(p.m >= p.n, one, other) for one, other in ((self.a_odd, self.b_odd), (self.b_odd, self.a_odd)))
        brief = np.where(p.m >= p.n, (p.n == 4) & b, (p.m == 4) & a)  # rows of 16 bytes for the copy engine
        self.brief_rows = brief * (1 - self.copied)
        self.short_rows = self.short_across * (p.short > 1) * (1 - self.copied)  # the copy engine brings the short operand by rows across k


class Blind:
    def __init__(self, p):
        every = [Seen(Products(p.m, p.n, p.k, p.count, p.adds, np.full(len(p), layout))) for layout in ("nn", "nt", "tn", "tt")]
        for name in vars(every[0]):
            setattr(self, name, np.mean([getattr(one, name) for one in every], axis=0))


def longer(a, b):  # of two that overlap
    return (a ** 4 + b ** 4) ** .25


def moved_at(bytes_, cache, memory):  # bytes per microsecond; by what the L2 cache holds
    return 1e6 * np.where(bytes_ > BYTES_OF_L2, memory, cache)


def by_rows(p, whole, half, odd):  # how C's begin
    return np.where(p.rows, odd, np.where(p.half_rows, half, whole))


def filled(stored, to_fill):  # to_fill: megabytes
    return 1 - np.exp(-stored / (1e6 * to_fill))


# Numbers ----------------------------------------------------------------------------------------------------------------------------------
# Each with the least and the most that it may be.
def between(value, least, most):
    return (value, least, most)


class Law:
    numbers = {}  # name: between(...)

    def values(self):
        return {name: value for name, (value, *_) in self.numbers.items()}


# stream -----------------------------------------------------------------------------------------------------------------------------------
# Tile, blocks of a multiprocessor, slabs, whether blocks share tiles, feed; of those that a ring feeds, the numbers of stream_times: by the
# copy engine, and by warps that copy.
FORMS = (((32, 8), 1, 8, True, "ring", (0.01, 2.35, 1.12, 1.17, 2.13, 0.0546), (0.01, 2.79, 0.894, 1.02, 2.19, 0.076, 0.278, 0.0256)),
         ((32, 16), 1, 8, True, "ring", (0.01, 3.07, 1.15, 1.31, 2.04, 0.117), (0.022, 3.37, 1.13, 1.27, 2.2, 0.128, 0.0827, 0.0305)),
         ((32, 32), 1, 4, True, "ring", (0.0104, 3.09, 0.925, 1.35, 2.15, 0.125), (0.0302, 3.07, 0.993, 1.46, 2.33, 0.14, 0.0732, 0.0495)),
         ((64, 64), 1, 2, True, "ring", (0.11, 4.55, 1.37, 1.16, 2.69, 0.176), (0.152, 5.26, 1.45, 0.752, 2.71, 0.184, 0.0835, 0.0622)),
         ((32, 32), 4, 1, True, "ring", None, (1.44, 1.38, 0.481, 1.26, 1.9, 0.219, 0.0622, 0.0587)),
         ((128, 16), 2, 1, False, "ring", (1.09, 0.864, 0.649), (1.11, 0.952, 0.756, 0, 0, 0, 0.232, 0.0221)),
         ((64, 32), 2, 1, False, "ring", (0.864, 0.78, 0.584), (0.697, 0.972, 0.655, 0, 0, 0, 0.158, 0.0236)),
         ((64, 64), 2, 1, False, "ring", (1.12, 1.02, 1.01), (1.23, 1.12, 1.04, 0, 0, 0, 0.101, 0.0936)),
         ((64, 8), 4, 1, False, "lanes"),
         ((16, 32), 4, 1, False, "kept"),
         ((32, 32), 4, 1, False, "ring", (0.692, 0.857, 0.465), (0.77, 0.777, 0.536, 0, 0, 0, 0.172, 0.173)),
         ((32, 32), 2, 4, True, "ring", (0.466, 2.31, 1.01, 1.6, 2.57, 0.136), (0.898, 2.36, 1.15, 1.68, 2.27, 0.196, 0.161, 0.0991)),
         ((32, 16), 2, 4, True, "ring", (0.3, 2.31, 0.681, 1.43, 2.31, 0.193), (0.491, 2.42, 0.696, 1.29, 2.21, 0.188, 0.218, 0.0788)),
         ((32, 32), 1, 8, True, "ring", (0.1, 4.21, 1.34, 1.28, 1.91, 0.135), (0.01, 4.54, 1.75, 1.23, 2.24, 0.132, 0.2, 0.173)),  # by 20261126-slabs-of-32.json
         ((16, 8), 2, 8, False, "direct", (1.209, 1.467, 0.3537, 1.491)),  # these by 20261126-stream-direct.json
         ((32, 8), 2, 8, False, "direct", (1.476, 1.864, 0.5774, 1.652)),
         ((16, 16), 2, 8, False, "direct", (1.377, 1.865, 0.4533, 1.354)),
         ((32, 32), 6, 1, False, "alone", (1.453, 0.4021, 0.09332, 0.05747)),  # these by 20261126-stream-alone.json
         ((32, 64), 4, 1, False, "alone", (1.619, 0.4537, 0.1379, 0.07975)),
         ((64, 64), 3, 1, False, "alone", (2.125, 0.6661, 0.2701, 0.1502)))
OF_KEPT = ("start", "deep", "filling", "wave", "round", "round deep", "cache", "memory")  # what other kernels take for tiles without edges
OF_FEED = {"direct": ("block", "block of two", "round", "two"), "alone": ("block", "round", "tile", "step")}
RINGS = {f"{who} {i}": times for i, form in enumerate(FORMS) if form[4] == "ring" for who, times in zip(("engine", "copiers"), form[5:]) if times}


# Of blocks that walk over tiles, by whom they are fed, for their steps and to start: how much longer each takes the more of all places are
# taken; how many times as long where two, and where four, are on a multiprocessor; how much of that each tile behind the first one takes.
AMONG = ("load", "two", "four", "further")
CROWDS = (("engine", (0.0518, 1.36, 1.78, 0.953), (1.2, 0.997, 0.971, 0.385)), ("copiers", (0.0828, 1.31, 1.65, 0.925), (0.772, 1.14, 1.4, 0.533)))


def tiles_of(tile, p):
    return np.ceil(p.long / tile[0]) * np.ceil(p.short / tile[1]) * p.count


def places_of(form, cluster):
    share = {8: .8, 4: .93}.get(cluster, 1)
    return max(1, math.floor(PLACES * form[1] * share / cluster)) * cluster


def walks_of_kept(p):
    """How many walks there are for each place, and how many tiles of 16 x 32 a walk goes over (kept_rounds() of stream_forms.cpp)."""
    down, beside, places = np.ceil(p.m / 16), np.ceil(p.n / 32) * p.count, PLACES * KEPT_WARPS * np.where(p.k > 16, 3, 4)
    rounds, least = np.ones(len(p)), np.full(len(p), INF)
    for some in range(1, MOST_ROUNDS + 1):
        tiles = np.ceil(np.ceil(down / some) * beside / places) * (some + 1)
        rounds, least = np.where(tiles < least, some, rounds), np.minimum(tiles, least)
    return np.ceil(down / rounds) * beside / places, np.minimum(rounds, down)


class Stream(Law):
    name = "stream"
    columns = 3  # of a division: form, cluster, parts
    numbers = {}
    for ring, (start, round_, step, *others) in RINGS.items():
        numbers |= {f"start {ring}": between(start, .01, 2.5), f"round {ring}": between(round_, .1, 8), f"step {ring}": between(step, .2, 4)}
        for what, value, least, most in zip(("cluster", "part", "each part", "long by four", "short by four"), others, (.2, .5, .01, 0, 0), (6, 8, 1, 2, 2)):
            if value:
                numbers[f"{what} {ring}"] = between(value, least, most)
    for feed, *sequences in CROWDS:
        for what, sequence in zip(("crowd", "start"), sequences):
            for part, value, least, most in zip(AMONG, sequence, (.001, .7, .7, .1), (2, 5, 8, 3)):
                numbers[f"{what} {feed} {part}"] = between(value, least, most)
    numbers |= {"memory": between(3.589, 3, 4.7), "cache": between(3.857, 3, 8), "read of c": between(2.81, .5, 9), "odd rows": between(1.04, .9, 2),
                "half rows": between(1.03, .9, 2), "walk's odd rows": between(1.051, .9, 2), "walk's half rows": between(1.041, .9, 2),
                "paired": between(1.352, 1, 2), "single": between(1.108, .7, 2), "single copied": between(1.023, .7, 2), "four": between(1.828, 1, 3),
                "doubled": between(0.1393, .1, 1), "part of row": between(0.7332, .01, 3), "walk's part of row": between(0.2697, .01, 3),
                "lanes start": between(1.362, .3, 3), "lanes second": between(0.1531, .001, 2), "lanes third": between(0.1328, .001, 2),
                "lanes half": between(0.3663, .05, 1), "lanes adding": between(0.3398, .001, 2), "lanes filling": between(0.2756, .001, 4),
                "lanes to fill": between(9.617, .3, 40), "lanes tile": between(0.001995, .0001, .02), "lanes step": between(0.0007382, .0001, .01),
                "lanes cache": between(7.13, 1, 9), "lanes memory": between(2.551, 1, 4), "lanes half rows": between(1.193, .8, 3),
                "lanes odd rows": between(4.5, .8, 4.5), "lanes read of c": between(0.6606, .5, 30),
                "kept start": between(1.708, .8, 3), "kept deep": between(0.8891, .05, 3), "kept quarter": between(0.3192, .001, 2),
                "kept column": between(0.4579, .001, 2), "kept exact": between(0.1604, .001, 3), "kept adding": between(0.4208, .001, 2),
                "kept odd": between(0.381, .001, 2), "kept filling": between(1.197, .001, 6), "kept to fill": between(3.311, .3, 40),
                "kept wave": between(1.105, .001, 3), "kept round": between(1.11, .1, 4), "kept round deep": between(0.3698, .001, 2), "kept round odd": between(0.555, .001, 3),
                "kept round adding": between(0.09441, .001, 2), "kept crowd": between(0.0466, .001, 2), "kept crowd deep": between(0.02987, .001, 2),
                "kept crowd adding": between(0.3924, .001, 2), "kept cache": between(5.403, .8, 12), "kept memory": between(3.601, .8, 4.7),
                "kept half rows": between(1.682, .9, 4), "kept odd rows": between(1.424, .9, 5), "kept far half rows": between(1.208, .9, 4),
                "kept read of cache": between(6.697, .8, 60), "kept read of memory": between(1.635, .8, 4.7),
                "direct start": between(0.3, .3, 3), "direct adding": between(0.1588, .001, 2), "direct filling": between(0.7564, .001, 4),
                "direct to fill": between(0.1, .1, 50), "direct uneven": between(0.06427, .001, 2), "direct further": between(1.122, .2, 2),
                "direct whole waves": between(0.6171, .01, 1), "direct memory": between(2.129, 1, 5),
                "alone adding": between(0.5949, .001, 2), "alone filling": between(1.087, .001, 4), "alone to fill": between(1.446, .1, 50),
                "alone half rows": between(1.573, .9, 4), "alone odd rows": between(1.143, .9, 4), "alone tile odd": between(1.429, .001, 4),
                "alone uneven": between(0.1385, .001, 2), "alone round uneven": between(0.1645, .001, 2), "alone further": between(0.4113, .01, 2),
                "alone at once": between(0.8088, .01, 2), "alone cache": between(3.194, .8, 12), "alone memory": between(3.1, .8, 4.7),
                "alone read of cache": between(2.705, .8, 60), "alone read of memory": between(1.6, .8, 4.7)}
    for what, value in zip(OF_KEPT, (1.303, .5463, 1.739, .8558, 1.024, .1372, 9, 4.602)):  # by 20261126-kept-whole.json
        numbers[f"kept whole {what}"] = between(value, .01, 9)
    for i, (*_, feed, times) in ((i, form) for i, form in enumerate(FORMS) if form[4] in OF_FEED):
        for what, value in zip(OF_FEED[feed], times):
            numbers[f"{feed} {what} {i}"] = between(value, .001, 3)

    def seconds(self, g, p, how, lie):  # microseconds
        out = np.empty(len(p))
        for i, (tile, resident, slabs, shares, feed, *times) in enumerate(FORMS):
            at = how[:, 0] == i
            if not at.any():
                continue
            q, cluster, parts, tiles, halves = p.some(at), how[at, 1], how[at, 2], tiles_of(tile, p.some(at)), np.ceil(p.k[at] / 16)
            stored = q.of_c * q.count - q.read_of_c
            if feed == "lanes":
                move = ((stored * by_rows(q, 1, g["lanes half rows"], g["lanes odd rows"]) + q.bytes - stored - q.read_of_c)
                        / (1e6 * g["lanes cache"]) + q.read_of_c / (1e6 * g["lanes read of c"]))
                move = np.maximum(move, np.where(q.bytes > BYTES_OF_L2, q.bytes / (1e6 * g["lanes memory"]), 0))
                wait = (g["lanes second"] * (q.k > 8) + g["lanes third"] * (q.k > 16) + g["lanes half"] * np.maximum(halves - 2, 0)
                        + g["lanes adding"] * (q.read_of_c > 0) + g["lanes filling"] * filled(stored, g["lanes to fill"]))
                out[at] = g["lanes start"] + wait + longer(tiles * (g["lanes tile"] + g["lanes step"] * halves), move)
                continue
            if feed == "direct":
                block, of_two, of_round, two = (g[f"direct {what} {i}"] for what in OF_FEED[feed])
                beside, rounds, waves = tiles > PLACES, np.ceil(halves / slabs), tiles / (PLACES * resident)
                in_turn = np.where(waves > 1, g["direct whole waves"] * np.ceil(waves) + (1 - g["direct whole waves"]) * waves, 1)
                of_rounds = of_round * (1 + g["direct uneven"] * lie.copied[at]) * (rounds - 1)
                work = np.where(beside, of_two + two * of_rounds, block + of_rounds) * (1 + (in_turn - 1) * g["direct further"])
                move = np.where(q.bytes > BYTES_OF_L2, q.bytes / (1e6 * g["direct memory"]), 0)
                out[at] = (g["direct start"] + g["direct adding"] * (q.read_of_c > 0) + g["direct filling"] * filled(stored, g["direct to fill"])
                           + longer(work, move))
                continue
            if feed == "alone":
                block, of_round, of_tile, step = (g[f"alone {what} {i}"] for what in OF_FEED[feed])
                count = lambda rows, columns: np.ceil(q.m / rows) * np.ceil(q.n / columns) * q.count
                of_four, waves = count(tile[0] / 2, tile[1] / 2) / 4 / PLACES, count(*tile) / (PLACES * resident)
                block = block + of_round * (halves - 1) * (1 + g["alone round uneven"] * lie.copied[at])
                among = of_tile * (1 + g["alone tile odd"] * q.rows) + step * np.ceil(q.k / 8) * (1 + g["alone uneven"] * lie.copied[at])
                work = (block * (1 + np.maximum(np.ceil(waves) - 1, 0) * g["alone further"])
                        + among * (g["alone at once"] * np.maximum(np.minimum(of_four, resident) - 1, 0) + np.maximum(of_four - resident, 0)))
                far = q.bytes - q.read_of_c > BYTES_OF_L2
                move = ((stored * by_rows(q, 1, g["alone half rows"], g["alone odd rows"]) + q.bytes - stored - q.read_of_c)
                        / np.where(far, g["alone memory"], g["alone cache"]) + q.read_of_c / np.where(far, g["alone read of memory"], g["alone read of cache"])) / 1e6
                out[at] = (g["alone adding"] * (q.read_of_c > 0) + g["alone filling"] * filled(stored, g["alone to fill"])
                           + longer(work, move))
                continue
            if feed == "kept":
                walks, rounds = walks_of_kept(q)
                whole = ((q.k == 16) | (q.k == 32)) & (q.m % 16 == 0) & (q.n % 32 == 0)
                of = {what: np.where(whole, g[f"kept whole {what}"], g[f"kept {what}"]) for what in OF_KEPT}
                adds, odd_rows, deep = q.read_of_c > 0, q.rows, halves - 1
                far = q.bytes - q.read_of_c > BYTES_OF_L2
                rows = [by_rows(q, 1, g["kept half rows"], g["kept odd rows"]), by_rows(q, 1, g["kept far half rows"], 1)]
                move = (stored * np.where(far, rows[1] / of["memory"], rows[0] / of["cache"])
                        + q.read_of_c / np.where(far, g["kept read of memory"], g["kept read of cache"])
                        + (q.bytes - stored - q.read_of_c) / np.where(far, of["memory"], of["cache"])) / 1e6
                wait = (of["deep"] * deep + g["kept quarter"] * (np.ceil(q.k / 8) % 2 == 0) + g["kept column"] * (q.n == 1)
                        + g["kept exact"] * ((q.k == 3) | (q.k == 4)) + g["kept adding"] * adds + g["kept odd"] * odd_rows
                        + of["filling"] * filled(stored, g["kept to fill"]))
                of_round = (of["round"] + of["round deep"] * deep + g["kept round odd"] * odd_rows + g["kept round adding"] * adds
                            + np.minimum(1, walks) * (g["kept crowd"] + g["kept crowd deep"] * deep + g["kept crowd adding"] * adds))
                out[at] = of["start"] + wait + longer((np.ceil(walks) * rounds - 1) * of_round + (np.ceil(walks) - 1) * of["wave"], move)
                continue
            who = "" if shares else "walk's "
            steps = np.ceil(np.ceil(np.ceil(q.k / 32) / (cluster * parts)) / slabs)

            def of_ring(ring, by_four):
                def times_beside(share, two, four):  # the fullest multiprocessor is waited for
                    others = np.clip(np.ceil(share * resident), 1, resident) - 1
                    return 1 + ((two if resident == 2 else four) - 1) * others / max(resident - 1, 1)

                def crowding(what):
                    load, two, four, further = (g[f"{what} {ring.split()[0]} {x}"] for x in AMONG)
                    beside = lambda share: (1 + load * share) * times_beside(share, two, four)
                    whole = np.floor(busy)
                    left = busy - whole
                    later = beside(1) * (1 + further * (whole - 1)) + np.where(left > 0, further * beside(left), 0)
                    return np.where(whole < 1, beside(busy), later)

                busy = tiles * cluster * parts / np.array([places_of(FORMS[i], c) for c in (1, 2, 4, 8)])[np.log2(cluster).astype(int)]
                if shares:
                    starts = rounds = np.where(busy <= 1, 1, np.ceil(busy)) * times_beside(busy, g["paired"], g["four"])
                else:
                    starts, rounds = crowding("start"), crowding("crowd")
                move = q.bytes / moved_at(q.bytes, g["cache"], g["memory"])
                if not shares:
                    starts = starts * np.where(steps == 1, g["single copied" if ring.startswith("copiers") else "single"], 1)
                us = starts * g[f"round {ring}"] + rounds * steps * g[f"step {ring}"] * by_four
                us = np.maximum(us, move) if slabs == 8 else longer(us, move)  # eight slabs in flight go at the pace of memory anyway
                us = us * by_rows(q, 1, g[who + "half rows"], g[who + "odd rows"]) + g[f"start {ring}"]
                if shares:
                    us = us + np.where(cluster > 1, g[f"cluster {ring}"] * (1 + np.maximum(np.log2(cluster) - 1, 0) * g["doubled"]), 0)
                    us = us + np.where(parts > 1, g[f"part {ring}"] + parts * g[f"each part {ring}"], 0)
                return us

            copied = lie.copied[at] + np.where(tiles * q.k > MOST_BRIEF_ROWS, lie.brief_rows[at], 0)
            copiers, engine = f"copiers {i}", f"{'engine' if times[0] else 'copiers'} {i}"
            by_four = g[f"long by four {copiers}"] * lie.long_odd[at] + g[f"short by four {copiers}"] * lie.short_odd[at]
            us = (1 - copied) * of_ring(engine, 1) + copied * of_ring(copiers, 1 + by_four / np.maximum(copied, 1e-9))
            in_parts = lie.short_rows[at] * ((q.short % 32 != 0) | (tile[1] < 32))
            out[at] = us + q.read_of_c / (1e6 * g["read of c"]) + in_parts * g[who + "part of row"] * np.minimum(tiles * cluster * parts / PLACES, 2)
        return out

    def divisions(self, p):
        one = np.ones(len(p))
        streams = (p.k != 3) & (p.k != 4)
        for i, form in enumerate(FORMS):
            possible = p.k <= 32 if form[4] == "kept" else streams & ((form[4] != "alone") | (p.k <= 128))
            yield possible, (i * one, one, one)
            if not form[3]:
                continue
            tiles = tiles_of(form[0], p)
            for cluster in (1, 2, 4, 8):
                here = possible & ((cluster == 1) | (p.k >= 32 * form[2] * cluster))
                if cluster > 1:
                    yield here, (i * one, cluster * one, one)
                for rounds in (.5, 1, 2):
                    parts = np.floor(places_of(form, cluster) * rounds / (tiles * cluster))
                    divides = here & (parts > 1) & (p.k / (np.maximum(parts, 1) * cluster) >= 64)
                    yield divides, (i * one, cluster * one, np.where(divides, np.minimum(parts, 64), 1))

    def takes(self, p):
        return ~((p.m > 512) & (p.n > 512) & (p.k > 512))


# narrow -----------------------------------------------------------------------------------------------------------------------------------
class Narrow(Law):
    name = "narrow"
    columns = 2  # cluster, parts
    numbers = {"start": between(4.955, 3, 12), "later": between(1.68, .2, 6), "chunk": between(1.123, .4, 3), "among all": between(0.1971, .01, 1.5),
               "threads": between(1.721, 1, 3), "threads start": between(0.3996, .01, 5), "cluster": between(4.958, .2, 6), "part": between(2.78, .5, 8),
               "each part": between(0.6328, .02, 2), "read of c": between(0.7274, .1, 5), "memory": between(4.6, 3, 4.6), "cache": between(3.623, 2, 12),
               "stored": between(9, .5, 9), "odd rows": between(3.56, .9, 5), "half rows": between(3.74, .9, 5), "brief row": between(7.169e-05, .01e-3, .4e-3),
               "exact start": between(29, 1, 60), "exact tile": between(157, 10, 400), "exact line": between(0.0936, 0.01, 1),
               "kept start": between(3.58, 2, 9), "kept odd start": between(0.1084, 0.01, 6), "kept tile": between(1.183, .1, 5), "kept half": between(0.2202, .01, 2),
               "kept odd tile": between(1.809, .1, 10), "kept odd half": between(0.2987, .01, 3), "kept read of c": between(0.5801, .01, 5), "kept odd read of c": between(0.5951, .01, 9),
               "kept half rows": between(1.132, .9, 2), "kept first": between(0.5517, .01, 3), "kept deep": between(0.3771, .001, 3), "kept cache": between(4.508, 2, 12), "kept memory": between(4.6, 2, 4.6)}

    def seconds(self, g, p, how, lie):
        keeps = (how[:, 0] * how[:, 1] == 1) & (p.k > 4) & (p.k <= 64)
        alike = copy.copy(lie)
        alike.copied, alike.brief_rows = np.where(keeps, 1, lie.copied), np.where(keeps, 0, lie.brief_rows)
        us = self.of_others(g, p, how, alike)
        return np.where(keeps, (1 - lie.long_odd) * self.of_kept(g, p) + lie.long_odd * us, us)

    def of_kept(self, g, p):
        along, columns = np.ceil(p.long / 128), np.ceil(p.short / 64) * p.count
        of_block, rows = np.full(len(p), INF), 1
        while (rows < 2 * along).any():
            tiles = np.ceil(np.ceil(along / rows) * columns / PLACES) * (np.minimum(rows, along) + .25 * (columns > 1))
            of_block, rows = np.where((rows < 2 * along) & (tiles < of_block), tiles, of_block), 2 * rows
        halves = np.where(p.k <= 16, 1, np.where(p.k <= 32, 2, 4))
        anywhere = p.n % 4 != 0
        whole = (g["kept tile"] + halves * g["kept half"]) * np.where(p.n % 8 != 0, g["kept half rows"], 1)
        of_tile = np.where(anywhere, g["kept odd tile"] + halves * g["kept odd half"], whole)
        # The engine brings C while the tile before is multiplied; threads read it when the sums are there, of the first tile too.
        of_tile, read = of_tile + p.adds * np.where(anywhere, 0, g["kept read of c"]), p.adds * anywhere * g["kept odd read of c"]
        compute = (of_block - 1) * of_tile + of_block * read + g["kept first"] * np.minimum(1, along * columns / PLACES)
        return g["kept start"] + g["kept deep"] * (halves - 1) + anywhere * g["kept odd start"] + longer(compute, p.bytes / moved_at(p.bytes, g["kept cache"], g["kept memory"]))

    def of_others(self, g, p, how, lie):
        cluster, parts = how[:, 0], how[:, 1]
        tiles = np.ceil(p.long / 128) * np.ceil(p.short / 64) * p.count
        busy = tiles * cluster * parts / (PLACES * np.where(cluster == 4, .93, 1))
        rounds, chunks = np.maximum(1, np.ceil(busy)), np.ceil(np.ceil(p.k / 64) / (cluster * parts))
        multiply = rounds * chunks * (g["chunk"] + g["among all"] * np.minimum(1, busy)) * (1 + (g["threads"] - 1) * lie.copied)
        multiply = multiply + (rounds - 1) * g["later"] + p.adds * rounds * g["read of c"]
        move = p.bytes / moved_at(p.bytes, g["cache"], g["memory"]) + lie.brief_rows * tiles * p.k * g["brief row"]
        move = move + p.of_c * p.count / (1e6 * g["stored"]) * by_rows(p, 1, g["half rows"], g["odd rows"])
        filled = (g["exact line"] + (1 - g["exact line"]) * np.minimum(p.short, 64) / 64) * np.minimum(p.long, 128) / 128
        exact = np.where(p.k <= 4, g["exact start"] + rounds * filled * g["exact tile"] * np.where(p.k <= 2, .8, 1), 0)
        return (g["start"] + lie.copied * g["threads start"] + longer(multiply, move) + exact + np.where(cluster > 1, g["cluster"], 0)
                + np.where(parts > 1, g["part"] + g["each part"] * parts, 0))

    def divisions(self, p):
        one, chunks, least = np.ones(len(p)), np.ceil(p.k / 64), np.ceil(p.k / 16384)
        tiles = np.ceil(p.long / 128) * np.ceil(p.short / 64) * p.count
        yield one > 0, (one, least)
        for cluster in (1, 2, 4):
            for parts in range(1, min(64, PLACES // cluster) + 1):
                yield ((tiles * cluster * parts <= PLACES) & (chunks >= 2 * cluster * parts) & (cluster * parts >= least),
                       (cluster * one, parts * one))

    def takes(self, p):
        return p.m > 0


# Products of split operands ---------------------------------------------------------------------------------------------------------------
def blocks_per_tile(tiles, chunks):
    blocks = np.ones(len(tiles))
    for some in (2, 4, 8):
        blocks = np.where((chunks >= some) & (tiles * some <= (PLACES if some == 2 else PLACES * 2 // some)), some, blocks)
    return blocks


class Split(Law):
    columns = 0

    def __init__(self, name, numbers):
        self.name = name
        names = ("start", "brief start", "line", "brief line", "pass", "across", "odd pass", "chunk", "tail", "alone", "left", "cluster",
                 "stored", "odd rows", "half rows", "adds", "adds to odd rows", "read of c", "edges", "exact start", "exact")
        least = (3, 3, .00001, .00001, 1, .7, .9, .3, .01, .6, .05, .01, 1, .9, .8, .5, .5, .01, .5, .1, .01)
        most = (20, 20, .01, .01, 12, 4, 4, 6, 8, 1.6, .95, 8, 12, 6, 4, 3, 6, 12, 8, 60, 100)
        self.numbers = {one: between(*all) for one, *all in zip(names, numbers, least, most)}

    def seconds(self, g, p, how, lie):
        inside, brief = self.name == "split-inside", p.k <= 256
        of_a, of_b = (np.where(inside & ~shorter, 0, lines) for shorter, lines in ((p.m < p.n, p.m), (p.m >= p.n, p.n)))
        split = sum(4 * p.k * lines * (1 + (g["across"] - 1) * across) * (1 + (g["odd pass"] - 1) * anywhere)
                    for lines, across, anywhere in ((of_a, lie.a_across, lie.a_odd), (of_b, lie.b_across, lie.b_odd)))
        before = longer(2 * split / (1e6 * g["pass"]), (of_a + of_b) * np.where(brief, g["brief line"], g["line"]))
        tiles, chunks = np.ceil(p.m / 128) * np.ceil(p.n / 128), np.ceil(p.k / 64)
        cluster = np.ones(len(p)) if self.name == "split-mma" else blocks_per_tile(tiles, chunks)
        all_, whole = tiles / PLACES, np.floor(tiles / PLACES)
        last = np.where(all_ == whole, 0, g["left"] + (1 - g["left"]) * (all_ - whole))
        rounds = np.where((cluster > 1) | (tiles <= PLACES), 1, whole + last)
        chunk = g["chunk"] * (g["alone"] + (1 - g["alone"]) * np.minimum(1, tiles * cluster / PLACES))
        multiply = rounds * (np.ceil(chunks / cluster) * chunk + g["tail"]) + np.where(cluster > 1, g["cluster"], 0)
        adds = np.where(p.adds > 0, g["adds"], 1)
        # Rows that begin anywhere are stored in sectors where the tile is whole, and one by one at C's edges.
        whole = np.floor(p.m / 128) * np.floor(p.n / 128) * 128 ** 2 / (p.m * p.n)
        odd_rows = np.where(p.adds > 0, g["adds to odd rows"], g["odd rows"]) * (whole + (1 - whole) * g["edges"])
        store = p.of_c / (1e6 * g["stored"]) * by_rows(p, adds, np.maximum(g["half rows"], adds), odd_rows)
        exact = np.where(p.k <= 4, g["exact start"] + g["exact"] * 1e-6 * p.m * p.n, 0)
        return p.count * (np.where(brief, g["brief start"], g["start"]) + before + longer(multiply, store) + rounds * np.where(p.adds > 0, g["read of c"], 0) + exact)

    def takes(self, p):
        if self.name != "split-inside":
            return p.m > 0
        tiles, chunks = np.ceil(p.m / 128) * np.ceil(p.n / 128), np.ceil(p.k / 64)
        a, b = (~np.char.startswith(p.layout, "t") & ((p.m == 1) | (p.k % 4 == 0)), np.char.endswith(p.layout, "t") & ((p.n == 1) | (p.k % 4 == 0)))
        first = np.where(p.n > p.m, b, a)
        return ((a | b) & (np.where(first, p.short, p.long) <= 256) & (np.where(first, p.long, p.short) >= 4096) & (p.k >= 1024) & (p.k <= 65536)
                & (tiles * blocks_per_tile(tiles, chunks) <= PLACES))


# short and dots ---------------------------------------------------------------------------------------------------------------------------
class Short(Law):
    name, columns = "short", 0
    numbers = {"start": between(1.096, .5, 5), "exact": between(0.1166, .01, 5), "adding": between(0.1749, .01, 2), "filling": between(3.805, .1, 9),
               "to fill": between(6.05, .5, 30), "of cache": between(2.905, .3, 9), "of memory": between(2.644, .3, 4.6),
               "read of cache": between(8.103, .3, 30), "read of memory": between(2.139, .3, 4.6)}

    def seconds(self, g, p, how, lie):
        stored, operands = 4 * p.count * p.m * p.n, 4 * p.count * p.k * (p.m + p.n)
        there = stored + operands
        move = (stored / moved_at(there, g["of cache"], g["of memory"]) + p.read_of_c / moved_at(there, g["read of cache"], g["read of memory"])
                + operands / (1e6 * g["of cache"]))
        return (g["start"] + np.where((p.k == 3) | (p.k == 4), g["exact"], 0) + np.where(p.read_of_c > 0, g["adding"], 0)
                + g["filling"] * filled(stored, g["to fill"]) + move)

    def takes(self, p):
        return p.k <= 4


# By blocks: lines of the short operand, at most, and of the long one, of a thread; then PARTS_OF_BLOCKS.
DOTS = ((1, 2, (1.271, 0.528, 0.241, 0.067, 0.769, 0.788, 0.783, 1.759, 1.498, 4.996, 2.975, 0.407, 0.1, 0.296, 0.1, 0.619)),
        (1, 4, (1.647, 0.255, 0.27, 0.069, 0.784, 0.853, 0.856, 2.608, 1.386, 6.163, 4.12, 0.227, 0.1, 1.154, 0.1, 0.406)),
        (2, 2, (1.118, 0.905, 0.265, 0.086, 0.806, 0.891, 0.901, 1.832, 1.153, 3.9, 2.421, 0.007, 0.339, 0.249, 0.269, 0.712)),
        (2, 4, (1.328, 0.954, 0.327, 0.07, 0.978, 1.07, 1.069, 2.086, 1.09, 5.259, 3.374, 0.005, 0.765, 0.948, 0.026, 1.038)),
        (4, 1, (0.208, 1.848, 0.336, 0.087, 0.844, 0.925, 0.961, 1.496, 0.965, 1.765, 1.121, 0.007, 0.491, 0.192, 0.072, 0.04)),
        (4, 2, (0.328, 1.952, 0.371, 0.078, 0.953, 1.071, 1.065, 1.648, 1.003, 2.747, 1.785, 0.003, 0.55, 0.149, 0.171, 0.008)),
        (8, 1, (0.667, 1.896, 0.451, 0.085, 1.003, 1.042, 1.024, 1.671, 1.071, 1.077, 1.0, 0.095, 0.383, 0.141, 0.159, 0.042)),
        (8, 2, (0.894, 1.909, 0.604, 0.071, 1.245, 1.352, 1.213, 1.845, 1.0, 1.571, 1.693, 0.131, 0.149, 0.181, 0.16, 0.012)))
PARTS_OF_BLOCKS = (("start", .2, 4), ("block", .05, 6), ("step", .02, 3), ("slot", .001, 1), ("two", .1, 4), ("four", .1, 4), ("eight", .1, 4),
                   ("full", 1, 4), ("further", .1, 4), ("cache", 1, 20), ("memory", 1, 4.8), ("long across", .001, 3), ("short across", .001, 3),
                   ("long odd", .001, 3), ("short odd", .001, 3), ("odd bytes", .001, 3))
# By lanes: the square, whether by the kernel for operands across k, then the numbers of law_of_lanes.
DOTS_BY_LANES = ((1, False, (.7531, .3048, .0071, .0962, .0618, .1457, .0614, .1267, 1.73)), (1, True, (1.2981, .7590, .0398, .1612, .1104, .05, .4483, .0781)),
                 (2, False, (.8932, .2833, .0271, .1074, .0426, .2923, .0356, .1325, 1.54)), (2, True, (2.4964, .6616, .1124, .1223, .1074, .0021, .4591, .0486)))
FASTER, PLAIN, ACROSS = 0, 1, 2  # kernels by lanes; the first is whichever is predicted to be faster
SQUARES, WAYS_OF_LANES, LEAST_ACROSS = (1, 2), (4, 8, 16, 32, 64, 128), 16
PARTS_OF_LANES = ("start", "round", "doubling", "warps", "sector", "block", "round of block", "sector of block", "far sectors")
# For a vector: lines of a thread, blocks of the most threads that a multiprocessor has places for, threads of a block; then the numbers of
# law_of_vector, fitted to 20261126-vector-forms.json and to single times of a tune, which are not kept. A thread has four lines where they lie
# across k.
DOTS_FOR_VECTOR = ((1, 4, (128, 256), (.876, .283, .06038, 4.733, .6702, .0954, 20, 4.218, 1.032, .7474, .1448, 0, 0, 1, 0, 0)),
                   (2, 3, (128, 256), (1.046, .1808, .06075, 6.553, .7197, .3085, 20, 4.218, 1.138, .5405, .0592, 0, 0, 1, 0, 0)),
                   (4, 1, (128, 256, 512), (1.625, .04625, .0199, 15.05, 1.616, .5862, 6.422, 4.641, 1.995, 1.004, .005, .1278, 1.012, 1.337, .4806, .437)))
VECTOR, WAYS_OF_VECTOR = len(DOTS) + len(SQUARES), (32, 64, 128, 256)


class Dots(Law):
    name, columns = "dots", 4  # number of the law, slots, cluster, rows; by lanes: of the square behind those, lanes, 1, kernel
    numbers = {f"{part} {square}{' across' * across}": between(value, .001, 10)
               for square, across, values in DOTS_BY_LANES for part, value in zip(PARTS_OF_LANES, values)}
    numbers |= {f"{part} b{i}": between(value, least, most)
                for i, (_, _, values) in enumerate(DOTS) for (part, least, most), value in zip(PARTS_OF_BLOCKS, values)}

    @staticmethod
    def by_lanes(g, square, across, lanes, p, long_across, short_across):
        of = f"{square}{' across' * across}"
        start, round_, doubling, warps, sector, block, round_of_block, sector_of_block = (g[f"{part} {of}"] for part in PARTS_OF_LANES[:8])
        far = 0
        if across:
            threads, of_load = 1024, (4 if long_across else 8) + (4 if short_across else 1)
        else:
            threads, of_warp, lines = 128, min(lanes, 32), max(1, 32 // lanes)
            along = math.ceil(of_warp / 8)
            of_load = (of_warp * math.ceil(lines / 8) if long_across else lines * along) + (of_warp if short_across else along)
        blocks = np.ceil(p.long / (threads // lanes * square)) * np.ceil(p.short / square) * p.count
        thousands = np.ceil(p.k / lanes) * square * (threads // 32) * of_load / 1000
        rounds = np.ceil(p.k / (lanes * (8 // square)))
        if long_across and not across:  # lines that other blocks want, too: the L1 cache has no place for more of them
            far = g[f"far sectors {of}"] * np.clip(p.k / 600 - 1, 0, 1) * np.clip(blocks / PLACES / 2 - 1, 0, 1)
        waves = np.ceil(blocks / PLACES) if across else 1  # of blocks that have a multiprocessor to themselves
        return (waves * (start + rounds * round_ + thousands * sector) + math.log2(lanes) * doubling + (lanes > 32) * warps
                + blocks / PLACES * (block + rounds * round_of_block + thousands * sector_of_block * (1 + far)))

    def by_either_kernel(self, g, square, lanes, kernel, p, lie):
        """In the mean over the ways that operands lie."""
        first, second = lie.long_across * (p.long > 1) * (p.k > 1), lie.short_across * (p.short > 1) * (p.k > 1)
        us = 0
        for long_across in (False, True):
            for short_across in (False, True):
                of = {PLAIN: self.by_lanes(g, square, False, lanes, p, long_across, short_across)}
                if lanes >= LEAST_ACROSS and (long_across or short_across):
                    of[ACROSS] = self.by_lanes(g, square, True, lanes, p, long_across, short_across)
                one = np.where(kernel == FASTER, np.minimum.reduce(list(of.values())), np.where(kernel == PLAIN, of[PLAIN], of.get(ACROSS, of[PLAIN])))
                us = us + (first if long_across else 1 - first) * (second if short_across else 1 - second) * one
        return us

    @staticmethod
    def by_blocks(g, i, slots, cluster, p, lie):
        of = {part: g[f"{part} b{i}"] for part, *_ in PARTS_OF_BLOCKS}
        blocks = np.ceil(p.long / (256 // slots * DOTS[i][1])) * p.count * cluster
        steps, all_ = np.ceil(np.ceil(p.k / (4 * slots)) / cluster), blocks / (264 * {8: .8, 4: .93}.get(cluster, 1))
        crowd = np.where(all_ <= .5, 1, np.where(all_ <= 1, 1 + (of["full"] - 1) * (2 * all_ - 1), of["full"] * (1 + of["further"] * (all_ - 1))))
        slower = (1 + of["long across"] * lie.long_across + of["short across"] * np.where(p.short > 1, lie.short_across, 0)
                  + of["long odd"] * lie.long_odd + of["short odd"] * lie.short_odd)
        compute = crowd * (of["block"] + steps * of["step"] * slower + (math.log2(slots) - 2) * of["slot"])
        from_memory = np.where(p.bytes > BYTES_OF_L2, 1 + 1.4 * (4 / slots) ** 3 * (1 - lie.long_across), 1)  # in pieces of 64 bytes for each line
        lost = np.clip((p.bytes - BYTES_KEPT) / (BYTES_OF_L2 - BYTES_KEPT), 0, 1) if DOTS[i][0] == 1 else 0  # by a cache that has to keep much
        cache = 1 / ((1 - lost) / of["cache"] + lost / of["memory"])
        move = p.bytes * from_memory * (1 + of["odd bytes"] * lie.long_odd) / (moved_at(p.bytes, cache, of["memory"]) * np.minimum(1, .4 + .6 * all_))
        return of["start"] + {1: 0, 2: of["two"], 4: of["four"], 8: of["eight"]}[cluster] + longer(compute, move)

    @staticmethod
    def by_form_of_vector(law, slots, threads, lines, k, count, bytes_):
        rows, places, widths, (start, block, group, crowd, further, tail, cache, memory, ramp, uneven, uneven_bytes, straddling, scattered, fades,
                               pieces_of_cache, pieces_of_memory) = law
        of_block, is_odd = threads // slots * rows, odd(lines if rows == 4 else k)
        blocks, eights, groups = np.ceil(lines / of_block) * count, 8 / of_block, np.ceil(k / (4 * slots))
        groups = groups * (1 + uneven * is_odd) * (1 + scattered * eights ** fades)
        of_one = places * widths[-1] / threads
        waves = blocks / PLACES / of_one
        behind = np.where(waves > 1, waves - 1 + tail * (np.ceil(waves) - waves), 0)
        compute = (block + group * groups) * (1 + crowd * np.minimum(1, np.ceil(blocks / PLACES) / of_one)) * (1 + further * behind)
        far = np.clip((bytes_ - BYTES_KEPT) / (NONE_KEPT - BYTES_KEPT), 0, 1)
        move = (1 - far) / cache * (1 + pieces_of_cache * eights) + far / memory * (1 + pieces_of_memory * eights)
        return start + ramp * far + longer(compute, 1e-6 * bytes_ * (1 + uneven_bytes * is_odd + straddling * (lines % 32 != 0)) * move)

    def for_vector(self, across, slots, p):
        """By the fastest form."""
        bytes_ = 4 * p.count * (p.long * p.k + p.k + (1 + p.adds) * p.long)
        return np.minimum.reduce([self.by_form_of_vector(law, slots, threads, p.long, p.k, p.count, bytes_)
                                  for law in DOTS_FOR_VECTOR if across == (law[0] == 4) for threads in law[2] if threads >= slots])

    def seconds(self, g, p, how, lie):
        out = np.empty(len(p))
        for slots in WAYS_OF_VECTOR:
            at = np.flatnonzero((how[:, 0] == VECTOR) & (how[:, 1] == slots))
            some = p.some(at)
            across = np.where(some.long > 1, lie.long_across[at], 0)
            out[at] = (1 - across) * self.for_vector(False, slots, some) + across * self.for_vector(True, slots, some)
        for number, square in enumerate(SQUARES):
            for lanes in WAYS_OF_LANES:
                at = np.flatnonzero((how[:, 0] == len(DOTS) + number) & (how[:, 1] == lanes))
                out[at] = self.by_either_kernel(g, square, lanes, how[at, 3], p.some(at), Part(lie, at))
        for i in range(len(DOTS)):
            for slots in (4, 8, 16, 32, 64, 128, 256):
                for cluster in (1, 2, 4, 8):
                    at = np.flatnonzero((how[:, 0] == i) & (how[:, 1] == slots) & (how[:, 2] == cluster))
                    if len(at):
                        out[at] = self.by_blocks(g, i, slots, cluster, p.some(at), Part(lie, at))
        return out

    def divisions(self, p):
        one = np.ones(len(p))
        for number in range(len(SQUARES)):
            for lanes in WAYS_OF_LANES:
                yield self.lanes_may(p) & ((lanes == 4) | (lanes <= p.k)), ((len(DOTS) + number) * one, lanes * one, one, 0 * one)
        for slots in WAYS_OF_VECTOR:
            yield (p.short == 1) & ((slots == 32) | (2 * slots < p.k)), (VECTOR * one, slots * one, one, 0 * one)
        elements = p.long * p.k * p.count
        piece, most = np.where(elements > 2e6, 16, np.where(elements > 5e5, 8, 1)), np.where(p.short > 4, 64, np.where(p.short > 2, 128, 256))
        for i, (few, rows, _) in enumerate(DOTS):
            here = (p.short <= few) & (p.short > few // 2)
            for slots in (4, 8, 16, 32, 64, 128, 256):
                lines = 256 // slots * rows
                fits = here & (slots <= most)
                if slots > 4:
                    fits = fits & ~((p.k <= 2 * slots) | ((lines < piece) & (lines < p.long)))
                for cluster in (1, 2, 4, 8):
                    yield fits & ((cluster == 1) | (p.k > 2 * slots * cluster)), (i * one, slots * one, cluster * one, rows * one)

    @staticmethod
    def lanes_may(p):
        return (p.k <= 8192) & (p.m * p.n * p.k * p.count <= 4e6)

    def takes(self, p):
        return ((p.short <= 8) | self.lanes_may(p)) & (p.k != 3) & (p.k != 4)


LAWS = (Short(), Stream(), Dots(), Narrow(),
        Split("split-inside", (11.0, 11.0, .00007, .00007, 7., .9, 1.1, 1.85, .5, .95, .5, 3., 4., 3., 1.5, 1.5, 3., .01, 1, 1, 1)),
        Split("split", (6.663, 6.661, 0.0007921, 0.0002775, 2.873, 1.146, 1.106, 1.016, 2.374, 1.041, 0.95, 0.01, 7.251, 3.507, 3.338, 3, 2.886, 1.735, 3.384, 37.8, 17.8)),
        Split("split-mma", (5.748, 5.362, 0.0003287, 0.0001746, 3.259, 1.063, 1.107, 2.555, 3.366, 0.9387, 0.906, 0.1, 6.419, 4.029, 2.495, 2.05, 1.476, 3.287, 4.948, 36, 17.6)))


def divided(law, p, g=None, lie=None):
    """The division that the law takes, and its microseconds; infinite where the policy does not take the product."""
    g, lie = g or law.values(), lie or Blind(p)
    if law.columns == 0:
        how = np.zeros((len(p), 0))
        return how, np.where(law.takes(p), law.seconds(g, p, how, lie), INF)
    best, how = np.full(len(p), INF), np.zeros((len(p), law.columns))
    for possible, columns in law.divisions(p):
        at = np.flatnonzero(possible & law.takes(p))
        if len(at) == 0:
            continue
        one = np.stack([c[at] for c in columns], 1)
        us = law.seconds(g, p.some(at), one, Part(lie, at))
        better = us < best[at]
        best[at[better]], how[at[better]] = us[better], one[better]
    return how, best


class Part:
    def __init__(self, lie, at):
        for name, values in vars(lie).items():
            if isinstance(values, np.ndarray):
                setattr(self, name, values[at])


# What was measured ------------------------------------------------------------------------------------------------------------------------
def random_products(seed, count, largest):  # those of tool/measure/product_list.cpp, with C added to every fifth, as tune has them
    word, state, place = (1 << 64) - 1, [seed], 312
    for i in range(1, 312):
        state.append((6364136223846793005 * (state[-1] ^ state[-1] >> 62) + i) & word)

    def bits():
        nonlocal place
        if place == 312:
            for i in range(312):
                x = state[i] & 0xFFFFFFFF80000000 | state[(i + 1) % 312] & 0x7FFFFFFF
                state[i] = state[(i + 156) % 312] ^ x >> 1 ^ (0xB5026F5AA96619E9 if x & 1 else 0)
            place = 0
        x = state[place]
        place += 1
        x ^= x >> 29 & 0x5555555555555555
        x ^= x << 17 & 0x71D67FFFEDA60000
        x ^= x << 37 & 0xFFF7EEE000000000
        return x ^ x >> 43

    def below_one():
        return (bits() >> 11) * 2.**-53

    def extent():
        size = min(max(math.floor(math.exp(below_one() * math.log(largest)) + .5), 1), largest)
        is_odd = below_one() < .3
        return size if size <= 3 else (size - 1) | 1 if is_odd else size // 4 * 4

    rows = []
    while len(rows) < count:
        m, n, k, layout = extent(), extent(), extent(), ("nn", "nt", "tn", "tt")[bits() % 4]
        if m * k + k * n + m * n <= 1 << 29:
            rows.append((m, n, k, 1, len(rows) % 5 == 4, layout))
    return Products(*zip(*rows))


EXTENTS, ENDS = (7, 4, 7, 3), ((2, 4, 8, 32, 128, 512), (64, 512, 2048), (4, 16, 64, 256, 1024, 4096))


def class_of(p, members=True):  # tuning_class_of(p).index()
    longer_side = p.long * (p.count if members else 1)
    lies = np.where(p.k % 4 != 0, 2, np.where(odd(p.m) | odd(p.n), 1, 0))
    at = [np.searchsorted(ends, side) for ends, side in zip(ENDS, (p.short, longer_side, p.k))] + [lies]
    return np.ravel_multi_index(at, EXTENTS)


def neighbours():
    at = np.stack(np.unravel_index(np.arange(math.prod(EXTENTS)), EXTENTS), 1)
    return (np.abs(at[:, None] - at[None]).sum(2) == 1).astype(float)


class Tune:
    def __init__(self):
        content = json.loads(CLASSES.read_text())["policies"]
        self.products = random_products(20261122, 4 * len(content["stream"]["taken"]), 8192)
        self.of_class, self.policies = class_of(self.products), {}
        for law in LAWS:
            of = content[law.name]
            taken = np.flatnonzero([bit == "1" for digit in of["taken"] for bit in f"{int(digit, 16):04b}"])
            how = np.array([[float(x) for x in one.split("/")] for one in of["divisions"].split()]) if law.columns else np.zeros((len(taken), 0))
            self.policies[law.name] = taken, how, np.array(of["classes"]), np.log(of["us"])


def bench():
    """Records of products by one policy each, normal data, in graphs: products, policies, microseconds, sets."""
    rows = []
    for path in sorted((ROOT / "bench/results").glob("*-bench-*.json")):
        for r in json.loads(path.read_text())["records"]:
            if r.get("protocol") == "graph" and r.get("data") == "normal" and "policy" in r and not r["set"].startswith("prepared"):
                s = r["shape"]
                rows.append((s["m"], s["n"], s["k"], r.get("count", 1), r.get("beta", 0) != 0, r["layout"], r["policy"], r["time_us"]["ours"], r["set"]))
    columns = list(zip(*rows))
    return Products(*columns[:6]), np.array(columns[6]), np.array(columns[7]), np.array(columns[8])


def timed(words):
    """What stands in such files as `name time name time`."""
    words = words.split()
    return zip(words[::2], map(float, words[1::2]))


def forms_timed(words):
    return {tuple(map(int, form.split("/"))): us for form, us in timed(words)}


class Forms:
    """Times of all forms of stream that are worth choosing, each of a product."""
    def __init__(self):
        products = {}  # by product: its list, and times by form
        def note(of, product, times):
            products.setdefault(tuple(product), (of, {}))[1].update(times)

        for of, *product, times in json.loads(FORMS_OF_STREAM.read_text())["products"]:
            note(of, product, {form: us for form, us in forms_timed(times).items() if form[0] != KEPT})
        for *product, times, _ in json.loads(ALL_POLICIES.read_text())["products"]:
            note("all", product, forms_timed(times))
        for of, *product, us in json.loads(KEPT_BY_STREAM.read_text())["products"]:
            note(of, product, {(KEPT, 1, 1, 0): us})
        for later in LATER_BY_STREAM:
            for of, *product, times in json.loads(later.read_text())["products"]:
                note(of, product, forms_timed(times))
        rows = [(number, of, *product, *form, us) for number, (product, (of, times)) in enumerate(products.items()) for form, us in times.items()]
        number, of, *product, form, cluster, parts, forced, us = map(np.array, zip(*rows))
        self.number, self.of, self.us = number, of, us
        self.p, self.how, self.forced = Products(*product), np.stack([form, cluster, parts], 1).astype(float), forced == 1
        least = np.full(number.max() + 1, INF)
        np.minimum.at(least, number, us)
        self.least, self.judges = least[number], np.isin(of, ("random", "serving"))

    def lost(self, law, g):
        """How much longer than the fastest form the one takes that the law chooses, by list: the mean, and the share above 5 %."""
        lie = Blind(self.p)
        predicted, own, lost = law.seconds(g, self.p, self.how, lie), np.flatnonzero(~self.forced), {}
        for one in np.split(own, np.flatnonzero(np.diff(self.number[own])) + 1):
            if len(one) == 1:
                continue
            taken = one[np.argmin(predicted[one])]
            lost.setdefault(self.of[taken], []).append(np.log(self.us[taken] / self.least[taken]))
        return {of: (np.expm1(np.mean(all_)), np.mean(np.array(all_) > np.log(1.05))) for of, all_ in lost.items()}


class Measured:
    """Of a law: products with their divisions, and cells of them, each with the mean of the logarithms of its times."""
    def __init__(self, law, tune, records, division=None):
        taken, how, classes, logs = tune.policies[law.name]
        place = np.full(math.prod(EXTENTS), -1)
        place[classes] = np.arange(len(classes))
        products, policies, us, sets = records
        at = np.flatnonzero(policies == law.name)
        own = products.some(at)
        self.p = tune.products.some(taken).and_(own)
        self.how = np.concatenate([how, (division or (lambda law, p: divided(law, p)[0]))(law, own)])
        self.cell = np.concatenate([place[tune.of_class[taken]], len(classes) + np.arange(len(at))])
        self.target = np.concatenate([logs, np.log(us[at])])
        self.count = np.bincount(self.cell, minlength=len(self.target))
        self.alone = np.arange(len(self.target)) >= len(classes)  # a record of its own
        self.judges = np.concatenate([np.zeros(len(classes), bool), [one.startswith(("random", "serving")) for one in sets[at]]]).astype(bool)
        self.weight = np.where(self.judges, 0, np.where(self.alone, 2, np.sqrt(np.minimum(self.count, 16))))
        self.lie = Seen(self.p)
        self.add_all_policies(law)
        if law.name == "stream":
            self.add_forms()
        if law.name == "dots":
            self.add_divisions()

    def add(self, p, how, us, judges, weight):
        """Products with their divisions, each with a time of its own."""
        self.p, self.how = self.p.and_(p), np.concatenate([self.how, how])
        self.cell = np.concatenate([self.cell, len(self.target) + np.arange(len(us))])
        self.target = np.concatenate([self.target, np.log(us)])
        self.count, self.alone = (np.concatenate([one, np.ones(len(us), one.dtype)]) for one in (self.count, self.alone))
        self.judges, self.weight = np.concatenate([self.judges, judges]), np.concatenate([self.weight, weight])
        self.lie = Seen(self.p)

    def add_all_policies(self, law):
        """Single times of every policy that might have been taken. Those of stream come with all its forms."""
        rows = []
        for *product, _, times in json.loads(ALL_POLICIES.read_text())["products"]:
            rows += [(*product, us) for name, us in timed(times) if name == law.name]
        if rows:
            *product, us = zip(*rows)
            p = Products(*product)
            self.add(p, divided(law, p)[0], np.array(us), np.zeros(len(us), bool), np.ones(len(us)))

    def add_divisions(self):
        """Single times of all divisions that are worth choosing: the slower one is beside the fastest kernel, the less it counts."""
        def add(of, product, least, times, kernel):
            m, n = product[:2]
            for way, us in timed(times):
                first, slots, *cluster = map(int, way.strip("lb").split("/"))  # the square, or rows of a thread
                law = len(DOTS) + first - 1 if way[0] != "b" else next(
                    i for i, (few, lines, _) in enumerate(DOTS) if lines == first and few // 2 < min(m, n) <= few)
                rows.append((product, (law, slots, *(cluster or [1]), first if way[0] == "b" else kernel), us, least / us, of))

        rows = []
        for of, *product, least, times in json.loads(DIVISIONS_OF_DOTS.read_text())["products"]:
            add(of, product, least, times, ACROSS)  # wherever an operand lies so
        for m, n, k, count, layout, before, _, _, times in json.loads(PLAIN_LANES.read_text())["products"]:
            add("lanes", (m, n, k, count, False, layout), min([before, *map(float, times.split()[1::2])]), times, PLAIN)
        products, how, us, weight, of = zip(*rows)
        judges = np.isin(of, ("random", "serving"))
        self.weight = 0 * self.weight  # the tune tells no divisions but those that the law took
        self.add(Products(*zip(*products)), np.array(how, float), us, judges, np.where(judges, 0, np.square(weight)))

    def add_forms(self):
        """Single times of every form: what is seldom chosen is known too. The slower one is beside the fastest, the less it counts."""
        forms = self.forms = Forms()
        self.weight = .3 * self.weight
        self.add(forms.p, forms.how, forms.us, forms.judges, np.where(forms.judges, 0, forms.least / forms.us))
        forced = np.concatenate([np.zeros(len(self.p) - len(forms.us), bool), forms.forced])
        self.lie.copied = np.where(forced, 1., self.lie.copied)
        self.lie.brief_rows, self.lie.short_rows = self.lie.brief_rows * ~forced, self.lie.short_rows * ~forced

    def off(self, law, g):
        logs = np.log(law.seconds(g, self.p, self.how, self.lie))
        return np.bincount(self.cell, logs, minlength=len(self.target)) / self.count - self.target


def fitted(law, data, weight, first=None, rounds=40):
    from scipy.optimize import least_squares
    if not law.numbers:
        return {}
    names = list(law.numbers)
    least, most = (np.array([law.numbers[name][i] for name in names]) for i in (1, 2))
    first = np.clip([(first or law.values())[name] for name in names], least * 1.000001, most / 1.000001)

    def off(scaled):  # a few are far off whatever the law: they do not count more than others; what nothing tells stays as it is
        g = dict(zip(names, scaled * first))
        return np.concatenate([np.clip(data.off(law, g), -1.5, 1.5) * weight, .15 * np.log(scaled)])

    found = least_squares(off, np.ones(len(names)), bounds=(least / first, most / first), loss="soft_l1", f_scale=.15, diff_step=1e-3, max_nfev=rounds)
    return dict(zip(names, found.x * first))


def judged(data, off):
    classes = ~data.alone
    text = f"{classes.sum()} classes {np.sum(data.count[classes] * np.abs(off[classes])) / data.count[classes].sum():.3f}"
    for name, records in (("records", data.alone & ~data.judges), ("unseen records", data.judges)):
        if records.any():
            text += f", {records.sum()} {name} {np.median(np.abs(np.expm1(off[records]))):.3f} (bias {np.mean(off[records]):+.3f})"
    return text


def factors_for(tune):
    """Those of tuning_fit.cpp, from the times of the tune and the laws of now."""
    beside, all_ = neighbours(), {}
    for law in sorted(LAWS, key=lambda one: one.name):
        taken, _, classes, logs = tune.policies[law.name]
        predicted = np.log(divided(law, tune.products.some(taken))[1])
        count = np.bincount(tune.of_class[taken], minlength=len(beside)).astype(float)
        times = np.zeros(len(beside))
        times[classes] = logs
        ratios = times * count - np.bincount(tune.of_class[taken], predicted, minlength=len(beside))
        all_[law.name] = np.round(np.exp((ratios + .1 * beside @ ratios) / (count + .1 * beside @ count + 1)), 3)
    return all_


def factors_text(values, depth=0, extents=EXTENTS):
    if not extents:
        return json.dumps(float(values))
    line, end = (f"\n{'':{6 + 2 * depth}}", f"\n{'':{4 + 2 * depth}}") if depth < 2 else ("", "")
    return "[" + ",".join(line + factors_text(one, depth + 1, extents[1:]) for one in values) + end + "]"


def write_tuning(path, tune):
    head = path.read_text().partition('  "factors": {')[0]
    of = ",\n".join(f"    {json.dumps(name)}: {factors_text(values.reshape(EXTENTS))}" for name, values in factors_for(tune).items())
    path.write_text(head + '  "factors": {\n' + of + "\n  }\n}\n")


def take(path):
    """Keeps the times of a file of `antiphase tune --json`, in the place of those that CLASSES has."""
    content, told = json.loads(CLASSES.read_text()), json.loads(pathlib.Path(path).read_text())["records"]
    products = random_products(20261122, len(told) + 64, 8192)
    of_class, place, taken, logs = class_of(products), 0, {law.name: [] for law in LAWS}, {law.name: [] for law in LAWS}
    for record in told:  # some of the list no policy takes
        shape = tuple(record["shape"][e] for e in "mnk")
        while shape != (products.m[place], products.n[place], products.k[place]):
            place += 1
        for time in record["times"]:
            taken[time["policy"]].append(place)
            logs[time["policy"]].append(math.log(time["measured_us"]))
        place += 1
    for law in LAWS:
        at, us = np.array(taken[law.name], int), np.array(logs[law.name])
        classes = np.unique(of_class[at])
        bits = np.zeros(4 * math.ceil(place / 4), int)
        bits[at] = 1
        kept = {"products": len(at), "taken": "".join(f"{int(''.join(map(str, four)), 2):x}" for four in bits.reshape(-1, 4)),
                "classes": classes.tolist(), "us": [float(f"{math.exp(us[of_class[at] == one].mean()):.5g}") for one in classes]}
        if law.columns:
            kept["divisions"] = " ".join("/".join(f"{x:g}" for x in one) for one in divided(law, products.some(at))[0])
        content["policies"][law.name] = kept
    content["method"] = re.sub(r"\d+ products", f"{len(told)} products", content["method"])
    lines = ",\n".join(f"  {json.dumps(name)}: {{\n   " + ",\n   ".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in of.items()) + "\n  }"
                       for name, of in content.pop("policies").items())
    CLASSES.write_text(json.dumps(content, indent=1)[:-2] + ',\n "policies": {\n' + lines + "\n }\n}\n")


def compare(tool, tune):
    """Of some of the tune's products, predictions of the program, with the H200's tuning, beside those from here."""
    p = tune.products.some(np.arange(0, len(tune.products), 7))
    factors = {name: np.ravel(of) for name, of in json.loads((ROOT / "src/gemm/tunings/h200.json").read_text())["factors"].items()}
    ours, records = [], [{"shape": {"m": int(m), "n": int(n), "k": int(k)}, "layout": str(layout), "beta": float(adds), "times": []}
                         for m, n, k, adds, layout in zip(p.m, p.n, p.k, p.adds, p.layout)]
    predicted = {law.name: divided(law, p)[1] * factors[law.name][class_of(p)] for law in LAWS}
    for i, record in enumerate(records):
        for policy, us in predicted.items():
            if np.isfinite(us[i]):
                record["times"].append({"policy": policy, "measured_us": 1})
                ours.append((policy, us[i], record["shape"]))
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump({"schema": 1, "command": "tune", "records": records}, file)
        file.flush()
        said = subprocess.run([tool, "model", "--json", "--all", file.name], check=True, capture_output=True, text=True).stdout
    theirs = json.loads(said)["times"]
    wrong = [(one, other) for one, other in zip(ours, theirs) if one[0] != other["policy"] or abs(one[1] / other["predicted_us"] - 1) > 1e-6]
    for (policy, us, shape), other in wrong[:5]:
        print(f"{policy} at {shape}: {us:.4g} us here, {other['predicted_us']:.4g} us of {other['policy']} by the program", file=sys.stderr)
    print(f"{len(ours)} predictions, {len(theirs)} of the program, {len(wrong)} differ")
    return int(bool(wrong) or len(ours) != len(theirs) or not ours)


def main():
    words = sys.argv[1:]
    if "--take" in words:
        take(words[words.index("--take") + 1])
        return 0
    tune = Tune()
    if "--compare" in words:
        return compare(words[words.index("--compare") + 1], tune)
    if "--tuning" in words:
        write_tuning(pathlib.Path(words[words.index("--tuning") + 1]), tune)
        return 0
    records, fits = bench(), "--fit" in words
    print("mean |log(predicted / measured)| of a tune's classes, median error of single records; by numbers fitted to the other half")
    for law in LAWS:
        if any(word in [one.name for one in LAWS] for word in words) and law.name not in words:
            continue
        data = Measured(law, tune, records)
        g = fitted(law, data, data.weight) if fits else law.values()
        half, unseen = np.random.default_rng(1).permutation(len(data.target)) % 2, np.empty(len(data.target))
        for this in (0, 1):
            unseen[half == this] = data.off(law, fitted(law, data, data.weight * (half != this), g))[half == this]
        if law.name == "stream":
            print("forms of stream, longer than the fastest: " + ", ".join(f"{of} {100 * mean:.1f} % (by more than 5 %: {100 * share:.0f} %)"
                                                                          for of, (mean, share) in data.forms.lost(law, g).items()))
        print(f"{law.name}: {judged(data, data.off(law, g))}; by the other half: {judged(data, unseen)}")
        if fits:
            print("  " + "; ".join(f"{name} {value:.4g}" for name, value in g.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
