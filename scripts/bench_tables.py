"""Tables and pictures of what `antiphase bench gemm` measured. A table stands in README or a document between two comments:

    <!-- table speed -->
    ...
    <!-- table end -->

    speed      the public product beside cuBLAS, by shape, with its picture
    layouts    the four transposes
    accuracy   errors of ours and of cuBLAS by K, with their picture
    data       speed, errors and share of recomputed outputs for every distribution
"""
import re

import line_plot
from results import BadResult, rate_text, shape_text

PLACE = re.compile(r"(<!-- table (?P<name>\w+) -->\n).*?(<!-- table end -->)", re.DOTALL)
NOTHING = "No figures yet: `scripts/on_gpu --steps bench` takes them on a machine with a GPU.\n"
PRECISIONS = ("fp32", "strict")
LAYOUTS = ("nn", "nt", "tn", "tt")
# Of the pictures: which data, in which colour, and what it is called.
ERRORS = {"normal": ("#2a6fbb", "normal"), "uniform": ("#3c9a5f", "uniform [-1, 1)"), "uniform01": ("#c25b2e", "uniform [0, 1)")}
PICTURES = {"speed": ("gemm_ratio.svg", "Speed beside cuBLAS FP32"), "accuracy": ("gemm_error.svg", "Error against FP64")}
SPEEDS = {"fp32": ("#2a6fbb", "fp32"), "strict": ("#c25b2e", "strict")}


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


def share_text(share):
    percent = share * 100
    return "0" if share == 0 else f"{percent:.0f} %" if percent >= 10 else f"{percent:.2g} %"


class Tables:
    """`stale(figure)` says whether the code of a figure has changed; `mark` is then put behind it. `origin(figures)` tells machine, date and commits."""

    def __init__(self, results, stale, mark, origin):
        self.results, self.stale, self.mark, self.origin = results, stale, mark, origin

    def rate(self, figure, who="ours"):
        if figure is None or figure.rate(who) is None:
            return ""
        return rate_text(figure.rate(who)) + (f" {self.mark}" if who == "ours" and self.stale(figure) else "")

    def roof(self, figure):
        return f"{figure.record['roof']['share'] * 100:.0f} %" if figure and "roof" in figure.record else ""

    def speed(self):
        figures = self.results.products(layout="nn", data="normal", protocol="rested")
        hot = self.results.products(layout="nn", data="normal", protocol="hot")
        shapes = sorted({f.shape for f in figures}, key=order)
        head = ["M × N × K", "cuBLAS FP32"]
        for precision in PRECISIONS:
            head += [f"`{precision}`", "of cuBLAS", "of the roof"] + ["of cuBLAS, hot"] * bool(hot)
        rows = []
        for shape in shapes:
            ours = [self.results.product(precision, shape) for precision in PRECISIONS]
            row = [shape_text(shape), next((self.rate(f, "cublas_fp32") for f in ours if f), "")]
            for precision, figure in zip(PRECISIONS, ours):
                row += [self.rate(figure), times_text(figure and figure.times_faster()), self.roof(figure)]
                at_heat = self.results.product(precision, shape, "hot")
                row += [times_text(at_heat and at_heat.times_faster())] * bool(hot)
            rows.append(row)
        return figures + hot, "TFLOP/s, medians of rested runs on normal data; preparation and all launches included.", head, rows

    def layouts(self):
        figures = [f for f in self.results.products(data="normal", protocol="rested") if any(
            self.results.product(f.step, f.shape, layout=layout) for layout in LAYOUTS[1:])]
        rows = []
        for precision in PRECISIONS:
            for shape in sorted({f.shape for f in figures if f.step == precision}, key=order):
                of_all = [self.results.product(precision, shape, layout=layout) for layout in LAYOUTS]
                rows.append([f"`{precision}` {shape_text(shape)}", *map(self.rate, of_all), *(times_text(f and f.times_faster()) for f in of_all)])
        head = ["", *(f"{layout.upper()}" for layout in LAYOUTS), *(f"{layout.upper()} of cuBLAS" for layout in LAYOUTS)]
        return figures, "TFLOP/s; N: the operand lies row-major, T: transposed.", head, rows

    def accuracy(self):
        figures = [f for f in self.results.products(precision="fp32", layout="nn", protocol="rested") if f.data in ERRORS and len(set(f.shape)) == 1]
        head = ["data, K", "norm, ours", "cuBLAS", "component, ours", "cuBLAS", "promised", "bias, ours", "cuBLAS"]
        rows = []
        for figure in sorted(figures, key=lambda f: (list(ERRORS).index(f.data), f.shape)):
            record = figure.record
            component = record["component"]
            rows.append([f"{ERRORS[figure.data][1]}, {figure.shape[2]}", error_text(record), error_text(record, "cublas_fp32"), value_text(component),
                         value_text(component, "cublas_fp32"), f"{component['allowed']:.0f}", value_text(record["bias"]), value_text(record["bias"], "cublas_fp32")])
        return figures, ("Errors of square products against FP64: relative in the Frobenius norm; the largest of an output, and the mean, in units of "
                         "2⁻²⁴ |A||B|."), head, rows

    def data(self):
        figures = self.results.products(precision="fp32", layout="nn", protocol="rested", shape=(4096,) * 3)
        head = ["data at 4096³", "TFLOP/s", "of cuBLAS", "recomputed", "norm, ours", "cuBLAS", "component, ours", "cuBLAS"]
        rows = []
        for figure in figures:
            record = figure.record
            component = record["component"]
            rows.append([f"`{figure.data}`", self.rate(figure), times_text(figure.times_faster()), share_text(record["recomputed"]["share"]), error_text(record),
                         error_text(record, "cublas_fp32"), value_text(component), value_text(component, "cublas_fp32")])
        promised = figures[0].record["component"]["allowed"] if figures else 0
        return figures, f"`antiphase bench gemm --data all`, precision fp32; component: the largest error in units of 2⁻²⁴ |A||B|, promised: {promised:.0f}.", head, rows

    def table(self, name, stale_note, folder):
        make = {"speed": self.speed, "layouts": self.layouts, "accuracy": self.accuracy, "data": self.data}.get(name)
        if make is None:
            raise BadResult(f"there is no table '{name}'")
        figures, title, head, rows = make()
        if not rows:
            return NOTHING
        note = f"\n{stale_note}\n" if any(map(self.stale, figures)) else ""
        picture = "\n![{1}]({2}{0})\n".format(*PICTURES[name], folder) if name in PICTURES else ""
        return f"{title} {self.origin(figures)}.\n\n{markdown(head, rows)}{note}{picture}"

    def fill(self, text, stale_note, folder):
        """The text with every table as it is now; `folder` is where the pictures are, seen from the text."""
        return PLACE.sub(lambda match: match[1] + self.table(match["name"], stale_note, folder) + match[3], text)

    def pictures(self, stale_note):
        """Name and content of each picture; no content where there are no figures."""
        return {PICTURES["speed"][0]: self.ratio_picture(stale_note), PICTURES["accuracy"][0]: self.error_picture(stale_note)}

    def ratio_picture(self, stale_note):
        lines, used = [], []
        for precision, (colour, called) in SPEEDS.items():
            figures = sorted((f for f in self.results.products(precision=precision, layout="nn", data="normal", protocol="rested")
                              if len(set(f.shape)) == 1 and f.times_faster()), key=lambda f: f.shape)
            lines.append(line_plot.Line(called, colour, [(f.shape[0], f.times_faster()) for f in figures]))
            used += figures
        if not used:
            return None
        lines.append(line_plot.Line("cuBLAS FP32", line_plot.FAINT, [(min(f.shape[0] for f in used), 1), (max(f.shape[0] for f in used), 1)], dashed=True))
        return line_plot.picture(PICTURES["speed"][1], self.origin(used), "M = N = K", "times as fast", lines,
                                 [stale_note] if any(map(self.stale, used)) else [])

    def error_picture(self, stale_note):
        lines, used = [], []
        for data, (colour, called) in ERRORS.items():
            figures = sorted((f for f in self.results.products(precision="fp32", layout="nn", data=data, protocol="rested") if len(set(f.shape)) == 1),
                             key=lambda f: f.shape)
            for who, dashed in (("ours", False), ("cublas_fp32", True)):
                points = [(f.shape[2], f.record["error"][who]) for f in figures if f.record["error"].get(who)]
                lines.append(line_plot.Line(called + (", cuBLAS FP32" if dashed else ", ours"), colour, points, dashed))
            used += figures
        if not used:
            return None
        return line_plot.picture(PICTURES["accuracy"][1], self.origin(used), "K of a square product", "relative, in the Frobenius norm", lines,
                                 [stale_note] if any(map(self.stale, used)) else [], logarithmic=True)
