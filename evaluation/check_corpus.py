#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs `antiphase check` on public CUDA files, and on solutions of KernelBench's problems in Python: fetches them by
name, commit and hash, and records verdicts.

    check_corpus.py run TOOL CACHE [NAME ...]   fetch what CACHE lacks, check all files (or those whose path
                                                contains a NAME), write outcome.json
    check_corpus.py table [--check]             write evaluation/corpus.md from outcome.json, or fail if it differs
    check_corpus.py add CHECKOUT OWNER/NAME COMMIT PATH ...   add files of a checkout to the list, with the
                                                              headers they include

Programs in Python need torch: ANTIPHASE_PYTHON names a python3 that has it.

The files themselves stay in their own repositories. A verdict is clean, finding, unsupported (the file uses
something the dialect lacks), unfinished (it exceeded the time limit), or input (the program needs arguments
or files). readings.json holds what a person who read the program concluded about its findings. records.py packs
files.json and outcome.json.
"""
import collections
import concurrent.futures
import datetime
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import urllib.parse
import urllib.request

import records

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "evaluation/corpus"
FILES, OUTCOME, READINGS, PAGE = (
    FOLDER / "files.json",
    FOLDER / "outcome.json",
    FOLDER / "readings.json",
    ROOT / "evaluation/corpus.md",
)
SCHEDULES, SECONDS = 2, 40
SMALLER = ["-D", "batch_size=2"]  # for solutions of KernelBench's problems
ENDS = {0: "clean", 2: "input", 3: "unsupported", 4: "unfinished", 5: "finding"}
SHARES = re.compile(
    r"__shared__|\batomic[A-Z]\w*\s*\(|__shfl|__ballot|__syncwarp|__any_sync|__all_sync|cooperative_groups"
)
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)


def is_solution(program):
    return program["path"].endswith(".py")


def digest(data):
    return hashlib.sha256(data).hexdigest()


def fetched(cache, entry, path, wanted):
    """The file's path in the cache; fetches it if it is missing."""
    at = cache / entry["repository"].replace("/", "+") / path
    if not at.exists():
        url = f"https://raw.githubusercontent.com/{entry['repository']}/{entry['commit']}/{urllib.parse.quote(path)}"
        at.parent.mkdir(parents=True, exist_ok=True)
        with urllib.request.urlopen(url, timeout=60) as answer:
            at.write_bytes(answer.read())
    if digest(at.read_bytes()) != wanted:
        sys.exit(f"{at} is not the file that {FILES} names: its hash differs")
    return at


def place(finding):
    at = finding["access"]["at"]
    return f"{pathlib.PurePosixPath(at['file']).name}:{at['line']}" if at["file"] else ""


def check(tool, cache, entry, file):
    base = cache / entry["repository"].replace("/", "+")
    for path, wanted in file["files"].items():
        fetched(cache, entry, path, wanted)
    source = base / file["path"]
    more = [str((base / path).resolve()) for path in file.get("with", [])]
    include = [word for folder in file.get("include", []) for word in ("-I", str((base / folder).resolve()))]
    smaller = SMALLER if is_solution(file) else []
    command = [
        tool,
        "check",
        source.name,
        *more,
        *include,
        *smaller,
        "--leaks",
        "--schedules",
        str(SCHEDULES),
        "--seconds",
        str(SECONDS),
        "--workers",
        "1",
        "--json",
    ]
    try:
        done = subprocess.run(
            command,
            cwd=source.parent,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=SCHEDULES * SECONDS + 300,
            errors="replace",
        )
    except subprocess.TimeoutExpired:
        return f"{entry['repository']}/{file['path']}", {"verdict": "unfinished"}
    record = {"verdict": ENDS.get(done.returncode, f"exit code {done.returncode}")}
    if done.returncode in (0, 4, 5) and done.stdout.strip():
        program = json.loads(done.stdout)["programs"][0]
        record["seconds"] = round(program["seconds"], 1)
        record["sampled"] = any("--blocks all" in note for note in program["notes"])
        record["findings"] = sorted(
            {f"{f['kind']} at {place(f)}" if place(f) else f["kind"] for f in program["findings"]}
        )
    elif done.returncode != 5:
        said = done.stderr.splitlines()
        lines = [line for line in said if "error:" in line or "not supported" in line]
        lines = lines or [line for line in said if line.startswith("antiphase: ")]
        record["said"] = re.sub(r"/\S*/", "", lines[0].removeprefix("antiphase: "))[:200] if lines else ""
    return f"{entry['repository']}/{file['path']}", record


def run(tool, cache, names):
    outcome = (records.read("corpus/outcome.json") or {"programs": {}})["programs"] if names else {}
    work = [
        (entry, file)
        for entry in records.read("corpus/files.json")
        for file in entry["programs"]
        if not names or any(name in file["path"] for name in names)
    ]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for name, record in pool.map(
            lambda job: check(str(pathlib.Path(tool).resolve()), pathlib.Path(cache), *job), work
        ):
            outcome[name] = record
            print(name, record["verdict"], flush=True)
    version = subprocess.run([tool, "--version"], capture_output=True, text=True, check=True).stdout
    measured = {"date": datetime.date.today().isoformat(), "by": " ".join(version.split()[:2])}
    text = json.dumps({"measured": measured, "programs": outcome}, indent=1, sort_keys=True)
    OUTCOME.write_text(text + "\n")


def headers_of(checkout, path, include):
    """The file and all it includes from its own repository, directly or not, with their hashes."""
    found, left = {}, [path]
    while left:
        name = left.pop()
        data = (checkout / name).read_bytes()
        found[name] = digest(data)
        for other in INCLUDE.findall(data.decode(errors="replace")):
            for folder in (pathlib.PurePosixPath(name).parent, *map(pathlib.PurePosixPath, include)):
                at = (checkout / folder / other).resolve()
                if at.is_file() and at.is_relative_to(checkout):
                    relative = str(at.relative_to(checkout))
                    if relative not in found and relative not in left:
                        left.append(relative)
                    break
    return found


def add(checkout, repository, commit, paths):
    """Adds the paths to the list. A path may be followed by ,other.cpp, another source of the same program,
    and by ,-Ifolder."""
    checkout = pathlib.Path(checkout).resolve()
    entries = records.read("corpus/files.json") or []
    entry = next((e for e in entries if e["repository"] == repository), None)
    if entry is None:
        entries.append(entry := {"repository": repository, "commit": commit, "programs": []})
    for given in paths:
        path, *more = given.split(",")
        program = {"path": path}
        include = [word[2:] for word in more if word.startswith("-I")]
        others = [word for word in more if not word.startswith("-I")]
        if include:
            program["include"] = include
        if others:
            program["with"] = others
        program["shares"] = any(
            SHARES.search(
                re.sub(
                    r"//[^\n]*|/\*.*?\*/", "", (checkout / name).read_text(errors="replace"), flags=re.DOTALL
                )
            )
            for name in (path, *others)
        )
        program["files"] = {
            k: v for name in (path, *others) for k, v in headers_of(checkout, name, include).items()
        }
        entry["programs"] = [p for p in entry["programs"] if p["path"] != path] + [program]
    FILES.write_text(json.dumps(entries, indent=1) + "\n")


def what_came(name, outcome, readings):
    record = outcome[name]
    what = "; ".join(record.get("findings", [])) or record.get("said", "")
    if reading := readings.get(name):
        what += (". " if what else "") + f"**Read**: {reading}"
    if record.get("sampled"):
        what += (". " if what else "") + "Some blocks only"
    return f"{record['verdict']} | {what.replace('|', '&#124;')} |"


def page():
    all_of_it, readings = records.read("corpus/outcome.json"), json.loads(READINGS.read_text())
    measured, outcome = all_of_it["measured"], all_of_it["programs"]
    entries = records.read("corpus/files.json")
    rows, counts = {False: [], True: []}, {False: collections.Counter(), True: collections.Counter()}
    sharing, compiled = 0, 0
    for entry in entries:
        short = entry["repository"].split("/")[-1]
        for program in entry["programs"]:
            name, solves = f"{entry['repository']}/{program['path']}", is_solution(program)
            counts[solves][outcome[name]["verdict"]] += 1
            came = what_came(name, outcome, readings)
            if solves:
                rows[True].append(
                    f"| {entry['repository']} | `{program['path']}` | `{program['with'][0]}` | {came}"
                )
                continue
            rows[False].append(f"| {short} | `{program['path']}` | {came}")
            if program["shares"] and not entry.get("suite"):
                sharing += 1
                compiled += outcome[name]["verdict"] != "unsupported"
    unread = [
        name
        for name, record in outcome.items()
        if any(not f.startswith("memory leak") for f in record.get("findings", [])) and name not in readings
    ]

    def table(solves):
        many = counts[solves]
        lines = ["| what came of it | programs |", "|---|---|"]
        for verdict, meaning in (
            ("clean", "checked, nothing found"),
            ("finding", "something found"),
            (
                "unsupported",
                "not checked, as its row says" if solves else "not supported, named with its line",
            ),
            ("unfinished", "did not end in time, so not known to be right"),
            ("input", "wants arguments, files or more devices of its own"),
        ):
            if many[verdict]:
                lines.append(f"| {meaning} | {many[verdict]} |")
        return "\n".join(lines)

    solutions = sum(counts[True].values())
    newline = "\n"
    text = f"""# Public programs under the checker

What `antiphase check` makes of {sum(counts[False].values())} public CUDA programs and {solutions} solutions of KernelBench's problems in
Python, none of which was written with it in mind. Each was run as it is, with {SCHEDULES} schedules, `--leaks` and {SECONDS} seconds
for a run, on two cores that had other work. `evaluation/check_corpus.py` fetches them by name, commit and hash, and
writes this page. Programs that need other libraries, and exercises with gaps in them, are not among these. Measured on
{measured['date']} by {measured['by']}.

## Programs

{table(False)}

Of {sharing} teaching programs in which threads share data, {compiled} compile: {100 * compiled / sharing:.0f} %. (The suite of
races, ScoR, is not counted in this.)

What was found besides memory that is never given back has been read in the source; the table says what was seen.

| repository | program | came of it | what |
|---|---|---|---|
{newline.join(rows[False])}

## Solutions of KernelBench's problems

Written by language models, in Python, with CUDA in a string for `load_inline()`. From each of five sets, the first 12
by the SHA-256 of `owner/repository/path` were taken, of those that hold a kernel and that the repository's own results
call compiled: KernelBench's leaderboard of 2024, and runs of four models of 2025 and 2026. Each is checked with its
problem, `antiphase check SOLUTION PROBLEM -D batch_size=2`: a batch of two, where the file has that constant.

{table(True)}

The repositories' own results say which are right on a GPU: all results that are called wrong here are wrong there.
Others that are wrong there ran some blocks only here, so their results were not checked.

| repository | solution | problem | came of it | what |
|---|---|---|---|---|
{newline.join(rows[True])}

Commits: """
    text += ",\n".join(f"{e['repository']} `{e['commit'][:12]}`" for e in entries) + ".\n"
    return text, unread


def main():
    if len(sys.argv) >= 4 and sys.argv[1] == "run":
        return run(sys.argv[2], sys.argv[3], sys.argv[4:])
    if len(sys.argv) >= 6 and sys.argv[1] == "add":
        return add(sys.argv[2], sys.argv[3], sys.argv[4], sys.argv[5:])
    if sys.argv[1:] in (["table"], ["table", "--check"]):
        text, unread = page()
        if unread:
            return f"{READINGS.name} does not say what was read of: " + ", ".join(unread)
        if "--check" in sys.argv:
            return (
                None
                if PAGE.read_text() == text
                else f"{PAGE} is not what {OUTCOME.name} says: run evaluation/check_corpus.py table"
            )
        PAGE.write_text(text)
        return None
    return __doc__


sys.exit(main())
