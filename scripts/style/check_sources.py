#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails on code that knows what only one place should know, and on Python modules that import each other.

    check_sources.py [ROOT]

- No code compares or lists the names of policies of products, apart from their rows (library/gemm/*/candidate*.cpp),
  which have columns for that.
- Code that depends on a compute capability asks for a feature (executor/features.hpp): .major and .minor are read
  there, and written where a device is described (CAPABILITIES).
- The modules of each package in python import each other without a cycle.

Exit status: 0 fine, 1 faults, 2 usage.
"""
import ast
import pathlib
import re
import sys

import sources

CAPABILITY = re.compile(r"(?:\.|->)(?:major|minor)\b")
CAPABILITIES = {
    "include/antiphase/executor/features.hpp",
    "include/antiphase/executor/limits.hpp",
    "core/executor/cpu/cpu_executor.cpp",
    "core/executor/cuda/cuda_calls.hpp",
    "core/executor/cuda/cuda_executor.cpp",
    "core/executor/profiles.cpp",
    "core/executor/published.cpp",
    "checker/plain/runtime/launches/attributes.cpp",
    "tool/measure/kernel_code.cpp",
    "tool/measure/ptxas.cpp",
}
ROWS_OF_POLICIES = re.compile(r"library/gemm/[^/]*/candidates?\.cpp")
POLICY_NAME = re.compile(r'\.name = "([^"]+)"')
OTHER_NAMES = ("checker/plain/", "checker/stand_ins/")  # of types of PTX
STRING = re.compile(r'"(?:\\.|[^"\\\n])*"')


def capabilities(texts):
    """Faults: files that look at a compute capability."""
    for file, text in texts.items():
        if file not in CAPABILITIES and CAPABILITY.search(STRING.sub("", text)):
            yield (
                f"{file} looks at a compute capability: expected a feature of include/antiphase/executor/features.hpp"
            )


def names_of_policies(texts):
    """Faults: comparisons with a policy's name, and lists of several, outside of the rows."""
    rows = [file for file in texts if ROWS_OF_POLICIES.fullmatch(file)]
    names = {name for file in rows for name in POLICY_NAME.findall(texts[file])}
    if not names:
        return
    name = '"(?:' + "|".join(map(re.escape, sorted(names))) + ')"'
    by_name = re.compile(rf"[=!]=\s*{name}|{name}\s*[=!]=|starts_with\({name[:-1]}|{name},\s*{name}")
    for file, text in texts.items():
        if file not in rows and not file.startswith(OTHER_NAMES):
            for found in by_name.finditer(text):
                yield f"{file} knows policies by their names, {found[0]}: expected a column of their rows"


def imported(path, modules):
    """The modules of its package that a Python module imports, in functions too."""
    found, package = set(), path.parent.name
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [name.name for name in node.names]
            found.update(name.partition(".")[2] for name in names if name.startswith(package + "."))
        elif isinstance(node, ast.ImportFrom) and (
            node.level == 1 or (node.module or "").split(".")[0] == package
        ):
            module = (node.module or "") if node.level else node.module.partition(".")[2]
            found.update([module] if module else [name.name for name in node.names])
    return sorted({name.partition(".")[0] for name in found} & modules)


def python_cycles(root):
    for package in sorted(path.parent for path in root.glob("python/*/__init__.py")):
        modules = {path.stem for path in package.glob("*.py")} - {"__init__"}
        imports = {module: imported(package / f"{module}.py", modules) for module in modules}
        for cycle in sources.cycles(sorted(modules), imports):
            yield f"cycle of imports in {package.relative_to(root)}: {cycle}"


def main(arguments):
    if len(arguments) > 1:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    root = pathlib.Path(arguments[0]) if arguments else pathlib.Path(__file__).resolve().parents[2]
    texts = sources.texts(root)
    if not texts:
        print(f"check_sources.py: {root} holds no sources", file=sys.stderr)
        return 2
    faults = [*capabilities(texts), *names_of_policies(texts), *python_cycles(root)]
    for fault in faults:
        print(f"check_sources.py: {fault}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
