#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks programs in plain CUDA, each unchanged and with -D BROKEN.

    run_programs.py TOOL FOLDER [NAME ... | --few]

--few: only so many programs that each header which a program includes is included, and only the broken ones.
The unchanged program is clean, except for pedantic findings in lines with such a comment: // LETTER: race.
The broken one has an error of the kind and in the line of a comment in it: // FOUND: race, or // FOUND: race or
overwritten in use. A finding without a line is marked // FOUND SOMEWHERE: wrong result. Exit status: 0 all as
marked, 1 not.
"""
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys

SCHEDULES = "6"
LETTER = re.compile(r"// LETTER: (.*)$")
MARK = re.compile(r"// FOUND(?: SOMEWHERE)?: (.*)$")
NOT_FOUND = "// NOT FOUND: "


def check(tool, program, *options):
    command = [tool, "check", program.name, *options, "--leaks", "--schedules", SCHEDULES]
    command += ["--workers", "1", "--json"]
    done = subprocess.run(command, cwd=program.parent, capture_output=True, text=True, timeout=120)
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
                somewhere or f["access"]["at"]["line"] == number and f["access"]["at"]["file"] == program.name
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
    if names == ["--few"]:
        programs, ways = with_all_headers(programs), [faults_broken]
    elif names:
        programs = [folder / f"{name}.cu" for name in names]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = pool.map(lambda p: [fault for way in ways for fault in way(tool, p)], programs)
        faults = [fault for of_program in found for fault in of_program]
    for fault in faults:
        print(fault)
    print(f"{len(programs)} programs, {len(faults)} faults")
    return 1 if faults else 0


sys.exit(main())
