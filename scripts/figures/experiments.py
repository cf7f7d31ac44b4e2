#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints a series of bench/results/experiments, from its own file or from the packed one.

    experiments.py [--root ROOT]         lists the names
    experiments.py [--root ROOT] NAME    prints one, such as 20261122-shapes

Series from before the last measurement lie in until_20261126.json.xz, an object with a member for each name.
Exit status: 0 fine, 1 there is no such series, 2 usage.
"""
import argparse
import json
import lzma
import pathlib
import sys

PACKED = "until_20261126.json.xz"


def packed(file):
    """The series of a packed file, by name."""
    with lzma.open(file, "rt", encoding="utf-8") as text:
        return json.load(text)


def read_all(results):
    """Every series in a folder of results, by name."""
    folder = results / "experiments"
    found = packed(folder / PACKED) if (folder / PACKED).exists() else {}
    return found | {file.stem: json.loads(file.read_text()) for file in sorted(folder.glob("*.json"))}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", nargs="?", help="the series to print; without it, all names")
    parser.add_argument(
        "--root",
        type=pathlib.Path,
        default=pathlib.Path(__file__).resolve().parents[2],
        help="the project's root",
    )
    options = parser.parse_args()
    series = read_all(options.root / "bench" / "results")
    if options.name is None:
        print("\n".join(sorted(series)))
    elif options.name in series:
        json.dump(series[options.name], sys.stdout, indent=1, ensure_ascii=False)
        print()
    else:
        print(
            f"experiments.py: there is no series '{options.name}' in bench/results/experiments",
            file=sys.stderr,
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
