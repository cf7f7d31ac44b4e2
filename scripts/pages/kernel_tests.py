#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the table of docs/project/tests.md: for each list of the library's kernels, what tests its numbers, its
races and its machine code.

    kernel_tests.py           writes the table
    kernel_tests.py --check   fails if the page has another one

Lists are those that library/CMakeLists.txt compiles for the checker. What is read from where:

numbers       the folder of tests/ with the name of the kernels' folder, or of a folder above it
cases         the file that CASES names for the macro that lists the kernels
mutants       files of tests/ with `mutant` in their path that include a header which the list includes
machine code  tests of tests/codegen/CMakeLists.txt that read the list's object files

Exit status: 0 fine, 1 the page differs or sources are not as expected, 2 usage.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/project/tests.md"
BEGIN, END = "<!-- kernel_tests:begin -->", "<!-- kernel_tests:end -->"
# The file of checker/cases for a macro that lists kernels, or for single ones of its lists.
CASES = {
    "AP_FP32_LISTS": "gemm_ladder_cases",
    "AP_FP64_LISTS": "fp64_cases",
    "AP_FP16_LISTS": "split_cases",
    "AP_TF32_LISTS": "tf32_cases",
    "AP_FINISH_LISTS": "fp64_cases",
    "AP_ATTENTION_LISTS": "attention_cases",
    "AP_LINEAR_LISTS": "linear_cases",
    "AP_SCAN_LISTS": "scan_cases",
    "ladder_mma_kernels": "gemm_ladder_cases",
    "ladder_tile_kernels": "gemm_ladder_cases",
}
INCLUDE = re.compile(r'^#include (?:"([^"]+)"|<(antiphase/scan/[^>]+)>)', re.MULTILINE)


class NotAsExpected(Exception):
    pass


def compiled(root):
    """(target, file) of each list of kernels that the checker compiles, too."""
    text = (root / "library/CMakeLists.txt").read_text()
    for target, how, files in re.findall(
        r"antiphase_kernels\(antiphase (\w+) ([^)]*)SOURCES ([^)]*)\)", text
    ):
        if "UNCHECKED" not in how:
            for file in files.split():
                yield target, f"library/{file}"


def family(file):
    """library/gemm, library/scan and others: names of lists are those of one family."""
    return "/".join(pathlib.PurePath(file).parts[:2])


def macros(root):
    """{(family, function that returns a list): macro that names it}."""
    found = {}
    for path in sorted(root.glob("library/**/*.hpp")):
        of = family(path.relative_to(root))
        for macro, body in re.findall(r"#define (AP_\w+_LISTS)\(LIST\)((?:.*\\\n)*.*)", path.read_text()):
            found |= {(of, name): macro for name in re.findall(r"LIST\(\w+, (\w+)\)", body)}
    return found


def includes(root, file, known):
    """Headers of kernels that a file includes, directly or through files of its family."""
    if file not in known:
        known[file] = set()
        path = root / file
        for own, public in INCLUDE.findall(path.read_text()):
            name = f"include/{public}" if public else own
            if own and not (root / own).exists():
                name = (path.parent / own).relative_to(root).as_posix()
            if (root / name).exists():
                known[file] |= {name} | includes(root, name, known)
    return known[file]


def direct(root, file):
    return {
        f"include/{public}" if public else own for own, public in INCLUDE.findall((root / file).read_text())
    }


def numbers(root, file):
    """The folder of tests/ that has the name of the file's folder, or of the nearest folder above."""
    folder = pathlib.PurePath(file).relative_to("library").parent
    while not any((root / "tests" / folder).glob("test_*.cpp")):
        folder = folder.parent
        if folder == pathlib.PurePath("."):
            raise NotAsExpected(f"{file}: no folder of tests/ with a test_*.cpp is named after its folders")
    return folder.as_posix()


def mutants(root, file, known):
    all_of = includes(root, file, known)
    kernels = {name for name in all_of if name.endswith(".cuh")}
    found = set()
    for path in sorted(root.glob("tests/**/*.cuh")):
        name = path.relative_to(root).as_posix()
        if "mutant" in name and direct(root, name) & kernels:
            found.add(name)
    return sorted(found)


def machine_code(root):
    """{target: names of tests that read its object files}."""
    text = (root / "tests/codegen/CMakeLists.txt").read_text()
    lists = dict(re.findall(r"set\((\w+) ([^\n]*)\)", text))
    found = {}
    for name, command in re.findall(r"add_test\(NAME codegen\.(\w+)\s(.*?)\n(?=\S|\Z)", text, re.DOTALL):
        for variable in re.findall(r"\$\{(\w+)\}", command):
            command += lists.get(variable, "")
        for target in re.findall(r"TARGET_OBJECTS:antiphase_(\w+)>", command):
            if name not in found.setdefault(target, []):
                found[target].append(name)
    return found


def link(root, name):
    if not (root / name).exists():
        raise NotAsExpected(f"{name} does not exist")
    return f"[{pathlib.PurePath(name).name}](../../{name})"


def table(root):
    of_list, code, known = macros(root), machine_code(root), {}
    rows = [
        "| list of kernels | numbers | races: cases | races: mutants | machine code |",
        "|---|---|---|---|---|",
    ]
    for target, file in compiled(root):
        named = re.findall(r"\b(\w+_kernels(?:_in_order)?)\(\)", (root / file).read_text())
        lists = [name for name in dict.fromkeys(named) if (family(file), name) in of_list]
        if not lists:
            raise NotAsExpected(f"{file} defines no list that a *_lists.hpp names")
        cases = {CASES.get(name) or CASES.get(of_list[family(file), name]) for name in lists}
        if None in cases:
            raise NotAsExpected(f"{file}: CASES of kernel_tests.py names no file of cases for its macro")
        folder = numbers(root, file)
        shown = file.removeprefix("library/")
        tests = ", ".join(f"`codegen.{name}`" for name in code.get(target, []))
        rows.append(
            f"| [{shown}](../../{file}) | `./run test {folder.replace('/', '.')}` | "
            + ", ".join(link(root, f"checker/cases/{name}.cpp") for name in sorted(cases))
            + " | "
            + ", ".join(link(root, name) for name in mutants(root, file, known))
            + f" | {tests} |"
        )
    return "\n".join(rows) + "\n"


def main(arguments):
    if arguments not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    text = PAGE.read_text()
    before, found, rest = text.partition(BEGIN + "\n")
    _, ended, after = rest.partition(END)
    if not found or not ended:
        print(f"kernel_tests.py: {PAGE} has no lines {BEGIN} and {END}", file=sys.stderr)
        return 1
    try:
        now = before + found + table(ROOT) + ended + after
    except NotAsExpected as error:
        print(f"kernel_tests.py: {error}", file=sys.stderr)
        return 1
    if arguments and now != text:
        print(
            f"kernel_tests.py: the table of {PAGE} is not that of the sources: run {sys.argv[0]}",
            file=sys.stderr,
        )
        return 1
    PAGE.write_text(now)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
