# SPDX-License-Identifier: Apache-2.0
"""Pictures of ideas, from their rules: the strides of a Kogge-Stone scan, and a tile's way to its sums."""
from ladder_plot import DARK, FAINT, GRID, PAPER, TEXT, text

READ, KEPT, ASYNC = "#0072b2", GRID, "#d55e00"
FONT = 'font-family="system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif"'


def svg(width, height, title, parts):
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" style="max-width:100%;height:auto" role="img" {FONT}>'
    )
    paper = f'<rect width="{width}" height="{height}" fill="{PAPER}"/>'
    marker = "".join(
        f'<marker id="tip{i}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" '
        f'orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="{colour}"/></marker>'
        for i, colour in enumerate((READ, FAINT, ASYNC))
    )
    return (
        "\n".join([head, f"<title>{title}</title>", DARK, f"<defs>{marker}</defs>", paper, *parts, "</svg>"])
        + "\n"
    )


def arrow(x1, y1, x2, y2, colour, tip, width=1.5):
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" '
        f'stroke-width="{width}" marker-end="url(#tip{tip})"/>'
    )


def box(x, y, width, height, lines, stroke=FAINT):
    middle = y + height / 2 - 8 * (len(lines) - 1) + 4.5
    return [
        f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="4" fill="{PAPER}" stroke="{stroke}" stroke-width="1.5"/>',
        *(
            text(
                x + width / 2,
                middle + 16 * i,
                line,
                13 if i == 0 else 11,
                TEXT if i == 0 else FAINT,
                "middle",
            )
            for i, line in enumerate(lines)
        ),
    ]


def scan_steps(n):
    """What each of n elements holds before the first step and after each, as a range (first, last) of what was
    added up; and the pairs (from, to) of each step."""
    held, pairs, stride = [[(i, i) for i in range(n)]], [], 1
    while stride < n:
        pairs.append([(i - stride, i) for i in range(stride, n)])
        before = held[-1]
        now = list(before)
        for source, to in pairs[-1]:
            assert before[source][1] + 1 == before[to][0]  # neighbors: nothing is added twice or left out
            now[to] = (before[source][0], before[to][1])
        held.append(now)
        stride *= 2
    return held, pairs


def strides(n=8):
    left, column, row, top, width, height = 116, 78, 74, 56, 58, 28
    held, pairs = scan_steps(n)
    parts = [text(16, 30, f"Kogge and Stone's scan of {n} elements", 16, TEXT, weight="bold")]
    for step, ranges in enumerate(held):
        y = top + row * step
        parts.append(
            text(
                left - 16,
                y + 19,
                "at the start" if step == 0 else f"stride {2 ** (step - 1)}",
                13,
                FAINT,
                "end",
            )
        )
        if step:
            up = y - row + height
            parts += [
                arrow(left + i * column + width / 2, up, left + i * column + width / 2, y, FAINT, 1, 1)
                for i in range(n)
            ]
            parts += [
                arrow(left + a * column + width / 2, up, left + b * column + width / 2 - 5, y, READ, 0)
                for a, b in pairs[step - 1]
            ]
        for i, (first, last) in enumerate(ranges):
            said = f"x{first}" if first == last else f"x{first}…x{last}"
            done = first == 0
            parts += [
                f'<rect x="{left + i * column}" y="{y}" width="{width}" height="{height}" rx="4" fill="{PAPER}" '
                f'stroke="{READ if done else FAINT}" stroke-width="{2 if done else 1}"/>',
                text(left + i * column + width / 2, y + 19, said, 12, TEXT, "middle"),
            ]
    bottom = top + row * (len(held) - 1) + height
    parts.append(
        text(
            16,
            bottom + 28,
            "Blue: what a thread reads of another. Framed blue: done. In a step all these reads come before",
            12,
            FAINT,
        )
    )
    parts.append(
        text(
            16,
            bottom + 44,
            "the writes of the row below: a barrier, or a second array, which is that row.",
            12,
            FAINT,
        )
    )
    title = f"Kogge-Stone scan of {n} elements: in the step of stride s each element adds the one s places before it"
    return svg(left + column * n + 10, bottom + 60, title, parts)


def memory_path(profile):
    """From memory to the sums and back, with the figures of a machine's profile."""
    figure = {name: f["value"] for name, f in profile["figures"].items()}
    limits = profile["limits"]
    each = limits["multiprocessors"]
    clock = figure["clock_hz"]
    shared = limits["shared_opt_in"] // 1024
    per_clock = figure["memory_bytes_per_second"] / each / clock
    cache_per_clock = figure["cache_bytes_per_second"] / each / clock
    parts = [
        text(
            16,
            30,
            f"A tile's way to its sums and back: one of {each} multiprocessors, {profile['name']}",
            16,
            TEXT,
            weight="bold",
        )
    ]
    y, h = 128, 62
    memory = (16, y, 130, h)
    cache = (210, y, 120, h)
    staged = (398, 64, 128, 50)
    slots = (586, y, 148, h)
    operands = (798, y, 128, h)
    sums = (798, 246, 128, 50)
    parts += box(
        *memory,
        [
            "memory",
            f"{figure['memory_bytes_per_second'] / 1e12:.1f} TB/s of all",
            f"{figure['memory_latency_seconds'] * clock:.0f} clocks away",
        ],
    )
    parts += box(
        *cache,
        [
            "L2 cache",
            f"{figure['cache_bytes'] / 1e6:.0f} MB",
            f"{figure['cache_latency_seconds'] * clock:.0f} clocks away",
        ],
    )
    parts += box(*staged, ["registers", "the next tile waits"], READ)
    parts += box(*slots, ["shared memory", "slots of the ring", f"{shared} KiB a block at most"])
    parts += box(*operands, ["registers", "operands: a column", "of A, a row of B"])
    parts += box(*sums, ["registers", "sums (accumulators)"], READ)
    middle = y + h / 2
    parts += [
        arrow(146, middle, 208, middle, FAINT, 1),
        text(177, middle - 8, f"{per_clock:.0f} B", 11, FAINT, "middle"),
        arrow(330, middle - 12, 396, 98, READ, 0),
        text(350, 96, "load", 12, READ, "middle"),
        arrow(526, 98, 584, middle - 12, READ, 0),
        text(570, 96, "store", 12, READ, "middle"),
        arrow(330, middle + 8, 584, middle + 8, ASYNC, 2),
        text(457, middle + 26, "cp.async, bulk copies: past the registers", 12, ASYNC, "middle"),
        text(355, middle + 2, f"{cache_per_clock:.0f} B", 11, FAINT, "middle"),
        arrow(734, middle, 796, middle, FAINT, 1),
        text(765, middle - 8, f"{figure['shared_bytes_per_clock']:.0f} B", 11, FAINT, "middle"),
        arrow(862, y + h, 862, 244, FAINT, 1),
        text(852, 222, f"{figure['multiply_adds_per_clock']:.0f} multiply-adds", 11, FAINT, "end"),
        f'<path d="M798,271 L81,271 L81,{y + h + 4}" fill="none" stroke="{FAINT}" stroke-width="1.5" marker-end="url(#tip1)"/>',
        text(457, 264, "once, after the last tile", 12, FAINT, "middle"),
        text(
            16,
            326,
            "Bytes and multiply-adds are those of a clock of one multiprocessor, at their peak. Blue: what only threads can do;",
            12,
            FAINT,
        ),
        text(
            16,
            342,
            "the load's result is in a register until the store, which is why a store before the computation waits.",
            12,
            FAINT,
        ),
    ]
    return svg(
        944,
        358,
        "From memory through the L2 cache and registers or asynchronous copies to shared memory, to operands in registers, to the sums in registers, and back",
        parts,
    )
