# SPDX-License-Identifier: Apache-2.0
"""The picture of `antiphase bench overlap`: what buffers gain, over how long a step computes."""
import json

import line_plot

COLOURS = {2: "#1f6fb4", 3: "#2f8f4e", 4: "#b3771f", 8: "#7a4fa3"}
PANELS = {1: "one resident block", 2: "2 resident blocks", 4: "4 resident blocks", 8: "8 resident blocks"}


# Steps of the product's ladder that add a second buffer, and the rings of the scan's.
PRODUCTS, OF, CUBE = ("double-buffered", "async-2"), "tiled", (4096,) * 3
RINGS, RING_OF, SUMS = (
    {2: "single-pass-2", 3: "single-pass-3", 8: "single-pass"},
    "single-pass-1",
    (2**28,),
)


def newest_file(folder):
    """The file of the newest measurement in a folder of results; None without one."""
    return max(folder.glob("experiments/*-overlap.json"), default=None)


def newest(folder):
    """The newest measurement in a folder of results; None without one."""
    file = newest_file(folder)
    return json.loads(file.read_text()) if file else None


def of_ladders(results):
    """Marks of the product's steps, by resident blocks, and a sentence about the scan's rings."""
    marks, notes = {}, []
    base = results.find("gemm", OF, CUBE)
    for step in PRODUCTS:
        figure = results.find("gemm", step, CUBE)
        if base and figure:
            of = base.record["overlap"]
            gain = base.times["ours"] / figure.times["ours"]
            marks.setdefault(figure.record["blocks_per_multiprocessor"], []).append(
                (of["compute_us"] / of["load_us"], gain, step)
            )
            machine = figure.file.name
    if marks:
        notes.append(
            f"Diamonds: steps of the product's ladder over {OF}, 4096³, blocks of 32 warps, {machine}."
        )
    base = results.find("scan", RING_OF, SUMS)
    rings = {n: results.find("scan", step, SUMS) for n, step in RINGS.items()}
    if base and all(rings.values()):
        gains = ", ".join(f"{base.times['ours'] / f.times['ours']:.2f}× with {n}" for n, f in rings.items())
        notes.append(
            f"The scan's ring of 20 warps, one block, {base.file.name}: {gains} buffers. Its Tc / Tl was not measured."
        )
    return marks, notes


def picture(folder, results):
    """The SVG of the newest measurement in a folder of results; None without one. `results`: the ladders'."""
    measured = newest(folder)
    if not measured:
        return None
    marks, notes = of_ladders(results)
    records = [r for r in measured["records"] if r["rounds"] > 0]
    panels = []
    for blocks, title in PANELS.items():
        rows = [r for r in records if r["blocks_per_multiprocessor"] == blocks]
        ratio = lambda r: round(r["compute_ns"] / r["load_ns"], 3)
        lines = [
            line_plot.Line("formula", line_plot.FAINT, [(ratio(r), r["formula"]) for r in rows], dashed=True)
        ]
        for buffers, colour in COLOURS.items():
            points = [
                (ratio(r), step["gain"]) for r in rows for step in r["steps"] if step["buffers"] == buffers
            ]
            lines.append(line_plot.Line(f"{buffers} buffers", colour, points))
        panels.append(line_plot.Panel(title, lines, marks.get(blocks, ())))
    key = [line_plot.Line(f"{buffers} buffers", colour, []) for buffers, colour in COLOURS.items()]
    key += [
        line_plot.Line("formula", line_plot.FAINT, [], dashed=True),
        line_plot.Line("one buffer", line_plot.FAINT, []),
    ]
    return line_plot.panels(
        "What further buffers gain",
        f"A kernel that loads tiles of 4 KiB from memory and computes from them, {measured['machine']['name']}",
        "times as fast as with one buffer, by Tc / Tl",
        panels,
        key,
        1,
        (
            "Tl: to load a tile with one buffer, computing nothing. Tc: to compute from one, loading nothing.",
            "formula: (Tl + Tc) / max(Tl, Tc), what the textbook expects of a second buffer.",
            "With few blocks one load in flight does not keep memory busy: there a third and fourth buffer gain more than the second.",
            "With many resident blocks, one block computes while others load: buffers gain little.",
            *notes,
        ),
        size_text=lambda ratio: f"{ratio:.2g}",
    )
