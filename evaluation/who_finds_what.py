#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records which tool finds which mutant of tests/checker/mutants.

The tools are our checker, those of compute-sanitizer, and a comparison of the results.

    who_finds_what.py checker PROGRAM                  runs the checker; PROGRAM: test_mutants of a build,
                                                       whose tests compare with what this writes
    who_finds_what.py collect PROGRAM FOLDER           copies all that `gpu` needs; PROGRAM: mutants_on_gpu
                                                       of a build with CUDA (cmake --build build/ci --target
                                                       mutants_on_gpu)
    who_finds_what.py gpu PROGRAM OUTPUT               runs the others on a machine with a GPU, also from the
                                                       collected folder; OUTPUT: a JSON file; PROGRAM may be
                                                       a folder of programs, as upstream_bugs.py builds it
                      [-j JOBS] [--minutes M] [--limit SECONDS] [--only TEXT] [--sanitizer PATH]
    who_finds_what.py table [--check]                  writes the tables in evaluation/who_finds_what.md, from the
                                                       file in tests/checker/mutants/results, mutants/gpu.json,
                                                       the programs of tests/checker/plain and the outcome of
                                                       evaluation/corpus; --check writes nothing and fails
                                                       if they differ

A whole round: `checker`; `collect`; on the machine with the GPU `FOLDER/who_finds_what.py gpu
FOLDER/mutants_on_gpu gpu.json`; copy gpu.json to evaluation/mutants; `table`; `records.py pack`. Every run of a
mutant has its own process and LIMIT seconds (10), after which the process group is killed and the run counts
as hanging; one that hangs only under a tool is tried once more, alone. Exit status: 0 fine, 1 a run or a
check failed, 2 usage, 4 no GPU or no compute-sanitizer.
"""
import argparse
import concurrent.futures
import datetime
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SCHEMA = 1
TOOLS = ("racecheck", "synccheck", "memcheck", "initcheck")
FOUND = 9  # compute-sanitizer's exit status when it has found something
RESULTS, DOCUMENT = "tests/checker/mutants/results", "evaluation/who_finds_what.md"
PROGRAMS, CORPUS = "tests/checker/plain/programs", "corpus/outcome.json"
BLOCKS = ("mutants", "programs", "corpus")
MARK = re.compile(r"// FOUND( SOMEWHERE)?: (.*)$", re.MULTILINE)


class Failure(Exception):
    def __init__(self, text, status=1):
        super().__init__(text)
        self.status = status


# ---- On a GPU --------------------------------------------------------------------------------------------


def run(command, limit):
    """(exit status, None if the run was stopped; output)."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=limit)
        return process.returncode, output.decode(errors="replace")
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        return None, output.decode(errors="replace")


def plain_result(status, output):
    if status is None:
        return {"result": "hangs"}
    words = {0: "right", 1: "wrong", 2: "failed"}
    return {
        "result": words.get(status, "failed"),
        "said": (output.strip().splitlines() or [f"exit status {status}"])[-1][:200],
    }


def tool_result(status, output):
    """The verdict of a tool, by its reports only: the program's own results do not matter."""
    lines = [line.lstrip("= ").strip() for line in output.splitlines() if line.startswith("=========")]
    summary = next((line for line in reversed(lines) if "SUMMARY" in line), "")
    counts = [int(number) for number in re.findall(r"(\d+) (?:hazards?|errors?)", summary)]
    first = next(
        (line for line in lines if line and "SUMMARY" not in line and "COMPUTE-SANITIZER" not in line), ""
    )
    if status == FOUND or any(counts):
        return {"result": "found", "said": (first or summary)[:200]}
    if status is None:
        return {"result": "hangs"}
    if not summary:
        return {
            "result": "failed",
            "said": (lines or output.strip().splitlines() or [f"exit status {status}"])[-1][:200],
        }
    return {"result": "nothing"}


def output_of(command):
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError) as failure:
        raise Failure(f"{command[0]} does not run: {failure}", 4) from None


def told(program, word):
    """What a program says to --list or --toolkit; of a folder of programs, what stands in its file."""
    folder = pathlib.Path(program)
    return (folder / word).read_text().strip() if folder.is_dir() else output_of([program, f"--{word}"])


def mutants_of(program):
    rows = [line.split("\t") for line in told(program, "list").splitlines()]
    if not rows or any(len(row) != 4 for row in rows):
        raise Failure(f"{program} --list does not give four words a line")
    return rows


def sanitizer_at(path):
    beside = pathlib.Path(__file__).resolve().parent / "compute-sanitizer" / "compute-sanitizer"
    for candidate in (
        path,
        shutil.which("compute-sanitizer"),
        "/usr/local/cuda/bin/compute-sanitizer",
        str(beside),
    ):
        if candidate and os.access(candidate, os.X_OK):
            return candidate
    raise Failure(
        "compute-sanitizer was not found on PATH, in /usr/local/cuda/bin or next to this script: name it with --sanitizer",
        4,
    )


def gpu(options):
    program = str(options.program.resolve())
    sanitizer = sanitizer_at(options.sanitizer)
    named = [row[0] for row in mutants_of(program) if row[3] == "gpu" and (options.only or "") in row[0]]
    if not named:
        raise Failure(f"no mutant's name has '{options.only}' in it", 2)
    device = (
        output_of(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"])
        .splitlines()[0]
        .split(", ")
    )
    version = re.search(r"[Vv]ersion ([\w.]+)", output_of([sanitizer, "--version"]))
    deadline = time.monotonic() + options.minutes * 60
    results = {name: {} for name in named}

    def command(name, tool):
        plain = [f"{program}/{name}"] if os.path.isdir(program) else [program, "--run", name]
        if tool == "plain":
            return plain
        return [sanitizer, "--tool", tool, "--error-exitcode", str(FOUND), "--print-limit", "3", *plain]

    def one(work):
        name, tool = work
        left = deadline - time.monotonic()
        if left < 1:
            return name, tool, {"result": "no time"}
        started = time.monotonic()
        status, output = run(command(name, tool), min(options.limit, left))
        said = plain_result(status, output) if tool == "plain" else tool_result(status, output)
        if status is None and time.monotonic() - started < options.limit * 0.9:
            said = {"result": "no time"}
        return name, tool, said

    def all_of(works, jobs):
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            for name, tool, said in pool.map(one, works):
                results[name][tool] = said
                print(f"{name:40} {tool:10} {said['result']:8} {said.get('said', '')[:90]}", file=sys.stderr)

    all_of([(name, "plain") for name in named], options.jobs)
    # Runs that may hang the GPU delay all others: they come last.
    quick = [name for name in named if results[name]["plain"]["result"] != "hangs"]
    all_of([(name, tool) for name in quick for tool in TOOLS], options.jobs)
    all_of([(name, tool) for name in named if name not in quick for tool in TOOLS], options.jobs)
    all_of([(name, tool) for name in quick for tool in TOOLS if results[name][tool]["result"] == "hangs"], 1)

    file = {
        "schema": SCHEMA,
        "device": device[0],
        "driver": device[1],
        "toolkit": told(program, "toolkit"),
        "sanitizer": version[1] if version else "",
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
        "limit_seconds": options.limit,
        "mutants": results,
    }
    options.output.write_text(json.dumps(file, indent=1) + "\n")
    missed = sum(said["result"] == "no time" for tools in results.values() for said in tools.values())
    if missed:
        raise Failure(f"no time was left for {missed} runs: more --minutes or more jobs (-j)")


def collect(options):
    options.folder.mkdir(parents=True, exist_ok=True)
    for file in (options.program, pathlib.Path(__file__)):
        shutil.copy2(file, options.folder / file.name)
    script = options.folder / pathlib.Path(__file__).name
    script.chmod(0o755)
    # A fresh system may lack {fmt} and Boost.Context; the CUDA runtime is linked statically.
    for line in output_of(["ldd", str(options.program)]).splitlines():
        library = re.search(r"(lib(?:fmt|boost_context)\S*) => (\S+)", line)
        if library:
            shutil.copy2(library[2], options.folder / library[1])
    print(
        f"on the machine with the GPU: LD_LIBRARY_PATH={options.folder} {script} gpu {options.folder / options.program.name} gpu.json -j 8"
    )


# ---- the checker -----------------------------------------------------------------------------------------


def checker(options):
    stored = options.root / RESULTS / "checker.json"
    with tempfile.TemporaryDirectory() as folder:
        fresh = pathlib.Path(folder) / "checker.json"
        subprocess.run(
            [options.program.resolve(), "--checker-json", fresh], check=True, stdout=subprocess.DEVNULL
        )
        text = fresh.read_text()
    stored.parent.mkdir(parents=True, exist_ok=True)
    stored.write_text(text)


# ---- the table -------------------------------------------------------------------------------------------


def read(name, content):
    """The content of a file of that name, if it is of this schema; None without one."""
    if content is not None and content.get("schema") != SCHEMA:
        raise Failure(f"{name}: schema {content.get('schema')}: expected {SCHEMA}")
    return content


def tool_cell(said, alarm):
    if not said:
        return ""
    found = "reports" if alarm else "**found**"
    return {"found": found, "nothing": "–", "hangs": "hangs", "failed": "failed", "no time": ""}[
        said["result"]
    ]


def plain_cell(said):
    return (
        {"right": "–", "wrong": "**wrong**", "hangs": "hangs", "failed": "**fails**", "no time": ""}[
            said["result"]
        ]
        if said
        else ""
    )


def block(found, on_gpu):
    """The text between the markers: a sentence of counts, then a table per family."""
    runs = on_gpu["mutants"] if on_gpu else {}
    mutants = found["mutants"]
    tools = [tool for tool in TOOLS if any(tool in of_it for of_it in runs.values())] or TOOLS
    broken = [m for m in mutants if m["broken"]]

    def said(m, tool):
        return runs.get(m["name"], {}).get(tool, {})

    # (family, tool) where the tool reports a correct kernel too: its reports on the mutants prove nothing.
    alarms = {
        (m["family"], tool)
        for m in mutants
        if not m["broken"]
        for tool in tools
        if said(m, tool).get("result") == "found"
    }

    def count(tool, result):
        return sum(
            said(m, tool).get("result") == result and (m["family"], tool) not in alarms for m in broken
        )

    by_numbers = sum(m["by"] == "wrong result" for m in broken)
    parts = [
        f"Of {len(broken)} broken kernels the checker finds {sum(m['by'] is not None for m in broken)}, within {found['schedules']} "
        f"schedules each, {by_numbers} of them only because the program checks its numbers; of {len(mutants) - len(broken)} right ones it "
        f"reports {sum(bool(m['kinds']) for m in mutants if not m['broken'])}."
    ]
    if on_gpu:
        others = ", ".join(f"{tool} {count(tool, 'found')}" for tool in tools[1:])
        broken_there = [m for m in broken if m["name"] in runs]
        right_reported = [
            f"{tool} {n}"
            for tool in tools
            if (n := sum(said(m, tool).get("result") == "found" for m in mutants if not m["broken"]))
        ]
        parts[0] += (
            f" {len(broken_there)} of the broken ones were run on one {on_gpu['device']} (driver {on_gpu['driver']}, CUDA "
            f"{on_gpu['toolkit']}, compute-sanitizer {on_gpu['sanitizer']}, {on_gpu['date']}): racecheck finds "
            f"{count('racecheck', 'found')}, {others}; without a "
            f"tool {count('plain', 'wrong')} give wrong numbers, {count('plain', 'failed')} fail, {count('plain', 'hangs')} do not end "
            f"within {on_gpu['limit_seconds']:g} s, {count('plain', 'right')} give right numbers."
            + (
                f" Reports on right kernels: {', '.join(right_reported)}; what the tool reports of that family does not count."
                if right_reported
                else ""
            )
        )
    else:
        parts[0] += " The columns of the GPU are empty: not measured yet."
    parts.append(
        "A dash: nothing is found, or the numbers are right. Empty: not run, because the kernel needs what only the checker has, or is newer."
    )
    families = list(dict.fromkeys(m["family"] for m in mutants))
    for family in families:
        rows = [[f"{family}", "checker", *tools, "the numbers"], ["---"] * (3 + len(tools))]
        for m in sorted((m for m in mutants if m["family"] == family), key=lambda m: bool(m["broken"])):
            of_it = runs.get(m["name"], {})
            ours = m["by"] if m["broken"] else ", ".join(m["kinds"]) or "–"
            what = f"`{m['name']}` {m['broken']}" if m["broken"] else f"`{m['name']}` *nothing is broken*"
            cells = [tool_cell(of_it.get(tool), (family, tool) in alarms) for tool in tools]
            rows.append([what, ours or "not found", *cells, plain_cell(of_it.get("plain"))])
        parts.append("\n".join("| " + " | ".join(row) + " |" for row in rows))
    return "\n\n".join(parts)


def block_of_programs(folder):
    """A row for each plain CUDA program: its fault and the expected findings, from the marks in its source,
    which its test verifies."""
    rows = [["program", "what is right and what is broken", "the checker finds"], ["---"] * 3]
    for program in sorted(folder.glob("*.cu")):
        text = program.read_text()
        about = []
        for line in text.splitlines()[1:]:
            if not line.startswith("// ") or line.startswith("// FOUND"):
                break
            about.append(line[3:])
        found = [
            mark.group(2) + ("" if mark.group(1) else f" (line {text.count(chr(10), 0, mark.start()) + 1})")
            for mark in MARK.finditer(text)
        ]
        if not about or not found:
            raise Failure(f"{program.name}: expected a comment that says what is broken, and a mark // FOUND")
        rows.append([f"[`{program.stem}`](../{PROGRAMS}/{program.name})", " ".join(about), "; ".join(found)])
    return f"{len(rows) - 2} programs, each right and broken.\n\n" + "\n".join(
        "| " + " | ".join(row) + " |" for row in rows
    )


def block_of_corpus(outcome):
    """For each kind of finding, the number of public programs in which it was made."""
    kinds = {}
    for record in outcome.values():
        for kind in {finding.split(" at ")[0] for finding in record.get("findings", [])}:
            kinds[kind] = kinds.get(kind, 0) + 1
    rows = [
        ["finding", "public programs"],
        ["---", "--:"],
        *([kind, str(n)] for kind, n in sorted(kinds.items(), key=lambda k: (-k[1], k[0]))),
    ]
    return f"Of {len(outcome)} public programs:\n\n" + "\n".join(
        "| " + " | ".join(row) + " |" for row in rows
    )


def with_block(text, name, made):
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        raise Failure(f"{DOCUMENT}: expected one line {begin} and below it one line {end}")
    before, rest = text.split(begin)
    return f"{before}{begin}\n{made}\n{end}{rest.split(end)[1]}"


def table(options):
    import records  # not where this file has been copied to, for a GPU

    folder, document = options.root / "evaluation", options.root / DOCUMENT
    found = json.loads((options.root / RESULTS / "checker.json").read_text())
    made = (
        block(read("checker.json", found), read("gpu.json", records.read("mutants/gpu.json", folder))),
        block_of_programs(options.root / PROGRAMS),
        block_of_corpus(records.read(CORPUS, folder)["programs"]),
    )
    old = document.read_text()
    new = old
    for name, one in zip(BLOCKS, made):
        new = with_block(new, name, one)
    if options.check:
        if old != new:
            raise Failure(
                f"{DOCUMENT} does not agree with {RESULTS}, {PROGRAMS} and the records: run who_finds_what.py table"
            )
        return
    document.write_text(new)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--root",
        type=pathlib.Path,
        default=pathlib.Path(__file__).resolve().parent.parent,
        help="the project's root",
    )
    modes = parser.add_subparsers(dest="mode", required=True)
    for mode in ("checker", "collect", "gpu", "table"):
        of_mode = modes.add_parser(mode)
        of_mode.set_defaults(do=globals()[mode])
        if mode != "table":
            of_mode.add_argument("program", type=pathlib.Path)
        if mode == "table":
            of_mode.add_argument(
                "--check", action="store_true", help="write nothing, fail if something would change"
            )
        if mode == "collect":
            of_mode.add_argument("folder", type=pathlib.Path)
        if mode == "gpu":
            of_mode.add_argument("output", type=pathlib.Path)
            of_mode.add_argument("-j", "--jobs", type=int, default=4, help="runs at a time (4)")
            of_mode.add_argument("--minutes", type=float, default=20, help="for all of it (20)")
            of_mode.add_argument("--limit", type=float, default=10, help="seconds for one run (10)")
            of_mode.add_argument("--only", help="mutants whose name has this in it")
            of_mode.add_argument("--sanitizer", help="compute-sanitizer, if it is not on PATH")
    options = parser.parse_args()
    try:
        options.do(options)
    except (Failure, OSError, subprocess.CalledProcessError) as failure:
        print(f"who_finds_what.py: {failure}", file=sys.stderr)
        return getattr(failure, "status", 1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
