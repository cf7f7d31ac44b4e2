# SPDX-License-Identifier: Apache-2.0
"""The commands that a page shows, with or without their output: what release_check.py tries, and for page_commands.py
what is wrong with them without running them.

faults(): commands as a user of the wheel types them. They stand in blocks of sh, and in `code` that begins with one of
PROGRAMS. An example that one names is there if a command before it on the page copies it, and no other file of this
tree is, unless the command is for a clone: names that are no example's are the reader's own. `antiphase run` starts
scripts by Python. Options are those that `antiphase help` prints."""
import functools
import re
import shlex
import subprocess

import check_docs

PROGRAMS = ("antiphase", "antiphase-check", "python", "python3", "cc", "gfortran")
# Beginnings of a program, or of what it runs.
OF_A_CLONE = ("./run", "scripts/", "build/", "tests/", "ctest")
OF_ANYONE = (".", "src", "include", "build")  # folders that every project may have
FENCE = re.compile(r"^( *)(```+)(\w*)\n(.*?)^\1\2$", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"`([^`\n]+(?:\n[^`\n]+)?)`")
MAKES = ("-o", "--output", "--trace", "--sarif", ">")
WITH_VALUES_OF_RUN = ("--least", "--precision", "--json")


def without_comment(line):
    return " ".join(re.sub(r"(^|\s)#.*", "", line).split())


def all_code(text):
    """(command, the text around it, whether of a block) of a page: lines of blocks of sh, and code in running text."""
    for match in re.finditer(r"(?ms)^```sh\n(.*?)^```", text):
        before = text[: match.start()].rstrip()
        around = before[before.rfind("\n\n") + 2 :] + match[1]
        for line in match[1].replace("\\\n", " ").splitlines():
            if command := without_comment(line):
                yield command, around, True
    for _, paragraph in check_docs.paragraphs(text):
        for code in re.findall(r"`([^`]+)`", paragraph):
            yield without_comment(code), paragraph, False


def commands_of(text):
    """(command, whether in a clone, whether of a block) of a page: those of blocks, and of antiphase in running
    text."""
    for command, around, of_block in all_code(text):
        if of_block or command.startswith("antiphase "):
            of_build = of_block and (command.startswith("./run") or "build/wheels/" in command)
            yield command, "clone" in around or of_build, of_block


def installing(text):
    """The commands of a page that install something, in blocks or in running text."""
    for command, _, _ in all_code(text):
        if re.match(r"(sudo )?(pip|apt|apt-get) install [^-\s.]|pip install \./", command):
            yield command


def words_of(block):
    """The words of each command in a block of sh."""
    parts = shlex.shlex(
        re.sub(r"(^|\s)#.*", "", block.replace("\\\n", " ")), posix=True, punctuation_chars=";|&\n"
    )
    parts.whitespace, parts.whitespace_split, parts.commenters = " \t", True, ""
    words = []
    for part in (*parts, "\n"):
        if not re.fullmatch(r"[;|&\n]+", part):
            if words or not re.fullmatch(r"\w+=.*", part):
                words.append(part)
        elif words:
            yield words
            words = []


def blocks_of(text):
    """(text, whether in a clone) of every block of sh, and of every command in `code`, also in comments of other blocks,
    in order. Where the paragraph, or the one before a block, speaks of a clone, all files are there."""
    blank = lambda f: re.sub(r"[^\n]", " ", f[0]) if f[3] == "sh" else f[0].replace("```", "   ")
    found, others = [], FENCE.sub(blank, text)
    for fence in FENCE.finditer(text):
        before = text[: fence.start()].rstrip()
        if fence[3] == "sh":
            found.append((fence.start(), fence[4], before[before.rfind("\n\n") + 1 :] + fence[4]))
    for code in CODE.finditer(others):
        command = re.sub(r"\s*\n\s*(//|#)?\s*", " ", code[1])
        if command.split(" ")[0] in PROGRAMS and " " in command:
            begin, end = others.rfind("\n\n", 0, code.start()) + 1, others.find("\n\n", code.end())
            found.append((code.start(), command, others[begin : end if end > 0 else None]))
    return [(block, "clone" in around) for _, block, around in sorted(found)]


def made_by(words, root):
    """The files that a command makes. Raises ValueError for an example that is none."""
    for before, word in zip(words, words[1:]):
        if before in MAKES:
            yield word
    if words[:2] == ["antiphase", "examples"] and len(words) > 2:
        folder = words[3] if len(words) > 3 else "examples"
        at = root / "examples" / ("" if words[2] == "all" else words[2])
        if not at.exists():
            raise ValueError(f"there is no example {words[2]}")
        for file in (at,) if at.is_file() else at.rglob("*"):
            yield f"{folder}/{file.relative_to(root / 'examples')}".removeprefix("./")


def file_fault(words, made, root):
    """Why the reader of a page, on which the files `made` were made before, lacks one that the command names."""
    if any(word.startswith(OF_A_CLONE) for word in words[:2]):
        return None
    examples = {file.name for file in (root / "examples").rglob("*") if file.is_file()}
    for word in words[3 if words[:2] == ["antiphase", "examples"] else 1 :]:
        top, slash, _ = word.partition("/")
        of_the_tree = slash and top not in OF_ANYONE and (root / top).is_dir()
        if (of_the_tree or word in examples) and word not in made:
            return f"no command before it copies {word}, which the wheel's user does not have"
    return None


def run_fault(words):
    """Why `antiphase run` does not start the program."""
    rest = words[2:] if words[1] == "run" else []
    while rest and rest[0].startswith("-"):
        rest = rest[2 if rest[0] in WITH_VALUES_OF_RUN else 1 :]
    return f"{rest[0]} is started by python3" if rest and rest[0].endswith(".py") else None


def option_fault(words, help_of):
    """Why the tool refuses an option; help_of: of the words of a command, or None if there is none of that name."""
    path, known = [], help_of(())
    if known is None:
        return None  # a tool without help
    for word in words[1:]:
        deeper = help_of((*path, word)) if re.fullmatch(r"[a-z]+", word) else None
        if deeper is None:
            break
        path, known = [*path, word], deeper
    if words[0] == "antiphase" and not path and words[1] not in ("--version", "--help", "help"):
        return f"there is no command {words[1]}"
    for word in words[1 + len(path) :]:
        if word in ("--", "…") or path == ["run"] and not word.startswith("-"):
            break
        option = word.partition("=")[0]
        if re.fullmatch(r"--[a-z][\w-]*|-[a-zA-Z]", option) and not re.search(
            rf"(?<![\w-]){option}(?![\w-])", known
        ):
            return f"antiphase {' '.join(path)} has no option {option}"
    return None


def faults(text, root, tool):
    """A sentence for each command of a page that does not work as it stands there."""

    @functools.cache
    def help_of(words):
        done = subprocess.run([tool, "help", *words], capture_output=True, text=True, timeout=60)
        return done.stdout if done.returncode == 0 else None

    made = set()
    for block, is_for_a_clone in blocks_of(text):
        for words in words_of(block):
            try:
                made |= set(made_by(words, root))
                fault = None if is_for_a_clone else file_fault(words, made, root)
                if words[0] == "antiphase" and len(words) > 1:
                    fault = fault or run_fault(words) or option_fault(words, help_of)
            except ValueError as error:
                fault = str(error)
            if fault:
                yield f"{' '.join(words)}: {fault}"
