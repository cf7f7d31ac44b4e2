#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Selects the tests that a change can break, for `./run test --touched`.

    touched_tests.py BUILD [BASE]          prints the targets to build in one line and the tests' names in another
    touched_tests.py BUILD --list NAME...  prints these tests for `ctest -I`, once their targets are built

Changed are the files that differ from BASE, by default from the commit where this branch left main, and those
that git does not track yet. Compiled files count by the dependencies that Ninja recorded in the last build, and
for a program only if it links their objects; programs that the last build left out of date count as changed.
Other files count by the table READ. A file that neither knows selects all tests.
"""
import collections
import json
import os
import pathlib
import re
import subprocess
import sys

from which_tests import needs_of

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Beginnings or endings of files that all tests depend on.
ALL = ("CMakeLists.txt", "CMakePresets.json", "cmake/", "run", "tests/CMakeLists.txt")
# Tests that any change can break: they read the whole tree.
ALWAYS = ("style", "layering", "docs.this_tree")
# (beginning of a file's path, ending, tests that read such files when they run: names and all below, or =name)
READ = (
    ("include/", "", "checker.api checker.plain checker.count checker.upstream consume core.mutants headers refuse"),
    ("core/", "", ""),
    ("library/", "", ""),
    ("checker/", "", ""),
    ("preload/", "", ""),
    ("learn/", "", ""),
    ("tool/", "", ""),
    ("bench/results/", "", "checker.plain.clock docs gemm.tuning model report tool.process trace"),
    ("bench/pack", "", "checker.plain.clock docs gemm.tuning model report tool.process trace"),
    ("bench/clients/", "", ""),
    ("bench/", "", "report"),
    ("evaluation/", "", "docs"),
    ("python/tests/", "", "python"),
    ("python/", "", "checker.plain docs python"),
    ("docs/learn/tutorial.ipynb", "", "docs python report.this_tree"),
    ("docs/course/notebook.ipynb", "", "docs python"),
    (
        "docs/",
        "",
        "=checker.plain checker.plain.tool docs model.error report.this_tree tool.process",
    ),
    ("examples/", "", "checker.api checker.plain checker.upstream consume docs tool.process trace"),
    ("bindings/", "", "c_api"),
    ("packaging/", "", "consume docs python"),
    ("tests/checker/plain/", "", "checker.plain"),
    ("tests/checker/upstream/", "", "checker.plain checker.upstream"),
    ("tests/tool/", ".py", "tool.process"),
    (".", "", "docs"),  # .github, .ci and settings of programs for style
    ("LICENSES/", "", "docs"),
    ("", ".md", "docs report"),
    ("", ".cff", "docs"),
    ("", ".toml", "docs python"),
    ("", ".yml", "docs"),
)  # fmt: skip
# Folders that tests of the tool's other parts do not depend on, although it links them.
FAMILIES = ("library/", "preload/")
APART = {
    "checker.plain": FAMILIES,
    "checker.count": FAMILIES,
    "checker.upstream": FAMILIES,
    "docs": ("core/", "library/", "checker/", "preload/", "learn/", "include/"),
}


def below(known, beginnings):
    """The known names that are, or lie below, one of the beginnings, by components; =NAME is that name alone."""
    return [n for n in known if any("=" + n == b or (n + ".").startswith(b + ".") for b in beginnings)]


def folder_tests(file, known):
    """The tests of the deepest folder of a file in tests/ that has any."""
    parts = pathlib.PurePath(file).parts[1:-1]
    for count in range(len(parts), 0, -1):
        if found := below(known, [".".join(parts[:count])]):
            return found
    return []


def tests_of_script(file, known, mentions):
    """The tests of the folders whose files mention a script, or a script that imports it."""
    names, found = {pathlib.PurePath(file).name}, set()
    while names:
        name = names.pop()
        for user in mentions(name):
            if user.startswith("scripts/") and user != file:
                names.add(pathlib.PurePath(user).name)
            elif user.startswith("python/tests/"):
                found.update(below(known, ["python"]))
            else:
                found.update(folder_tests(user, known))
        mentions = without(mentions, name)
    return sorted(found)


def without(mentions, name):
    """`mentions` that no longer answers for a name, so that circles end."""
    return lambda other: [] if other == name else mentions(other)


def choose(changed, needs, compiled, mentions):
    """({name of tests: the changed file or reason}, None), or (None, the reason to run all).

    needs: {name of tests: targets}; compiled: {target: {file or None: reason}}, the changed files that a target
    is made of, or None where that is not known; mentions: a function from a script's name to the files of tests
    and scripts that name it.
    """
    chosen = {}
    targets_files = set().union(*compiled.values()) if compiled else set()
    for name, targets in needs.items():
        for target in targets:
            apart = next((APART[n] for n in APART if (name + ".").startswith(n + ".")), ())
            reasons = [
                r for f, r in compiled.get(target, {}).items() if not (f or "").startswith(apart or "\0")
            ]
            if reasons:
                chosen.setdefault(name, reasons[0])
    for file in changed:
        if file in ALL or file.startswith("cmake/"):
            return None, f"all tests depend on {file}"
        read = [row for row in READ if file.startswith(row[0]) and file.endswith(row[1])]
        if read:
            names = below(needs, read[0][2].split())
        elif file.startswith("tests/"):
            names = [] if file in targets_files else folder_tests(file, needs)
            if not names and file not in targets_files:
                return None, f"no folder of tests has {file}"
        elif file.startswith("scripts/"):
            names = tests_of_script(file, needs, mentions)
        elif file in targets_files:
            names = []
        else:
            return None, f"it is not known which tests depend on {file}"
        for name in names:
            chosen.setdefault(name, file)
    if changed:
        for name in below(needs, ALWAYS):
            chosen.setdefault(name, changed[0])
    return chosen, None


def git(*arguments):
    result = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return result.stdout.split("\0") if result.returncode == 0 else None


def changed_files(base):
    """(the files that differ from base, or from the commit where this branch left main; that commit)."""
    for other in [base] if base else ["main", "origin/main", "HEAD"]:
        found = (
            git("merge-base", other, "HEAD") if not base else git("rev-parse", "--verify", base + "^{commit}")
        )
        if found:
            commit = found[0].strip()
            files = git("diff", "--name-only", "-z", "--no-renames", commit)
            return sorted({f for f in files + git("ls-files", "-oz", "--exclude-standard") if f}), commit[:12]
    sys.exit(
        f"touched_tests.py: git knows no commit {base or 'HEAD'}: expected a branch, tag or commit to compare with"
    )


def ninja(build, *arguments):
    result = subprocess.run(["ninja", "-C", build, "-t", *arguments], capture_output=True, text=True)
    return [line for line in result.stdout.splitlines() if not line.startswith("ninja: ")]


def recorded(build):
    """{object: files it was compiled from}, from Ninja's log."""
    found, current = collections.defaultdict(set), None
    for line in ninja(build, "deps"):
        if line.startswith("    "):
            current.add(line[4:])
        elif ": #deps" in line:
            current = found[line.split(": #deps")[0]]
    return found


def linked(program):
    """The stems of the source files whose objects a program consists of, or None if it has no such list."""
    result = subprocess.run(["readelf", "-sW", program], capture_output=True, text=True)
    names = {line.split()[-1] for line in result.stdout.splitlines() if " FILE " in line}
    stems = {re.sub(r"^tmpxft_\w+?-\d+_(.*)\.cudafe\d*$", r"\1", name.rpartition(".")[0]) for name in names}
    return stems or None


def compiled_of(build, changed, targets):
    """{target: {changed file it is made of, or None: reason}}; see choose()."""
    build, files = pathlib.Path(build).resolve(), {str(ROOT / f): f for f in changed}
    times = {}

    def time_of(path):
        if path not in times:
            times[path] = os.stat(path).st_mtime_ns if os.path.exists(path) else 0
        return times[path]

    dependencies = recorded(build)
    touched = {o: {files[f] for f in made_of if f in files} for o, made_of in dependencies.items()}
    sources = set().union(*touched.values())
    rules = (build / "build.ninja").read_text()
    phony = dict(re.findall(r"^build (\S+): phony (\S+)$", rules, re.MULTILINE))
    programs = set(re.findall(r"^build ([^\s:]+)[^:]*: \w+_LINKER", rules, re.MULTILINE))
    found = {}
    for target in targets:
        output = phony.get(target)
        output = build / output if output in programs else None  # None: objects, or a command's files
        inputs = ninja(build, "inputs", target)
        reasons = {files[i]: files[i] for i in inputs if i in files and files[i] not in sources}
        objects = [i for i in inputs if i.endswith(".o")]
        missing = [o for o in objects if not time_of(str(build / o))]
        if (output and not output.exists()) or missing:
            reasons[None] = f"{target} was not built"
        else:
            of_program = None
            for o in filter(dependencies.get, objects):
                old = max(map(time_of, dependencies[o]), default=0) > time_of(str(build / o))
                if not old and not touched[o]:
                    continue
                of_program = of_program or (output and linked(output)) or ()
                stem = pathlib.PurePath(o).name.removesuffix(".o").rpartition(".")[0]
                if of_program == () or stem in of_program:
                    reasons.update({f: f for f in touched[o]} or {None: f"{target} is out of date"})
        found[target] = reasons
    return found


def mentioning(name):
    """The files of tests and scripts that name a script, or import it."""
    stem = name.removesuffix(".py")
    pattern = rf"\b{re.escape(name)}\b|^\s*(import|from) {re.escape(stem)}\b"
    return (
        git(
            "grep", "-lzP", pattern, "--", "scripts", "tests/**.py", "tests/**/CMakeLists.txt", "python/tests"
        )
        or []
    )


def listing(build, names):
    """`ctest -I`'s list of the tests that belong to these names and to no longer known one."""
    known = sorted(needs_of(build), key=len, reverse=True)
    text = subprocess.run(
        ["ctest", "--test-dir", build, "--show-only=json-v1"], capture_output=True, text=True, check=True
    ).stdout
    numbers = [
        str(number)
        for number, test in enumerate(json.loads(text)["tests"], 1)
        if next((n for n in known if (test["name"] + ".").startswith(n + ".")), None) in names
    ]
    return "0,0,0," + ",".join(numbers) if numbers else None


def main():
    if len(sys.argv) < 2 or (len(sys.argv) > 3 and sys.argv[2] != "--list"):
        sys.exit(__doc__.strip())
    build = sys.argv[1]
    if sys.argv[2:3] == ["--list"]:
        numbers = listing(build, set(sys.argv[3:]))
        print(numbers) if numbers else sys.exit("No test was built for the names: " + " ".join(sys.argv[3:]))
        return
    needs = needs_of(build)
    changed, commit = changed_files(sys.argv[2] if len(sys.argv) == 3 else None)
    if not changed:
        print(f"Nothing has changed since {commit}", file=sys.stderr)
        return
    targets = sorted({target for targets in needs.values() for target in targets})
    chosen, reason = choose(changed, needs, compiled_of(build, changed, targets), mentioning)
    if chosen is None:
        print(f"Running all tests: {reason}", file=sys.stderr)
        print("all\n" + " ".join(needs))
        return
    reasons = collections.defaultdict(list)
    for name, reason in chosen.items():
        reasons[re.sub(r"^\S+ (was not built|is out of date)$", r"a program \1", reason)].append(name)
    why = "; ".join(f"{reason}: {' '.join(names)}" for reason, names in reasons.items())
    count = f"{len(changed)} file{'s' * (len(changed) > 1)} changed since {commit}"
    print(f"{count}: running {len(chosen)} of {len(needs)} groups of tests. {why}", file=sys.stderr)
    print(" ".join(dict.fromkeys(target for name in chosen for target in needs[name])))
    print(" ".join(chosen))


if __name__ == "__main__":
    main()
