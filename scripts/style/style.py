#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Formats and checks the sources, and runs clang's diagnostics on them.

    style.py format          adds the missing license lines and formats every C++ and CUDA file with
                             clang-format
    style.py check           lists files that lack their license line or are not formatted, and words that the
                             field does not use so (wording.py)
    style.py clang BUILD     compiles the host sources of a configured build with clang++, without making
                             objects
    style.py tidy BUILD      runs clang-tidy on them

`clang` and `tidy` record clean files in BUILD/style: a file is examined again when it, a header that it
includes, directly or not, or its flags have changed. Where these are many, their texts are first examined in
groups of one text, which reads the headers once; the files of a group with a finding, alone. Exit status: 0 no faults, 1 faults, 77 a needed program
is not installed.
"""
import argparse
import collections
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import threading
import time

import wording

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLACES = [
    "CMakeLists.txt",
    "run",
    ".ci",
    "bench",
    "bindings",
    "cmake",
    "docs",
    "evaluation",
    "examples",
    "include",
    "python",
    "scripts",
    "core",
    "library",
    "checker",
    "preload",
    "learn",
    "tests",
    "tool",
]
LICENSE = "SPDX-License-Identifier: Apache-2.0"
FORMATTED = (".cpp", ".hpp", ".cuh", ".cu", ".hpp.in", ".h", ".c")
PYTHON = (".py", ".pyi")
BLACK = ["black", "--skip-magic-trailing-comma", "--line-length", "110"]
WIDTH = 110  # columns of comments, which clang-format leaves as they are; .clang-format has that of code
# Files with comments that begin with #, besides CMakeLists.txt and scripts without a suffix.
HASHED = (".py", ".pyi", ".toml", ".cmake", ".cmake.in")
AT_ONCE = max(2, os.cpu_count() or 2)


def sources(root):
    """Every source, header, script and CMake file."""
    for place in PLACES:
        path = root / place
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file() and "__pycache__" not in file.parts and comment_of(file):
                yield file


def documents(root):
    """The Markdown files of the root and of all places."""
    yield from sorted(root.glob("*.md"))
    for place in PLACES:
        if (root / place).is_dir():
            yield from sorted((root / place).rglob("*.md"))


def comment_of(path):
    """The characters that begin a comment in a file; empty if no license line is expected."""
    if path.name.endswith(FORMATTED):
        return "//"
    if path.suffix == ".f90":
        return "!"
    if path.name.endswith(HASHED) or path.name == "CMakeLists.txt":
        return "#"
    if "." not in path.name and path.is_file():
        with path.open("rb") as file:
            return "#" if file.read(2) == b"#!" else ""
    return ""


def lacks_license(path):
    lines = path.read_text().split("\n", 2)
    return f"{comment_of(path)} {LICENSE}" != lines[1 if lines[0].startswith("#!") and len(lines) > 1 else 0]


def add_license(path):
    text, first = path.read_text(), ""
    if text.startswith("#!"):
        first, _, text = text.partition("\n")
        first += "\n"
    path.write_text(f"{first}{comment_of(path)} {LICENSE}\n{text}")


def need(program):
    found = shutil.which(program)
    if not found:
        print(f"{program} was not found: install the package {program.replace('++', '')}", file=sys.stderr)
        sys.exit(77)
    return found


def in_groups(things, size=40):
    return [things[at : at + size] for at in range(0, len(things), size)]


def side_by_side(work, things):
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(work, things))


# ---- form ------------------------------------------------------------------------------------------------


def run_format(root):
    program, _ = need("clang-format"), need("black")
    files = list(sources(root))
    unlicensed = [path for path in files if lacks_license(path)]
    for path in unlicensed:
        add_license(path)
    formatted = [str(path) for path in files if path.name.endswith(FORMATTED)]
    python = [str(path) for path in files if path.name.endswith(PYTHON)]
    side_by_side(
        lambda group: subprocess.run([program, "-i", *group], cwd=root, check=True), in_groups(formatted)
    )
    if python:
        subprocess.run([*BLACK, "--quiet", *python], cwd=root, check=True)
    print(f"{len(unlicensed)} license lines added, {len(formatted) + len(python)} files formatted")
    return 0


def unformatted_python(root, files):
    if not files:
        return []
    said = subprocess.run([*BLACK, "--check", *files], cwd=root, capture_output=True, text=True)
    if said.returncode not in (0, 1):
        raise RuntimeError(said.stderr)
    return re.findall(r"^would reformat (.+)$", said.stderr, re.MULTILINE)


def wide_comments(root, files):
    """Comment lines longer than WIDTH, except a test's expectations, which must stay on one line."""
    for name in files:
        for number, line in enumerate((root / name).read_text().splitlines(), 1):
            if len(line) > WIDTH and re.match(r"\s*//", line) and "FOUND" not in line:
                yield f"{name}:{number}: a comment of {len(line)} columns: expected at most {WIDTH}"


def run_check(root):
    program, _ = need("clang-format"), need("black")
    faults = []

    def unformatted(group):
        said = subprocess.run(
            [program, "--dry-run", "-Werror", "--ferror-limit=1", *group],
            cwd=root,
            capture_output=True,
            text=True,
        )
        if said.returncode != 0 and "clang-format-violations" not in said.stderr:
            raise RuntimeError(said.stderr)
        return sorted(
            set(re.findall(r"^(.+?):\d+:\d+: error: .*clang-format-violations", said.stderr, re.MULTILINE))
        )

    files = list(sources(root))
    faults += [
        f"{path.relative_to(root)}: lacks the line '{comment_of(path)} {LICENSE}'"
        for path in files
        if lacks_license(path)
    ]
    formatted = [str(path.relative_to(root)) for path in files if path.name.endswith(FORMATTED)]
    for found in side_by_side(unformatted, in_groups(formatted)):
        faults += [f"{path}: is not formatted" for path in found]
    python = [str(path.relative_to(root)) for path in files if path.name.endswith(PYTHON)]
    faults += [f"{path}: is not formatted" for path in unformatted_python(root, python)]
    faults += wide_comments(root, formatted)
    faults += wording.faults(root, [*files, *documents(root)])
    print("\n".join(faults))
    print(
        f"{len(files)} files, {len(faults)} faults{'; ./run format removes those of form' if faults else ''}"
    )
    return 1 if faults else 0


# ---- clang -----------------------------------------------------------------------------------------------

CLANG_WARNINGS = ["-Wall", "-Wextra", "-Wno-unknown-warning-option"]

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"]', re.MULTILINE)


class Reach:
    """The project's own files that a file includes, directly or not."""

    def __init__(self, root):
        self.folders = [root, root / "include"]
        self.known = {}

    def direct(self, path):
        if path not in self.known:
            text = path.read_text(errors="replace")
            near = [*self.folders, path.parent]
            self.known[path] = [
                next((folder / name for folder in near if (folder / name).is_file()), None)
                for name in INCLUDE.findall(text)
            ]
        return filter(None, self.known[path])

    def of(self, path):
        seen, open_ones = {path}, [path]
        while open_ones:
            for other in self.direct(open_ones.pop()):
                if other not in seen:
                    seen.add(other)
                    open_ones.append(other)
        return sorted(seen)


def host_sources(root, build):
    """The host sources of a build, with the flags that another compiler needs. Without those of the checker,
    which are for g++ alone."""
    taken = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = pathlib.Path(entry["directory"], entry["file"]).resolve()
        words = shlex.split(entry["command"])
        folder = pathlib.Path(entry["directory"])
        near = [str(path.relative_to(base)) for base in (root, build) if path.is_relative_to(base)]
        ours = (
            path.suffix == ".cpp"
            and near
            and re.match(r"(core|library|checker|preload|learn|tool)/", near[-1])
            and "/CMakeFiles/" not in near[-1]
        )
        # A source that the build generates may not exist yet.
        if not ours or re.match(r"checker/", near[-1]) or not path.is_file():
            continue
        flags = []
        for at, word in enumerate(words):
            if word == "-isystem":
                flags += [word, words[at + 1]]
            elif word.startswith(("-D", "-I", "-std=")):
                flags.append(word)
        taken.setdefault(path, (folder, flags))
    return sorted(taken.items())


class Stamps:
    """The record of clean files: the contents with which each was found clean."""

    def __init__(self, folder):
        self.folder = folder
        self.folder.mkdir(parents=True, exist_ok=True)
        self.hashes = {}

    def digest(self, path):
        if path not in self.hashes:
            self.hashes[path] = hashlib.sha256(path.read_bytes()).digest()
        return self.hashes[path]

    def key(self, words, paths):
        total = hashlib.sha256(repr(words).encode())
        for path in paths:
            total.update(str(path).encode() + self.digest(path))
        return total.hexdigest()

    def file(self, path):
        return self.folder / hashlib.sha256(str(path).encode()).hexdigest()[:24]

    def clean(self, path, key):
        stamp = self.file(path)
        return stamp.is_file() and stamp.read_text() == key

    def keep(self, path, key):
        self.file(path).write_text(key)


PER_GROUP = 10  # sources; of more, names of one are more often those of another too


def groups_of(work, at_once=AT_ONCE):
    """Sources that can be examined as one text: neighbors with the same flags, as many as keep all cores at work."""
    size = max(1, min(PER_GROUP, len(work) // (2 * at_once)))
    alike = {}
    for item in work:
        alike.setdefault((item[1], tuple(item[2])), []).append(item)
    return [group for items in alike.values() for group in in_groups(items, size)]


def own_names(text):
    """The names that a source defines in namespaces without a name, as clang-format sets them."""
    names = set()
    for part in re.findall(r"^namespace \{\n(.*?)^\}  // namespace$", text, re.MULTILINE | re.DOTALL):
        for line in re.findall(r"^(?!using namespace|namespace|template|return|#)\w.*", part, re.MULTILINE):
            names.update(
                re.findall(r"^(?:struct|class|union|enum|enum class|using|concept) (\w+)(?!\w|::)", line)
            )
            names.update(re.findall(r"^(?:[\w:<>,&*]+ )+[&*]*(\w+)(?:\(|\{|\[| =|;)", line))
            if line.startswith("constexpr"):
                names.update(re.findall(r", (\w+) = ", line))
    return names


def one_text(paths):
    """The texts of sources, in which names of headers next to them are complete, and those that several define for
    themselves differ."""
    texts = [path.read_text() for path in paths]
    names = collections.Counter(name for text in texts for name in own_names(text))
    common = "|".join(sorted(name for name, count in names.items() if count > 1))
    parts = []
    for number, (path, text) in enumerate(zip(paths, texts)):

        def complete(match):
            near = path.parent / match[2]
            return f'{match[1]}"{near}"' if near.is_file() else match[0]

        if common:
            text = re.sub(rf'(?<![.\w"/])(?<!->)(?<!::)(?:{common})\b(?![./])', rf"\g<0>_{number}", text)
        parts.append(re.sub(r'^([ \t]*#[ \t]*include[ \t]*)"([^"\n]+)"', complete, text, flags=re.MULTILINE))
    return "\n".join(parts)


def look_at_all(
    root,
    build,
    name,
    command_for,
    wanted=lambda path: True,
    extra=(),
    changed=None,
    seconds=None,
    examined=lambda path, flags, files: False,
):
    """Runs a command for each source that has changed, if it is not examined already. Any output, or a status
    other than 0, is a finding. After `seconds` no more sources are begun."""
    until = float("inf") if seconds is None else time.monotonic() + seconds
    stamps, reach, work = Stamps(build / "style" / name), Reach(root), []
    everything = [
        (path, *rest)
        for path, rest in host_sources(root, build)
        if wanted(path) and (changed is None or not changed.isdisjoint(reach.of(path)))
    ]
    if not everything and changed is None:
        sys.exit(f"{build} has no host sources of this project: expected a configured build")
    for path, folder, flags in everything:
        files = reach.of(path)
        key = stamps.key(command_for(path, flags), [*files, *extra])
        if not stamps.clean(path, key) and not examined(path, flags, files):
            work.append((path, folder, flags, key))

    seen, printing = set(), threading.Lock()

    def show(text):
        with printing:  # a finding in a header comes from many sources: it is printed once
            place = re.compile(r"\S+:\d+:\d+: (warning|error)")
            print(
                "\n".join(line for line in text.splitlines() if not (place.match(line) and line in seen)),
                flush=True,
            )
            seen.update(text.splitlines())

    def findings(path, folder, flags):
        result = subprocess.run(command_for(path, flags), cwd=folder, capture_output=True, text=True)
        said = result.stdout.strip()  # not stderr, where clang-tidy counts suppressed findings
        if name != "tidy" or (result.returncode != 0 and not said):
            said = f"{said}\n{result.stderr}".strip()
        return said or (f"{path}: exit status {result.returncode}" if result.returncode else "")

    def look(group):
        """The sources with findings. A group with some, which may be those of names in common, is halved."""
        (path, folder, flags, _), paths = group[0], [item[0] for item in group]
        if len(group) > 1:
            path = stamps.folder / f"{stamps.file(path).name}.cpp"
            path.write_text(one_text(paths))
        said = findings(path, folder, flags)
        if not said:
            for one, *_, key in group:
                stamps.keep(one, key)
            return []
        if len(group) > 1:
            middle = len(group) // 2
            return look(group[:middle]) + look(group[middle:])
        show(said)
        return paths

    left = []

    def look_in_time(group):
        if time.monotonic() < until:
            return look(group)
        left.extend(group)
        return []

    found = [path for paths in side_by_side(look_in_time, groups_of(work)) for path in paths]
    print(
        f"{name}: {len(everything)} files, {len(everything) - len(work)} unchanged since they were clean, {len(found)} with findings"
        + (f", {len(left)} not examined within {seconds:g} seconds" if left else "")
    )
    return 1 if found else 0


def run_clang(root, build, since=None, seconds=None):
    program = need("clang++")
    said = subprocess.run(
        [program, "--version"], capture_output=True, text=True, check=True
    ).stdout.splitlines()[0]

    def command(path, flags):
        return [program, *flags, "-fsyntax-only", "-Werror", *CLANG_WARNINGS, str(path)]

    # clang-tidy has compiled what it found clean, with the same warnings.
    tidy, stamps = shutil.which("clang-tidy") and tidy_of(root, build), Stamps(build / "style" / "tidy")

    def examined(path, flags, files):
        return tidy and stamps.clean(path, stamps.key(tidy[0](path, flags), [*files, *tidy[1]]))

    return look_at_all(
        root,
        build,
        "clang",
        command,
        extra=[stamp_of_version(build, said)],
        changed=changed_since(root, since) if since else None,
        seconds=seconds,
        examined=examined,
    )


def changed_since(root, commit):
    """The files that differ from a commit; None, which stands for all, if git does not know the commit."""

    def git(*words):
        done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True)
        return done.stdout.splitlines() if done.returncode == 0 else None

    differing, new = git("diff", "--name-only", commit), git("ls-files", "--others", "--exclude-standard")
    return None if differing is None or new is None else {root / name for name in differing + new}


def tidy_of(root, build):
    """clang-tidy's command for a source, and the files that change with what it finds."""
    program = need("clang-tidy")
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout

    def command(path, flags):
        return [
            program,
            "--quiet",
            "--warnings-as-errors=*",
            f"--config-file={root / '.clang-tidy'}",
            str(path),
            "--",
            *flags,
            *CLANG_WARNINGS,
        ]

    return command, [root / ".clang-tidy", stamp_of_version(build, said)]


def run_tidy(root, build, since=None, seconds=None):
    command, extra = tidy_of(root, build)
    hand_written = lambda path: path.is_relative_to(root) and not path.is_relative_to(build)
    return look_at_all(
        root,
        build,
        "tidy",
        command,
        hand_written,
        extra,
        changed_since(root, since) if since else None,
        seconds,
    )


def stamp_of_version(build, said):
    """A file that changes with the version of a program."""
    path = build / "style" / ("version-" + hashlib.sha256(said.encode()).hexdigest()[:12])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(said)
    return path


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["format", "check", "clang", "tidy"])
    parser.add_argument("build", nargs="?", type=pathlib.Path)
    parser.add_argument(
        "--since", metavar="COMMIT", help="clang, tidy: only sources that a change since then reaches"
    )
    parser.add_argument(
        "--seconds", metavar="N", type=float, help="clang, tidy: begins no more sources after N seconds"
    )
    parser.add_argument("--root", type=pathlib.Path, default=ROOT)
    arguments = parser.parse_args()
    root = arguments.root.resolve()
    if arguments.what == "format":
        return run_format(root)
    if arguments.what == "check":
        return run_check(root)
    if arguments.build is None:
        parser.error(f"{arguments.what} needs a build folder")
    return (run_clang if arguments.what == "clang" else run_tidy)(
        root, arguments.build.resolve(), arguments.since, arguments.seconds
    )


if __name__ == "__main__":
    sys.exit(main())
