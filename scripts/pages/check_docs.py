#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails on dead links in documents, on long lines, and on texts that name a missing file.

    check_docs.py [ROOT]

Documents are the .md files of the root and all below docs, examples, bench, evaluation, scripts and .github. The file
of each relative link must exist, and so must the heading of an anchor (#like-this). Lines of running text have at most
120 characters, not counting link targets and comments; tables, code, headings, pictures and text generated between
comments may be longer. Paths that docs/project/adding.md names must exist, and so must files that any source, script
or document names by its path from the root, such as docs/NAME.md. Functions that a page of docs names, as in `run()`, must
stand in another file; the notebooks may name those of their time. No version is on PyPI yet, so no page but that
of releases installs the package by its name. Exit status: 0 fine, 1 something was found, 2 usage.
"""
import pathlib
import re
import sys

LONGEST = 120
LINK = re.compile(r"(?<!\\)\[(?:[^\[\]\\]|\\.|`[^`]*`|\[[^\]]*\])*\]\(\s*<?([^()\s>]+)>?\s*\)")
HEADING = re.compile(r"^(#{1,6})\s+(.*?)\s*#*\s*$")
FENCE = re.compile(r"^\s*(```+|~~~+)")
FUNCTION = re.compile(r"`([\w:.]*\w)\(\)`")
PATH = re.compile(r"`(\w[\w.-]*/[\w./-]*)`")
FOLDERS = (
    "bench bindings checker cmake core docs evaluation examples include learn library packaging preload python scripts "
    "tests tool"
).split()
# Paths from the root, also as CMake and the shell write them; those of scripts without an ending, too.
NAMED = re.compile(
    r"(?:(?<![\w/.{}$*-])|(?<=\$\{PROJECT_SOURCE_DIR\}/)|(?<=\$root/))"
    r"(?:(?:" + "|".join(FOLDERS) + r")/[\w/-]*\w"
    r"(?:\.(?:c|cmake|cpp|cu|cuh|f90|h|hpp|in|ipynb|json|md|py|pyi|toml|txt|yml|xz)\b)+|scripts/[\w/]+\w(?!\w|\.\w|[*${]))"
)
WRITTEN = re.compile(
    r"<!-- (?:(?P<end>table end|(?:ladder|mutants):end)|table \w+|(?:ladder|mutants):begin) -->"
)
SOURCES = {".hpp", ".cuh", ".h", ".cpp", ".cu", ".py", ".md", ".toml", ".yml", ".cmake", ".txt", ".in", ""}
# Files that are there at times, or in a build.
WRITTEN_LATER = {"bench/results/stale.txt", "bench/results/rechosen.txt", "tool/kernels.json"}


def documents(root):
    folders = (root / folder for folder in ("docs", "examples", "bench", "evaluation", "scripts", ".github"))
    return [*sorted(root.glob("*.md")), *sorted(path for folder in folders for path in folder.rglob("*.md"))]


def lines_outside_code(text):
    """(number, content) of every line outside of code blocks."""
    fence = None
    for number, line in enumerate(text.splitlines(), 1):
        mark = FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and line.strip() == mark[1]:
                fence = None
        elif mark:
            fence = mark[1]
        else:
            yield number, line


def anchor_of(heading):
    """The anchor that GitHub derives from a heading."""
    words = (
        re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").replace("*", "").strip().lower()
    )
    return "".join("-" if c == " " else c for c in words if c.isalnum() or c in " -_")


def anchors(text):
    found = {}
    for _, line in lines_outside_code(text):
        heading = HEADING.match(line)
        if heading:
            name = anchor_of(heading[2])
            count = found.get(name, 0)
            found[name] = count + 1
            if count:
                found[f"{name}-{count}"] = 1
    return set(found)


def places(path):
    """What a link can name in a file: the headings of a document."""
    return anchors(path.read_text()) if path.suffix == ".md" else set()


def paragraphs(text):
    """Paragraphs outside of code, with the number of their first line: a link may span lines."""
    block, first = [], 0
    for number, line in lines_outside_code(text):
        if not line.strip():
            if block:
                yield first, "\n".join(block)
            block = []
            continue
        if not block:
            first = number
        block.append(line)
    if block:
        yield first, "\n".join(block)


def bad_links(root, path):
    for first, text in paragraphs(path.read_text()):
        text = re.sub(r"`[^`]*`", lambda code: " " * len(code[0]), text)
        for link in LINK.finditer(text):
            target, number = link[1], first + text.count("\n", 0, link.start())
            if re.match(r"[a-z]+:", target):
                continue
            name, _, place = target.partition("#")
            aimed = (path.parent / name).resolve() if name else path
            if not aimed.exists():
                yield number, f"the link to {target} leads nowhere"
            elif place and place not in places(aimed):
                yield number, f"the link to {target}: there is no such heading"
            elif root.resolve() not in [aimed.resolve(), *aimed.resolve().parents]:
                yield number, f"the link to {target} leads out of the project"


def long_lines(path):
    written = False  # by a script
    for number, line in lines_outside_code(path.read_text()):
        if WRITTEN.match(line):
            written = not WRITTEN.match(line)["end"]
        if written or line.startswith(("|", "#", "!", "    ")):
            continue
        shown = re.sub(r"\]\([^)]*\)", "]", re.sub(r"<!--.*?-->", "", line))
        if len(shown) > LONGEST:
            yield number, f"{len(shown)} characters: expected at most {LONGEST}"


def missing_paths(root, path):
    """Paths in code on the page that says where things are added, except those with a name to choose, and the files
    that missing_files() finds on every page."""
    if path.relative_to(root).as_posix() != "docs/project/adding.md":
        return
    for number, line in lines_outside_code(path.read_text()):
        for named in PATH.findall(line):
            left_out = "NAME" in named or named.startswith("build/") or NAMED.fullmatch(named)
            if not left_out and not (root / named).exists():
                yield number, f"{named} does not exist"


def installs_by_name(root, path):
    if path.relative_to(root).as_posix() in ("docs/project/releasing.md", "CHANGELOG.md"):
        return
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if re.search(r"\bpip install (-\S+ )*antiphase(?![\w-])", line):
            yield number, "'pip install antiphase' finds no package before one is published: expected a wheel's file"


def missing_files(root):
    """Messages for files that texts name but that do not exist; tests in Python make up projects of their own."""
    tops = [path for path in root.glob("*") if path.is_file()]
    for path in tops + sorted(
        path for top in (*FOLDERS, ".ci", ".github") for path in (root / top).rglob("*")
    ):
        name = path.relative_to(root).as_posix()
        made_up = path.match("test_*.py") or "/corpus" in name
        if not path.is_file() or path.suffix not in SOURCES or made_up:
            continue
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            for named in NAMED.findall(line):
                left_out = named in WRITTEN_LATER or "NAME" in named or "no_such" in named
                # as #include lines write it, and as links of its page do
                there = (root / named, root / "include/antiphase" / named, path.parent / named)
                if not left_out and not any(path.exists() for path in there):
                    yield f"{name}:{number}: {named} does not exist"


def missing_functions(root, pages):
    """Messages for functions that documents name and no other file has."""
    named = [
        (path.relative_to(root).as_posix(), number, function)
        for path in pages
        if "docs" in path.relative_to(root).parts and "notebook" not in path.parts
        for number, line in lines_outside_code(path.read_text())
        for function in FUNCTION.findall(line)
    ]
    known = set()
    for folder in FOLDERS if named else ():
        for path in (root / folder).rglob("*"):
            if path.suffix in SOURCES - {".md"} and path.is_file():
                known.update(re.findall(r"\w+", path.read_text(errors="replace")))
    return [
        f"{page}:{number}: {function}() is in no source"
        for page, number, function in named
        if re.split(r"\W+", function)[-1] not in known
    ]


def main(arguments):
    if len(arguments) > 1:
        print(__doc__, file=sys.stderr)
        return 2
    root = pathlib.Path(arguments[0]) if arguments else pathlib.Path(__file__).resolve().parents[2]
    pages = documents(root)
    if not pages:
        print(f"check_docs.py: {root}: there is no document", file=sys.stderr)
        return 1
    faults = [
        f"{path.relative_to(root)}:{number}: {what}"
        for path in pages
        for number, what in (
            *bad_links(root, path),
            *long_lines(path),
            *missing_paths(root, path),
            *installs_by_name(root, path),
        )
    ]
    faults += [*missing_files(root), *missing_functions(root, pages)]
    for fault in faults:
        print(fault)
    if not faults:
        print(f"{len(pages)} documents: all links lead somewhere, all lines are short")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
