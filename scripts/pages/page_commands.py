#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the commands that pages show, and compares what they print. Those that are not run are looked at:
shown_commands.py.

A comment before a code block says what is run. The block holds what the command prints, or the lines asked
for:

    <!-- run exit 5 lines 1-6: antiphase check -D BROKEN my.cu -->

Or the block itself is the commands, for sh, which stops at the first that fails:

    <!-- run -->

The exit status must be 0, or the one named. Commands run in a folder of their own, in which the folders of the
project appear, so what they write is gone afterwards; `antiphase` is the tool given. Numbers that depend on the
compiler are not compared (VARYING), nor is what is written to standard error.

    page_commands.py TOOL [PAGE ...]           exit status 1 if a page differs; all pages if none is named
    page_commands.py --write TOOL [PAGE ...]   writes what the commands print into the pages
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import check_docs
import shown_commands

ROOT = pathlib.Path(__file__).resolve().parents[2]
SECONDS = 300
MARK = re.compile(
    r"<!-- run(?: exit (?P<exit>\d+))?(?: lines (?P<first>\d+)-(?P<last>\d*))?(?:: (?P<command>[^\n]+?))? -->\n"
    r"(?P<fence>```+)(?P<language>\w*)\n(?P<body>.*?)(?P=fence)",
    re.DOTALL,
)
# Anything that looks like a mark, so that none is passed over for a slip.
MEANT = re.compile(r"^<!-- *run\b", re.MULTILINE)
VARYING = (
    (re.compile(r"\b\d+(?= accesses\b| times?\b)"), "N"),
    (re.compile(r"\b(byte|thread) \d+"), r"\1 N"),
    (re.compile(r"^( +(?:seen|replay) +).*$", re.MULTILINE), r"\1..."),
)


class BadPage(Exception):
    pass


def marks_of(text):
    found = list(MARK.finditer(text))
    if len(found) != len(MEANT.findall(text)):
        raise BadPage(
            "a comment that begins with 'run' has no code block after it, or words that are not known"
        )
    for mark in found:
        if not mark["command"] and (mark["language"] != "sh" or mark["first"]):
            raise BadPage("a comment 'run' without a command stands before a block that is not sh")
    return found


def compared(text):
    for pattern, instead in VARYING:
        text = pattern.sub(instead, text)
    return text


def printed(mark, tools, root):
    """What the command of a mark prints, of which the lines asked for. Raises BadPage if it ends otherwise."""
    command = mark["command"] or mark["body"]
    with tempfile.TemporaryDirectory() as scratch:
        folder, programs = pathlib.Path(scratch, "run"), pathlib.Path(scratch, "bin")
        folder.mkdir(), programs.mkdir()
        for entry in root.iterdir():
            if not entry.name.startswith(".") and entry.name != "build":
                (folder / entry.name).symlink_to(entry)
        for program in tools:
            (programs / program.name).symlink_to(program)
        try:
            done = subprocess.run(
                ["sh", "-ec", command],
                cwd=folder,
                env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=SECONDS,
            )
        except subprocess.TimeoutExpired:
            raise BadPage(f"after {SECONDS} s this still runs: {command}") from None
    expected = int(mark["exit"] or 0)
    if done.returncode != expected:
        raise BadPage(
            f"exit status {done.returncode}, expected {expected}: {command}\n{done.stdout}{done.stderr}"
        )
    lines = done.stdout.replace(f"{root}/", "").splitlines(keepends=True)
    first, last = int(mark["first"] or 1), int(mark["last"] or len(lines))
    return "".join(lines[first - 1 : last])


def refreshed(text, mark, output):
    """The text with the block of a mark showing an output, unless it differs in what varies only."""
    if not mark["command"] or compared(mark["body"]) == compared(output):
        return text
    return text.replace(mark[0], mark[0][: mark.start("body") - mark.start()] + output + mark["fence"])


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write what the commands print into the pages")
    parser.add_argument("--root", type=pathlib.Path, default=ROOT, help="the project's root")
    parser.add_argument(
        "--program", type=pathlib.Path, action="append", default=[], help="another program that pages run"
    )
    parser.add_argument("tool", type=pathlib.Path, help="a build's program antiphase")
    parser.add_argument("pages", nargs="*", type=pathlib.Path)
    options = parser.parse_args(arguments)
    root, tools = options.root.resolve(), [path.resolve() for path in (options.tool, *options.program)]
    texts = {page: page.read_text() for page in options.pages or check_docs.documents(root)}
    count, faults = 0, []
    with ThreadPoolExecutor(max_workers=2) as pool:
        running = []
        for page, text in texts.items():
            try:
                running += [(page, mark, pool.submit(printed, mark, tools, root)) for mark in marks_of(text)]
            except BadPage as fault:
                faults.append(f"{page}: {fault}")
            if page.name != "CHANGELOG.md":  # of commands as they were
                faults += [f"{page}: {fault}" for fault in shown_commands.faults(text, root, tools[0])]
        for page, mark, result in running:
            count += 1
            try:
                new = refreshed(texts[page], mark, result.result())
            except BadPage as fault:
                faults.append(f"{page}: {fault}")
                continue
            if new != texts[page] and options.write:
                print(f"wrote {page}")
                texts[page] = new
                page.write_text(new)
            elif new != texts[page]:
                faults.append(
                    f"{page}: not what this prints: {mark['command']}\n{result.result()}"
                    "To take that: scripts/pages/page_commands.py --write TOOL"
                )
    for fault in faults:
        print(fault)
    if not count and not faults:
        faults.append("no page has a command to run")
        print(faults[0])
    if not faults:
        print(f"{count} commands of pages: all print what the pages show")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
