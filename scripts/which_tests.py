#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Selects what `./run test NAME` has to build and run.

    which_tests.py BUILD NAME

Prints two lines: the targets needed by the tests whose names begin with NAME, and a regular expression for
their names. BUILD/tests/needs.txt, written when the build is configured, lists the targets by name. If no
test's name begins with NAME, exits with a message that suggests similar ones.
"""
import difflib
import pathlib
import re
import sys


def needs_of(build):
    """{beginning of a test's name: its targets}."""
    lines = (pathlib.Path(build) / "tests" / "needs.txt").read_text().splitlines()
    return {name: targets for name, *targets in map(str.split, lines)}


def select(needs, name):
    """The targets and the regular expression, or None if no test's name begins so."""
    whole = [known for known in needs if known == name or known.startswith(name + ".")]
    within = [known for known in needs if name.startswith(known + ".")]
    begun = [known for known in needs if known.startswith(name)]
    if whole:
        chosen, end = whole, r"(\.|$)"
    elif within:  # a single test of a program, say: the longest known beginning decides
        chosen, end = [max(within, key=len)], ""
    elif begun:
        chosen, end = begun, ""
    else:
        return None
    targets = dict.fromkeys(target for known in chosen for target in needs[known])
    return " ".join(targets), "^" + re.sub(r"([.+*?\[\](){}|^$\\])", r"\\\1", name) + end


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    build, name = sys.argv[1:]
    needs = needs_of(build)
    selection = select(needs, name)
    if selection is None:
        known = sorted(known for known in needs)
        close = difflib.get_close_matches(name, known, n=3, cutoff=0.5) or known
        sys.exit(
            f"There is no test '{name}': expected the beginning of a test's name, such as {', '.join(close)}"
        )
    print(*selection, sep="\n")


if __name__ == "__main__":
    main()
