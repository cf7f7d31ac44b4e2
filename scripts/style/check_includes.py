#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails on includes that includes.txt does not allow, and on what it allows but no file needs.

    check_includes.py [--dot | --table] [--rules FILE] [ROOT]

Faults are:
- an include of another folder that its row does not name, and a folder without a row;
- a row, an allowed folder, file or cycle that no file needs any more;
- a cycle of files, or of folders that no line with <-> names; a chain of more than LONGEST files;
- a path from a public .hpp, which needs only a host compiler, to a .cuh;
- CUDA's headers, and those for files, in core;
- a header of the project that does not exist.

--dot prints the graph of folders for Graphviz; --table writes the table of docs/project/architecture.md, which is compared
otherwise. Exit status: 0 fine, 1 faults, 2 usage.
"""
import argparse
import collections
import fnmatch
import functools
import pathlib
import re
import sys

import sources

LONGEST = 13  # files in a chain of includes, the first one included
PUBLIC, CORE = "antiphase", "antiphase/core"
NOT_IN_CORE = re.compile(
    r"cuda.*|cooperative_groups.*|nv/.*|mma\.h|cub/.*|thrust/.*|iostream|fstream|ostream|istream|cstdio|stdio\.h"
)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)
BEGIN, END = "<!-- includes:begin -->", "<!-- includes:end -->"

Row = collections.namedtuple("Row", "folders holds allowed")  # words as written


def expand(word):
    """The words that braces stand for, as in the shell."""
    found = re.match(r"(.*?)\{([^{}]*)\}(.*)", word)
    return (
        [text for part in found[2].split(",") for text in expand(found[1] + part + found[3])]
        if found
        else [word]
    )


class Rules:
    """The rows, groups and named cycles of a file such as includes.txt."""

    def __init__(self, file):
        self.name = file.name
        self.rows, self.groups, self.pairs = [], {}, []
        for line in file.read_text().splitlines():
            if line.startswith("@"):
                name, _, words = line.partition(" = ")
                self.groups[name] = words
            elif "<->" in line and not line.startswith("#"):
                one, others = (self.expanded(side) for side in line.split("<->"))
                self.pairs += [{a, b} for a in one for b in others]
            elif line.startswith(" "):
                self.rows[-1].allowed.extend(line.split())
            elif line and not line.startswith("#"):
                folders, _, holds = line.partition(":")
                self.rows.append(Row(folders, holds.strip(), []))
        self.row_of = {folder: row for row in self.rows for folder in expand(row.folders)}

    def expanded(self, words):
        return [text for word in words.split() for text in expand(word)]

    def folder_of(self, file):
        """The folder whose row a file belongs to, or None."""
        folder = name_of(file).rpartition("/")[0]
        if folder in self.row_of:
            return folder
        while folder and folder + "/**" not in self.row_of:
            folder = folder.rpartition("/")[0]
        return folder + "/**" if folder else None

    def entries(self, row):
        """[(entry, group that it is from, or the row itself)] of a row."""
        return [
            (entry, word if word in self.groups else id(row))
            for word in row.allowed
            for entry in self.expanded(self.groups.get(word, word))
        ]

    def allowing(self, file, target):
        """The entries, folders or patterns of files, by which the row of a file allows it to include another."""
        name, folder = name_of(target), self.folder_of(target)
        return [
            entry
            for entry in self.entries(self.row_of[self.folder_of(file)])
            if folder in (entry[0], entry[0] + "/**") or fnmatch.fnmatchcase(name, entry[0])
        ]


def name_of(file):
    """A file as #include lines name it, except those for C, which lie in include itself."""
    return file[len("include/") :] if file.startswith("include/antiphase/") else file


class Tree:
    """The sources below a root, by relative path, and their includes."""

    def __init__(self, root):
        self.root, self.texts = root, sources.texts(root)
        self.arrows = {file: [] for file in self.texts}  # the project's files that a file includes
        self.outside = {file: [] for file in self.texts}  # names of other headers
        self.faults = []
        self.generated = {
            path.name[: -len(".in")]
            for folder in (*sources.FOLDERS, "cmake")
            for path in (root / folder).rglob("*.in")
        }
        for file in self.texts:
            for bracket, name in INCLUDE.findall(self.texts[file]):
                self.add(file, name, bracket == '"' or name.startswith("antiphase/"))

    def add(self, file, name, of_project):
        near = (pathlib.PurePath(file).parent, pathlib.PurePath("include"), pathlib.PurePath())
        paths = [self.normal(folder / name) for folder in near]
        found = [path for path in paths if path in self.texts]
        if found:
            self.arrows[file].append(found[0])
        elif any((self.root / path).is_file() for path in paths[:2]):
            pass  # a stand-in without an ending, such as cuda/atomic
        elif of_project and pathlib.PurePath(name).name not in self.generated:
            self.faults.append(f"{file} includes {name}, which does not exist")
        else:
            self.outside[file].append(name)

    @staticmethod
    def normal(path):
        parts = []
        for part in path.parts:
            parts.pop() if part == ".." and parts else parts.append(part)
        return "/".join(parts)


def longest_chain(tree):
    """The longest path of includes."""

    @functools.lru_cache(None)
    def below(file):
        return [file, *max((below(target) for target in tree.arrows[file]), key=len, default=[])]

    return max((below(file) for file in tree.arrows), key=len, default=[])


def path_to_device_code(tree, start):
    """The files on a path from one to a .cuh, or None."""
    through, open_files = {start: None}, [start]
    while open_files:
        file = open_files.pop()
        if file.endswith(".cuh"):
            path = [file]
            while through[path[-1]]:
                path.append(through[path[-1]])
            return path[::-1]
        for target in tree.arrows[file]:
            if target not in through:
                through[target] = file
                open_files.append(target)
    return None


def between_folders(tree, rules):
    """(file, its folder, included file, that one's folder) for all includes between folders with a row."""
    for file, targets in tree.arrows.items():
        for target in targets:
            source, goal = rules.folder_of(file), rules.folder_of(target)
            if source and goal and source != goal:
                yield file, source, target, goal


def check_rows(tree, rules):
    """Faults of includes that no row allows, and of rows that allow what no file includes."""
    used = set()  # (entry, its group or row)
    for file, source, target, _ in between_folders(tree, rules):
        allowing = rules.allowing(file, target)
        used.update(allowing)
        if not allowing:
            yield f"{file} includes {target}: the row of {source} in {rules.name} does not allow it"
    folders = {rules.folder_of(file) for file in tree.texts}
    for file in tree.texts:
        if not rules.folder_of(file):
            yield f"{file} is in a folder that has no row in {rules.name}"
    for folder in rules.row_of:
        if folder not in folders:
            yield f"{rules.name}: there are no sources in {folder}"
    unused = {e: row for row in rules.rows for e in rules.entries(row) if e not in used}
    for (entry, group), row in unused.items():
        whose = group if group in rules.groups else row.folders
        yield f"{rules.name}: {whose} names {entry}, which no file needs"


def check_cycles(tree, rules):
    """Faults of cycles among folders and files, of cycles that are allowed without need, and of long chains."""
    arrows = {
        (source, goal)
        for file, source, target, goal in between_folders(tree, rules)
        if rules.allowing(file, target)  # others are faults already
    }
    for pair in rules.pairs:
        if not all(arrow in arrows for arrow in (tuple(pair), tuple(pair)[::-1])):
            yield f"{rules.name}: {' and '.join(sorted(pair))} do not include each other"
    goals = {}
    for source, goal in sorted(arrows):
        if {source, goal} not in rules.pairs:
            goals.setdefault(source, []).append(goal)
    yield from (f"cycle of folders: {cycle}" for cycle in sources.cycles(list(goals), goals))
    found = sources.cycles(tree.arrows, tree.arrows)
    yield from (f"cycle: {cycle}" for cycle in found)
    if not found and len(chain := longest_chain(tree)) > LONGEST:
        yield f"a chain of {len(chain)} files, expected at most {LONGEST}: {' -> '.join(chain)}"


def check_headers(tree, rules):
    """Faults of headers that must stay free of CUDA."""
    for file in tree.texts:
        folder = rules.folder_of(file)
        for name in tree.outside[file]:
            if folder == CORE and NOT_IN_CORE.fullmatch(name):
                yield f"{file} includes <{name}>: core knows neither CUDA nor files"
        if folder == PUBLIC and file.endswith(".hpp") and (path := path_to_device_code(tree, file)):
            yield f"{' -> '.join(path)}: a public .hpp needs only a host compiler"


def print_dot(tree, rules):
    counts = collections.Counter((source, goal) for _, source, _, goal in between_folders(tree, rules))
    print("digraph includes {\n  rankdir = BT;\n  node [shape = box];")
    for (source, goal), count in sorted(counts.items()):
        print(f'  "{source}" -> "{goal}" [label = "{count}"];')
    print("}")


def table(rules):
    """The generated part of docs/project/architecture.md."""

    def code(words):
        return ", ".join(f"`{word}`" for word in words)

    lines = [
        "`scripts/style/check_includes.py` writes this table from `scripts/style/includes.txt`, and fails on any other",
        f"include between folders, on a row that allows more than is needed, on a cycle, and on a chain of more than {LONGEST}",
        "files. Names are those of `#include` lines: `antiphase/core` is `include/antiphase/core`.",
        *(f"`{name}` is {code(words.split())}." for name, words in rules.groups.items()),
        "",
        "| folder | holds | may include |",
        "|---|---|---|",
        *(f"| `{row.folders}` | {row.holds} | {code(row.allowed) or 'nothing'} |" for row in rules.rows),
    ]
    return "\n".join(lines) + "\n"


def page_with_table(root, rules):
    """(the page architecture.md, its text, its text with the table of now), or None without a page with the marks."""
    for page in sorted((root / "docs").rglob("architecture.md")):
        text = page.read_text()
        if BEGIN in text and END in text:
            before, after = text.partition(BEGIN)[0], text.partition(END)[2]
            return page, text, f"{before}{BEGIN}\n{table(rules)}{END}{after}"
    return None


def main():
    here = pathlib.Path(__file__).resolve()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dot", action="store_true", help="print the graph of folders for Graphviz")
    parser.add_argument(
        "--table", action="store_true", help="write the table of docs/project/architecture.md"
    )
    parser.add_argument("--rules", type=pathlib.Path, default=here.with_name("includes.txt"))
    parser.add_argument("root", nargs="?", type=pathlib.Path, default=here.parents[2])
    options = parser.parse_args()
    rules, tree = Rules(options.rules), Tree(options.root)
    if not tree.texts:
        parser.error(f"{options.root} holds no sources; expected a root with {', '.join(sources.FOLDERS)}")
    page = page_with_table(options.root, rules)
    if options.table:
        if not page:
            parser.error(f"{options.root}/docs has no architecture.md with lines {BEGIN} and {END}")
        page[0].write_text(page[2])
        return 0
    if options.dot:
        print_dot(tree, rules)
        return 0
    faults = [*tree.faults, *check_rows(tree, rules), *check_headers(tree, rules), *check_cycles(tree, rules)]
    if page and page[1] != page[2]:
        faults.append(
            f"the table in {page[0].relative_to(options.root)} is not that of {rules.name}: "
            "run scripts/style/check_includes.py --table"
        )
    for fault in faults:
        print(f"check_includes.py: {fault}", file=sys.stderr)
    if not faults:
        print(
            f"{len(tree.texts)} files, {sum(map(len, tree.arrows.values()))} includes among them: all are allowed, "
            f"no cycle, at most {len(longest_chain(tree))} files in a chain"
        )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
