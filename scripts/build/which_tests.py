#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Selects what `./run test NAME` has to build and run.

    which_tests.py BUILD NAME

Prints two lines: the targets needed by the tests whose names are NAME or lie below it (gemm.tf32 below gemm, as
folders do), and a regular expression for their names. NAME may be a product, such as library: then the tests of all
its folders. Written when the build is configured: BUILD/tests/needs.txt, which lists the targets by name, and
BUILD/tests/products.txt, which lists the folders of each product. If there is no such test, exits with a message that
suggests similar ones.
"""
import difflib
import pathlib
import re
import sys


def needs_of(build):
    """{beginning of tests' names: their targets}."""
    lines = (pathlib.Path(build) / "tests" / "needs.txt").read_text().splitlines()
    return {name: targets for name, *targets in map(str.split, lines)}


def products_of(build):
    """{product: the beginnings of its tests' names}."""
    lines = (pathlib.Path(build) / "tests" / "products.txt").read_text().splitlines()
    return {name: folders for name, *folders in map(str.split, lines)}


def select_product(needs, folders):
    """The targets and the regular expression for the tests of several folders."""
    found = [one for one in (select(needs, folder) for folder in folders) if one]
    targets = dict.fromkeys(target for one, _ in found for target in one.split())
    return " ".join(targets), "|".join(names for _, names in found)


def select(needs, name):
    """The targets and the regular expression, or None if no test's name is, or lies below, this one."""
    chosen = [known for known in needs if (known + ".").startswith(name + ".")]
    # A single test of a program, say: the longest known beginning decides.
    above = max((known for known in needs if name.startswith(known + ".")), key=len, default=None)
    part_of_one = any(known.startswith(name) for known in needs)  # gemm.tf of gemm.tf32
    if not chosen and (above is None or part_of_one):
        return None
    # Tests that CMake makes from a list have no entry of their own: theirs is above.
    targets = dict.fromkeys(target for known in chosen or [above] for target in needs[known])
    return " ".join(targets), "^" + re.sub(r"([.+*?\[\](){}|^$\\])", r"\\\1", name) + "([./]|$)"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    build, name = sys.argv[1:]
    needs = needs_of(build)
    products = products_of(build)
    selection = select_product(needs, products[name]) if name in products else select(needs, name)
    if selection is None:
        known = sorted({*needs, *products})
        close = difflib.get_close_matches(name, known, n=3, cutoff=0.5) or known
        sys.exit(
            f"There is no test '{name}': expected a product, a folder of tests, or the beginning of a test's name up to a dot, such as {', '.join(close)}"
        )
    print(*selection, sep="\n")


if __name__ == "__main__":
    main()
