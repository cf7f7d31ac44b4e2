#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every place that states the version states the one of CMakeLists.txt.

    test_versions.py ROOT [TOOL]

Recipes below packaging are looked at where there are any. A version that is not unreleased has one date. Exit status: 0 all agree, 1 one does not.
"""
import pathlib
import re
import subprocess
import sys

RECIPE = r'^ *(?:\{% *set +)?version *[:=] *"?(\d[\w.]*)'


def stated(text, pattern, where):
    found = re.search(pattern, text, re.MULTILINE)
    if found is None:
        sys.exit(f"{where}: there is no version")
    return found[1]


def main():
    root, tool = pathlib.Path(sys.argv[1]), sys.argv[2:]
    places = {
        "python/antiphase/_library.py": r'^VERSION = "(.*)"$',
        "CHANGELOG.md": r"^## (\S+) \((?:unreleased|\d{4}-\d\d-\d\d)\)$",
        "CITATION.cff": r"^version: (.*)$",
        "action.yml": r'^    default: "(\d.*)"$',
    }
    for recipe in sorted((root / "packaging").glob("**/*.y*ml")):
        if recipe.stem in ("recipe", "meta"):
            places[str(recipe.relative_to(root))] = RECIPE
    found = {name: stated((root / name).read_text(), pattern, name) for name, pattern in places.items()}
    if tool:
        said = subprocess.run([tool[0], "--version"], text=True, capture_output=True, check=True).stdout
        found["antiphase --version"] = stated(said, r"^antiphase (\S+)", "antiphase --version")
    version = stated(
        (root / "CMakeLists.txt").read_text(), r"^project\(antiphase VERSION (\S+)", "CMakeLists.txt"
    )
    wrong = [f"{name} says {other}" for name, other in found.items() if other != version]
    released = stated((root / "CHANGELOG.md").read_text(), r"^## \S+ \((.*)\)$", "CHANGELOG.md")
    cited = re.search(r'^date-released: "?([\d-]+)', (root / "CITATION.cff").read_text(), re.MULTILINE)
    if released != (cited[1] if cited else "unreleased"):
        wrong.append(f"CHANGELOG.md says {released}, CITATION.cff {cited[1] if cited else 'no date'}")
    if wrong:
        sys.exit(f"the version is {version}, but " + "; ".join(wrong))
    print(f"{version}, in CMakeLists.txt and {len(found)} other places")


main()
