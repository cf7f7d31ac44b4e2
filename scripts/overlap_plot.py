# SPDX-License-Identifier: Apache-2.0
"""The picture of `antiphase bench overlap`: what buffers gain, over how long a step computes."""
import json

import line_plot

COLOURS = {2: "#1f6fb4", 3: "#2f8f4e", 4: "#b3771f", 8: "#7a4fa3"}
PANELS = {1: "one resident block", 2: "2 resident blocks", 4: "4 resident blocks", 8: "8 resident blocks"}


def picture(results):
    """The SVG of the newest measurement in a folder of results; None without one."""
    files = sorted(results.glob("experiments/*-overlap.json"))
    if not files:
        return None
    measured = json.loads(files[-1].read_text())
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
        panels.append(line_plot.Panel(title, lines))
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
        ),
        size_text=lambda ratio: f"{ratio:.2g}",
    )
