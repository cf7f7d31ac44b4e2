"""Pictures of lines over a size that doubles from mark to mark. SVG, written by hand so that it needs no library."""
import math
from xml.sax.saxutils import escape

from ladder_plot import FAINT, GRID, halo, nice_step, number, text

WIDTH, LEFT, RIGHT, TOP, HEIGHT, BOTTOM = 860, 80, 230, 84, 300, 58


class Line:
    """`points` are pairs of a size and a value."""

    def __init__(self, label, colour, points, dashed=False):
        self.label, self.colour, self.points, self.dashed = label, colour, points, dashed


class Scale:
    """From the values of an axis to places on the picture, and where its marks are."""

    def __init__(self, values, start, end, logarithmic):
        if logarithmic:
            low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
            high = max(high, low + 1)
            self.marks = [factor * 10.0 ** power for power in range(low, high + 1) for factor in (1, 2, 5) if power < high or factor == 1]
            self.marks = [mark for mark in self.marks if min(values) / 2.6 <= mark <= max(values) * 2.6]
            self.place_of = math.log10
        else:
            step = nice_step(max(values))
            self.marks = [step * i for i in range(math.ceil(max(values) / step) + 1)]
            self.place_of = float
        first, last = self.place_of(min([*self.marks, *values]) if logarithmic else 0), self.place_of(max([*self.marks, *values]))
        self.start, self.factor, self.first = start, (end - start) / (last - first), first

    def __call__(self, value):
        return self.start + (self.place_of(value) - self.first) * self.factor


def value_text(value, logarithmic):
    return f"{value:.0e}".replace("e-0", "e-") if logarithmic else number(value)


def picture(title, subtitle, along, up, lines, footnotes=(), logarithmic=False, size_text=str, values=True):
    """`size_text` writes a size below the picture; `values`: whether every point of a full line says its value."""
    lines = [line for line in lines if line.points]
    sizes = sorted({size for line in lines for size, _ in line.points})
    bottom, right = TOP + HEIGHT, WIDTH - RIGHT
    spread = math.log2(sizes[-1] / sizes[0]) or 1
    x_of = lambda size: LEFT + math.log2(size / sizes[0]) / spread * (right - LEFT)
    y_of = Scale([value for line in lines for _, value in line.points], bottom, TOP, logarithmic)
    height = bottom + BOTTOM + 18 * len(footnotes)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
           'font-family="system-ui, -apple-system, Segoe UI, DejaVu Sans, sans-serif" role="img">',
           f"<title>{escape(title)}</title>",
           f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
           text(20, 32, title, 18, weight="bold"), text(20, 55, subtitle, 13, FAINT), text(20, TOP - 12, up, 12, FAINT)]
    for mark in y_of.marks:
        out += [f'<line x1="{LEFT}" y1="{y_of(mark):.1f}" x2="{right}" y2="{y_of(mark):.1f}" stroke="{GRID}"/>',
                text(LEFT - 8, y_of(mark) + 4, value_text(mark, logarithmic), 12, FAINT, "end")]
    for size in sizes:
        out.append(text(x_of(size), bottom + 18, size_text(size), 12, FAINT, "middle"))
    out.append(text((LEFT + right) / 2, bottom + 40, along, 12, FAINT, "middle"))
    labels = []
    for line in sorted(lines, key=lambda line: y_of(line.points[-1][1])):
        points = " ".join(f"{x_of(size):.1f},{y_of(value):.1f}" for size, value in line.points)
        dashes = ' stroke-dasharray="5 4"' if line.dashed else ""
        out.append(f'<polyline points="{points}" fill="none" stroke="{line.colour}" stroke-width="2"{dashes}/>')
        out += [f'<circle cx="{x_of(size):.1f}" cy="{y_of(value):.1f}" r="3" fill="{line.colour}"/>' for size, value in line.points]
        if values and not logarithmic and not line.dashed:
            out += [halo(text(x_of(size), y_of(value) - 8, f"{value:.2f}", 12, anchor="middle")) for size, value in line.points]
        labels.append(max(y_of(line.points[-1][1]) + 4, labels[-1] + 16 if labels else 0))  # at the line's end, below the label before
        out.append(text(right + 12, labels[-1], line.label, 13, line.colour))
    for line, footnote in enumerate(footnotes):
        out.append(text(20, bottom + BOTTOM + 18 * line, footnote, 12, FAINT))
    return "\n".join(out) + "\n</svg>\n"
