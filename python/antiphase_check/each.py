#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs `antiphase check` on each CUDA program among the given files, one after the other.

A file with a main is a program. Files without are named and passed over. The exit code is 5 if something was
found in a program, else the first other code of `antiphase check`; 2 if there is no file of a given name.
"""
import argparse
import glob
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

_NO_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', re.DOTALL)
_FOUND = 5


def has_main(path):
    """Whether a source has a main. Macros are not looked into."""
    code = _NO_CODE.sub(" ", pathlib.Path(path).read_text(errors="replace"))
    return re.search(r"\b(?:int|auto)\s+main\s*\(", code) is not None


def tool():
    """The program antiphase: $ANTIPHASE_TOOL, else the wheel's, else the one on PATH."""
    packaged = pathlib.Path(__file__).resolve().parent.parent / "antiphase/bin/antiphase"
    found = os.environ.get("ANTIPHASE_TOOL") or (packaged.exists() and packaged) or shutil.which("antiphase")
    if not found:
        sys.exit("antiphase: there is no program antiphase: pip install antiphase, or set ANTIPHASE_TOOL")
    return str(found)


def add(sarif, program):
    """Adds the report on one program to that on the programs before; one run, as code hosts want it."""
    (run,) = program["runs"]
    if sarif is None:
        return program
    sarif["runs"][0]["results"] += run["results"]
    sarif["runs"][0]["invocations"] += run["invocations"]
    return sarif


def main():
    parser = argparse.ArgumentParser(
        prog="antiphase-check", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", help=".cu files, or patterns such as 'src/**/*.cu'")
    parser.add_argument(
        "--options", default="", help="one word: options of `antiphase check` for each program"
    )
    parser.add_argument("--sarif", metavar="FILE", help="write what was found as SARIF")
    arguments = parser.parse_args()
    files = []
    for name in arguments.files:
        named = [name] if os.path.exists(name) else sorted(glob.glob(name, recursive=True))
        if not named:
            sys.stderr.write(f"antiphase-check: there is no file {name}\n")
            return 2
        files += [file for file in named if file not in files]
    codes, sarif = [], None
    with tempfile.TemporaryDirectory(prefix="antiphase-check-") as folder:
        report = pathlib.Path(folder, "found.sarif")
        for file in files:
            if not has_main(file):
                print(f"{file}: no main: not checked", flush=True)
                continue
            print(f"{file}: checked", flush=True)
            # The user's options come last: behind -- stand the program's own arguments.
            command = [tool(), "check", file, "--sarif", str(report), *shlex.split(arguments.options)]
            codes.append(subprocess.run(command).returncode)
            if report.exists():
                sarif = add(sarif, json.loads(report.read_text()))
                report.unlink()
    if arguments.sarif and sarif is not None:
        pathlib.Path(arguments.sarif).write_text(json.dumps(sarif, indent=2) + "\n")
    return _FOUND if _FOUND in codes else next((code for code in codes if code), 0)


if __name__ == "__main__":
    sys.exit(main())
