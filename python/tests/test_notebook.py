#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs all cells of docs/tutorial.ipynb in this interpreter, without Jupyter; the notebook has assertions."""
import json
import pathlib
import sys

import support

support.need("numpy")
sys.modules["IPython"] = None  # importing it fails, so that the notebook displays nothing


def main():
    notebook = json.loads(
        (pathlib.Path(__file__).resolve().parents[2] / "docs" / "tutorial.ipynb").read_text()
    )
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(cells) > 5, "there are hardly any cells"
    names = {}
    for number, cell in enumerate(cells, 1):
        print(f"--- cell {number}")
        exec(compile(cell, f"tutorial.ipynb, cell {number}", "exec"), names)


if __name__ == "__main__":
    sys.exit(main())
