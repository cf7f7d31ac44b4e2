# SPDX-License-Identifier: Apache-2.0
"""C++ sources as check_includes.py and check_sources.py read them, and cycles among them."""
import re

FOLDERS = ("include", "core", "library", "checker", "preload", "learn", "tool", "bench")
SUFFIXES = {".hpp", ".cuh", ".h", ".cpp", ".cu"}
COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|("(?:\\.|[^"\\\n])*")', re.DOTALL)  # strings are kept


def texts(root):
    """{path from the root: text without comments} of all sources."""
    return {
        path.relative_to(root).as_posix(): COMMENT.sub(lambda found: found[1] or " ", path.read_text())
        for folder in FOLDERS
        for path in sorted((root / folder).rglob("*"))
        if path.suffix in SUFFIXES
    }


def cycles(nodes, arrows):
    """One cycle, as text, for each arrow that closes one in depth-first order."""
    found, done = [], set()

    def visit(node, path):
        if node in path:
            found.append(" -> ".join([*path[path.index(node) :], node]))
        elif node not in done:
            for target in arrows.get(node, ()):
                visit(target, [*path, node])
            done.add(node)

    for node in nodes:
        visit(node, [])
    return found
