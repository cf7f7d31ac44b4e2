#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the operators of scans into the files of C, Fortran and Python, which cannot read the table of C++.

The table is include/antiphase/scan/operators.hpp, and operation.hpp has the numbers. Log-sum-exp is the
operation of a function of its own, and has a number for these languages only.

    scan_operators.py           writes antiphase.h, antiphase.f90, _scans.py and __init__.pyi
    scan_operators.py --check   exit status 1 if one of them is not what would be written
"""
import argparse
import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[2]
LOG_SUM_EXP = ("log_sum_exp", 4, [])
ROW = re.compile(
    r"static constexpr scan_operation operation = scan_operation::(\w+).*?;\s*"
    r'static constexpr std::string_view name = "(\w+)", aliases = "([\w ]*)";'
)


def operators(operation, table):
    """(name, number, aliases) of every operator, from the texts of both headers."""
    numbers = dict(
        re.findall(r"(\w+) = (\d+)", re.search(r"enum class scan_operation \{(.*?)\};", operation, re.S)[1])
    )
    rows = [
        (name, int(numbers.pop(enumerator)), also.split()) for enumerator, name, also in ROW.findall(table)
    ]
    if numbers or not rows:
        raise ValueError(f"operators.hpp has no row for {', '.join(numbers) or 'any operation'}")
    taken = [number for _, number, _ in rows]
    if len({*taken, LOG_SUM_EXP[1]}) <= len(taken):
        raise ValueError(f"operation.hpp gives a number twice, or {LOG_SUM_EXP[1]}, which is log-sum-exp's")
    return rows


def c_lines(rows):
    return "".join(f"  ANTIPHASE_{name.upper()} = {number},\n" for name, number, _ in rows)


def fortran_lines(rows):
    names = [f"antiphase_{name} = {number}" for name, number, _ in [*rows, LOG_SUM_EXP]]
    lines = textwrap.wrap("integer(c_int32_t), parameter :: " + ", ".join(names), 118)
    return "  " + " &\n    ".join(lines) + "\n"


def python_lines(rows):
    rows = [*rows, LOG_SUM_EXP]
    pairs = [(name, number) for name, number, _ in rows]
    pairs += [(alias, number) for _, number, aliases in rows for alias in aliases]
    return "".join(f'    "{name}": {number},\n' for name, number in pairs)


def hint_lines(rows):
    rows = [*rows, LOG_SUM_EXP]
    names = [name for name, _, _ in rows] + [alias for _, _, aliases in rows for alias in aliases]
    return "".join(f'    "{name}",\n' for name in names)


# A file, what comes before and after the lines that are written, and what writes them.
PLACES = (
    ("include/antiphase.h", r"(?<=enum \{\n)", r"(?=  // log\(exp)", "  ANTIPHASE_SUM", c_lines),
    (
        "bindings/fortran/antiphase.f90",
        "",
        r"(?=  integer\(c_int32_t\), parameter :: antiphase_inclusive)",
        "  integer(c_int32_t), parameter :: antiphase_sum",
        fortran_lines,
    ),
    ("python/antiphase/_scans.py", r"(?<=_OPERATIONS = \{\n)", r"(?=\}\n)", '    "sum"', python_lines),
    ("python/antiphase/__init__.pyi", r"(?<=_Operation = Literal\[\n)", r"(?=\]\n)", '    "sum"', hint_lines),
)


def written(name, text, rows):
    _, before, after, first, lines = next(place for place in PLACES if place[0] == name)
    new, count = re.subn(
        f"{before}{re.escape(first)}.*?{after}", lambda _: lines(rows), text, count=1, flags=re.S
    )
    if count != 1:
        raise ValueError(f"{name} has no place for the operators: expected a line that begins with '{first}'")
    return new


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a file differs")
    options = parser.parse_args(arguments)
    headers = (ROOT / "include/antiphase/scan" / name for name in ("operation.hpp", "operators.hpp"))
    rows = operators(*(header.read_text() for header in headers))
    differing = []
    for name, *_ in PLACES:
        text = (ROOT / name).read_text()
        new = written(name, text, rows)
        if new == text:
            continue
        differing.append(name)
        if not options.check:
            (ROOT / name).write_text(new)
    for name in differing if options.check else ():
        print(f"{name} differs from the table of operators: run scripts/generate/scan_operators.py")
    return 1 if options.check and differing else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except ValueError as fault:
        sys.exit(f"scan_operators.py: {fault}")
