#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/tutorial.ipynb runs from its first cell to its last, by this interpreter: its own assertions hold. It
needs no Jupyter."""
import json
import pathlib
import sys

import support

support.need("numpy")
sys.modules["IPython"] = None  # as if it were not there: what it would show is not looked at here


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
