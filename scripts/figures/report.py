#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Updates tables, pictures, figures and quoted programs in README and docs, from bench/results and examples.

    report.py [--root ROOT] [--kernels FILE] [--tool PROGRAM]           writes them
    report.py [--root ROOT] [--kernels FILE] [--tool PROGRAM] --check   fails if they are not what it would write

The tables of the ladders are between <!-- ladder:begin --> and <!-- ladder:end --> in README.md or a document
of docs, the pictures in docs/pictures. figures.py updates single figures, bench_tables.py the tables and
pictures of the public products and sums. Quoted programs and outputs are files of examples.

A figure whose code has changed since it was measured is marked. That is checked by a build's table of compiled
kernels: FILE, else build/tool/kernels.json. Without a table (--kernels= asks for that), and for figures of
another compiler or architecture, marks stay as bench/results/stale.txt has them. A product for which auto takes
another policy than it was measured with has a second mark. That is checked by a built program antiphase: PROGRAM,
else build/antiphase, or the one next to a given table. Without one (--tool= asks for that), these marks stay as
bench/results/rechosen.txt has them. Exit status: 0 fine, 1 a document differs or a result file is wrong, 2 usage.
"""
import argparse
import json
import os
import pathlib
import re
import sys

import bench_tables
import choices_today
import compiled_code
import figures
import idea_plots
import ladder_plot
import marks
import overlap_plot
import results
from results import gain_text, rate_text, shape_text

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
import packed

BEGIN, END = "<!-- ladder:begin -->", "<!-- ladder:end -->"
NOTHING = "No figures yet: `scripts/figures/on_gpu` takes them on a machine with a GPU."
# The keys are ladders, as in results.prefix().
UNITS = {"gemm": "TFLOP/s", "gemm-f16": "TFLOP/s", "scan": "GB/s", "attention": "TFLOP/s"}
TITLES = {
    "gemm": "The GEMM ladder: C = A·B in FP32",
    "gemm-f16": "The GEMM ladder on Tensor Cores: C = A·B of f16 operands, added up in FP32",
    "scan": "The scan ladder: inclusive sums of FP32",
    "attention": "The ladder of attention: forward, FP32",
}
RIVALS = {
    "gemm": {"cublas_fp32": "cuBLAS FP32"},
    "gemm-f16": {"cublas_f16": "cuBLAS f16"},
    "scan": {"cub": "CUB", "memcpy": "device copy"},
    "attention": {},
}


class Report:
    def __init__(self, root, table, program):
        folder = root / "bench" / "results"
        self.raw = packed.unpacked(folder)
        self.results = results.Results(self.raw)
        figures = self.results.figures.values()
        self.code = compiled_code.Judge(figures, folder, table)
        files = dict.fromkeys(f.file.path for f in figures if f.chosen)
        tool = choices_today.Tool(program, files) if program else None
        self.choices = choices_today.Judge(figures, folder, tool)
        self.marks = marks.Marks(self.code, self.choices)

    def rate(self, figure, who="ours"):
        """A cell of a table: the rate, marked if it is stale. A rival's rate does not depend on our code."""
        if figure is None or figure.rate(who) is None:
            return ""
        return rate_text(figure.rate(who)) + (self.marks.of(figure) if who == "ours" else "")

    def reference(self, ladder):
        """The shape for which gains and shares are given: 4096 cubed for GEMM (else the largest cube, else
        the largest shape), the longest for scans, the largest of attention."""
        shapes = self.results.shapes(ladder)
        if (4096,) * 3 in shapes:
            return (4096,) * 3
        return max(shapes, key=lambda shape: (len(set(shape)) == 1, shape), default=None)

    def ladder_origin(self, ladder):
        return self.origin(f for f in self.of_ladder(ladder) if f.protocol == "rested")

    def origin(self, of):
        """Where and when some figures were measured."""
        files = {f.file for f in of}
        newest = max(files, key=lambda file: (file.date, file.path.name))
        machine = newest.machine
        driver = f", driver {machine['driver']}" if "driver" in machine else ""
        cuda = machine.get("cuda", {}).get("built_with")
        commits = sorted({file.commit for file in files})
        return (
            f"{machine['name']}{driver}{f', CUDA {cuda}' if cuda else ''}; {max(file.date for file in files)[:10]}, "
            f"commit{'s' if len(commits) > 1 else ''} {', '.join(commits)}"
        )

    def table(self, ladder):
        shapes, at, steps = self.results.shapes(ladder), self.reference(ladder), self.results.steps(ladder)
        gains = self.results.gains(ladder, at)
        main_rival = next(iter(RIVALS[ladder]), None)
        overlaps = any(getattr(self.results.find(ladder, step, at), "overlap", None) for step in steps)
        hot = any(self.results.find(ladder, step, at, "hot") for step in steps)
        head = ["step", "adds", *(shape_text(shape) for shape in shapes), f"gain at {shape_text(at)}"]
        head += [f"of {RIVALS[ladder][main_rival]}"] if main_rival else []
        head += ["(Tl + Tc) / max"] * overlaps + [f"{shape_text(at)}, hot"] * hot
        rows = [head, ["---", "---"] + ["--:"] * (len(head) - 2)]
        for step in steps:
            figure = self.results.find(ladder, step, at)
            of_all = [self.results.find(ladder, step, shape) for shape in shapes]
            row = [
                f"`{step}`",
                next(f.adds for f in self.of_ladder(ladder) if f.step == step),
                *map(self.rate, of_all),
                gain_text(gains.get(step)),
            ]
            row += [self.share(figure, main_rival)] if main_rival else []
            row += [f"{figure.overlap:.2f}" if figure and figure.overlap else ""] * overlaps
            row += [self.rate(self.results.find(ladder, step, at, "hot"))] * hot
            rows.append(row)
        for rival, called in RIVALS[ladder].items():
            row = [
                f"**{called}**",
                "",
                *(self.rate(self.results.rival(ladder, shape, rival), rival) for shape in shapes),
            ]
            row += [""] * (len(head) - len(row) - hot) + [
                self.rate(self.results.rival(ladder, at, rival, "hot"), rival)
            ] * hot
            if any(row[2:]):
                rows.append(row)
        return "\n".join("| " + " | ".join(row) + " |" for row in rows)

    def share(self, figure, rival):
        """Our speed as a share of the rival's, both from one run."""
        return f"{figure.rate() / figure.rate(rival) * 100:.0f} %" if figure and figure.rate(rival) else ""

    def of_ladder(self, ladder):
        return [f for f in self.results.figures.values() if f.kernel.startswith(results.prefix(ladder))]

    def section(self, ladder, folder):
        title = f"**{TITLES[ladder]}**, {UNITS[ladder]}, medians of rested runs, gains over the step before. {self.ladder_origin(ladder)}."
        parts = [title, self.table(ladder), *self.marks.notes(self.of_ladder(ladder))]
        parts.append(f"![{TITLES[ladder]}]({folder}ladder_{ladder}.svg)")
        return "\n\n".join(parts)

    def ladders(self):
        return [ladder for ladder in UNITS if self.results.shapes(ladder)]

    def block(self, folder):
        """The tables of all ladders. `folder`: the pictures' folder, relative to the text."""
        return "\n\n".join(self.section(ladder, folder) for ladder in self.ladders()) or NOTHING

    def picture(self, ladder):
        at = self.reference(ladder)
        gains = self.results.gains(ladder, at)
        bars, shown = [], []
        for step in self.results.steps(ladder):
            figure = self.results.find(ladder, step, at)
            if figure is None:
                continue
            shown.append(figure)
            loss = (gains[step] or 0) < 0
            bars.append(
                ladder_plot.Bar(
                    step,
                    figure.rate(),
                    gain_text(gains[step]),
                    "loss" if loss else "ours",
                    self.marks.of(figure),
                )
            )
        for rival, called in RIVALS[ladder].items():
            figure = self.results.rival(ladder, at, rival)
            if figure:
                bars.append(ladder_plot.Bar(called, figure.rate(rival), "", "rival"))
        shape = (
            f"M = N = K = {at[0]}"
            if len(set(at)) == 1 and len(at) == 3
            else f"{shape_text(at)} elements"
            if len(at) == 1
            else shape_text(at)
        )
        unit = f"{UNITS[ladder]}; at the right the gain over the step before"
        return ladder_plot.picture(
            TITLES[ladder], f"{shape}; {self.ladder_origin(ladder)}", unit, bars, self.marks.notes(shown)
        )


def with_ladders(text, block):
    """The text with the block between its markers; None if it has not exactly one pair of them."""
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        return None
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}\n{block}\n{END}{rest.split(END)[1]}"


def with_programs(text, root):
    """The text with its quoted programs updated from their files, without license lines. Each follows a
    comment <!-- program FILE -->, where FILE may be followed by the lines to quote (FIRST-LAST). Outputs are
    page_commands.py's."""

    def filled(match):
        lines = (root / match["file"]).read_text().splitlines(keepends=True)
        first, last = (int(match["first"]), int(match["last"])) if match["first"] else (1, len(lines))
        shown = [
            line
            for line in lines[first - 1 : last]
            if not re.match(r"(//|#|!) SPDX-License-Identifier: ", line)
        ]
        return match["before"] + "".join(shown) + "```"

    return re.sub(
        r"(?P<before><!-- program (?P<file>\S+)(?: (?P<first>\d+)-(?P<last>\d+))? -->\n```\w*\n).*?```",
        filled,
        text,
        flags=re.DOTALL,
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--root",
        type=pathlib.Path,
        default=pathlib.Path(__file__).resolve().parents[2],
        help="the project's root",
    )
    parser.add_argument("--check", action="store_true", help="write nothing, fail if something would change")
    parser.add_argument(
        "--kernels",
        metavar="FILE",
        help="the table of a build's kernels, tool/kernels.json in its folder; empty: none",
    )
    parser.add_argument("--tool", metavar="PROGRAM", help="a build's program antiphase; empty: none")
    options = parser.parse_args()
    kernels = (
        pathlib.Path(options.kernels) if options.kernels else options.root / "build" / "tool" / "kernels.json"
    )
    try:
        table = (
            compiled_code.Table(kernels)
            if options.kernels or options.kernels is None and kernels.exists()
            else None
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as failure:
        print(
            f"report.py: {kernels}: expected a table that scripts/build/fingerprint.py wrote: {failure}",
            file=sys.stderr,
        )
        return 1
    program = kernels.parent.parent / "antiphase" if options.tool is None else options.tool
    try:
        report = Report(
            options.root, table, program if options.tool or pathlib.Path(program).is_file() else None
        )
    except results.BadResult as failure:
        print(f"report.py: bench/results/{failure}", file=sys.stderr)
        return 1
    except choices_today.BadTool as failure:
        print(f"report.py: {failure}", file=sys.stderr)
        return 1
    readme, pictures = options.root / "README.md", options.root / "docs" / "pictures"
    pages = [readme, *sorted((options.root / "docs").rglob("*.md"))]
    folders = {path: os.path.relpath(pictures, path.parent) + "/" for path in pages}
    made = {path: with_programs(path.read_text() if path.exists() else "", options.root) for path in pages}
    of_ladders = [path for path, text in made.items() if BEGIN in text or END in text]
    ladders = (
        with_ladders(made[of_ladders[0]], report.block(folders[of_ladders[0]]))
        if len(of_ladders) == 1
        else None
    )
    if ladders is None:
        print(
            f"report.py: expected one line {BEGIN} and below it one line {END}, in README.md or one document of docs",
            file=sys.stderr,
        )
        return 1
    made[of_ladders[0]] = ladders
    for family in UNITS:
        made[pictures / f"ladder_{family}.svg"] = (
            report.picture(family) if family in report.ladders() else None
        )
    made[pictures / "overlap_gain.svg"] = overlap_plot.picture(report.raw, report.results)
    tables = bench_tables.Tables(report.results, report.marks, report.origin)
    try:
        made |= {path: tables.fill(made[path], folders[path]) for path in pages}
        made |= {pictures / name: picture for name, picture in tables.pictures().items()}
    except results.BadResult as failure:
        print(f"report.py: {failure}", file=sys.stderr)
        return 1
    if report.results.figures:
        timelines = report.raw / "timelines"
        made[options.root / "docs/course/01-two-barriers/strides.svg"] = idea_plots.strides()
        made[pictures / "memory_path.svg"] = idea_plots.memory_path(json.loads(figures.H200.read_text()))
        filler = figures.Figures(report.results, timelines, report.marks)
        try:
            made |= {path: filler.fill(made[path]) for path in pages}
        except results.BadResult as failure:
            print(f"report.py: docs: {failure}", file=sys.stderr)
            return 1
    lists = {report.code.path: "the compiled kernels", report.choices.path: "what auto takes today"}
    made |= {judge.path: judge.list_text() for judge in (report.code, report.choices)}
    differing = [path for path, text in made.items() if (path.read_text() if path.exists() else None) != text]
    if report.results.figures:
        print(report.code.verdict())
        print(report.choices.verdict())
    if options.check:
        for path in differing:
            source = lists.get(path, "bench/results")
            print(
                f"report.py: {path.relative_to(options.root)} does not agree with {source}: run scripts/figures/report.py",
                file=sys.stderr,
            )
        return 1 if differing else 0
    for path in differing:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(made[path]) if made[path] is not None else path.unlink()
        print(
            f"wrote {path.relative_to(options.root)}"
            if made[path] is not None
            else f"removed {path.relative_to(options.root)}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
