# SPDX-License-Identifier: Apache-2.0
"""Line plots over a size that doubles from mark to mark. The SVG is written directly, without a library."""
import math
from xml.sax.saxutils import escape

from ladder_plot import DARK, FAINT, GRID, PAPER, TEXT, halo, nice_step, number, text

WIDTH, LEFT, RIGHT, TOP, HEIGHT, BOTTOM = 860, 80, 230, 84, 300, 58


class Line:
    """`points` are pairs of a size and a value."""

    def __init__(self, label, colour, points, dashed=False, faint=False):
        self.label, self.colour, self.points, self.dashed, self.faint = label, colour, points, dashed, faint

    def drawn(self, x_of, y_of):
        points = " ".join(f"{x_of(size):.1f},{y_of(value):.1f}" for size, value in self.points)
        dashes = ' stroke-dasharray="5 4"' if self.dashed else ""
        faint = ' opacity="0.4"' if self.faint else ""
        dot = 'fill="{0}"' if not self.dashed else f'fill="{PAPER}" stroke="{{0}}" stroke-width="1.5"'
        return [
            f'<polyline points="{points}" fill="none" stroke="{self.colour}" stroke-width="2"{dashes}{faint}/>',
            *(
                f'<circle cx="{x_of(size):.1f}" cy="{y_of(value):.1f}" r="3" {dot.format(self.colour)}{faint}/>'
                for size, value in self.points
            ),
        ]


class Panel:
    """One of several small pictures with the same axes. `marks`: single points, each a size, a value and a
    label."""

    def __init__(self, title, lines, marks=()):
        self.title, self.lines, self.marks = title, [line for line in lines if line.points], marks


class Scale:
    """Maps the values of an axis to coordinates of the picture, and chooses its tick marks."""

    def __init__(self, values, start, end, logarithmic):
        if logarithmic:
            low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
            high = max(high, low + 1)
            self.marks = [
                factor * 10.0**power
                for power in range(low, high + 1)
                for factor in (1, 2, 5)
                if power < high or factor == 1
            ]
            self.marks = [mark for mark in self.marks if min(values) / 2.6 <= mark <= max(values) * 2.6]
            self.place_of = math.log10
        else:
            step = nice_step(max(values))
            self.marks = [step * i for i in range(math.ceil(max(values) / step) + 1)]
            self.place_of = float
        first, last = self.place_of(min([*self.marks, *values]) if logarithmic else 0), self.place_of(
            max([*self.marks, *values])
        )
        self.start, self.factor, self.first = start, (end - start) / (last - first), first

    def __call__(self, value):
        return self.start + (self.place_of(value) - self.first) * self.factor


def value_text(value, logarithmic):
    return f"{value:.0e}".replace("e-0", "e-") if logarithmic else number(value)


def head(title, subtitle, height):
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
        'font-family="system-ui, -apple-system, Segoe UI, DejaVu Sans, sans-serif" role="img">',
        f"<title>{escape(title)}</title>",
        DARK,
        f'<rect width="{WIDTH}" height="{height}" fill="{PAPER}"/>',
        text(20, 32, title, 18, weight="bold"),
        text(20, 55, subtitle, 13, FAINT),
    ]


def picture(title, subtitle, along, up, lines, footnotes=(), logarithmic=False, size_text=str, values=True):
    """`size_text`: formats a size for the axis below. `values`: whether each point of a solid line is
    labelled with its value."""
    lines = [line for line in lines if line.points]
    sizes = sorted({size for line in lines for size, _ in line.points})
    bottom, right = TOP + HEIGHT, WIDTH - RIGHT
    spread = math.log2(sizes[-1] / sizes[0]) or 1
    x_of = lambda size: LEFT + math.log2(size / sizes[0]) / spread * (right - LEFT)
    y_of = Scale([value for line in lines for _, value in line.points], bottom, TOP, logarithmic)
    height = bottom + BOTTOM + 18 * len(footnotes)
    out = [*head(title, subtitle, height), text(20, TOP - 12, up, 12, FAINT)]
    for mark in y_of.marks:
        out += [
            f'<line x1="{LEFT}" y1="{y_of(mark):.1f}" x2="{right}" y2="{y_of(mark):.1f}" stroke="{GRID}"/>',
            text(LEFT - 8, y_of(mark) + 4, value_text(mark, logarithmic), 12, FAINT, "end"),
        ]
    for size in sizes:
        out.append(text(x_of(size), bottom + 18, size_text(size), 12, FAINT, "middle"))
    out.append(text((LEFT + right) / 2, bottom + 40, along, 12, FAINT, "middle"))
    labels = []
    for line in sorted(lines, key=lambda line: y_of(line.points[-1][1])):
        out += line.drawn(x_of, y_of)
        if values and not logarithmic and not line.dashed:
            out += [
                halo(text(x_of(size), y_of(value) - 8, f"{value:.2f}", 12, anchor="middle"))
                for size, value in line.points
            ]
        labels.append(
            max(y_of(line.points[-1][1]) + 4, labels[-1] + 16 if labels else 0)
        )  # at the line's end, below the label before
        out.append(text(right + 12, labels[-1], line.label, 13, line.colour))
    for line, footnote in enumerate(footnotes):
        out.append(text(20, bottom + BOTTOM + 18 * line, footnote, 12, FAINT))
    return "\n".join(out) + "\n</svg>\n"


def panels(title, subtitle, up, panels, key, level, footnotes=(), size_text=str, columns=2, each=200, gap=56):
    """Panels with the same axes, `columns` in a row. `key`: the legend, lines without points. Each panel has
    a horizontal line at `level`, in the colour of the legend's last entry."""
    known = [size for panel in panels for line in panel.lines for size, _ in line.points]
    values = [value for panel in panels for line in panel.lines for _, value in line.points]
    sizes = sorted(set(known))
    rows, top = -(-len(panels) // columns), TOP + 62
    bottom = top + rows * (each + gap) - gap
    height = bottom + 44 + 18 * len(footnotes)
    width = (WIDTH - 20) / columns
    out = [*head(title, subtitle, height), text(20, TOP + 24, up, 12, FAINT)]
    at = WIDTH - 20 - sum(50 + 7.5 * len(line.label) for line in key)
    for line in key:
        dashes = ' stroke-dasharray="5 4"' if line.dashed else ""
        out += [
            f'<line x1="{at:.1f}" y1="{TOP - 2}" x2="{at + 28:.1f}" y2="{TOP - 2}" stroke="{line.colour}" stroke-width="2"{dashes}/>',
            text(at + 34, TOP + 2, line.label, 13, line.colour),
        ]
        at += 50 + 7.5 * len(line.label)
    for row, column, panel in ((i // columns, i % columns, panel) for i, panel in enumerate(panels)):
        left, end = 20 + column * width + 44, 20 + (column + 1) * width - 24
        upper = top + row * (each + gap)
        lower = upper + each
        spread = math.log2(sizes[-1] / sizes[0]) or 1
        x_of = lambda size: left + math.log2(size / sizes[0]) / spread * (end - left)
        y_of = Scale([*values, level], lower, upper, False)
        out.append(text(left, upper - 10, panel.title, 13, weight="bold"))
        for mark in y_of.marks:
            out += [
                f'<line x1="{left:.1f}" y1="{y_of(mark):.1f}" x2="{end:.1f}" y2="{y_of(mark):.1f}" stroke="{GRID}"/>',
                text(left - 8, y_of(mark) + 4, number(mark), 12, FAINT, "end"),
            ]
        out.append(
            f'<line x1="{left:.1f}" y1="{y_of(level):.1f}" x2="{end:.1f}" y2="{y_of(level):.1f}" stroke="{key[-1].colour}" stroke-width="1.5"/>'
        )
        said = []  # sizes that fit side by side, those of most lines first
        for size in sorted(sizes, key=lambda size: (-known.count(size), size)):
            if all(abs(x_of(size) - x_of(other)) >= 26 for other in said):
                said.append(size)
        out += [text(x_of(size), lower + 18, size_text(size), 12, FAINT, "middle") for size in said]
        for line in panel.lines:
            out += line.drawn(x_of, y_of)
        for size, value, label in panel.marks:
            x, y = x_of(size), y_of(value)
            out += [
                f'<path d="M{x:.1f} {y - 6:.1f}l6 6 -6 6 -6 -6z" fill="{PAPER}" stroke="{TEXT}" stroke-width="2"/>',
                halo(text(x - 10, y + 9, label, 12, anchor="end")),
            ]
    for line, footnote in enumerate(footnotes):
        out.append(text(20, bottom + 44 + 18 * line, footnote, 12, FAINT))
    return "\n".join(out) + "\n</svg>\n"
