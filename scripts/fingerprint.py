#!/usr/bin/env python3
"""Fingerprints of the kernels' sources: equal as long as the code that a GPU runs is, whatever happens to comments, layout and the CPU's side.

    fingerprint.py [--root ROOT]                 prints one line per family: name, fingerprint
    fingerprint.py [--root ROOT] --files FAMILY  prints the files of a family
    fingerprint.py [--root ROOT] --source FILE   writes the definitions for tool/measure/provenance.hpp, if they have changed

A family is what the files of FAMILIES include, directly or not, within the project: src/<family>/kernels_*.cuh, and of scans with types of one's own, which
are compiled where they are called, those of `bench scan --own`. The headers of the CPU executor are left out, because no
figure comes from it, and so are the branches of conditionals that nvcc never sees, with what only they include. A fingerprint is the beginning of the
SHA-256 of these files: paths in order, comments removed, tokens one blank apart.
"""
import argparse
import hashlib
import itertools
import pathlib
import re
import subprocess
import sys

# How the names of a family's kernels begin, and the files with its kernels. The first that fits counts.
FAMILIES = {"scan.own": "tool/measure/kernels_own_scan.cuh", "gemm": "src/gemm/kernels_*.cuh", "scan": "src/scan/kernels_*.cuh"}
NOT_ON_A_GPU = "include/antiphase/executor/cpu/"
CODE = ("include", "src", "tool", "cmake", "CMakeLists.txt")  # what a commit must contain to be the origin of a figure
DIGITS = 16
# What is known of conditions where nvcc compiles for a GPU. Of any other condition both branches count.
KNOWN = {"AP_ON_GPU": True, "AP_EVERY_LANE_ARRIVES": False, "0": False, "1": True}
DEFINED = {"__CUDACC__": True, "AP_ON_GPU": True, "AP_CHECKED": False, "AP_EVERY_LANE_ARRIVES": False}

STRING = r'R"(?P<mark>[^()\s\\]*)\((?:.|\n)*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Za-z_])\'(?:\\.|[^\'\\\n])+\''
COMMENT = re.compile(r"(?P<text>" + STRING + r")|//(?:\\\n|[^\n])*|/\*(?:.|\n)*?\*/")
CONDITIONAL = re.compile(r"[ \t]*#[ \t]*(if|ifdef|ifndef|elif|else|endif)\b(.*)")
NAME = r"defined\s*\(\s*(?P<called>\w+)\s*\)|defined\s+(?P<named>\w+)"
OTHER = r"(?:[^&|!()]|!=|&(?!&)|\|(?!\|))+"
CONDITION = re.compile(r"\s*(?:(?P<sign>&&|\|\||!(?!=)|[()])|" + NAME + "|" + OTHER + ")")
SIGNS = {"&&": " and ", "||": " or ", "!": " not "}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:<([^>\n]+)>|"([^"\n]+)")', re.MULTILINE)
OPERATOR = r"<=>|->\*|\.\.\.|<<=|>>=|\+\+|--|&&|\|\||<<|>>|->|::|##|[-+*/%&|^<>=!]="
TOKEN = re.compile(STRING.replace("mark", "quote") + r"|[A-Za-z_][A-Za-z_0-9]*|\.?[0-9](?:[eEpP][+-]|'?[0-9A-Za-z_.])*|" + OPERATOR + r"|\S")


def without_comments(text):
    return COMMENT.sub(lambda match: match.group("text") or " ", text)


def holds(condition):
    """Whether a condition holds where nvcc compiles for a GPU; None if that cannot be told."""
    text, unknown = "", {}
    for part in CONDITION.finditer(condition.strip()):
        name = part["called"] or part["named"]
        value = DEFINED.get(name) if name else KNOWN.get(part.group().strip())
        if part["sign"]:
            text += SIGNS.get(part["sign"], part["sign"])
        elif value is not None:
            text += str(value)
        else:
            text += unknown.setdefault(part.group().strip(), f"u{len(unknown)}")
    try:
        values = {eval(text, {}, dict(zip(unknown.values(), case))) for case in itertools.product((False, True), repeat=len(unknown))}
    except (SyntaxError, TypeError):
        return None  # such as a macro with arguments
    return values.pop() if len(values) == 1 else None


def seen_by_gpu(text):
    """The lines of a source without comments that nvcc may see; conditionals stay only as far as they are undecided."""
    lines = []
    chains = []  # for each conditional that is open: [an earlier branch is taken for certain, this branch may be seen, directives are kept]
    for line in text.replace("\\\n", " ").splitlines():
        match = CONDITIONAL.match(line)
        outside = all(seen for _, seen, _ in (chains[:-1] if match and not match[1].startswith("if") else chains))
        if not match:
            if outside:
                lines.append(line)
            continue
        word, condition = match.groups()
        if word.startswith("if"):
            chains.append([False, False, False])
            condition = {"if": condition, "ifdef": f"defined({condition.strip()})", "ifndef": f"!defined({condition.strip()})"}[word]
        if word == "endif":
            keep = chains.pop()[2]
        else:
            taken, _, kept = chains[-1]
            value = True if word == "else" else holds(condition)
            seen = not taken and value is not False
            keep = seen and (kept or value is None)
            chains[-1] = [taken or value is True, seen, kept or keep]
        if keep and outside:
            lines.append(line)
    return lines


def normalised(text):
    """The tokens of a source. A directive ends with its line, so it stays a line of its own."""
    lines, code = [], []
    for line in seen_by_gpu(without_comments(text)):
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
    text = "\n".join(seen_by_gpu(without_comments((root / path).read_text())))
    for angled, quoted in INCLUDE.findall(text):
        name = angled or quoted
        places = [root / "include" / name] + ([(root / path).parent / name, root / name] if quoted else [])
        for place in places:
            if place.is_file():
                yield place.resolve().relative_to(root.resolve()).as_posix()
                break


def files_of(root, family):
    """What the kernels of a family are made of, as paths in order."""
    waiting = [path.relative_to(root).as_posix() for path in sorted(root.glob(FAMILIES[family]))]
    if not waiting:
        raise SystemExit(f"fingerprint.py: there is no {FAMILIES[family]} below {root}")
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


def family_of(kernel):
    """The family of a kernel by its name, as in gemm.ladder.tiled; none if there is none."""
    return next((family for family in FAMILIES if f"{kernel}.".startswith(f"{family}.")), None)


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
    cases = "".join(f'  if (kernel == "{family}" || kernel.starts_with("{family}.")) return "{code}";\n' for family, code in fingerprints(root).items())
    text = ("// Which code a figure belongs to; written by scripts/fingerprint.py.\n"
            '#include "tool/measure/provenance.hpp"\n\nnamespace antiphase::tool {\n\n'
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
