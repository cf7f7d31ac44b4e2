#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the include graph; fails on upward arrows, cycles, long chains, and uses of compute capabilities.

    check_layers.py [--dot] [ROOT]

A file includes files of its own room and of lower layers only. A room is a folder; rooms of one layer do not
include each other.

    core < device, executor < channel < gemm, scan, attention, plain
         < public headers (include/antiphase/*) < src < tool, bench
    in scan     detail, which only scan.cuh, block_scan.cuh, warp_scan.cuh and ladder.hpp include
    for C       include/antiphase.h and antiphase_cublas.h, which include nothing of the project;
                src/c_api, above the checker
    in src      executor, choice < gemm, scan, attention < trace, model < checker < plain < stand_ins
                in checker  order < memory < findings, timing < runs < cases
                in plain  translate < runtime < repair
                in gemm  laws, operands < gemm < all other folders, a way to multiply each < choice
                in scan  passes, ring, wave, columns
                in attention  fp16
    in tool     base < files < program < pictures, measure < rivals < commands < main.cpp

Exceptions:
- device includes the headers that describe the machine of a kernel.
- src/scan and its rooms include each other: it chooses among their kernels.
- tool and bench include what users can, kernels of their own (.cuh) device too; neither src nor scan/detail.
  bench/laws, which fits the library's laws, includes everything.
- src/c_api includes the public headers that it wraps for C, src/cublas only those for C; both also include
  src/per_process.hpp, the state that a forked child recreates.
- A public .hpp needs only a host compiler, so no path leads from it to a .cuh.
- core includes neither CUDA headers nor those for files.
- No policy of products is known by its name outside of its row (src/gemm/*/candidate*.cpp): no code compares or lists
  such names. Rows have columns for that.
- Code that depends on a compute capability asks for a feature (executor/features.hpp): .major and .minor are
  read there, and written where a device is described.

Exit status: 0 the layers hold, 1 they do not, 2 usage.
"""
import argparse
import collections
import functools
import pathlib
import re
import sys

LIBRARY = "include/antiphase/"
LAYERS = {
    "core": 0,
    "device": 1,
    "executor": 1,
    "channel": 2,
    "gemm": 3,
    "scan": 3,
    "attention": 3,
    "scan/detail": 3,
    "plain": 3,
    "public": 4,
    "src": 5,
    "src/executor": 6,
    "src/portable": 0,
    "src/choice": 6,
    "src/gemm/laws": 7,
    "src/gemm/operands": 7,
    "src/gemm": 8,
    "src/gemm/choice": 10,
    "src/attention": 7,
    "src/attention/fp16": 7,
    "src/scan": 7,
    "src/scan/passes": 7,
    "src/scan/ring": 7,
    "src/scan/wave": 7,
    "src/scan/columns": 7,
    "src/trace": 11,
    "src/model": 11,
    "src/checker/order": 12,
    "src/checker/memory": 13,
    "src/checker/findings": 14,
    "src/checker/timing": 14,
    "src/checker/cases": 17,
    "src/checker/runs": 16,
    "src/plain/translate": 17,
    "src/plain/runtime": 18,
    "src/plain/repair": 19,
    "src/stand_ins": 19,
    "c": 5,
    "src/c_api": 20,
    "src/cublas": 21,
    "bench": 21,
    "bench/laws": 28,
    "tool/base": 21,
    "tool/files": 22,
    "tool/program": 23,
    "tool/pictures": 24,
    "tool/measure": 24,
    "tool/rivals": 25,
    "tool/commands": 26,
    "tool": 27,
}
WAYS_TO_MULTIPLY = 9  # the layer of every other folder of src/gemm
BRIDGES = {
    "device": {
        LIBRARY + "executor/cpu/machine.hpp",
        LIBRARY + "executor/cpu/machine_clock.hpp",
        LIBRARY + "executor/cpu/machine_tf32.hpp",
        LIBRARY + "executor/cpu/machine_verbs.hpp",
        LIBRARY + "executor/kernel.hpp",
    },
    "src/c_api": {"src/per_process.hpp"},
    "src/cublas": {"src/per_process.hpp"},
}
# Rooms that include their subfolders.
WITH_FOLDERS = ("executor", "plain", "src/executor", "tool/commands")
KNOW_EACH_OTHER = (
    [{"scan", "scan/detail"}]
    + [{"src/scan", f"src/scan/{room}"} for room in ("passes", "ring", "wave", "columns")]
    + [{"src/attention", "src/attention/fp16"}]
)
USERS_SEE = {
    "tool": (
        "the library's public headers",
        {"public", "core", "gemm", "scan", "attention", "executor", "channel"},
    ),
    "src/c_api": (
        "the library's public headers and antiphase.h",
        {"public", "core", "gemm", "scan", "attention", "executor", "c"},
    ),
    "src/cublas": ("antiphase.h", {"c"}),
    "bench": (
        "the library's public headers",
        {"public", "core", "gemm", "scan", "attention", "executor", "channel", "device"},
    ),
}
# Files that may use .major and .minor.
CAPABILITIES = {
    LIBRARY + "executor/features.hpp",
    LIBRARY + "executor/limits.hpp",
    "src/executor/cpu/cpu_executor.cpp",
    "src/executor/cuda/cuda_executor.cpp",
    "src/plain/runtime/runtime.cpp",
    "src/executor/published.cpp",
    "src/executor/profiles.cpp",
    "tool/measure/kernel_code.cpp",
    "tool/measure/ptxas.cpp",
}
CAPABILITY = re.compile(r"(?:\.|->)(?:major|minor)\b")
ROWS_OF_POLICIES = re.compile(r"src/gemm/[^/]*/candidates?\.cpp")
POLICY_NAME = re.compile(r'\.name = "([^"]+)"')
OTHER_NAMES = ("src/plain/", "src/stand_ins/")  # types of PTX
FOR_C = ("include/antiphase.h", "include/antiphase_cublas.h")
LONGEST = 13  # files in a chain of includes, the first one included
NOT_IN_CORE = re.compile(
    r"cuda.*|cooperative_groups.*|nv/.*|mma\.h|cub/.*|thrust/.*|iostream|fstream|ostream|istream|cstdio|stdio\.h"
)
SUFFIXES = {".hpp", ".cuh", ".h", ".cpp", ".cu"}

COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|("(?:\\.|[^"\\\n])*")', re.DOTALL)  # strings are kept
STRING = re.compile(r'"(?:\\.|[^"\\\n])*"')
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)


class Tree:
    """The files below a root, by relative path, and their includes."""

    def __init__(self, root):
        self.root = root
        self.files = sorted(
            str(path.relative_to(root))
            for folder in ("include", "src", "tool", "bench")
            for path in (root / folder).rglob("*")
            if path.suffix in SUFFIXES
        )
        self.known = set(self.files)
        self.generated = {
            path.name.removesuffix(".in")
            for folder in ("include", "src", "tool", "bench", "cmake")
            for path in (root / folder).rglob("*.in")
        }
        self.arrows = collections.defaultdict(list)  # file: the project's files that it includes
        self.outside = collections.defaultdict(list)  # file: names of the other headers that it includes
        for folder in {file.rpartition("/")[0] for file in self.files} - LAYERS.keys():
            if folder.startswith("src/gemm/"):
                LAYERS[folder] = WAYS_TO_MULTIPLY
        self.faults = []
        self.asks_capability = []  # files that use .major or .minor
        self.texts = {}  # of files, without comments
        for file in self.files:
            self.read(file)

    def read(self, file):
        text = COMMENT.sub(lambda match: match.group(1) or " ", (self.root / file).read_text())
        self.texts[file] = text
        if CAPABILITY.search(STRING.sub("", text)):
            self.asks_capability.append(file)
        for bracket, name in INCLUDE.findall(text):
            target = self.resolve(file, name)
            if target:
                self.arrows[file].append(target)
            elif (self.root / file).parent.joinpath(name).is_file():
                pass  # a stand-in without an ending, such as cuda/atomic
            elif (name.startswith("antiphase/") or bracket == '"') and pathlib.PurePath(
                name
            ).name not in self.generated:
                self.faults.append(f"{file} includes {name}, which does not exist")
            else:
                self.outside[file].append(name)

    def resolve(self, file, name):
        beside = pathlib.PurePath(file).parent
        for candidate in (beside / name, pathlib.PurePath("include") / name, pathlib.PurePath(name)):
            parts = []
            for part in candidate.parts:
                parts.pop() if part == ".." and parts else parts.append(part)
            path = "/".join(parts)
            if path in self.known:
                return path
        return None


def room_of(file):
    """The room whose layer a file belongs to; None for a folder that has no layer."""
    folder, _, _ = file.rpartition("/")
    if file in FOR_C:
        return "c"
    if file.startswith(LIBRARY):
        folder = folder.removeprefix(LIBRARY.rstrip("/")).lstrip("/") or "public"
    room = next((room for room in WITH_FOLDERS if folder.startswith(room + "/")), folder)
    return room if room in LAYERS else None


def judge(file, target):
    """Why a file must not include another, or None."""
    source, goal = room_of(file), room_of(target)
    if source == goal or {source, goal} in KNOW_EACH_OTHER or target in BRIDGES.get(source, ()):
        return None
    if source == "c":
        return f"{file.rpartition('/')[2]} includes nothing of the project"
    user, library = source if source in USERS_SEE or source == "bench/laws" else source.split("/")[
        0
    ], not goal.startswith(("tool", "bench"))
    if user in USERS_SEE and library:
        what, rooms = USERS_SEE[user]
        own_kernel = goal == "device" and file.endswith(".cuh")
        return None if goal in rooms or own_kernel else f"{user} sees {what} only"
    if LAYERS[goal] < LAYERS[source] and (
        goal != "scan/detail" or source == "public" or source.startswith("src/scan")
    ):
        return None
    if goal == "scan/detail":
        return f"{goal} is for scans only"
    if LAYERS[goal] == LAYERS[source]:
        return f"{source} and {goal} are of one layer"
    return f"{goal} lies above {source}"


def longest_chain(tree):
    """The longest path of includes."""

    @functools.cache
    def below(file):
        return [file, *max((below(target) for target in tree.arrows[file]), key=len, default=[])]

    return max((below(file) for file in tree.files), key=len, default=[])


def reachable(tree, start):
    """All files that can be reached, each with the file that includes it on the way."""
    through = {start: None}
    open_files = [start]
    while open_files:
        file = open_files.pop()
        for target in tree.arrows[file]:
            if target not in through:
                through[target] = file
                open_files.append(target)
    return through


def path_to(file, through):
    path = [file]
    while through[path[-1]]:
        path.append(through[path[-1]])
    return " -> ".join(reversed(path))


def find_cycles(tree):
    """One cycle for each arrow that closes one, found in depth-first order."""
    cycles, done = [], set()

    def visit(file, path):
        if file in path:
            cycles.append(" -> ".join([*path[path.index(file) :], file]))
        elif file not in done:
            for target in tree.arrows[file]:
                visit(target, [*path, file])
            done.add(file)

    for file in tree.files:
        visit(file, [])
    return cycles


def names_of_policies(tree):
    """Faults: comparisons with a policy's name, and lists of several, outside of the table."""
    rows = [file for file in tree.files if ROWS_OF_POLICIES.fullmatch(file)]
    names = {name for file in rows for name in POLICY_NAME.findall(tree.texts[file])}
    if not names:
        return []
    name = '"(?:' + "|".join(map(re.escape, sorted(names))) + ')"'
    by_name = re.compile(rf"[=!]=\s*{name}|{name}\s*[=!]=|starts_with\({name[:-1]}|{name},\s*{name}")
    return [
        f"{file} knows policies by their names, {found.group()}: expected a column of their rows"
        for file in tree.files
        if file not in rows and not file.startswith(OTHER_NAMES)
        for found in by_name.finditer(tree.texts[file])
    ]


def check(tree):
    faults = list(tree.faults) + names_of_policies(tree)
    faults += [
        f"{file} looks at a compute capability: expected a feature of include/antiphase/executor/features.hpp"
        for file in tree.asks_capability
        if file not in CAPABILITIES
    ]
    homeless = {file for file in tree.files if room_of(file) not in LAYERS}
    faults += [f"{file} is in a folder that has no layer" for file in sorted(homeless)]
    for file in tree.files:
        for target in tree.arrows[file]:
            if homeless.isdisjoint((file, target)) and (reason := judge(file, target)):
                faults.append(f"{file} includes {target}: {reason}")
        if room_of(file) == "core":
            faults += [
                f"{file} includes <{name}>: core knows neither CUDA nor files"
                for name in tree.outside[file]
                if NOT_IN_CORE.fullmatch(name)
            ]
        if room_of(file) == "public" and file.endswith(".hpp"):
            through = reachable(tree, file)
            device_code = sorted(target for target in through if target.endswith(".cuh"))
            faults += [
                f"{path_to(target, through)}: a public .hpp needs only a host compiler"
                for target in device_code[:1]
            ]
    cycles = [f"cycle: {cycle}" for cycle in find_cycles(tree)]
    if not cycles and len(chain := longest_chain(tree)) > LONGEST:
        faults.append(f"a chain of {len(chain)} files, expected at most {LONGEST}: {' -> '.join(chain)}")
    return faults + cycles


def room_arrows(tree):
    return collections.Counter(
        (room_of(file), room_of(target))
        for file in tree.files
        for target in tree.arrows[file]
        if room_of(file) != room_of(target)
    )


def print_dot(tree):
    print("digraph layers {\n  rankdir = BT;\n  node [shape = box];")
    for level in sorted(set(LAYERS.values())):
        print("  { rank = same; " + " ".join(f"{name};" for name in LAYERS if LAYERS[name] == level) + " }")
    for (source, goal), count in sorted(room_arrows(tree).items(), key=str):
        print(f'  {source} -> {goal} [label = "{count}"];')
    print("}")


def print_summary(tree):
    sizes = collections.Counter(room_of(file) for file in tree.files)
    arrows = room_arrows(tree)
    for room in LAYERS:
        if sizes[room]:
            goals = [
                f"{goal} ({count})"
                for (source, goal), count in sorted(arrows.items(), key=str)
                if source == room
            ]
            print(f"{LAYERS[room]:2} {room:20}{sizes[room]:4} files -> {', '.join(goals) or 'nothing'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dot", action="store_true", help="print the graph of rooms for Graphviz")
    parser.add_argument(
        "root", nargs="?", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent
    )
    arguments = parser.parse_args()
    tree = Tree(arguments.root)
    if not tree.files:
        parser.error(
            f"{arguments.root} holds no sources; expected a root with include/antiphase, src, tool or bench"
        )
    print_dot(tree) if arguments.dot else print_summary(tree)
    faults = check(tree)
    for fault in faults:
        print(f"check_layers.py: {fault}", file=sys.stderr)
    if faults:
        sys.exit(1)
    if not arguments.dot:
        print(
            f"{len(tree.files)} files, {sum(map(len, tree.arrows.values()))} includes among them: no upward arrow, no cycle, "
            f"at most {len(longest_chain(tree))} files in a chain"
        )


if __name__ == "__main__":
    main()
