#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the pages of the documentation that the tool makes of this tree's results and labs.

    generated_pages.py TOOL FOLDER

TOOL is the program antiphase. In FOLDER: overlap.html, what `antiphase bench overlap --read` makes of its newest
measurement; and, if the tool has the checker, course.ipynb, the labs with what `antiphase course check` says of
each unfilled start. `./run docs` puts them into the site. Exit status: 0, 1 if a page cannot be made, 2 usage.
"""
import pathlib
import subprocess
import sys

import course_notebook

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "scripts/figures")]
import overlap_plot  # noqa: E402
import packed  # noqa: E402


def main():
    if len(sys.argv) != 3:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    tool, folder = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    results = packed.unpacked(ROOT / "bench" / "results")
    folder.mkdir(parents=True, exist_ok=True)
    overlap = ["bench", "overlap", "--quiet", "--read", overlap_plot.newest_file(results)]
    subprocess.run(
        [tool, *overlap, "--output", folder / "overlap.html"], check=True, stdout=subprocess.DEVNULL
    )
    if subprocess.run([tool, "check", "--help"], capture_output=True).returncode == 0:
        course_notebook.write(tool, folder / "course.ipynb")
    return 0


if __name__ == "__main__":
    sys.exit(main())
