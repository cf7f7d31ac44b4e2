# SPDX-License-Identifier: Apache-2.0
"""Roofline plots of many products, and maps over M x N. The SVG is written directly, without a library."""
import math

from ladder_plot import FAINT, GRID, number, text
from line_plot import TOP, WIDTH, head

EACH, GAP, EDGE = 300, 76, 24  # height of a panel, gap between two rows of panels, margin at a panel's right
LOSS, EVEN, GAIN = (213, 94, 0), (238, 238, 238), (0, 114, 178)  # of a map: orange, grey, blue
EXTREME = 2  # |log2 of the ratio| at which a map's colour saturates
ON_LIGHT, ON_STRONG = "#111111", "#fefefe"  # text on a field's colour, whatever the background


class Cloud:
    """Points (intensity, speed) in one colour; `hollow`: drawn as circles."""

    def __init__(self, label, colour, points, hollow=False):
        self.label, self.colour, self.points, self.hollow = label, colour, points, hollow

    def drawn(self, x, y):
        look = (
            f'fill="none" stroke="{self.colour}" stroke-width="1.2"'
            if self.hollow
            else f'fill="{self.colour}" fill-opacity="0.75"'
        )
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" {look}/>'


class Logarithmic:
    """A logarithmic axis: maps a value to a coordinate between its two ends. Marks are powers of ten."""

    def __init__(self, values, start, end):
        low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
        high = max(high, low + 1)
        self.first, self.start, self.factor = low, start, (end - start) / (high - low)
        self.marks = [10.0**power for power in range(low, high + 1)]

    def __call__(self, value):
        return self.start + (math.log10(value) - self.first) * self.factor


def rooflines(title, subtitle, along, up, panels, memory, arithmetic, footnotes=()):
    """`panels`: pairs (title, clouds). The roofline is min(memory * intensity, arithmetic), in TFLOP/s, with the
    intensity in operations per byte."""
    points = [point for _, clouds in panels for cloud in clouds for point in cloud.points]
    ridge = arithmetic / memory
    intensities, speeds = [x for x, _ in points] + [ridge], [y for _, y in points] + [arithmetic]
    top, width = TOP + 44, (WIDTH - 20) / len(panels)
    bottom = top + EACH
    out = [*head(title, subtitle, bottom + 62 + 18 * len(footnotes)), text(20, TOP + 2, up, 12, FAINT)]
    at = WIDTH - 20 - sum(26 + 7.5 * len(cloud.label) for cloud in panels[0][1])
    for cloud in panels[0][1]:
        out += [cloud.drawn(at, TOP - 2), text(at + 9, TOP + 2, cloud.label, 13, cloud.colour)]
        at += 26 + 7.5 * len(cloud.label)
    for column, (called, clouds) in enumerate(panels):
        left, end = 20 + column * width + 44, 20 + (column + 1) * width - EDGE
        x_of, y_of = Logarithmic(intensities, left, end), Logarithmic(speeds, bottom, top)
        out.append(text(left, top - 10, called, 13, weight="bold"))
        for mark in y_of.marks:
            out += [
                f'<line x1="{left:.1f}" y1="{y_of(mark):.1f}" x2="{end:.1f}" y2="{y_of(mark):.1f}" stroke="{GRID}"/>',
                text(left - 8, y_of(mark) + 4, number(mark), 12, FAINT, "end"),
            ]
        for mark in x_of.marks:
            out += [
                f'<line x1="{x_of(mark):.1f}" y1="{top}" x2="{x_of(mark):.1f}" y2="{bottom}" stroke="{GRID}"/>',
                text(x_of(mark), bottom + 18, number(mark), 12, FAINT, "middle"),
            ]
        lowest = max(x_of.marks[0], y_of.marks[0] / memory)
        roof = [(lowest, lowest * memory), (ridge, arithmetic), (x_of.marks[-1], arithmetic)]
        path = " ".join(f"{x_of(x):.1f},{y_of(y):.1f}" for x, y in roof)
        out.append(f'<polyline points="{path}" fill="none" stroke="{FAINT}" stroke-width="1.5"/>')
        out += [cloud.drawn(x_of(x), y_of(y)) for cloud in clouds for x, y in cloud.points]
        out.append(text((left + end) / 2, bottom + 40, along, 12, FAINT, "middle"))
    out += [text(20, bottom + 62 + 18 * line, footnote, 12, FAINT) for line, footnote in enumerate(footnotes)]
    return "\n".join(out) + "\n</svg>\n"


def colour_of(ratio):
    """A cell's colour: from orange, a ratio of 1/4 or less, through grey to blue, 4 or more."""
    share = max(-1.0, min(1.0, math.log2(ratio) / EXTREME))
    towards = GAIN if share > 0 else LOSS
    return "#" + "".join(f"{round(even + (far - even) * abs(share)):02x}" for even, far in zip(EVEN, towards))


def text_colour_of(ratio):
    return ON_STRONG if abs(math.log2(ratio)) > 0.8 * EXTREME else ON_LIGHT


def ratio_text(ratio):
    return f"{ratio:.1f}" if ratio >= 1.95 else f"{ratio:.2f}".removeprefix("0")


def maps(title, subtitle, panels, footnotes=()):
    """`panels`: pairs (title, {(M, N): ratio})."""
    top, columns = TOP + 20, 2
    sizes = [sorted({extent for pair in cells for extent in pair}) for _, cells in panels]
    width = (WIDTH - 20) / columns
    side = min(40, *((width - 44 - EDGE) / len(of) for of in sizes))
    height = max(len(of) for of in sizes) * side
    rows = -(-len(panels) // columns)
    bottom = top + rows * (height + GAP) - GAP
    out = head(title, subtitle, round(bottom + 66 + 18 * len(footnotes)))
    for i, ((called, cells), of) in enumerate(zip(panels, sizes)):
        left, upper = 20 + i % columns * width + 44, top + i // columns * (height + GAP)
        lower = upper + len(of) * side
        out.append(text(left, upper - 10, called, 13, weight="bold"))
        for row, m in enumerate(of):
            out.append(text(left - 6, upper + (row + 0.5) * side + 4, size_text(m), 11, FAINT, "end"))
            out.append(text(left + (row + 0.5) * side, lower + 14, size_text(m), 11, FAINT, "middle"))
            for column, n in enumerate(of):
                if (m, n) not in cells:
                    continue
                x, y = left + column * side, upper + row * side
                out += [
                    f'<rect x="{x:.1f}" y="{y:.1f}" width="{side - 1:.1f}" height="{side - 1:.1f}" fill="{colour_of(cells[m, n])}"/>',
                    text(
                        x + (side - 1) / 2,
                        y + side / 2 + 3,
                        ratio_text(cells[m, n]),
                        9,
                        text_colour_of(cells[m, n]),
                        "middle",
                    ),
                ]
        out.append(text(left + len(of) * side / 2, lower + 32, "N; M downwards", 12, FAINT, "middle"))
    out += [text(20, bottom + 60 + 18 * line, footnote, 12, FAINT) for line, footnote in enumerate(footnotes)]
    return "\n".join(out) + "\n</svg>\n"


def size_text(size):
    return f"{size // 1024}K" if size >= 1024 and size % 1024 == 0 else str(size)
