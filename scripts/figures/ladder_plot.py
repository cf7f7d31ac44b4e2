# SPDX-License-Identifier: Apache-2.0
"""Bar charts of the ladders: one bar for each step and rival. The SVG is written directly, without a
library."""
import math
from xml.sax.saxutils import escape

WIDTH, LEFT, RIGHT, ROW, BAR = 860, 150, 150, 34, 20
TOP, BOTTOM = 84, 58
COLOURS = {"ours": "#0072b2", "loss": "#d55e00", "rival": "#8a8f98"}
TEXT, FAINT, GRID, PAPER = "#1f2430", "#5b6270", "#d9dce3", "#ffffff"
# Each colour of the pictures, and its counterpart on a dark background. Lines and bars are lighter there.
ON_DARK = {
    TEXT: "#e6e8ee",
    FAINT: "#a7adba",
    GRID: "#333845",
    PAPER: "#14171e",
    "#0072b2": "#56b4e9",
    "#d55e00": "#f0884a",
    "#9e4d80": "#cc79a7",
}
DARK = (
    "<style>@media (prefers-color-scheme: dark) {"
    + " ".join(
        f'[fill="{light}"] {{fill: {dark}}} [stroke="{light}"] {{stroke: {dark}}}'
        for light, dark in ON_DARK.items()
    )
    + "}</style>"
)


class Bar:
    """`kind`: ours, loss or rival. `mark` follows the label."""

    def __init__(self, label, value, note, kind, mark=""):
        self.label, self.value, self.note, self.kind, self.mark = label, value, note, kind, mark


def nice_step(largest):
    """A round distance between grid lines that gives at most seven of them."""
    size = 10 ** math.floor(math.log10(largest))
    return next(size * part for part in (0.1, 0.2, 0.25, 0.5, 1, 2) if largest / (size * part) <= 7)


def text(x, y, content, size=13, colour=TEXT, anchor="start", weight="normal"):
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{colour}" text-anchor="{anchor}" font-weight="{weight}">'
        f"{escape(content)}</text>"
    )


def number(value):
    return f"{value:g}"


def picture(title, subtitle, unit, bars, footnotes=()):
    largest = max(bar.value for bar in bars)
    step = nice_step(largest)
    end = step * -(-largest // step)
    scale = (WIDTH - LEFT - RIGHT) / end
    bottom = TOP + ROW * len(bars)
    height = bottom + BOTTOM + 18 * len(footnotes)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
        'font-family="system-ui, -apple-system, Segoe UI, DejaVu Sans, sans-serif" role="img">',
        f"<title>{escape(title)}</title>",
        DARK,
        f'<rect width="{WIDTH}" height="{height}" fill="{PAPER}"/>',
        text(20, 32, title, 18, weight="bold"),
        text(20, 55, subtitle, 13, FAINT),
    ]
    for line in range(round(end / step) + 1):
        x = LEFT + line * step * scale
        out += [
            f'<line x1="{x:.1f}" y1="{TOP - 8}" x2="{x:.1f}" y2="{bottom}" stroke="{GRID}"/>',
            text(x, bottom + 18, number(line * step), 12, FAINT, "middle"),
        ]
    out.append(text(LEFT + end * scale / 2, bottom + 40, unit, 12, FAINT, "middle"))
    for bar in bars:  # a dashed line at each rival's value; drawn first, so that longer bars cover it
        if bar.kind == "rival":
            x = LEFT + bar.value * scale
            out.append(
                f'<line x1="{x:.1f}" y1="{TOP - 8}" x2="{x:.1f}" y2="{bottom}" stroke="{COLOURS["rival"]}" stroke-dasharray="4 4"/>'
            )
    for row, bar in enumerate(bars):
        y = TOP + row * ROW + (ROW - BAR) / 2
        base = y + BAR / 2 + 4.5
        value = f"{bar.value:.0f}" if bar.value >= 100 else f"{bar.value:.1f}"
        out += [
            text(
                LEFT - 10,
                base,
                bar.label + bar.mark,
                13,
                TEXT,
                "end",
                "bold" if bar.kind == "rival" else "normal",
            ),
            f'<rect x="{LEFT}" y="{y:.1f}" width="{bar.value * scale:.1f}" height="{BAR}" rx="2" fill="{COLOURS[bar.kind]}"/>',
            halo(text(LEFT + bar.value * scale + 8, base, value, 13, weight="bold")),
        ]
        if bar.note:
            out.append(
                text(WIDTH - 20, base, bar.note, 12, COLOURS["loss"] if bar.kind == "loss" else FAINT, "end")
            )
    for line, footnote in enumerate(footnotes):
        out.append(text(20, bottom + BOTTOM + 18 * line, footnote, 12, FAINT))
    return "\n".join(out) + "\n</svg>\n"


def halo(element):
    """Text outlined in the background's colour, for places where a line passes after it."""
    return element.replace("<text ", f'<text stroke="{PAPER}" stroke-width="4" ', 1) + element
