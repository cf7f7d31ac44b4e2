# SPDX-License-Identifier: Apache-2.0
"""Single figures in running text, each between two comments, the first of which names it.

    <!-- gain gemm double-buffered padded 1024 -->+41.5 %<!-- end -->

    rate FAMILY STEP SHAPE [RIVAL]     TFLOP/s of a product, GB/s of a scan
    time FAMILY STEP SHAPE             milliseconds
    gain FAMILY STEP BASE SHAPE        in speed over the step BASE
    tiles STEP BASE SHAPE              the same for the block scans alone, without the other two kernels of
                                       the scan
    share FAMILY STEP RIVAL SHAPE      of the rival's speed
    times PRECISION SHAPE              the public product's speed divided by that of cuBLAS FP32
    times sum SHAPE                    the public sum's speed, of FP32, divided by that of CUB
    error PRECISION SHAPE [RIVAL]      of the public product against FP64, relative in the Frobenius norm
    random WHAT WHICH                  products of random shapes: their number (count); the geometric mean
                                       (mean) and minimum (worst) of the speed relative to cuBLAS FP32; the
                                       share of slower ones (slower). WHICH: one of GROUPS, below
    promise STEP SHAPE                 (Tl + Tc) / max(Tl, Tc) of a GEMM step
    load STEP SHAPE, compute STEP SHAPE
                                       Tl and Tc in milliseconds, for the whole product
    shared STEP SHAPE                  bytes of shared memory per block
    registers STEP SHAPE               of a thread of a GEMM step
    occupancy STEP SHAPE               share of a multiprocessor's threads that a GEMM step uses
    buffers N BLOCKS                   the most that N buffers gain over one in the newest bench overlap, with
                                       so many resident blocks
    tile WHAT SIZE             of products by tiles of SIZE x SIZE with one output a thread, from the newest run
                               of bench/costs/tile_sizes.cu: what a second buffer gains (gain) and the formula
                               promises (promise), Tc / Tl with one buffer (ratio), its resident blocks
                               (blocks), milliseconds with one (single) and two (double)
    stall STEP REASON                  warps that wait for this reason for each instruction that is issued, by ncu;
                                       issue, fma, shared, memory: percent of the peak
    waiting STEP                       share of the time in which warps wait, of the newest recording on a GPU
    cycles POLICY, hidden POLICY, computing POLICY
                                       from a recorded timeline: cycles per step, share of the load time
                                       hidden, share of the time in which warps compute
    lines LAB                          of the kernel in a lab's solution, without comments and empty lines
    cubes                              products of 4 x 4 x 4 that a Tensor Core of an H200 adds up in a clock
SHAPE is N for a cube or a scan, else MxNxK.
"""
import json
import pathlib
import re

import overlap_plot
from results import BadResult, gain_text, geometric_mean, rate_text

ROOT = pathlib.Path(__file__).resolve().parents[2]
H200 = ROOT / "core/executor/profiles/h200.json"
TENSOR_CORES = 4  # of a multiprocessor
PLACE = re.compile(r"(<!-- (?P<words>[a-z]+(?: [\w.-]+)+|cubes) -->)[^<]*(<!-- end -->)")


# Groups of products of random shapes: a predicate of M, N, K and our time in microseconds.
GROUPS = {
    "all": lambda m, n, k, us: True,
    "large": lambda m, n, k, us: min(m, n, k) > 256,
    "shallow": lambda m, n, k, us: k <= 64,
    "line": lambda m, n, k, us: min(m, n) == 1,
    "few-lines": lambda m, n, k, us: 2 <= min(m, n) <= 8,
    "brief": lambda m, n, k, us: 10 <= min(m, n) <= 250 and us < 20,
}


def shape_of(family, text):
    extents = tuple(int(extent) for extent in text.split("x"))
    return extents * 3 if family == "gemm" and len(extents) == 1 else extents


def lines_of_kernel(lab):
    file = ROOT / "docs/course/solutions" / f"{lab}.cu"
    if not file.exists():
        raise BadResult(f"there is no lab {lab}")
    kernel = re.search(r"^[^\n]*__global__.*?^}", file.read_text(), flags=re.S | re.M)[0]
    code = (re.sub(r"//.*", "", line).strip() for line in kernel.splitlines())
    return sum(1 for line in code if line)


class Figures:
    """`marks`: a marks.Marks."""

    def __init__(self, results, timelines, marks):
        self.results, self.marks, self.folder = results, marks, timelines.parent
        self.timelines = {}
        for path in sorted(timelines.glob("*.json")):
            content = json.loads(path.read_text())
            self.timelines |= {timeline["policy"]: timeline for timeline in content["timelines"]}

    def find(self, family, step, shape):
        figure = self.results.find(family, step, shape_of(family, shape))
        if figure is None:
            raise BadResult(f"there is no figure of {family} step {step} at {shape}")
        return figure

    def timeline(self, policy):
        if policy not in self.timelines:
            raise BadResult(f"there is no timeline of {policy}")
        return self.timelines[policy]

    def series(self, experiment):
        """The series of the newest experiment of that name; empty if there is none."""
        file = max(self.folder.glob(f"experiments/*-{experiment}.json"), default=None)
        return json.loads(file.read_text())["series"] if file else []

    def words(self, kind, *of):
        """The text for a comment's words, and the figures that it was computed from."""
        if kind == "rate":
            figure = self.find(*of[:3])
            return rate_text(figure.rate(*of[3:])), [figure]
        if kind == "time":
            figure = self.find(*of)
            return f"{figure.times['ours'] / 1000:.1f} ms", [figure]
        if kind == "gain":
            family, step, base, shape = of
            figure, before = self.find(family, step, shape), self.find(family, base, shape)
            return gain_text(before.times["ours"] / figure.times["ours"] - 1), [figure, before]
        if kind == "tiles":
            step, base, shape = of
            figure, before = self.find("scan", step, shape), self.find("scan", base, shape)
            return gain_text(before.times["tiles"] / figure.times["tiles"] - 1), [figure, before]
        if kind == "share":
            family, step, rival, shape = of
            figure = self.find(family, step, shape)
            return f"{figure.rate() / figure.rate(rival) * 100:.0f} %", [figure]
        if kind == "times" and of[0] == "sum":
            sums = {f.shape: f for f in self.results.sums() if f.type == "f32"}
            figure = sums.get(shape_of("scan", of[1]))
            if figure is None or figure.times_faster("cub") is None:
                raise BadResult(f"there is no sum compared with CUB at {of[1]}")
            return f"{figure.times_faster('cub'):.1f}×", [figure]
        if kind in ("times", "error"):
            precision, shape = of[:2]
            figure = self.results.product(precision, shape_of("gemm", shape))
            if figure is None or figure.times_faster() is None:
                raise BadResult(f"there is no figure of {precision} compared with cuBLAS at {shape}")
            if kind == "times":
                return f"{figure.times_faster():.1f}×", [figure]
            # A rival's error does not depend on our code, so it gets no mark.
            return f"{figure.record['error'][of[2] if of[2:] else 'ours']:.1e}", [figure] * (not of[2:])
        if kind == "random":
            what, which = of
            if which not in GROUPS:
                raise BadResult(f"'{which}' is no group of random products")
            figures = [
                f
                for of_list in self.results.lists("random").values()
                for f in of_list
                if f.times_faster() and GROUPS[which](*f.shape, f.times["ours"])
            ]
            if not figures:
                raise BadResult(f"there is no figure of {which} random products")
            ratios = [f.times_faster() for f in figures]
            if what not in ("count", "mean", "worst", "slower"):
                raise BadResult(f"'{what}' is nothing that is reported of random products")
            return {
                "count": f"{len(ratios)}",
                "mean": f"{geometric_mean(ratios):.2f}×",
                "worst": f"{min(ratios):.2f}×",
                "slower": f"{100 * sum(r < 1 for r in ratios) / len(ratios):.0f} %",
            }[what], figures
        if kind in ("promise", "load", "compute", "shared", "registers", "occupancy"):
            figure = self.find("gemm", *of)
            if kind == "shared":
                return f"{figure.record['shared_bytes']}", [figure]
            if kind == "registers":
                return f"{figure.record['registers']}", [figure]
            if kind == "occupancy":
                return f"{figure.record['occupancy'] * 100:.0f} %", [figure]
            overlap = figure.record["overlap"]
            return (
                f"{overlap['formula']:.2f}×"
                if kind == "promise"
                else f"{overlap[kind + '_us'] / 1000:.1f} ms"
            ), [figure]
        if kind == "buffers":
            buffers, blocks = map(int, of)
            measured = overlap_plot.newest(self.folder)
            gains = [
                step["gain"]
                for r in (measured or {}).get("records", [])
                if r["rounds"] > 0  # as in the picture
                for step in r["steps"]
                if (step["buffers"], r["blocks_per_multiprocessor"]) == (buffers, blocks)
            ]
            if not gains:
                raise BadResult(f"there is no gain of {buffers} buffers with {blocks} blocks")
            return f"{max(gains):.2f}×", []
        if kind == "tile":
            what, size = of
            by = {s["buffers"]: s for s in self.series("tile-sizes") if s["tile"] == int(size)}
            if set(by) != {1, 2}:
                raise BadResult(f"there are no figures of tiles of {size}")
            load, compute = by[1]["load_ms"], by[1]["compute_ms"]
            text = {
                "gain": gain_text(by[1]["ms"] / by[2]["ms"] - 1),
                "promise": f"{(load + compute) / max(load, compute):.2f}×",
                "ratio": f"{compute / load:.2f}",
                "blocks": f"{by[1]['resident_blocks']}",
                "single": f"{by[1]['ms']:.1f} ms",
                "double": f"{by[2]['ms']:.1f} ms",
            }.get(what)
            if text is None:
                raise BadResult(f"'{what}' is nothing that is reported of tiles")
            return text, []
        if kind == "waiting":
            for part in self.series("recorded-gains"):
                for t in part["timelines"]:
                    if part["name"] in ("ladder", "scan") and t["policy"] == of[0]:
                        return f"{100 * t['waiting_share']:.0f} %", []
            raise BadResult(f"there is no recording of {of[0]}")
        if kind == "stall":
            step, reason = of
            (found,) = [s for s in self.series("stalls") if s["step"] == step] or [{"stalls": {}}]
            if reason in found["stalls"]:
                return f"{found['stalls'][reason]:.1f}", []
            if f"{reason}_percent" not in found:
                raise BadResult(f"there is no stall {reason} of {step}")
            return f"{found[f'{reason}_percent']:.0f} %", []
        if kind == "lines":
            return f"{lines_of_kernel(*of)}", []
        if kind == "cubes":
            profile = json.loads(H200.read_text())
            value = {name: figure["value"] for name, figure in profile["figures"].items()}
            cores = TENSOR_CORES * profile["limits"]["multiprocessors"]
            each = value["tensor_fp16_per_second"] / cores / value["clock_under_power_hz"]
            return f"{each / 4**3:.0f}", []
        if kind in ("cycles", "hidden", "computing"):
            timeline = self.timeline(*of)
            text = {
                "cycles": f"{timeline['duration'] / timeline['recorded']:.0f}",
                "hidden": f"{timeline['hidden_share'] * 100:.0f} %",
                "computing": f"{timeline['mean_compute'] * timeline['recorded'] / timeline['duration'] * 100:.0f} %",
            }[kind]
            return text, []
        raise BadResult(f"'{kind}' is no kind of figure")

    def fill(self, text):
        """The text with every figure updated."""

        def one(match):
            words, origins = self.words(*match["words"].split())
            return f"{match[1]}{words}{self.marks.of(*origins)}{match[3]}"

        return PLACE.sub(one, text)
