# SPDX-License-Identifier: Apache-2.0
"""Words that this project once used in senses of its own, and the field's words for them: what style.py refuses in
documents, comments and messages. CONTRIBUTING.md lists them."""
import io
import re
import tokenize

# (pattern, what to write instead). Senses that a native speaker would use too are not matched.
WORDS = [
    (r"(?<!ideas )(?<!idea is )(?<!hide them )(?<!int )\bbehind\b", "after, past the end of"),
    (r"\bbeside\b", "next to, compared with, in addition to"),
    (r"(?<!limited )\bby turns\b", "alternately"),
    (r"\bin vain\b", "unsuccessfully"),
    (r"\bnobody(?:'s)?\b|\bsomebody\b", "no thread, a thread; no one, someone"),
    (r"\bby the letter\b", "pedantic"),
    (r"\bverbs?\b(?![.(]\w|\()", "operation, device function"),
    (r"(?<!Little's )(?<![/\w])\b(?-i:[Ll]aws?)\b(?![/\w]|\.\w)", "cost model"),
    (r"(?<![/\w])\broofs?\b(?![/\w]|\.\w)", "roofline"),
    (r"(?<!new )\bpromis(?:e|es|ed)\b", "guarantee, bound, predict"),
    (r"\b(?:a|each|its|own|this|lower|one|every) room\b(?! for| of \d| in)|\brooms\b", "module, folder"),
    (r"\b(?:is|are|was|were|be) led\b|\bled (?:here|calls?|attention)\b", "overridden"),
    (r"\bheal(?:s|ed|ing)?\b|\bcure[sd]?\b", "fix"),
    (r"\btakes? home\b", "copy, single-header"),
    (r"\bunder way\b", "in progress, in flight"),
    (r"\b(?:is|are|was|were|be) told\b(?! to\b| by\b| that\b| how\b| what\b| which\b| where\b)", "reported"),
    (r"(?<!not )\bbut for\b(?! the same)", "except for"),
    (r"\bbelongs? into\b", "belongs in"),
    (r"(?<!\.)\bjudge[sd]?\b(?!\()|\bjudg(?:e?ments?|ing)\b", "check, decide"),
]
FOUND = [(re.compile(pattern, re.IGNORECASE), better) for pattern, better in WORDS]

# Not clean yet: beginnings of paths.
NOT_CLEAN = ("evaluation/who_finds_what.md",)
# Files that quote them: the lists themselves, records of runs, and pages that are made of these.
QUOTED = (
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "scripts/style/wording.py",
    "tests/style/test_style.py",
    "evaluation/corpus.md",
    "evaluation/corpus_languages.md",
    "scripts/figures/figures.py",  # names of figures
)

CODE = (".cpp", ".hpp", ".cuh", ".cu", ".hpp.in", ".h", ".c")
PYTHON = (".py", ".pyi")
STRING = r'"(?:\\.|[^"\\\n])*"'
PIECES = re.compile(
    r'(?P<comment>//[^\n]*|/\*.*?\*/)|R"(?P<mark>[^()\\ ]{0,16})\(.*?\)(?P=mark)"'
    rf"|(?P<string>{STRING}(?:\s*{STRING})*)|'(?:\\.|[^'\\\n])+'",
    re.DOTALL,
)
NO_PROSE = re.compile(
    r"^[ ]*(```+|~~~+).*?^[ ]*\1[^\n]*$|<!--.*?-->|`[^`\n]*`|\]\([^)]*\)", re.DOTALL | re.MULTILINE
)


def document(text):
    """(position, text) of a document's prose: without code, comments and targets of links."""
    yield 0, NO_PROSE.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)


def code(text):
    """(position, text) of comments, and of strings of three words or more: literals side by side are one."""
    for piece in PIECES.finditer(text):
        joined = re.sub(r'(?<!\\)"\s*"', "", piece[0]) if piece["string"] else piece[0]
        if piece["comment"] and " FOUND" not in piece[0] or piece["string"] and joined.count(" ") > 1:
            yield piece.start(), joined


def python(text):
    """The same of Python; of f-strings not what stands in braces."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    middle = getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if (
            token.type == tokenize.COMMENT
            or token.type in (tokenize.STRING, middle)
            and token.string.count(" ") > 1
        ):
            yield starts[token.start[0] - 1] + token.start[1], re.sub(
                r"\{[^{}\n]*\}", lambda m: " " * len(m[0]), token.string
            )


def hashed(text):
    """Comments of CMake files and shell scripts."""
    for comment in re.finditer(r"(?m)(?:^|(?<=\s))#[^\n]*", text):
        yield comment.start(), comment[0]


def prose(path):
    """(position, text) of the prose in a file."""
    text = path.read_text()
    if path.suffix == ".md":
        return text, document(text)
    if path.name.endswith(CODE):
        return text, code(text)
    return text, python(text) if path.name.endswith(PYTHON) else hashed(text)


def faults(root, files):
    """A line for each word: file, line, word, and what to write instead."""
    for path in files:
        name = path.relative_to(root).as_posix()
        if name.startswith(NOT_CLEAN) or name in QUOTED or "/results/" in name:
            continue
        text, pieces = prose(path)
        for start, piece in pieces:
            for pattern, better in FOUND:
                for word in pattern.finditer(piece):
                    line = text.count("\n", 0, start + word.start()) + 1
                    yield f"{name}:{line}: '{word[0]}': expected {better}, or another sentence (CONTRIBUTING.md)"
