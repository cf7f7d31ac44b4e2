#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the include graph; fails on upward arrows, cycles, long chains, and uses of compute capabilities.

    check_layers.py [--dot | --table] [ROOT]

A file includes files of its own folder and of folders in lower layers only; folders of one layer do not include
each other. LAYERS is the order; docs/project/architecture.md shows it, in a table that --table writes and that is compared
otherwise.

Exceptions:
- scan/detail is for scan.cuh, block_scan.cuh, warp_scan.cuh and ladder.hpp.
- device includes the headers that describe the machine of a kernel.
- src/scan and its folders include each other: it chooses among their kernels. So do src/attention's.
- tool and bench include what users can, kernels of their own (.cuh) device too; neither src nor scan/detail.
  bench/costs, which fits the library's cost models, includes everything.
- antiphase.h and antiphase_cublas.h include nothing of the project.
- src/c_api includes the public headers that it wraps for C, src/cublas and src/torch only those for C; they also include
  src/per_process.hpp, the state that a forked child recreates.
- A public .hpp needs only a host compiler, so no path leads from it to a .cuh.
- core includes neither CUDA headers nor those for files.
- No policy of products is known by its name outside of its row (src/gemm/*/candidate*.cpp): no code compares or lists
  such names. Rows have columns for that.
- Code that depends on a compute capability asks for a feature (executor/features.hpp): .major and .minor are
  read there, and written where a device is described.

The modules of each Python package (python/PACKAGE) import each other without a cycle, too.

Exit status: 0 the layers hold, 1 they do not, 2 usage.
"""
import argparse
import ast
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
    "executor/cpu": 2,
    "executor/cuda": 2,
    "channel": 2,
    "gemm": 3,
    "scan": 3,
    "attention": 3,
    "scan/detail": 3,
    "plain/basics": 2,
    "plain/calls": 3,
    "plain": 4,
    "plain/cooperative_groups": 5,
    "stand_ins": 5,
    "public": 4,
    "src": 5,
    "src/portable": 0,
    "src/executor": 6,
    "src/executor/cpu": 7,
    "src/executor/cuda": 7,
    "src/costs": 6,
    "src/choice": 6,
    "src/gemm/operands": 7,
    "src/gemm": 8,
    "src/gemm/choice": 10,
    "src/linear": 8,
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
    "src/plain/ptx": 15,
    "src/plain/translate": 17,
    "src/plain/runtime": 18,
    "src/plain/repair": 19,
    "src/stand_ins": 19,
    "c": 5,
    "src/c_api": 20,
    "src/cublas": 21,
    "src/torch": 21,
    "bench": 21,
    "bench/costs": 28,
    "tool/base": 21,
    "tool/files": 22,
    "tool/program": 23,
    "tool/pictures": 24,
    "tool/measure": 24,
    "tool/rivals": 25,
    "tool/commands/common": 26,
    "tool/commands/check": 27,
    "tool/commands/model": 27,
    "tool/commands/advise": 28,
    "tool/commands/attention": 28,
    "tool/commands/bench": 28,
    "tool/commands/gemm": 28,
    "tool/commands/ladder": 28,
    "tool/commands/machine": 28,
    "tool/commands/scan": 28,
    "tool/commands/start": 28,
    "tool/commands/trace": 28,
    "tool/commands": 29,
    "tool": 30,
}
# Contents of the folders, for the table: a folder without a line shares its predecessor's row.
HOLDS = {
    "core": "cursor, channel, pipeline, tile, view, error. No CUDA header, no input or output",
    "device": "the machine as a kernel sees it: per file a CUDA body and a CPU body; the only inline PTX",
    "executor": "where work runs: memory, copies, launches, limits, features, machine profiles, the cost model of a pipeline",
    "channel": "the rings that are more than a barrier: staged registers, cp.async; the recorder",
    "gemm": "problems, policies, ladders, collectives. None includes another",
    "scan/detail": "the kernels that `scan.cuh` makes for your own types",
    "plain": "what stands in for the toolkit's headers when a program in plain CUDA is checked; `header.gcc` there says "
    "which file answers which name",
    "stand_ins": "what stands in for headers of libraries, such as CUB, Thrust, cuBLAS and PyTorch: [stand_ins.md](../check/stand_ins.md)",
    "public": "the public calls: `context`, `gemm`, `scan`, `attention`, `trace`, `checker`, "
    "`plain_cuda`, `advise`, `measure_machine`",
    "src": "what all families share: the registry, names, memos, state that a forked child makes anew",
    "src/portable": "what makes the libraries run on systems with an older glibc; demangled names",
    "src/executor": "profiles of machines, the model of a pipeline, layouts of tensor maps",
    "src/executor/cpu": "the CPU executor; the CUDA executor",
    "src/costs": "the constants of cost models, a file for each card",
    "src/gemm/operands": "how operands lie, tiles, epilogues; terms that cost models share",
    "src/choice": "plans, candidates, the choice among them and the memory of calls, for products, scans and attention",
    "src/gemm": "requests of products, and the columns that only their candidates have",
    "src/gemm/choice": "which kernel a product runs, and why; `gemm()`, groups, remembered calls",
    "src/linear": "linear layers in 16 bits: requests, the choice of a tile, kernels",
    "src/attention": "attention and its gradients: requests, plans and kernels in FP32; on tensor cores in `fp16`",
    "src/scan": "scans: requests and choice, and a folder for each way to scan",
    "src/trace": "timelines; advice and the measuring of machines",
    "src/checker/order": "which accesses come before which: clocks, barriers, fences, phases",
    "src/checker/memory": "the history of each word that a kernel touches",
    "src/checker/findings": "findings: kinds, causes, reports for people, editors and programs; modelled time",
    "src/checker/cases": "the library's kernels as cases of `antiphase check`",
    "src/checker/runs": "schedules, runs of a kernel in processes of their own, and what they found",
    "src/plain/ptx": "PTX: the table of its instructions, asm statements, and modules made CUDA C++",
    "src/plain/translate": "plain CUDA: its sources made C++",
    "src/plain/runtime": "plain CUDA: the CUDA runtime and driver that its programs call",
    "src/plain/repair": "plain CUDA: fixes that are tried; stand-ins for libraries of CUDA",
    "c": "declarations for C; functions for C, made of the public calls, and what the shared library needs besides",
    "src/cublas": "the library in front of cuBLAS, which knows antiphase.h alone",
    "src/torch": "the library that overrides operators of torch, which knows antiphase.h alone",
    "bench": "small benchmarks of executor, checker and host calls",
    "bench/costs": "the times that cost models are fitted to, and those of tile sizes",
    "tool/base": "the command-line tool, through the public headers only: shared libraries, text",
    "tool/files": "reading and writing .npy and other files",
    "tool/program": "what each command needs: arguments, devices, tables, errors",
    "tool/pictures": "timelines and counts as pages and pictures; measuring and verifying calls",
    "tool/rivals": "cuBLAS and copies, measured for comparison",
    "tool/commands/common": "what several commands that measure share",
    "tool/commands/check": "`check` and `count`; predictions compared with measurements",
    "tool/commands/advise": "a folder for each of the other commands. `machine`: info, tune, run; `start`: demo, new, course",
    "tool/commands": "the lists of commands, and the program",
}
BEGIN, END = "<!-- layers:begin -->", "<!-- layers:end -->"
WAYS_TO_MULTIPLY = 9  # the layer of every other folder of src/gemm
WAY_TO_MULTIPLY = (
    "a folder for each way to multiply: a table of its kernels, their lists, plans, row and cost model"
)
BRIDGES = {
    "device": {
        LIBRARY + "executor/cpu/machine.hpp",
        LIBRARY + "executor/cpu/machine_clock.hpp",
        LIBRARY + "executor/cpu/machine_tf32.hpp",
        LIBRARY + "executor/cpu/machine_verbs.hpp",
        LIBRARY + "executor/cpu/machine_wgmma.hpp",
        LIBRARY + "executor/kernel.hpp",
    },
    "src/c_api": {"src/per_process.hpp"},
    "src/cublas": {"src/per_process.hpp"},
    "src/torch": {"src/per_process.hpp"},
}
# Headers of include/antiphase/plain below cuda_runtime.h, which all others include.
PLAIN = {
    "plain/basics": "ends letters mathematics rounded vector_types",
    "plain/calls": "clusters device graphs host host_types launch launch_attributes ptx ptx_arithmetic tensor_maps textures",
}
# Folders that include their subfolders.
WITH_FOLDERS = ("plain", "stand_ins")
KNOW_EACH_OTHER = (
    [{"scan", "scan/detail"}]
    + [{"src/scan", f"src/scan/{folder}"} for folder in ("passes", "ring", "wave", "columns")]
    + [{"src/attention", "src/attention/fp16"}]
)
PUBLIC = {"public", "core", "gemm", "scan", "attention", "executor", "executor/cpu", "executor/cuda"}
USERS_SEE = {
    "tool": ("the library's public headers", PUBLIC | {"channel"}),
    "src/c_api": ("the library's public headers and antiphase.h", PUBLIC | {"c"}),
    "src/cublas": ("antiphase.h", {"c"}),
    "src/torch": ("antiphase.h", {"c"}),
    "bench": ("the library's public headers", PUBLIC | {"channel", "device"}),
}
# Files that may use .major and .minor.
CAPABILITIES = {
    LIBRARY + "executor/features.hpp",
    LIBRARY + "executor/limits.hpp",
    "src/executor/cpu/cpu_executor.cpp",
    "src/executor/cuda/cuda_calls.hpp",
    "src/executor/cuda/cuda_executor.cpp",
    "src/plain/runtime/attributes.cpp",
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
        folders = {file.rpartition("/")[0] for file in self.files} - LAYERS.keys()
        for number, folder in enumerate(sorted(name for name in folders if name.startswith("src/gemm/"))):
            LAYERS[folder] = WAYS_TO_MULTIPLY
            if number == 0:
                HOLDS[folder] = WAY_TO_MULTIPLY
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
            elif any(
                folder.joinpath(name).is_file()
                for folder in ((self.root / file).parent, self.root / "include")
            ):
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


def folder_of(file):
    """The folder whose layer a file belongs to; None for one that has no layer."""
    folder, _, _ = file.rpartition("/")
    if file in FOR_C:
        return "c"
    if file.startswith(LIBRARY):
        folder = folder.removeprefix(LIBRARY.rstrip("/")).lstrip("/") or "public"
    for inner, names in PLAIN.items():
        if folder == "plain" and file.rpartition("/")[2].removesuffix(".h") in names.split():
            return inner
    folder = next((whole for whole in WITH_FOLDERS if folder.startswith(whole + "/")), folder)
    return folder if folder in LAYERS else None


def judge(file, target):
    """Why a file must not include another, or None."""
    source, goal = folder_of(file), folder_of(target)
    if source == goal or {source, goal} in KNOW_EACH_OTHER or target in BRIDGES.get(source, ()):
        return None
    if source == "c":
        return f"{file.rpartition('/')[2]} includes nothing of the project"
    user, library = source if source in USERS_SEE or source == "bench/costs" else source.split("/")[
        0
    ], not goal.startswith(("tool", "bench"))
    if user in USERS_SEE and library:
        what, folders = USERS_SEE[user]
        own_kernel = goal == "device" and file.endswith(".cuh")
        return None if goal in folders or own_kernel else f"{user} sees {what} only"
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


def find_cycles(files, arrows):
    """One cycle for each arrow that closes one, found in depth-first order."""
    cycles, done = [], set()

    def visit(file, path):
        if file in path:
            cycles.append(" -> ".join([*path[path.index(file) :], file]))
        elif file not in done:
            for target in arrows[file]:
                visit(target, [*path, file])
            done.add(file)

    for file in files:
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
    homeless = {file for file in tree.files if folder_of(file) not in LAYERS}
    faults += [f"{file} is in a folder that has no layer" for file in sorted(homeless)]
    for file in tree.files:
        for target in tree.arrows[file]:
            if homeless.isdisjoint((file, target)) and (reason := judge(file, target)):
                faults.append(f"{file} includes {target}: {reason}")
        if folder_of(file) == "core":
            faults += [
                f"{file} includes <{name}>: core knows neither CUDA nor files"
                for name in tree.outside[file]
                if NOT_IN_CORE.fullmatch(name)
            ]
        if folder_of(file) == "public" and file.endswith(".hpp"):
            through = reachable(tree, file)
            device_code = sorted(target for target in through if target.endswith(".cuh"))
            faults += [
                f"{path_to(target, through)}: a public .hpp needs only a host compiler"
                for target in device_code[:1]
            ]
    cycles = [f"cycle: {cycle}" for cycle in find_cycles(tree.files, tree.arrows)]
    if not cycles and len(chain := longest_chain(tree)) > LONGEST:
        faults.append(f"a chain of {len(chain)} files, expected at most {LONGEST}: {' -> '.join(chain)}")
    return faults + cycles + python_cycles(tree.root)


def folder_arrows(tree):
    return collections.Counter(
        (folder_of(file), folder_of(target))
        for file in tree.files
        for target in tree.arrows[file]
        if folder_of(file) != folder_of(target)
    )


def print_dot(tree):
    print("digraph layers {\n  rankdir = BT;\n  node [shape = box];")
    for level in sorted(set(LAYERS.values())):
        print("  { rank = same; " + " ".join(f"{name};" for name in LAYERS if LAYERS[name] == level) + " }")
    for (source, goal), count in sorted(folder_arrows(tree).items(), key=str):
        print(f'  {source} -> {goal} [label = "{count}"];')
    print("}")


def print_summary(tree):
    sizes = collections.Counter(folder_of(file) for file in tree.files)
    arrows = folder_arrows(tree)
    for folder in LAYERS:
        if sizes[folder]:
            goals = [
                f"{goal} ({count})"
                for (source, goal), count in sorted(arrows.items(), key=str)
                if source == folder
            ]
            print(f"{LAYERS[folder]:2} {folder:24}{sizes[folder]:4} files -> {', '.join(goals) or 'nothing'}")


def path_of(folder):
    """A folder of LAYERS as a path."""
    if folder == "c":
        return "include/antiphase.h"
    if folder == "public":
        return LIBRARY + "*.hpp"
    return folder if folder.split("/")[0] in ("src", "tool", "bench") else LIBRARY + folder


def table(tree):
    """The generated part of docs/project/architecture.md."""
    rows = []  # [folders, text]
    for folder in LAYERS:
        if folder in HOLDS or not rows:
            rows.append([[], HOLDS.get(folder, "")])
        rows[-1][0].append(folder)
    text = (
        "`scripts/check_layers.py` writes this table, prints each folder's includes, and fails on an include that points\n"
        f"upwards, on a cycle, and on a chain of more than {LONGEST} files.\n\n"
        "| layer | folder | holds |\n|---|---|---|\n"
    )
    present = {folder_of(file) for file in tree.files}
    for folders, holds in sorted(rows, key=lambda row: LAYERS[row[0][0]]):
        names = [path_of(folder) for folder in folders if folder in present and folder not in PLAIN]
        for i in range(len(names) - 1, 0, -1):  # the folder alone where the one before has the same parent
            if names[i].rpartition("/")[0] == names[i - 1].rpartition("/")[0]:
                names[i] = names[i].rpartition("/")[2]
        layers = sorted({LAYERS[folder] for folder in folders if folder not in PLAIN})
        if names:
            text += (
                f"| {', '.join(map(str, layers))} | {', '.join(f'`{name}`' for name in names)} | {holds} |\n"
            )
    return text


def page_with_table(tree):
    """(The page of the architecture, its text, its text with the table of now), or None without one with the marks."""
    page = tree.root / "docs/project/architecture.md"
    text = page.read_text() if page.is_file() else ""
    if BEGIN not in text or END not in text:
        return None
    before, after = text.partition(BEGIN)[0], text.partition(END)[2]
    return page, text, f"{before}{BEGIN}\n{table(tree)}{END}{after}"


def imported(path, modules):
    """The modules of its package that a Python module imports, in functions too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.update(
                name.name.partition(".")[2]
                for name in node.names
                if name.name.startswith(path.parent.name + ".")
            )
        elif isinstance(node, ast.ImportFrom) and (
            node.level == 1 or node.module.split(".")[0] == path.parent.name
        ):
            module = (node.module or "") if node.level else node.module.partition(".")[2]
            found.update([module] if module else [name.name for name in node.names])
    return sorted({name.partition(".")[0] for name in found} & modules)


def python_cycles(root):
    """One cycle for each import that closes one among the modules of a package in python/."""
    cycles = []
    for package in sorted(path.parent for path in root.glob("python/*/__init__.py")):
        modules = {path.stem for path in package.glob("*.py")} - {"__init__"}
        imports = {module: imported(package / f"{module}.py", modules) for module in modules}
        cycles += [
            f"cycle of imports in {package.relative_to(root)}: {c}"
            for c in find_cycles(sorted(modules), imports)
        ]
    return cycles


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dot", action="store_true", help="print the graph of folders for Graphviz")
    parser.add_argument(
        "--table", action="store_true", help="write the table of layers in docs/project/architecture.md"
    )
    parser.add_argument(
        "root", nargs="?", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent
    )
    arguments = parser.parse_args()
    tree = Tree(arguments.root)
    if not tree.files:
        parser.error(
            f"{arguments.root} holds no sources; expected a root with include/antiphase, src, tool or bench"
        )
    page = page_with_table(tree)
    if arguments.table:
        if not page:
            parser.error(
                f"{arguments.root}/docs/project/architecture.md has no lines {BEGIN} and {END} for the table"
            )
        page[0].write_text(page[2])
        return
    print_dot(tree) if arguments.dot else print_summary(tree)
    faults = check(tree)
    if page and page[1] != page[2]:
        faults.append(
            "the table in docs/project/architecture.md is not that of LAYERS: run scripts/check_layers.py --table"
        )
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
