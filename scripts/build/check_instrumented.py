#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails if a program that mixes instrumented and plain objects could hide memory accesses from the checker.

    check_instrumented.py PROGRAM OBJECT...

OBJECTs are all of the program's own, archives included. An object is instrumented if it refers to __tsan_*.
If both kinds of objects define a weak function, the linker keeps one of the two, by link order; so there must
be no such function. Nor may an instrumented object call memcpy or similar functions past the checker, nor
the program be linked against ThreadSanitizer's own library.

Exit status: 0 fine, 1 a fault was found, 2 usage.
"""
import argparse
import collections
import re
import subprocess
import sys

PAST_THE_CHECKER = {"memcpy", "memmove", "memset", "memcmp", "__memcpy_chk", "__memmove_chk", "__memset_chk"}
HOOKS = re.compile(r"__tsan_(unaligned_|volatile_)*(read|write)\w+$")


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def symbols_of(path):
    """By object: its weak definitions, and its undefined names. Each member of an archive is an object."""
    weak, wanted = collections.defaultdict(set), collections.defaultdict(set)
    for line in output_of("nm", "-A", path).splitlines():
        place, _, rest = line.rpartition(":")
        kind, name = rest.split()[-2:]
        if kind in "Wu":
            weak[place].add(name)
        elif kind == "U":
            wanted[place].add(name)
        weak[place], wanted[place]  # creates the entries of objects that have neither
    return weak, wanted


def check(program, paths):
    weak, wanted = {}, {}
    for path in paths:
        for found, into in zip(symbols_of(path), (weak, wanted)):
            into.update(found)
    instrumented = {o for o in wanted if any(name.startswith("__tsan_") for name in wanted[o])}
    faults = []
    if not any(HOOKS.match(name) for o in instrumented for name in wanted[o]):
        faults.append(f"no object of {program} is instrumented")
    for o in sorted(instrumented):
        faults += [f"{o} calls {name} past the checker" for name in sorted(wanted[o] & PAST_THE_CHECKER)]
    plain = {}
    for o in sorted(wanted.keys() - instrumented):
        for name in weak[o]:
            plain.setdefault(name, o)
    for o in sorted(instrumented):
        faults += [
            f"{output_of('c++filt', name).strip()} is in {o}, which is instrumented, and in {plain[name]}, which is not"
            for name in sorted(weak[o] & plain.keys())
        ]
    faults += [
        f"{program} needs {line.split()[-1]}"
        for line in output_of("readelf", "-d", program).splitlines()
        if "NEEDED" in line and "libtsan" in line
    ]
    return len(instrumented), len(wanted), faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("objects", nargs="+", metavar="OBJECT")
    arguments = parser.parse_args()
    instrumented, objects, faults = check(arguments.program, arguments.objects)
    for fault in faults:
        print(f"check_instrumented.py: {fault}", file=sys.stderr)
    if faults:
        sys.exit(1)
    print(f"{objects} objects, {instrumented} of them instrumented: nothing is shared between the two kinds")


if __name__ == "__main__":
    main()
