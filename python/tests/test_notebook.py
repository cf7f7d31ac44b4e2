#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs all cells of docs/tutorial.ipynb in this interpreter, without Jupyter; the notebook has assertions, and the
outputs that are stored in it come again: the same text, except for numbers, which compilers and machines may change.

    test_notebook.py [--write]

--write stores the outputs.
"""
import contextlib
import io
import json
import pathlib
import re
import sys
import types

import support

support.need("numpy")
NOTEBOOK = pathlib.Path(__file__).resolve().parents[2] / "docs" / "tutorial.ipynb"


def stream(text):
    return {"name": "stdout", "output_type": "stream", "text": text.splitlines(keepends=True)}


def outputs_of(cell, number, names):
    """What a cell prints and displays, as Jupyter stores it."""
    shown, printed = [], io.StringIO()
    names["display_here"] = lambda picture: shown.append(
        {
            "data": {"image/svg+xml": str(picture).splitlines(keepends=True)},
            "metadata": {},
            "output_type": "display_data",
        }
    )
    with contextlib.redirect_stdout(printed):
        exec(compile(cell, f"tutorial.ipynb, cell {number}", "exec"), names)
    folder = str(names.get("FOLDER", "no folder"))
    text = printed.getvalue().replace(folder + "/", "")
    return ([stream(text)] if text else []) + shown


def without_numbers(outputs):
    return [
        re.sub(r"[\d.]+(e[-+]\d+)?", "#", "".join(o["text"])) if "text" in o else sorted(o["data"])
        for o in outputs
    ]


def main():
    notebook = json.loads(NOTEBOOK.read_text())
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(cells) > 5, "there are hardly any cells"
    names = {}
    sys.modules["IPython"] = types.ModuleType("IPython")
    sys.modules["IPython.display"] = types.SimpleNamespace(
        SVG=str, display=lambda picture: names["display_here"](picture)
    )
    for number, cell in enumerate(cells, 1):
        print(f"--- cell {number}")
        outputs = outputs_of("".join(cell["source"]), number, names)
        if "--write" in sys.argv:
            cell["outputs"] = outputs
        if "antiphase.explain(" in "".join(cell["source"]) and "tuning: none for CPU" not in str(outputs):
            continue  # a GPU has other kernels
        same = without_numbers(outputs) == without_numbers(cell["outputs"])
        assert same, f"cell {number} prints {outputs}; test_notebook.py --write stores it"
    if "--write" in sys.argv:
        NOTEBOOK.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    sys.exit(main())
