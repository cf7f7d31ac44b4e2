#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs all cells of docs/learn/tutorial.ipynb and docs/course/notebook.ipynb in this interpreter, without Jupyter: the
outputs that are stored in them come again, the same text, except for numbers, which compilers and machines may change.

    test_notebook.py [--write]

--write stores the outputs.
"""
import contextlib
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import types

import support

support.need("numpy")
DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"


def stream(text):
    return {"name": "stdout", "output_type": "stream", "text": text.splitlines(keepends=True)}


def shell(command):
    done = subprocess.run(command, shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(done.stdout.replace(str(DOCS), "share/antiphase"), end="")  # as of an installed package


def as_python(cell):
    """A cell without the magic of Jupyter. Nothing is installed: the package under test is there."""
    if cell.startswith("%%writefile "):
        name, text = cell.removeprefix("%%writefile ").split("\n", 1)
        return f"with open({name!r}, 'w') as file:\n    file.write({text!r})\nprint('Writing {name}')"
    lines = []
    for line in cell.splitlines():
        if line.startswith("!"):
            line = f"shell({line[1:]!r})"
        elif line.startswith("%"):
            assert re.fullmatch(r"%pip install --quiet \{\w+\}", line), line
            line = line[line.index("{") + 1 : -1]
        lines.append(line)
    return "\n".join(lines)


def outputs_of(cell, number, names):
    """What a cell prints and displays, as Jupyter stores it."""
    shown, printed = [], io.StringIO()
    names["shell"] = shell
    names["display_here"] = lambda picture: shown.append(
        {
            "data": {"image/svg+xml": str(picture).splitlines(keepends=True)},
            "metadata": {},
            "output_type": "display_data",
        }
    )
    with contextlib.redirect_stdout(printed):
        exec(compile(as_python(cell), f"cell {number}", "exec"), names)
    folder = str(names.get("FOLDER", "no folder"))
    text = printed.getvalue().replace(folder + "/", "")
    return ([stream(text)] if text else []) + shown


def without_numbers(outputs):
    return [
        re.sub(r"[\d.]+(e[-+]\d+)?", "#", "".join(o["text"])) if "text" in o else sorted(o["data"])
        for o in outputs
    ]


def run(file):
    notebook = json.loads(file.read_text())
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(cells) > 5, "there are hardly any cells"
    names = {}
    sys.modules["IPython"] = types.ModuleType("IPython")
    sys.modules["IPython.display"] = types.SimpleNamespace(
        SVG=lambda data: pathlib.Path(data).read_text() if os.path.exists(data) else data,
        display=lambda picture: names["display_here"](picture),
    )
    for number, cell in enumerate(cells, 1):
        print(f"--- {file.name}, cell {number}")
        outputs = outputs_of("".join(cell["source"]), number, names)
        if "--write" in sys.argv:
            cell["outputs"] = outputs
        if "antiphase.explain(" in "".join(cell["source"]) and "tuning: none for CPU" not in str(outputs):
            continue  # a GPU has other kernels
        same = without_numbers(outputs) == without_numbers(cell["outputs"])
        assert same, f"cell {number} prints {outputs}; test_notebook.py --write stores it"
    if "--write" in sys.argv:
        file.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")


def main():
    run(DOCS / "learn/tutorial.ipynb")
    tool, here = os.environ["ANTIPHASE_TOOL"], os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "antiphase").symlink_to(tool)
        os.environ["PATH"] = f"{folder}:{os.environ['PATH']}"
        os.environ["COLUMNS"] = "100"
        os.chdir(folder)
        run(DOCS / "course/notebook.ipynb")
        os.chdir(here)


if __name__ == "__main__":
    sys.exit(main())
