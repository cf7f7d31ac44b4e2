#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks programs in plain CUDA, each unchanged and with -D BROKEN.

    run_programs.py TOOL FOLDER [--nvcc] [NAME ... | --few]

--few: only so many programs that each header which a program includes is included, and only the broken ones.
--nvcc: their kernels by the toolkit's nvcc. The programs that differ then are those of not_by_nvcc.txt, which says
why; without names, one that is listed and does not differ is a fault, too. A comment in a program may name options
for it: // BY NVCC: --arch sm_100a. Exit status 77 without a toolkit.
The unchanged program is clean, except for pedantic findings in lines with such a comment: // LETTER: race.
The broken one has an error of the kind and in the line of a comment in it: // FOUND: race, or // FOUND: race or
overwritten in use. A finding without a line is marked // FOUND SOMEWHERE: wrong result. Exit status: 0 all as
marked, 1 not.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

SCHEDULES = "6"
LETTER = re.compile(r"// LETTER: (.*)$")
MARK = re.compile(r"// FOUND(?: SOMEWHERE)?: (.*)$")
NOT_FOUND = "// NOT FOUND: "
OPTIONS = re.compile(r"// BY NVCC: (.*)")
WAY = []  # options of the tool


def check(tool, program, *options):
    way = WAY + [word for words in OPTIONS.findall(program.read_text()) if WAY for word in words.split()]
    command = [tool, "check", program.name, *way, *options, "--leaks", "--schedules", SCHEDULES]
    command += ["--workers", "1", "--json"]
    done = subprocess.run(command, cwd=program.parent, capture_output=True, text=True, timeout=600)
    if done.returncode not in (0, 5):
        return done.returncode, done.stderr
    return done.returncode, json.loads(done.stdout)["programs"][0]["findings"]


def told(findings):
    return (
        "; ".join(
            f"{f['severity']}: {f['kind']} in line {f['access']['at']['line']} ({f['access']['action']}, {f['memory']})"
            for f in findings
        )
        if isinstance(findings, list)
        else findings
    )


def marked(program, mark):
    """Lines with such a mark, and the kinds that it names."""
    return [
        (number, match.group(1).split(" or "))
        for number, line in enumerate(program.read_text().splitlines(), 1)
        if (match := mark.search(line))
    ]


def last_line(lines, number):
    """Of the statement that begins in this line: nvcc has one place for all of it."""
    while WAY and number < len(lines) and not re.search(r"[;{}]\s*(//.*)?$", lines[number - 1]):
        number += 1
    return number


def not_by_nvcc():
    listed = pathlib.Path(__file__).with_name("not_by_nvcc.txt").read_text().splitlines()
    return {line.split(":")[0] for line in listed if not line.startswith("#")}


def faults_as_it_is(tool, program):
    status, findings = check(tool, program)
    if status != 0:
        if not (status == 3 and NOT_FOUND in program.read_text()):
            yield f"{program.name} as it is: exit code {status}: {told(findings)}"
        return
    letters = marked(program, LETTER)
    for number, kinds in letters:
        if not any(f["access"]["at"]["line"] == number and f["kind"] in kinds for f in findings):
            yield f"{program.name} as it is: expected pedantic findings in line {number}: {told(findings)}"
    for f in findings:
        if f["access"]["at"]["line"] not in [number for number, _ in letters]:
            yield f"{program.name} as it is: {told([f])}"


def faults_broken(tool, program):
    status, findings = check(tool, program, "-D", "BROKEN")
    if NOT_FOUND in program.read_text():
        if status == 5:
            yield f"{program.name} broken: is found now, so it needs a mark: {told(findings)}"
        return
    if status != 5:
        yield f"{program.name} broken: exit code {status}: {told(findings)}"
        return
    lines = program.read_text().splitlines()
    for number, kinds in marked(program, MARK):
        somewhere = "FOUND SOMEWHERE" in lines[number - 1]
        if not any(
            f["kind"] in kinds
            and f["severity"] == "error"
            and (
                somewhere
                or number <= f["access"]["at"]["line"] <= last_line(lines, number)
                and f["access"]["at"]["file"] == program.name
            )
            for f in findings
        ):
            yield f"{program.name} broken: expected {' or '.join(kinds)} in line {number}: {told(findings)}"


def with_all_headers(programs):
    """Few of the programs, which include all headers that the programs include."""
    headers = {p: set(re.findall(r"^\s*#\s*include\s*<(.+)>", p.read_text(), re.MULTILINE)) for p in programs}
    missing, few = set().union(*headers.values()), []
    while missing:
        few.append(max(programs, key=lambda p: len(headers[p] & missing)))
        missing -= headers[few[-1]]
    return few


def main():
    tool, folder, names = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]), sys.argv[3:]
    programs = sorted(folder.glob("*.cu"))
    ways = [faults_as_it_is, faults_broken]
    if names[:1] == ["--nvcc"]:
        root = os.environ.get("CUDA_HOME", "/usr/local/cuda")
        if not shutil.which("nvcc") and not os.path.exists(f"{root}/bin/nvcc"):
            print("no CUDA toolkit")
            return 77
        WAY.append("--nvcc")
        names = names[1:]
    if names == ["--few"]:
        programs, ways = with_all_headers(programs), [faults_broken]
    elif names:
        programs = [folder / f"{name}.cu" for name in names]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = pool.map(lambda p: [fault for way in ways for fault in way(tool, p)], programs)
        faults = [fault for of_program in found for fault in of_program]
    if WAY:
        listed = not_by_nvcc()
        alike = {p.stem for p in programs} - {fault.split(".cu ")[0] for fault in faults}
        faults = [fault for fault in faults if fault.split(".cu ")[0] not in listed]
        faults += [
            f"{name}.cu: does not differ any more: not_by_nvcc.txt lists it"
            for name in sorted(alike & listed)
        ]
        print(f"{len(alike)} of {len(programs)} programs are as marked by nvcc, too")
    for fault in faults:
        print(fault)
    print(f"{len(programs)} programs, {len(faults)} faults")
    return 1 if faults else 0


sys.exit(main())
