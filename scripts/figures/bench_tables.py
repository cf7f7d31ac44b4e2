# SPDX-License-Identifier: Apache-2.0
"""Tables and pictures of what `antiphase bench` measured. A table in README or a document is delimited by two
comments:

    <!-- table speed -->
    ...
    <!-- table end -->

    speed      the public product against cuBLAS, by shape, with its picture
    layouts    the four combinations of transposed operands
    accuracy   our errors and those of cuBLAS by K, with their picture
    data       speed, errors and share of recomputed outputs for every distribution
    sums       the public sums against a copy and CUB, by type and size, with their picture
    float_sums the FP32 sums, as rates
    other_sums sums by row, by key and in wider types
    own_scans  scans with a user-defined type and operator
    short_sums single calls and calls in a graph, for short arrays of FP32
    suite      the products of bench/suite.json, with the roofline picture of these and of the random ones
    random     geometric means over products of random shapes
    serving    products of a model that serves 1 to 512 tokens, and the cost of batch_invariant results
    map        geometric means, and the picture of the speed against cuBLAS over M x N
"""
import re

import line_plot
import scatter_plot
from results import BadResult, bytes_of, geometric_mean, rate_text, shape_text

PLACE = re.compile(r"(<!-- table (?P<name>\w+) -->\n).*?(<!-- table end -->)", re.DOTALL)
NOTHING = (
    "No figures yet: `scripts/figures/on_gpu --steps products,scans` takes them on a machine with a GPU.\n"
)
PRECISIONS = ("fp32", "strict")
LAYOUTS = ("nn", "nt", "tn", "tt")
BLUE, RED, PURPLE = "#0072b2", "#d55e00", "#9e4d80"  # distinguishable with colour blindness too
# Distribution of the data: its colour and its label in the pictures.
ERRORS = {
    "normal": (BLUE, "normal"),
    "uniform": (PURPLE, "uniform [-1, 1)"),
    "uniform01": (RED, "uniform [0, 1)"),
}
PICTURES = {
    "speed": ("gemm_ratio.svg", "Speed compared with cuBLAS FP32"),
    "accuracy": ("gemm_error.svg", "Error against FP64"),
    "sums": ("scan_share.svg", "Running sums compared with a copy"),
    "suite": ("gemm_roofline.svg", "Products of all shapes under the roofline"),
    "map": ("gemm_map.svg", "Times as fast as cuBLAS FP32 over M x N"),
}
LIST_HEAD = ["", "products", "of cuBLAS", "slower", "worst", "of the roofline", "cuBLAS of the roofline"]
TYPES = ("f32", "f64", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "bf16")
SHORTEST = 1 << 16  # elements, in the table of rates: below, the launch is nearly all of the time
RUN_TO_RUN = "cub_run_to_run"
SPEEDS = {"fp32": (BLUE, "fp32"), "strict": (RED, "strict")}


def markdown(head, rows):
    lines = [head, ["---"] + ["--:"] * (len(head) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def order(shape):
    return len(set(shape)) > 1, shape


def times_text(times):
    return "" if times is None else f"{times:.2f}×"


def error_text(record, who="ours"):
    error = record["error"].get(who)
    return "" if error is None else f"{error:.1e}"


def value_text(values, who="ours"):
    value = values.get(who)
    return "" if value is None else f"{value:+.2f}" if "allowed" not in values else f"{value:.1f}"


def percent_text(share):
    return "" if share is None else f"{share * 100:.0f} %"


def share_text(share):
    percent = share * 100
    return "0" if share == 0 else f"{percent:.0f} %" if percent >= 10 else f"{percent:.2g} %"


class Tables:
    """`marks`: a marks.Marks. `origin(figures)`: their machine, date and commits, as text."""

    def __init__(self, results, marks, origin):
        self.results, self.marks, self.origin = results, marks, origin

    def rate(self, figure, who="ours"):
        if figure is None or figure.rate(who) is None:
            return ""
        return rate_text(figure.rate(who)) + (self.marks.of(figure) if who == "ours" else "")

    def roof(self, figure):
        return f"{figure.record['roof']['share'] * 100:.0f} %" if figure and "roof" in figure.record else ""

    def speed(self):
        figures = self.results.products(layout="nn", data="normal", protocol="rested")
        hot = self.results.products(layout="nn", data="normal", protocol="hot")
        shapes = sorted({f.shape for f in figures}, key=order)
        head = ["M × N × K", "cuBLAS FP32"]
        for precision in PRECISIONS:
            head += [f"`{precision}`", "of cuBLAS", "of the roofline"] + ["of cuBLAS, hot"] * bool(hot)
        rows = []
        for shape in shapes:
            ours = [self.results.product(precision, shape) for precision in PRECISIONS]
            row = [shape_text(shape), next((self.rate(f, "cublas_fp32") for f in ours if f), "")]
            for precision, figure in zip(PRECISIONS, ours):
                row += [self.rate(figure), times_text(figure and figure.times_faster()), self.roof(figure)]
                at_heat = self.results.product(precision, shape, "hot")
                hot_text = times_text(at_heat and at_heat.times_faster())
                row += [hot_text + (self.marks.of(at_heat) if hot_text else "")] * bool(hot)
            rows.append(row)
        return (
            figures + hot,
            "TFLOP/s, medians of rested runs on normal data; preparation and all launches included.",
            head,
            rows,
        )

    def layouts(self):
        figures = [
            f
            for f in self.results.products(data="normal", protocol="rested")
            if any(self.results.product(f.step, f.shape, layout=layout) for layout in LAYOUTS[1:])
        ]
        rows = []
        for precision in PRECISIONS:
            for shape in sorted({f.shape for f in figures if f.step == precision}, key=order):
                of_all = [self.results.product(precision, shape, layout=layout) for layout in LAYOUTS]
                rows.append(
                    [
                        f"`{precision}` {shape_text(shape)}",
                        *map(self.rate, of_all),
                        *(times_text(f and f.times_faster()) for f in of_all),
                    ]
                )
        head = [
            "",
            *(f"{layout.upper()}" for layout in LAYOUTS),
            *(f"{layout.upper()} of cuBLAS" for layout in LAYOUTS),
        ]
        return figures, "TFLOP/s; N: the operand lies row-major, T: transposed.", head, rows

    def accuracy(self):
        figures = [
            f
            for f in self.results.products(precision="fp32", layout="nn", protocol="rested")
            if f.data in ERRORS and len(set(f.shape)) == 1
        ]
        head = [
            "data, K",
            "norm, ours",
            "cuBLAS",
            "component, ours",
            "cuBLAS",
            "guaranteed",
            "bias, ours",
            "cuBLAS",
        ]
        rows = []
        for figure in sorted(figures, key=lambda f: (list(ERRORS).index(f.data), f.shape)):
            record = figure.record
            component = record["component"]
            rows.append(
                [
                    f"{ERRORS[figure.data][1]}, {figure.shape[2]}",
                    error_text(record) + self.marks.of(figure),
                    error_text(record, "cublas_fp32"),
                    value_text(component),
                    value_text(component, "cublas_fp32"),
                    f"{component['allowed']:.0f}",
                    value_text(record["bias"]),
                    value_text(record["bias"], "cublas_fp32"),
                ]
            )
        return (
            figures,
            (
                "Errors of square products against FP64: relative in the Frobenius norm; the largest of an output, and the mean, in units of "
                "2⁻²⁴ |A||B|."
            ),
            head,
            rows,
        )

    def data(self):
        figures = self.results.products(precision="fp32", layout="nn", protocol="rested", shape=(4096,) * 3)
        head = [
            "data at 4096³",
            "TFLOP/s",
            "of cuBLAS",
            "recomputed",
            "norm, ours",
            "cuBLAS",
            "component, ours",
            "cuBLAS",
        ]
        rows = []
        for figure in figures:
            record = figure.record
            component = record["component"]
            rows.append(
                [
                    f"`{figure.data}`",
                    self.rate(figure),
                    times_text(figure.times_faster()),
                    share_text(record["recomputed"]["share"]),
                    error_text(record),
                    error_text(record, "cublas_fp32"),
                    value_text(component),
                    value_text(component, "cublas_fp32"),
                ]
            )
        promised = figures[0].record["component"]["allowed"] if figures else 0
        return (
            figures,
            f"`antiphase bench gemm --data all`, precision fp32; component: the largest error in units of 2⁻²⁴ |A||B|, guaranteed: {promised:.0f}.",
            head,
            rows,
        )

    def of_copy(self, figure, who="ours"):
        """The speed as a share of that of a copy of the same bytes."""
        return (
            figure.times["memcpy"] / figure.times[who]
            if "memcpy" in figure.times and who in figure.times
            else None
        )

    def of_copy_text(self, figure):
        share = self.of_copy(figure)
        return f"{share * 100:.1f} %" if share else ""

    def time_text(self, figure):
        return f"{figure.times['ours']:.1f}" + self.marks.of(figure)

    def sum_text(self, figure):
        if figure is None:
            return ""
        parts = [self.of_copy_text(figure), times_text(figure.times_faster("cub"))]
        if RUN_TO_RUN in figure.times:
            parts[1] += f" ({times_text(figure.times_faster(RUN_TO_RUN))})"
        return ", ".join(filter(None, parts)) + self.marks.of(figure)

    def sums(self):
        figures = self.results.sums()
        types = [t for t in TYPES if any(f.type == t for f in figures)]
        rows = []
        for shape in sorted({f.shape for f in figures}):
            of_all = [
                next((f for f in figures if (f.type, f.shape) == (of_type, shape)), None) for of_type in types
            ]
            rows.append([shape_text(shape), *map(self.sum_text, of_all)])
        same_bits = " (in parentheses as CUB with the same bits in every run)" * any(
            RUN_TO_RUN in f.times for f in figures
        )
        title = f"Inclusive sums, medians of rested runs: share of the speed of a copy on the device; times as fast as CUB{same_bits}."
        return figures, title, ["n", *(f"`{t}`" for t in types)], rows

    def float_sums(self):
        figures = sorted((f for f in self.results.sums() if f.type == "f32"), key=lambda f: f.shape)
        rows = [
            [
                shape_text(f.shape),
                self.rate(f),
                *(rate_text(f.rate(who)) if f.rate(who) else "" for who in ("cub", "memcpy")),
                times_text(f.times_faster("cub")),
                self.of_copy_text(f),
            ]
            for f in figures
            if f.shape[0] >= SHORTEST
        ]
        return (
            figures,
            "Inclusive sums of FP32, GB/s, medians of rested runs.",
            ["elements", "`scan`", "CUB", "device copy", "of CUB", "of the copy"],
            rows,
        )

    def other_sums(self):
        figures = self.results.other_sums()
        rows = [
            [
                f"`{f.type}`, {f.data}",
                shape_text(f.shape),
                self.time_text(f),
                self.of_copy_text(f),
                times_text(f.times_faster("cub")),
            ]
            for f in figures
        ]
        return (
            figures,
            "Inclusive sums, microseconds, medians of rested runs; a copy that moves as many bytes.",
            ["", "n", "µs", "of a copy", "of CUB"],
            rows,
        )

    def own_scans(self):
        figures = sorted(self.results.own_scans(), key=lambda f: (bytes_of(f.type), f.shape))
        rows = [
            [
                f.type,
                shape_text(f.shape),
                self.time_text(f),
                *(f"{f.times[who]:.1f}" if who in f.times else "" for who in ("cub", "memcpy")),
                self.of_copy_text(f),
                times_text(f.times_faster("cub")),
            ]
            for f in figures
        ]
        return (
            figures,
            (
                "Inclusive scans of structs with an operator that does not commute (`antiphase bench scan --own`), microseconds, medians of rested runs; "
                "CUB with the same operator."
            ),
            ["element", "n", "µs", "CUB", "copy", "of a copy", "of CUB"],
            rows,
        )

    def short_sums(self):
        by_way = {
            way: {f.shape: f for f in self.results.sums(way) if f.type == "f32"} for way in ("event", "graph")
        }
        head = ["n"]
        for called in ("single call", "in a graph"):
            head += [f"{called}, µs", "CUB", "copy", "of CUB"]
        rows = []
        for shape in sorted(by_way["event"] | by_way["graph"]):
            row = [shape_text(shape)]
            for figures in by_way.values():
                figure = figures.get(shape)
                if figure is None:
                    row += [""] * 4
                    continue
                times = [
                    f"{figure.times[who]:.2f}" if who in figure.times else ""
                    for who in ("ours", "cub", "memcpy")
                ]
                row += [times[0] + self.marks.of(figure), *times[1:], times_text(figure.times_faster("cub"))]
            rows.append(row)
        return (
            [f for figures in by_way.values() for f in figures.values()],
            "Inclusive sums of short arrays of FP32, microseconds, medians of rested runs.",
            head,
            rows,
        )

    def listed_row(self, called, figures):
        """A row of means over some figures of a list."""
        ratios = [f.times_faster() for f in figures if f.times_faster()]
        shares = {
            who: geometric_mean([f.record["roof"][who] for f in figures if who in f.record.get("roof", {})])
            for who in ("share", "cublas_share")
        }
        return [
            called,
            str(len(figures)),
            times_text(geometric_mean(ratios)) + self.marks.of(*figures),
            percent_text(sum(r < 1 for r in ratios) / len(ratios) if ratios else None),
            times_text(min(ratios, default=None)),
            percent_text(shares["share"]),
            percent_text(shares["cublas_share"]),
        ]

    def suite(self):
        figures = [f for of_list in self.results.lists("suite").values() for f in of_list]
        rows = []
        for f in figures:
            shape = f"{f'{f.count} of ' * (f.count > 1)}{shape_text(f.shape)} {f.layout.upper()}{', + C' * (f.beta != 0)}"
            roof = f.record.get("roof", {})
            rows.append(
                [
                    f"{f.group}: {f.name}",
                    shape,
                    f"`{f.record['policy']}`",
                    self.time_text(f),
                    f"{f.times['cublas_fp32']:.1f}" if "cublas_fp32" in f.times else "",
                    times_text(f.times_faster()),
                    percent_text(roof.get("share")),
                    percent_text(roof.get("cublas_share")),
                ]
            )
        return (
            figures,
            (
                "Microseconds of a product in a CUDA graph; cuBLAS: the faster of its default and of cublasLt's first algorithm. `antiphase bench gemm "
                "--suite`."
            ),
            ["", "M × N × K", "by", "µs", "cuBLAS", "of cuBLAS", "of the roofline", "cuBLAS of the roofline"],
            rows,
        )

    def serving(self):
        figures = [
            f
            for of_list in self.results.lists("serving").values()
            for f in of_list
            if "ours_batch_invariant" in f.times
        ]
        rows = []
        for f in figures:
            invariant = f.record["batch_invariant"]
            rows.append(
                [
                    f"{f.group}: {f.name}",
                    f"{shape_text(f.shape)} {f.layout.upper()}",
                    f"`{f.record['policy']}`",
                    self.time_text(f),
                    f"`{invariant['policy']}`",
                    f"{f.times['ours_batch_invariant']:.1f}{self.marks.of_choice(f, 'batch_invariant')}",
                    times_text(invariant["price"]),
                    f"{f.times['cublas_fp32']:.1f}" if "cublas_fp32" in f.times else "",
                ]
            )
        return (
            figures,
            (
                "Microseconds of a product in a CUDA graph, by default and with `reproducibility::batch_invariant`; the price is how many times as "
                "long that takes. `antiphase bench gemm --serving`."
            ),
            ["", "M × N × K", "by", "µs", "invariant, by", "µs", "price", "cuBLAS"],
            rows,
        )

    def random(self):
        figures = [f for of_list in self.results.lists("random").values() for f in of_list]
        rows = [self.listed_row("all", figures)] if figures else []
        for policy in sorted({f.record["policy"] for f in figures}):
            rows.append(
                self.listed_row(f"by `{policy}`", [f for f in figures if f.record["policy"] == policy])
            )
        for by in ("launch", "memory", "arithmetic"):
            some = [f for f in figures if f.record.get("roof", {}).get("by") == by]
            rows += [self.listed_row(f"limited by {by}", some)] if some else []
        names = ", ".join(self.results.lists("random"))
        return (
            figures,
            f"Products of random shapes ({names}), geometric means; slower: share of those slower than cuBLAS.",
            LIST_HEAD,
            rows,
        )

    def map(self):
        maps = self.results.lists("map")
        return (
            [f for figures in maps.values() for f in figures],
            "M and N are the powers of two up to 16384, row-major; geometric means.",
            LIST_HEAD,
            [self.listed_row(f"K = {figures[0].shape[2]}", figures) for figures in maps.values()],
        )

    def roofline_picture(self):
        panels, used, small = [], [], 0
        for kind, called in (("suite", "of the suite"), ("random", "of random shapes")):
            figures = [
                f for of_list in self.results.lists(kind).values() for f in of_list if "roof" in f.record
            ]
            small += sum(f.record["roof"]["by"] == "launch" for f in figures)
            figures = [f for f in figures if f.record["roof"]["by"] != "launch"]
            if not figures:
                continue
            used += figures
            panels.append(
                (
                    f"{len(figures)} {called}",
                    [
                        scatter_plot.Cloud(
                            label,
                            colour,
                            [(f.operations / f.bytes_moved, f.rate(who)) for f in figures if who in f.times],
                            who != "ours",
                        )
                        for who, label, colour in (
                            ("cublas_fp32", "cuBLAS FP32", RED),
                            ("ours", "antiphase::gemm", BLUE),
                        )
                    ],
                )
            )
        if not used:
            return None
        roof = used[-1].record["roof"]
        notes = [
            f"The roofline: {roof['tb_per_s']:g} TB/s, {roof['tflops']:.0f} TFLOP/s. Left out: {small} products so small that a launch takes longer than either."
        ]
        return scatter_plot.rooflines(
            PICTURES["suite"][1],
            self.origin(used),
            "operations per byte",
            "TFLOP/s",
            panels,
            roof["tb_per_s"],
            roof["tflops"],
            notes + self.marks.notes(used),
        )

    def map_picture(self):
        maps = self.results.lists("map")
        used = [f for figures in maps.values() for f in figures if f.times_faster()]
        if not used:
            return None
        panels = [
            (
                f"K = {figures[0].shape[2]}",
                {f.shape[:2]: f.times_faster() for f in figures if f.times_faster()},
            )
            for figures in maps.values()
        ]
        return scatter_plot.maps(PICTURES["map"][1], self.origin(used), panels, self.marks.notes(used))

    def share_picture(self):
        figures = [f for f in self.results.sums() if self.of_copy(f)]
        if not figures:
            return None
        panels = []
        for size in sorted({bytes_of(f.type) for f in figures}):
            types = [t for t in TYPES if bytes_of(t) == size and any(f.type == t for f in figures)]
            # the one with most figures is drawn in full
            types.sort(key=lambda t: -sum(f.type == t for f in figures))
            lines = []
            for of_type in reversed(types):
                mine = sorted((f for f in figures if f.type == of_type), key=lambda f: f.shape)
                for who, colour in (("cub", RED), ("ours", BLUE)):
                    points = [(f.shape[0], self.of_copy(f, who)) for f in mine if self.of_copy(f, who)]
                    lines.append(
                        line_plot.Line(
                            of_type, colour, points, dashed=who == "cub", faint=of_type != types[0]
                        )
                    )
            others = f" (faint: {', '.join(types[1:])})" if types[1:] else ""
            panels.append(
                line_plot.Panel(
                    f"{size} byte{'s' if size > 1 else ''} per element: {types[0]}{others}", lines
                )
            )
        key = [
            line_plot.Line("antiphase::scan", BLUE, []),
            line_plot.Line("CUB", RED, [], dashed=True),
            line_plot.Line("a copy", line_plot.FAINT, []),
        ]
        return line_plot.panels(
            PICTURES["sums"][1],
            self.origin(figures),
            "speed as a share of the copy's, by number of elements",
            panels,
            key,
            level=1,
            footnotes=self.marks.notes(figures),
            size_text=lambda size: shape_text((size,)),
        )

    def table(self, name, folder):
        make = {
            "speed": self.speed,
            "layouts": self.layouts,
            "accuracy": self.accuracy,
            "data": self.data,
            "sums": self.sums,
            "float_sums": self.float_sums,
            "other_sums": self.other_sums,
            "own_scans": self.own_scans,
            "short_sums": self.short_sums,
            "suite": self.suite,
            "random": self.random,
            "serving": self.serving,
            "map": self.map,
        }.get(name)
        if make is None:
            raise BadResult(f"there is no table '{name}'")
        figures, title, head, rows = make()
        if not rows:
            return NOTHING
        note = "".join(f"\n{line}\n" for line in self.marks.notes(figures))
        picture = "\n![{1}]({2}{0})\n".format(*PICTURES[name], folder) if name in PICTURES else ""
        return f"{title} {self.origin(figures)}.\n\n{markdown(head, rows)}{note}{picture}"

    def fill(self, text, folder):
        """The text with every table updated. `folder`: the pictures' folder, relative to the text."""
        return PLACE.sub(lambda match: match[1] + self.table(match["name"], folder) + match[3], text)

    def pictures(self):
        """(name, content) of each picture; the content is None where there are no figures."""
        return {
            PICTURES["speed"][0]: self.ratio_picture(),
            PICTURES["accuracy"][0]: self.error_picture(),
            PICTURES["sums"][0]: self.share_picture(),
            PICTURES["suite"][0]: self.roofline_picture(),
            PICTURES["map"][0]: self.map_picture(),
        }

    def ratio_picture(self):
        lines, used = [], []
        for precision, (colour, called) in SPEEDS.items():
            figures = sorted(
                (
                    f
                    for f in self.results.products(
                        precision=precision, layout="nn", data="normal", protocol="rested"
                    )
                    if len(set(f.shape)) == 1 and f.times_faster()
                ),
                key=lambda f: f.shape,
            )
            lines.append(line_plot.Line(called, colour, [(f.shape[0], f.times_faster()) for f in figures]))
            used += figures
        if not used:
            return None
        lines.append(
            line_plot.Line(
                "cuBLAS FP32",
                line_plot.FAINT,
                [(min(f.shape[0] for f in used), 1), (max(f.shape[0] for f in used), 1)],
                dashed=True,
            )
        )
        return line_plot.picture(
            PICTURES["speed"][1],
            self.origin(used),
            "M = N = K",
            "times as fast",
            lines,
            self.marks.notes(used),
        )

    def error_picture(self):
        lines, used = [], []
        for data, (colour, called) in ERRORS.items():
            figures = sorted(
                (
                    f
                    for f in self.results.products(
                        precision="fp32", layout="nn", data=data, protocol="rested"
                    )
                    if len(set(f.shape)) == 1
                ),
                key=lambda f: f.shape,
            )
            for who, dashed in (("ours", False), ("cublas_fp32", True)):
                points = [(f.shape[2], f.record["error"][who]) for f in figures if f.record["error"].get(who)]
                lines.append(
                    line_plot.Line(called + (", cuBLAS FP32" if dashed else ", ours"), colour, points, dashed)
                )
            used += figures
        if not used:
            return None
        return line_plot.picture(
            PICTURES["accuracy"][1],
            self.origin(used),
            "K of a square product",
            "relative, in the Frobenius norm",
            lines,
            self.marks.notes(used),
            logarithmic=True,
        )
