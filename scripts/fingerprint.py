#!/usr/bin/env python3
"""Fingerprints of the kernels' sources: equal as long as the code is, whatever happens to comments and layout.

    fingerprint.py [--root ROOT]                 prints one line per family: name, fingerprint
    fingerprint.py [--root ROOT] --files FAMILY  prints the files of a family
    fingerprint.py [--root ROOT] --source FILE   writes the definitions for tool/provenance.hpp, if they have changed

A family is what src/<family>/kernels_*.cuh include, directly or not, within the project. The headers of the CPU executor are left out, because no
figure comes from it. A fingerprint is the beginning of the SHA-256 of these files: paths in order, comments removed, tokens one blank apart.
"""
import argparse
import hashlib
import pathlib
import re
import subprocess
import sys

FAMILIES = ("gemm", "scan")
NOT_ON_A_GPU = "include/antiphase/executor/cpu/"
CODE = ("include", "src", "tool", "cmake", "CMakeLists.txt")  # what a commit must contain to be the origin of a figure
DIGITS = 16

STRING = r'R"(?P<mark>[^()\s\\]*)\((?:.|\n)*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Za-z_])\'(?:\\.|[^\'\\\n])+\''
COMMENT = re.compile(r"(?P<text>" + STRING + r")|//(?:\\\n|[^\n])*|/\*(?:.|\n)*?\*/")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:<([^>\n]+)>|"([^"\n]+)")', re.MULTILINE)
OPERATOR = r"<=>|->\*|\.\.\.|<<=|>>=|\+\+|--|&&|\|\||<<|>>|->|::|##|[-+*/%&|^<>=!]="
TOKEN = re.compile(STRING.replace("mark", "quote") + r"|[A-Za-z_][A-Za-z_0-9]*|\.?[0-9](?:[eEpP][+-]|'?[0-9A-Za-z_.])*|" + OPERATOR + r"|\S")


def without_comments(text):
    return COMMENT.sub(lambda match: match.group("text") or " ", text)


def normalised(text):
    """The tokens of a source. A directive ends with its line, so it stays a line of its own."""
    lines, code = [], []
    for line in without_comments(text).replace("\\\n", " ").splitlines():
        if line.lstrip().startswith("#"):
            lines += [" ".join(code), " ".join(match.group() for match in TOKEN.finditer(line))]
            code = []
        else:
            code.append(" ".join(match.group() for match in TOKEN.finditer(line)))
            code = [part for part in code if part]
    lines.append(" ".join(code))
    return "\n".join(line for line in lines if line)


def included(root, path):
    """The project's files that a file includes."""
    text = without_comments((root / path).read_text())
    for angled, quoted in INCLUDE.findall(text):
        name = angled or quoted
        places = [root / "include" / name] + ([(root / path).parent / name, root / name] if quoted else [])
        for place in places:
            if place.is_file():
                yield place.resolve().relative_to(root.resolve()).as_posix()
                break


def files_of(root, family):
    """What the kernels of a family are made of, as paths in order."""
    waiting = [path.relative_to(root).as_posix() for path in sorted((root / "src" / family).glob("kernels_*.cuh"))]
    if not waiting:
        raise SystemExit(f"fingerprint.py: there is no src/{family}/kernels_*.cuh below {root}")
    found = set()
    while waiting:
        path = waiting.pop()
        if path not in found and not path.startswith(NOT_ON_A_GPU):
            found.add(path)
            waiting += included(root, path)
    return sorted(found)


def fingerprint(root, family):
    digest = hashlib.sha256()
    for path in files_of(root, family):
        digest.update(f"{path}\n{normalised((root / path).read_text())}\n\0".encode())
    return digest.hexdigest()[:DIGITS]


def fingerprints(root):
    return {family: fingerprint(root, family) for family in FAMILIES}


def commit(root):
    """The short hash of HEAD, marked if the code differs from it; empty where there is no git."""
    def git(*arguments):
        done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else None
    try:
        head = git("rev-parse", "--short=12", "HEAD")
        changed = git("status", "--porcelain", "--", *CODE)
    except FileNotFoundError:
        return ""
    return "" if not head else head + ("-dirty" if changed else "")


def write_source(root, file):
    cases = "".join(f'  if (kernel.starts_with("{family}.")) return "{code}";\n' for family, code in fingerprints(root).items())
    text = ("// Which code a figure belongs to; written by scripts/fingerprint.py.\n"
            '#include "tool/provenance.hpp"\n\nnamespace antiphase::tool {\n\n'
            f'std::string_view built_from() {{ return "{commit(root)}"; }}\n\n'
            f"std::string_view code_of(std::string_view kernel) {{\n{cases}  return {{}};\n}}\n\n}}  // namespace antiphase::tool\n")
    if not file.exists() or file.read_text() != text:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent, help="the project's root")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--files", metavar="FAMILY", choices=FAMILIES)
    what.add_argument("--source", metavar="FILE", type=pathlib.Path)
    options = parser.parse_args()
    if options.files:
        print("\n".join(files_of(options.root, options.files)))
    elif options.source:
        write_source(options.root, options.source)
    else:
        for family, code in fingerprints(options.root).items():
            print(family, code)
    return 0


if __name__ == "__main__":
    sys.exit(main())
