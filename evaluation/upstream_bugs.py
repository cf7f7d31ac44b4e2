#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bugs of public projects before and after their fixes: what the checker and others say of them.

    upstream_bugs.py run TOOL [NAME ...]      checks the programs, or those whose names contain a NAME, and
                                              writes outcome.json
    upstream_bugs.py build FOLDER [NVCC ...]  compiles them for a GPU; then, on a machine with one,
                                              FOLDER/who_finds_what.py gpu FOLDER gpu.json
    upstream_bugs.py mark TOOL                rewrites the marks // FOUND in the programs, for run_programs.py
    upstream_bugs.py table [--check]          writes docs/check/upstream_bugs.md from bugs.json, outcome.json and
                                              gpu.json, or fails if it differs

All lies in evaluation/upstream, but the programs, which a test checks, in tests/checker/upstream; records.py packs
outcome.json and gpu.json. The programs are written again with the structure of the code that was
wrong; none is copied. With -D BROKEN they are as before the fix. With -D AS_MERGED, in some, the fix is what
the project merged, which the documents do not allow yet.
"""
import json
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import textwrap

import records

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER, PAGE = ROOT / "evaluation/upstream", ROOT / "docs/check/upstream_bugs.md"
PROGRAMS = ROOT / "tests/checker/upstream/programs"
BUGS, OUTCOME = FOLDER / "bugs.json", FOLDER / "outcome.json"
TOOLS = ("racecheck", "synccheck", "memcheck", "initcheck")
MARK = re.compile(r"  // FOUND: .*|// FOUND SOMEWHERE: .*\n|// NOT FOUND: .*\n")
SECONDARY = ("wrong result", "uninitialised memory read")


def check(tool, name, *options):
    """(exit status, findings, seconds of processor time, what it said)."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [tool, "check", f"{name}.cu", *options, "--workers", "1", "--json"],
        cwd=PROGRAMS,
        capture_output=True,
        text=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    found = json.loads(done.stdout)["programs"][0]["findings"] if done.returncode in (0, 5) else []
    findings = []
    for f in found:
        at = f["access"]["at"]
        one = {"kind": f["kind"], "line": at["line"] if at["file"] == f"{name}.cu" else 0}
        if f["severity"] != "error":
            one["severity"] = f["severity"]
        if one not in findings:
            findings.append(one)
    said = next((line for line in done.stderr.splitlines() if "not supported" in line), done.stderr[-200:])
    return (
        done.returncode,
        findings,
        round(seconds, 1),
        re.sub(r"^antiphase: |(?<=\s)/\S*/", "", said).strip(),
    )


def variants(name):
    text = (PROGRAMS / f"{name}.cu").read_text()
    yield "after", ()
    yield "before", ("-D", "BROKEN")
    if "AS_MERGED" in text:
        yield "merged", ("-D", "AS_MERGED")


def run(tool, names):
    tool = str(pathlib.Path(tool).resolve())
    outcome = records.read("upstream/outcome.json") or {}
    for bug in json.loads(BUGS.read_text()):
        name = bug["name"]
        if names and not any(one in name for one in names):
            continue
        outcome[name] = {}
        for variant, options in variants(name):
            status, findings, seconds, said = check(tool, name, *options)
            outcome[name][variant] = (
                {"findings": findings, "seconds": seconds}
                if status in (0, 5)
                else {"status": status, "said": said}
            )
            print(name, variant, status, findings or said, flush=True)
    OUTCOME.write_text(json.dumps(outcome, indent=1, sort_keys=True) + "\n")


def mark(tool):
    """A line gets its mark if a finding other than a wrong result is made there in few schedules."""
    tool = str(pathlib.Path(tool).resolve())
    for path in sorted(PROGRAMS.glob("*.cu")):
        lines = MARK.sub("", path.read_text()).splitlines()
        path.write_text("\n".join(lines) + "\n")
        status, findings, _, _ = check(tool, path.stem, "-D", "BROKEN", "--schedules", "6")
        best = [f for f in findings if f["kind"] not in SECONDARY] or findings
        if not best:
            after = next(i for i, line in enumerate(lines) if not line.startswith("//"))
            lines.insert(after, f"// NOT FOUND: {'not supported yet' if status == 3 else 'no finding'}")
        elif best[0]["kind"] == "deadlock" or best[0]["line"] == 0:
            lines.append(f"// FOUND SOMEWHERE: {best[0]['kind']}")
        else:
            line = best[0]["line"]
            kinds = dict.fromkeys(f["kind"] for f in findings if f["line"] == line)
            lines[line - 1] += f"  // FOUND: {' or '.join(kinds)}"
        path.write_text("\n".join(lines) + "\n")


def build(folder, nvcc):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    nvcc = nvcc or ["nvcc"]
    version = subprocess.run([nvcc[0], "--version"], capture_output=True, text=True, check=True).stdout
    listed = []
    for bug in json.loads(BUGS.read_text()):
        for suffix, option in (("", []), ("-broken", ["-DBROKEN"])):
            name = bug["name"] + suffix
            command = [*nvcc, "-std=c++17", "-arch=sm_90a", "-lineinfo", *option, "-o", folder / name]
            subprocess.run([*command, PROGRAMS / f"{bug['name']}.cu"], check=True)
            listed.append(f"{name}\t{bug['project']}\t{bug['wrong'] if suffix else ''}\tgpu\n")
    (folder / "list").write_text("".join(listed))
    (folder / "toolkit").write_text(re.search(r"V([\d.]+)", version)[1] + "\n")
    shutil.copy2(ROOT / "evaluation/who_finds_what.py", folder)
    print(f"on the machine with the GPU: {folder}/who_finds_what.py gpu {folder} gpu.json -j 8")


# ---- the page --------------------------------------------------------------------------------------------


def link(project, ref):
    return f"[{ref.split('/')[1]}](https://github.com/{project}/{ref})"


def said_of(findings):
    best = [f for f in findings if f["kind"] not in SECONDARY] or findings
    return ", ".join(
        f["kind"] + (f" in line {f['line']}" if f["line"] else "") + (", pedantic" if "severity" in f else "")
        for f in best[:2]
    )


def wrapped(text, indent=""):
    return textwrap.fill(text, 116, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def tabled(rows):
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


class Bug:
    """A bug, what the checker says of it, and what the tools on a GPU do."""

    def __init__(self, entry, outcome, runs):
        self.entry, self.before, self.after = entry, outcome["before"], outcome["after"]
        self.merged = outcome.get("merged", {}).get("findings", [])
        self.broken, self.right = runs.get(f"{entry['name']}-broken", {}), runs.get(entry["name"], {})
        self.title = f"{entry['project'].split('/')[1]} {link(entry['project'], entry['ref'])}"
        self.waits = "said" in self.before
        self.found = any("severity" not in f for f in self.before.get("findings", []))
        self.silent = self.found and self.after.get("findings") == []
        self.missed = not self.waits and not self.found

    def on_gpu(self, tool):
        said = self.broken.get(tool, {}).get("result", "")
        if said == "found" and self.right.get(tool, {}).get("result") == "found":
            return "reports"
        words = {"found": "**found**", "wrong": "**wrong**", "nothing": "–", "right": "–", "no time": ""}
        return words.get(said, said)

    def row(self):
        ours = "not supported yet" if self.waits else "**not found**"
        return [
            f"{self.title}: {self.entry['wrong']}",
            f"[{said_of(self.before['findings']) if self.found else ours}]"
            f"(../../tests/checker/upstream/programs/{self.entry['name']}.cu)",
            str(self.before.get("seconds", "")),
            "" if self.waits else "yes" if self.after.get("findings") == [] else "**no**",
            *map(self.on_gpu, (*TOOLS, "plain")),
        ]

    def origin(self):
        e = self.entry
        return [
            self.title,
            e["came"] + (f"; in use since {e['since']}" if "since" in e else ""),
            e["found"],
            f"`{e['commit'][:12]}`" if "commit" in e else "",
            ", ".join(e["read"]),
            ", ".join(link(e["project"], one) for one in e.get("more", [])),
        ]


def page():
    outcome, on_gpu = records.read("upstream/outcome.json"), records.read("upstream/gpu.json") or {}
    runs = on_gpu.get("mutants", {})
    bugs = [Bug(entry, outcome[entry["name"]], runs) for entry in json.loads(BUGS.read_text())]
    found = [b for b in bugs if b.found]
    seconds = sorted(b.before["seconds"] for b in found)
    counted = "The columns of the GPU are empty: not measured yet."
    if runs:
        finds = ", ".join(
            f"{tool} finds {sum(b.on_gpu(tool) == '**found**' for b in bugs)}" for tool in TOOLS
        )
        shown = sum(b.on_gpu("plain") in ("**wrong**", "failed", "hangs") for b in bugs)
        counted = (
            f"On one {on_gpu['device']} (driver {on_gpu['driver']}, CUDA {on_gpu['toolkit']}, compute-sanitizer "
            f"{on_gpu['sanitizer']}, {on_gpu['date']}), of {sum(bool(b.broken) for b in bugs)} of them: {finds}; without a tool {shown} give "
            "wrong numbers, fail or hang. *reports*: the fixed program is reported, too."
        )
    parts = [
        "# Bugs of public projects",
        wrapped(
            f"{len(bugs)} bugs of {len({b.entry['project'] for b in bugs})} public projects, which their users and authors "
            "found by hangs, wrong numbers, reading or sanitizers: races, missing waits and fences, misused barriers, bad "
            "accesses. For each there is a program of about 40 lines with the structure of the code that was wrong. It is "
            "written again, not copied; `-D BROKEN` makes it as it was before the fix. What is said of a bug has been read in "
            "its issue, pull request or commit; the last table says in which."
        ),
        wrapped(
            f"Of {sum(not b.waits for b in bugs)} that the checker compiles, it **finds {len(found)} before the fix, and is "
            f"silent after it in {sum(b.silent for b in found)}**, without a GPU. Half of them take "
            f"{seconds[len(seconds) // 2]:g} s or less of processor time for 20 schedules, compilation included, the longest "
            f"{seconds[-1]:g} s. {counted}"
        ),
        wrapped(
            "The test `checker.upstream.programs` checks them at every change; `evaluation/upstream_bugs.py` writes this page. A dash: "
            "nothing is found, or the numbers are right; empty: not run on that GPU."
        ),
        tabled(
            [
                ["bug", "`antiphase check` says", "s", "silent after the fix", *TOOLS, "the numbers"],
                ["---", "---", "--:", *["---"] * (len(TOOLS) + 2)],
                *(b.row() for b in bugs),
            ]
        ),
    ]
    if merged := [b for b in bugs if b.merged]:
        parts += [
            "## Fixes that leave something",
            wrapped(
                f"In {len(merged)} of these the fix that was merged is accused still (`-D AS_MERGED`): by PTX, shuffles, votes "
                "and relaxed atomic operations order no memory. *Pedantic*: GPUs do not need what is missing there."
            ),
            "\n".join(wrapped(f"- {b.title}: {said_of(b.merged)}. {b.entry['note']}", "  ") for b in merged),
        ]
    for title, some, why in (
        ("Missed", [b for b in bugs if b.missed], lambda b: b.entry.get("missed", "not looked into yet.")),
        ("Not supported yet", [b for b in bugs if b.waits], lambda b: b.before["said"]),
    ):
        if some:
            parts += [f"## {title}", "\n".join(wrapped(f"- {b.title}: {why(b)}", "  ") for b in some)]
    parts += [
        "## Where they come from",
        tabled(
            [
                ["bug", "what came of it", "found by", "fix", "read of it", "see also"],
                ["---"] * 6,
                *(b.origin() for b in bugs),
            ]
        ),
    ]
    return "\n\n".join(parts) + "\n"


def table(check):
    text = page()
    if not check:
        PAGE.write_text(text)
    elif not PAGE.exists() or PAGE.read_text() != text:
        return f"{PAGE} is not what {FOLDER} says: run evaluation/upstream_bugs.py table"
    return None


def main():
    words = sys.argv[1:]
    if len(words) >= 2 and words[0] == "run":
        return run(words[1], words[2:])
    if len(words) >= 2 and words[0] == "build":
        return build(words[1], words[2:])
    if len(words) == 2 and words[0] == "mark":
        return mark(words[1])
    if words in (["table"], ["table", "--check"]):
        return table(words[1:] == ["--check"])
    return __doc__


sys.exit(main())
