#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a notebook of the labs of docs/course, with what the tool says of each unfilled start.

    course_notebook.py TOOL NOTEBOOK

TOOL is the program antiphase of this build, NOTEBOOK the file to write. Exit status: 0, or 1 if a lab could not be
checked.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"


def text_of(file, links):
    """A document without its comments, as a cell; a link to X becomes one to links + X."""
    text = re.sub(r"<!--.*?-->", "", file.read_text(), flags=re.S).strip()
    return re.sub(r"\]\((?!#|http)([^)]+)\)", lambda m: f"]({os.path.normpath(links + m[1])})", text)


def cells(only=None):
    """(kind, source) of each cell, of some labs or of all. A lab is its text, its program, and the command that checks it."""
    yield "markdown", text_of(DOCS / "course/README.md", "course/")
    yield "markdown", "Run this cell once. Then complete each kernel in its cell, and run that and the next."
    folders = {int(f.name[:2]): f for f in sorted((DOCS / "course").glob("??-*"))}
    folders = {n: f for n, f in folders.items() if only is None or n in only}
    starts = "; ".join(f"antiphase course start {i} --quiet" for i in folders)
    yield "code", f"!{starts}"
    for number, folder in folders.items():
        file = f"{folder.name}/start.cu"
        text = text_of(folder / "README.md", f"course/{folder.name}/")
        yield "markdown", re.sub(r"(?m)^(antiphase \w+) start\.cu", rf"\1 {file}", text)
        yield "code", f"%%writefile {file}\n{(folder / 'start.cu').read_text().strip()}"
        yield "code", f"!antiphase course check {number}"


def notebook(output_of, only=None):
    """As Jupyter stores it. output_of(source) is what a command prints."""
    made = []
    for kind, source in cells(only):
        cell = {"cell_type": kind, "metadata": {}, "source": source.splitlines(keepends=True)}
        if kind == "code":
            said = output_of(source[1:]) if source.startswith("!") else ""
            stream = {"name": "stdout", "output_type": "stream", "text": said.splitlines(keepends=True)}
            cell |= {"execution_count": None, "outputs": [stream] if said else []}
        made.append(cell)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    about = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": made, "metadata": about, "nbformat": 4, "nbformat_minor": 4}


def write(tool, file, only=None):
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "antiphase").symlink_to(tool)

        def output_of(command):
            path = {"PATH": f"{folder}:{os.environ['PATH']}"}
            done = subprocess.run(
                command,
                shell=True,
                cwd=folder,
                env=os.environ | path,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            if done.returncode not in (0, 5):
                sys.exit(f"course_notebook.py: '{command}' returned {done.returncode}:\n{done.stdout}")
            # as of an installed package
            return done.stdout.replace(str(DOCS), "share/antiphase").replace(f"{folder}/", "")

        file.write_text(json.dumps(notebook(output_of, only), indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    write(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]))
