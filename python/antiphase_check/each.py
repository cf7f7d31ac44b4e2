#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs `antiphase check` on each CUDA program among the given files, one after the other.

A .cu file with a main is a program. Files without are named and passed over. A header stands for the programs
under the current folder that include it, directly or not. The exit code is 5 if something was found in a program,
else the first other code of `antiphase check`; 3 if there is no file of a given name; 6 if no program was there to
check, unless --allow-none is given.
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
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)[">]', re.MULTILINE)
_HEADERS = (".cuh", ".h", ".hpp", ".hh", ".hxx", ".inl")
_JUDGED = (0, 5)  # exit codes of programs that were checked to the end
_FOUND, _NO_FILE, _NONE = 5, 3, 6


def _text(path):
    return pathlib.Path(path).read_text(errors="replace")


def has_main(path):
    """Whether a source has a main. Macros are not looked into."""
    return re.search(r"\b(?:int|auto|void)\s+main\s*\(", _NO_CODE.sub(" ", _text(path))) is not None


def tool():
    """The program antiphase: $ANTIPHASE_TOOL, else the wheel's, else the one on PATH."""
    packaged = pathlib.Path(__file__).resolve().parent.parent / "antiphase/bin/antiphase"
    found = os.environ.get("ANTIPHASE_TOOL") or (packaged.exists() and packaged) or shutil.which("antiphase")
    if not found:
        sys.exit("antiphase: there is no program antiphase: pip install antiphase, or set ANTIPHASE_TOOL")
    return str(found)


def including(headers):
    """The .cu files under the current folder that include one of these headers, by their names."""
    wanted, sources = {os.path.basename(h) for h in headers}, {}
    for ending in (".cu", *_HEADERS):
        for file in glob.glob(f"**/*{ending}", recursive=True):
            sources[file] = {os.path.basename(name) for name in _INCLUDE.findall(_text(file))}
    while more := {f for f, names in sources.items() if names & wanted} - {
        f for f in sources if os.path.basename(f) in wanted
    }:
        wanted |= {os.path.basename(f) for f in more}
    return sorted(f for f, names in sources.items() if f.endswith(".cu") and names & wanted)


def files_of(names):
    """The files that names and patterns stand for; None, with a message, if one stands for none."""
    files = []
    for name in names:
        named = [name] if os.path.exists(name) else sorted(glob.glob(name, recursive=True))
        if not named:
            sys.stderr.write(f"antiphase-check: there is no file {name}\n")
            return None
        files += named
    headers = [file for file in files if file.endswith(_HEADERS)]
    files = [file for file in files if file not in headers] + (including(headers) if headers else [])
    return list(dict.fromkeys(files))


def sarif_of(reports, said, successful):
    """One run, as code hosts want it, of the reports on programs and what `antiphase-check` itself has to say."""
    notes = [{"level": level, "message": {"text": text}} for level, text in said]
    own = {"executionSuccessful": successful, "toolExecutionNotifications": notes}
    driver = {"name": "antiphase check", "rules": []}
    runs = [report["runs"][0] for report in reports] or [{"tool": {"driver": driver}}]
    run = runs[0] | {
        "results": [result for of in runs for result in of.get("results", [])],
        "invocations": [one for of in runs for one in of.get("invocations", [])] + [own],
    }
    return {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}


def main():
    parser = argparse.ArgumentParser(
        prog="antiphase-check", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", help=".cu files, headers, or patterns such as 'src/**/*.cu'")
    parser.add_argument(
        "--options", default="", help="one word: options of `antiphase check` for each program"
    )
    parser.add_argument("--sarif", metavar="FILE", help="write what was found as SARIF")
    parser.add_argument(
        "--allow-none", action="store_true", help="exit code 0 if there is no program among the files"
    )
    arguments = parser.parse_args()
    files = files_of(arguments.files)
    if files is None:
        return _NO_FILE
    codes, reports, said = {}, [], []
    with tempfile.TemporaryDirectory(prefix="antiphase-check-") as folder:
        report = pathlib.Path(folder, "found.sarif")
        for file in files:
            if not has_main(file):
                print(f"{file}: no main: not checked", flush=True)
                said.append(("note", f"{file} has no main: it was not checked"))
                continue
            # The user's options come last: the program's own arguments follow --.
            command = [tool(), "check", file, "--sarif", str(report), *shlex.split(arguments.options)]
            codes[file] = code = subprocess.run(command).returncode
            print(f"{file}: {'checked' if code in _JUDGED else f'not checked: exit code {code}'}", flush=True)
            if report.exists():
                reports.append(json.loads(report.read_text()))
                report.unlink()
            elif code not in _JUDGED:
                said.append(("error", f"{file} was not checked: exit code {code}"))
    checked = sum(code in _JUDGED for code in codes.values())
    if arguments.sarif:
        successful = checked == len(codes) and (checked > 0 or arguments.allow_none)
        text = json.dumps(sarif_of(reports, said, successful), indent=2)
        pathlib.Path(arguments.sarif).write_text(text + "\n")
    rest = ((len(files) - len(codes), "without a main"), (len(codes) - checked, "that could not be checked"))
    print(
        f"{checked} of {len(files)} file{'' if len(files) == 1 else 's'} checked"
        + "".join(f", {number} {what}" for number, what in rest if number > 0),
        flush=True,
    )
    if not codes:
        return 0 if arguments.allow_none else _NONE
    found = codes.values()
    return _FOUND if _FOUND in found else next((code for code in found if code), 0)


if __name__ == "__main__":
    sys.exit(main())
