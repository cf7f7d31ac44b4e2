#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Updates the errors of the model's predictions in docs/learn/model.md.

    model_error.py [--check] TOOL [ROOT]

The errors are what `antiphase model` prints for the result files in bench/results. TOOL is the program antiphase.
--check writes nothing and fails if the page differs. Exit status: 0 fine, 1 the page differs, 2 usage.
"""
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
import packed

BEGIN, END = "<!-- model:begin -->\n", "<!-- model:end -->"


def percent(share):
    return f"{100 * share:.1f} %"


def row(kernel):
    fitted, unseen = kernel["fitted"], kernel["times"] - kernel["fitted"]
    cells = [
        kernel["kernels"],
        fitted or "",
        percent(kernel["fitted_median"]) if fitted else "",
        unseen or "",
        percent(kernel["unseen_median"]) if unseen else "",
        percent(kernel["unseen_p90"]) if unseen else "",
    ]
    shapes = kernel.get("shapes")
    cells += (
        [f"{kernel['rank']:.2f}", f"{kernel['picks_within_5_percent']} of {shapes}"] if shapes else ["", ""]
    )
    return "| " + " | ".join(map(str, cells)) + " |\n"


def table(tool, files):
    said = subprocess.run(
        [tool, "model", "--json", *map(str, files)], check=True, capture_output=True, text=True
    )
    kernels = json.loads(said.stdout)["kernels"]
    head = "| kernels | times fitted to | median error | times unseen | median error | 90 % within | rank | picks within 5 % |\n"
    return head + "| --- | --: | --: | --: | --: | --: | --: | --: |\n" + "".join(map(row, kernels))


def main():
    words = [word for word in sys.argv[1:] if word != "--check"]
    if not 1 <= len(words) <= 2:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    root = pathlib.Path(words[1] if len(words) == 2 else pathlib.Path(__file__).resolve().parents[2])
    document = root / "docs/learn/model.md"
    text = document.read_text()
    before, found, rest = text.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not found or not ended:
        print(f"{document}: expected a table between '{BEGIN.strip()}' and '{END}'", file=sys.stderr)
        return 1
    results = packed.unpacked(root / "bench" / "results")
    is_now = before + BEGIN + table(words[0], sorted(results.glob("*.json"))) + END + after
    if text == is_now:
        return 0
    if "--check" in sys.argv:
        print(
            f"{document} is not what the result files and the model say: run scripts/cost_models/model_error.py TOOL",
            file=sys.stderr,
        )
        return 1
    document.write_text(is_now)
    return 0


if __name__ == "__main__":
    sys.exit(main())
