#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what each kernel of a build needs with a table: registers, stack, local memory, shared memory.

    check_resources.py TABLE --cuobjdump TOOL --compiler VERSION [--except LIST]... OBJECT...
    check_resources.py TABLE --write ...

A kernel that spills, or that no longer fits as many blocks into a multiprocessor, is slower and gives the same
results: only the machine code shows it. Numbers are those of nvcc for sm_90a. Lists named by --except are compiled
with less optimization in this build; TABLE keeps their rows.

--write   Writes TABLE from the build. Rows of lists that are not in the build are kept.

Exit status: 0 as in TABLE, 1 not, 2 usage, 77 TABLE is of another version of nvcc.
"""
import argparse
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts/build"))
import fingerprint

ARCHITECTURE = "90a"
NOTHING_TO_CHECK = 77
SHOWN = 20  # differences
COLUMNS = ("registers", "bytes of stack", "accesses of local memory", "bytes of shared memory")
KERNEL = re.compile(r"void antiphase::cuda::run_kernel<(.*?) ?>\(.*\)$")
LIST = re.compile(r"antiphase_(\w+)\.dir/")


def short(name):
    """The kernel's type, from the demangled name of the function that runs it."""
    found = KERNEL.match(name)
    return (found[1] if found else name).replace("antiphase::", "").replace("cuda::", "").replace(" >", ">")


def rows_of(objects, cuobjdump):
    """{list: {kernel: numbers}} of a build."""

    def read(architecture, is_ptx, made):
        if architecture == ARCHITECTURE and not is_ptx:
            yield from fingerprint.Cubin(made.read_bytes()).resources()

    found = {}
    for path in objects:
        of_list = LIST.search(str(path))
        if not of_list:
            sys.exit(f"expected an object file of a list of kernels, antiphase_NAME.dir/..., found {path}")
        kernels = list(fingerprint.from_code(path, cuobjdump, read))
        names = fingerprint.readable([kernel[0] for kernel in kernels])
        rows = found.setdefault(of_list[1], {})
        for name, kernel in zip(names, kernels):
            rows[short(name)] = kernel[1:]
    return found


def read_table(path):
    """The version of nvcc, and {list: {kernel: numbers}}."""
    lines = path.read_text().splitlines()
    version = lines[0].partition("nvcc ")[2].partition(",")[0]
    table = {}
    for line in lines[1:]:
        if line.startswith("#"):
            continue
        if not line.startswith(" "):
            rows = table.setdefault(line, {})
        else:
            *numbers, name = line.split(maxsplit=len(COLUMNS))
            rows[name] = tuple(int(number) for number in numbers)
    return version, table


def write_table(path, version, table):
    lines = [f"# Kernels by nvcc {version}, sm_{ARCHITECTURE}. Written by check_resources.py --write."]
    lines.append("# Columns: " + ", ".join(COLUMNS) + ", kernel.")
    for of_list, rows in sorted(table.items()):
        lines.append(of_list)
        lines += [
            " " + " ".join(f"{number:>5}" for number in numbers) + "  " + name
            for name, numbers in sorted(rows.items())
        ]
    path.write_text("\n".join(lines) + "\n")


def differences(expected, found):
    for of_list in sorted(expected.keys() | found.keys()):
        was, is_now = expected.get(of_list, {}), found.get(of_list, {})
        for name in sorted(was.keys() | is_now.keys()):
            if name not in is_now:
                yield f"{of_list}: {name} is in the table and not in the build"
            elif name not in was:
                yield f"{of_list}: {name} is in the build and not in the table"
            elif was[name] != is_now[name]:
                changes = [
                    f"{column} {before} -> {after}"
                    for column, before, after in zip(COLUMNS, was[name], is_now[name])
                    if before != after
                ]
                yield f"{of_list}: {name}: {', '.join(changes)}"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("table", metavar="TABLE", type=pathlib.Path)
    parser.add_argument("objects", metavar="OBJECT", nargs="+", type=pathlib.Path)
    parser.add_argument("--cuobjdump", required=True, metavar="TOOL")
    parser.add_argument("--compiler", required=True, metavar="VERSION")
    parser.add_argument("--except", dest="less", action="append", default=[], metavar="LIST")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if not options.cuobjdump:
        print("nothing to check: there is no cuobjdump")
        return NOTHING_TO_CHECK
    version, table = read_table(options.table) if options.table.exists() else (options.compiler, {})
    if version != options.compiler and not options.write:
        print(f"nothing to check: the table is of nvcc {version}, this build of {options.compiler}")
        return NOTHING_TO_CHECK
    found = rows_of(options.objects, options.cuobjdump)
    found = {of_list: rows for of_list, rows in found.items() if of_list not in options.less}
    if options.write:
        write_table(options.table, options.compiler, table | found)
        return 0
    expected = {of_list: rows for of_list, rows in table.items() if of_list not in options.less}
    faults = list(differences(expected, found))
    for fault in faults[:SHOWN]:
        print(fault)
    if len(faults) > SHOWN:
        print(f"and {len(faults) - SHOWN} more")
    if faults:
        print(
            f"{len(faults)} kernels differ from {options.table}. If that is meant, and their speed was measured: "
            "run this again with --write"
        )
        return 1
    print(f"{sum(len(rows) for rows in found.values())} kernels as in the table")
    return 0


if __name__ == "__main__":
    sys.exit(main())
