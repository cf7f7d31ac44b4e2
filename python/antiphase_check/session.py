# SPDX-License-Identifier: Apache-2.0
"""Programs that capture() compiles for the checker, their calls, and the session that checks them."""
import ast
import contextlib
import ctypes
import dataclasses
import difflib
import functools
import glob
import importlib.util
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import weakref

from antiphase_check.each import tool

# c10::ScalarType by names of NumPy and torch
_TYPES = {
    "uint8": 0,
    "int8": 1,
    "int16": 2,
    "int32": 3,
    "int64": 4,
    "float16": 5,
    "float32": 6,
    "float64": 7,
    "bool": 11,
    "bfloat16": 15,
    # the same bits
    "uint16": 2,
    "uint32": 3,
    "uint64": 4,
}
_NAMES = {number: name for name, number in reversed(_TYPES.items())}
_SIZES = {0: 1, 1: 1, 2: 2, 3: 4, 4: 8, 5: 2, 6: 4, 7: 8, 11: 1, 15: 2}
_MOST = 4096  # MiB of device memory
_SAME_CALLS = 2  # calls of a function with arguments of the same shapes that are checked


class Unsupported(Exception):
    """What is not checked, by name."""


class Stopped(BaseException):
    """A call did not end: its findings are all there is. The program cannot go on without its result."""


# source text and lines
# ----------------------------------------------------------------------------------------------------------


def _literals(file, source):
    """String literals of more than one line in a Python file, with the line of each of their lines; none if the
    file has no line of the source, as most modules of a program: to parse them all takes longer than to read them.
    """
    try:
        text = pathlib.Path(file).read_text(errors="replace")
        if not any(row in text for row in source):
            return []
        tree = ast.parse(text)
    except (OSError, SyntaxError, ValueError):
        return []
    rows, found = text.split("\n"), []
    inside = {id(v) for n in ast.walk(tree) if isinstance(n, ast.JoinedStr) for v in n.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            value = "".join(
                v.value if isinstance(v, ast.Constant) and isinstance(v.value, str) else "\0"
                for v in node.values
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside:
            value = node.value
        else:
            continue
        if "\n" not in value and "__global__" not in value:
            continue
        at, last, lines = node.lineno - 1, (node.end_lineno or node.lineno) - 1, []
        for line in value.split("\n"):
            piece = max(line.split("\0"), key=len).strip()
            place = next((k for k in range(at, last + 1) if piece in rows[k]), None) if piece else at
            place = min(at, last) if place is None else place
            lines.append((line, place + 1))
            at = place + 1
        found.append(lines)
    return found


def located(source, files):
    """The source with #line directives that name the lines of the Python files that hold it as literals. Lines
    that were filled in, by % or {}, count on from those before."""
    rows = source.split("\n")
    where = [None] * len(rows)
    # rows of more than names and numbers, which are in other files too
    distinctive = sorted(
        {row.strip() for row in rows if len(re.sub(r"\w+|\s", "", row)) > 2}, key=len, reverse=True
    )
    literals = [(f, l) for f in files for l in _literals(f, distinctive or rows)]
    for file, lines in sorted(literals, key=lambda one: -len(one[1])):
        texts = [text for text, _ in lines]
        blocks = difflib.SequenceMatcher(None, texts, rows, autojunk=False).get_matching_blocks()
        found = [(b.a + k, b.b + k) for b in blocks for k in range(b.size) if len(texts[b.a + k].strip()) > 2]
        if 2 * len(found) < sum(len(text.strip()) > 2 for text in texts) or any(
            where[row] for _, row in found
        ):
            continue
        for at, row in found:
            where[row] = (file, lines[at][1])
    out, expected = [], None
    for row, place in zip(rows, where):
        if place is not None and place != expected and not (out and out[-1].endswith("\\")):
            out.append(f"#line {place[1]} {json.dumps(str(place[0]))}")
            expected = place
        out.append(row)
        expected = (expected[0], expected[1] + 1) if expected else None
    return "\n".join(out) + "\n"


# values in the file of calls (include/antiphase/stand_ins/bindings/calls.h)
# ----------------------------------------------------------------------------------------------------------


def _text(s):
    data = s.encode()
    return struct.pack("<I", len(data)) + data


@dataclasses.dataclass
class Array:
    """An array for a call: element type, sizes, strides in elements, and a function for its bytes. `kind`: 'd'
    for data, 'u' for memory that was never written, 'm' for any numbers."""

    type: int
    sizes: tuple
    strides: tuple
    data: object
    kind: str = "d"
    host: bool = False
    owner: object = None

    def span(self):
        return 0 if 0 in self.sizes else 1 + sum((n - 1) * s for n, s in zip(self.sizes, self.strides))

    def pack(self):
        size = self.span() * _SIZES[self.type]
        data = self.data() if self.kind == "d" else b""
        head = struct.pack("<b", self.type) + (b"h" if self.host else b"d") + self.kind.encode()
        n = len(self.sizes)
        return b"t" + head + struct.pack(f"<I{2 * n}qQ", n, *self.sizes, *self.strides, size) + data


class Memory:
    """All the memory of a tensor or array, `owner`, whose attribute `flag` says that it was never written."""

    def __init__(self, base, size, owner, flag):
        self.base, self.size, self.owner, self.flag = base, size, owner, flag

    def take_unwritten(self):
        unwritten = getattr(self.owner, self.flag, False)
        if unwritten:
            setattr(self.owner, self.flag, False)
        return unwritten

    def bytes(self):
        return (ctypes.c_char * self.size).from_address(self.base).raw

    def store(self, data):
        ctypes.memmove(self.base, data, len(data))


@dataclasses.dataclass
class Pointer:
    """The address of a byte of a tensor's memory as an integer: of all that memory, which begins at `base`. `words`:
    bytes of it at which there are addresses in other memory, as Pointers."""

    array: Array
    base: int
    offset: int
    words: tuple = ()

    def memories(self):
        """A Pointer for each memory that is pointed to, without what is in it."""
        return list({p.base: Pointer(p.array, p.base, 0) for _, p in self.words}.values())

    def pack(self):
        head = struct.pack("<Qq", self.base, self.offset) + self.array.pack()
        if not self.words:
            return b"p" + head
        memories = self.memories()
        number = {p.base: n for n, p in enumerate(memories)}
        head += struct.pack("<I", len(memories)) + b"".join(p.pack()[1:] for p in memories)
        words = [struct.pack("<QIq", at, number[p.base], p.offset) for at, p in self.words]
        return b"r" + head + struct.pack("<I", len(words)) + b"".join(words)


def _pack(value):
    if value is None:
        return b"n"
    if isinstance(value, Pointer):
        return value.pack()
    if isinstance(value, Array):
        return value.pack()
    if isinstance(value, Word):
        return b"w" + struct.pack("<b", value.type) + value.bytes.ljust(8, b"\0")
    if isinstance(value, bool):
        return b"b" + struct.pack("<b", value)
    if isinstance(value, int):
        return b"i" + struct.pack("<q", value)
    if isinstance(value, float):
        return b"f" + struct.pack("<d", value)
    if isinstance(value, str):
        return b"s" + _text(value)
    if isinstance(value, (list, tuple)):
        return b"l" + struct.pack("<I", len(value)) + b"".join(map(_pack, value))
    raise TypeError(f"an argument is a {type(value).__name__}: expected a tensor, a number, a str or a list")


def _size(value):
    """Bytes of the arrays in a value."""
    if isinstance(value, Pointer):
        return _size([value.array, *value.memories()])
    if isinstance(value, Array):
        return value.span() * _SIZES[value.type]
    return sum(map(_size, value)) if isinstance(value, (list, tuple)) else 0


def _signature(value):
    if isinstance(value, Array):
        return (value.type, value.sizes, value.strides, value.kind, value.host)
    if isinstance(value, Pointer):
        return (_signature(value.array), value.offset, _signature(value.memories()))
    if isinstance(value, (list, tuple)):
        return tuple(map(_signature, value))
    return value.bytes if isinstance(value, Word) else repr(value)


@dataclasses.dataclass
class Word:
    type: int
    bytes: bytes


class _Results:
    """Reads the results of a call."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def number(self, form):
        (v,) = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return v

    def bytes(self, size):
        self.at += size
        return self.data[self.at - size : self.at]

    def text(self):
        return self.bytes(self.number("I")).decode(errors="replace")

    def shape(self):
        n = self.number("I")
        return tuple(self.number("q") for _ in range(n)), tuple(self.number("q") for _ in range(n))

    def value(self, make, given):
        tag = self.bytes(1)
        if tag == b"b":
            return self.number("b") != 0
        if tag == b"i":
            return self.number("q")
        if tag == b"f":
            return self.number("d")
        if tag == b"s":
            return self.text()
        if tag == b"l":
            return [self.value(make, given) for _ in range(self.number("I"))]
        if tag == b"a":  # an argument, or a view of one
            owner = given[self.number("I")].owner
            sizes, strides = self.shape()
            return make.view(owner, sizes, strides, self.number("q"))
        if tag == b"t":
            kind = self.number("b")
            sizes, _ = self.shape()
            return make.array(kind, sizes, self.bytes(self.number("Q")))
        return None

    def changes(self):
        return [self.bytes(self.number("Q")) if self.number("b") else None for _ in range(self.number("I"))]


# programs
# ----------------------------------------------------------------------------------------------------------


class Program:
    """Sources with functions or kernels, compiled for the checker, and the calls of them. `language`: of a kernel in
    PTX, for the words of findings."""

    def __init__(self, session, label, files, flags=(), at="", language=""):
        self.session, self.label, self.flags, self.at = session, label, list(flags), at
        self.language = language
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="program", dir=session.folder))
        self.sources = []
        for name, text in files:
            path = self.folder / name
            path.write_text(text)
            self.sources.append(str(path))
        self.calls, self.counts, self.made, self.reported = [], {}, 0, {}
        session.programs.append(self)

    @property
    def object(self):
        return self.folder / "program.so"

    def run(self, calls, results=None):
        """One schedule of these calls; None if it did not get to their end."""
        (self.folder / "call").write_bytes(calls)
        to = self.folder / "result"
        to.unlink(missing_ok=True)
        command = [
            tool(),
            "check",
            *self.sources,
            *self.flags,
            "--schedules",
            "1",
            "--order",
            "forward",
            "--json",
        ]
        if blocks := os.environ.get("ANTIPHASE_CHECK_BLOCKS"):  # of the user's `antiphase check model.py`
            command += ["--blocks", blocks]
        command += ["--seconds", str(self.session.seconds), "--", str(self.folder / "call"), str(to)]
        environment = {**os.environ, "ANTIPHASE_CHECK_OBJECT": str(self.object)}
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", env=environment)
        sys.stderr.write("" if done.returncode in (0, 2, 3, 4, 5) else done.stderr)
        report = json.loads(done.stdout)["programs"][0] if done.stdout.strip() else {}
        self.session.partial |= any("blocks" in note for note in report.get("notes", ()))
        if done.returncode == 3:
            self.calls.append(calls)
            raise Stopped(f"{self.label} does not compile")
        return to.read_bytes() if to.exists() else None

    def call(self, name, positional, named, make):
        """Calls a function, with arguments that are packed already; returns its result."""
        arguments = [("", a) for a in positional] + list(named.items())
        size = sum(_size(value) for _, value in arguments) >> 20
        if size > _MOST:
            self.session.reject(
                f"{name}() is given {size} MiB, and the checker follows at most {_MOST} MiB of device memory: "
                "make its arrays smaller, for example by -D for a constant of the file"
            )
        packed = _text(name) + struct.pack("<I", len(arguments))
        packed += b"".join(_text(keyword) + _pack(value) for keyword, value in arguments)
        shape = (name, tuple((k, _signature(v)) for k, v in arguments))
        seen = self.counts[shape] = self.counts.get(shape, 0) + 1
        self.made += 1
        result = self.run(packed)
        if result is None:
            self.calls.append(packed)
            raise Stopped(f"{name}() did not get to its end")
        results = _Results(result)
        given = []

        def collect(value):
            if isinstance(value, Array):
                given.append(value)
            elif isinstance(value, Pointer):
                given.append(value.array)
                collect(value.memories())
            elif isinstance(value, (list, tuple)):
                for one in value:
                    collect(one)

        for _, value in arguments:
            collect(value)
        kind = results.bytes(1)
        if kind != b"r":
            raise (TypeError if kind == b"T" else RuntimeError)(f"{name}(): {results.text()}")
        if seen <= _SAME_CALLS:
            self.calls.append(packed)
        value = results.value(make, given)
        for array, now in zip(given, results.changes()):
            if now is not None and array.owner is not None:
                make.store(array, now)
        return value

    def entry(self):
        """For the manifest: what `antiphase check` runs."""
        path = self.folder / "calls"
        path.write_bytes(b"".join(self.calls))
        return {
            "label": self.label,
            "sources": self.sources,
            "options": self.flags,
            "arguments": [str(path)],
            "object": str(self.object) if self.object.exists() else "",
            "calls": self.made,
            "language": self.language,
        }


KERNELS = "<antiphase/stand_ins/bindings/kernels.h>"


def launching_main(name, function):
    """A main that launches a kernel, which is a function of C++, as a file of calls says."""
    added = f'antiphase::plain::python::add_kernel("{name}", {function});'
    return f"int main(int c, char** v) {{\n  {added}\n  return antiphase::plain::python::serve(c, v);\n}}\n"


_MAIN = "int main(int c, char** v) { return antiphase::plain::python::serve(c, v); }\n"


class Session:
    """What a run of a Python program has given to check. `programs` have kernels; `refused` are places and
    reasons of what cannot be checked; `notes` are for the report."""

    def __init__(self, seconds=60, folder=None):
        self.folder = folder or tempfile.mkdtemp(prefix="antiphase-capture-")
        if not folder:
            weakref.finalize(self, shutil.rmtree, self.folder, True)
        self.seconds, self.programs, self.refused, self.notes = seconds, [], [], []
        self.partial, self.files, self.text, self.wrong = False, [], None, []
        self.memories = {}  # by the address where they begin: those whose address Python has asked for
        self.graph = None  # of torch, while it is captured

    def work(self, function, *arguments):
        """Does work of the device: now, or at each replay of the graph that is captured."""
        if self.graph is None:
            function(*arguments)
        else:
            self.graph.work.append(lambda: function(*arguments))

    def uses(self, library):
        """Whether a library is needed: the program names it, or, without a program's text, it can be imported."""
        if library == "cuda" and (self._names("numba", "numba_cuda") or self._names("cutlass", "cutlass")):
            return False  # they need the package itself
        return self._names(library, "torch" if library == "torch" else "numpy")

    def _names(self, library, package):
        if self.text is None:
            return importlib.util.find_spec(package) is not None
        named = rf"^\s*(from\s+|import\s+([\w.]+(\s+as\s+\w+)?\s*,\s*)*){library}\b"
        return re.search(named, self.text, re.MULTILINE) is not None

    def python_files(self):
        """Files whose literals may be the sources: the program's own, not libraries."""
        found = list(self.files)
        for module in list(sys.modules.values()):
            file = getattr(module, "__file__", None)
            if file and self.is_own(file) and os.path.abspath(file) not in map(os.path.abspath, found):
                found.append(file)
        return [_shown(f) for f in found]

    @staticmethod
    def is_own(file):
        """Whether a file of Python is the user's."""
        folder = os.path.dirname(os.path.abspath(file))
        return (
            file.endswith(".py")
            and os.path.exists(file)
            and not _is_installed(folder)
            and folder != os.path.dirname(os.path.abspath(__file__))
            and not folder.startswith(os.path.dirname(os.__file__))
        )

    def located(self, source):
        return located(source, self.python_files())

    def pointer(self, value):
        """What an integer is the address in; the integer if in no memory that Python has asked for."""
        for memory in self.memories.values():
            if memory.base <= value < memory.base + memory.size:
                kind = "u" if memory.take_unwritten() else "d"
                made = Array(_TYPES["uint8"], (memory.size,), (1,), None, kind, owner=memory)
                made.data = memory.bytes
                return Pointer(made, memory.base, value - memory.base)
        return value

    def arrays(self):
        """Arrays of NumPy that variables of the user's functions hold, in lists and the like too."""
        import numpy

        frame, found = sys._getframe(1), []

        def look(value, deep):
            if isinstance(value, numpy.ndarray):
                found.append(value)
            elif deep and isinstance(value, (list, tuple)):
                for one in value:
                    look(one, deep - 1)
            elif deep and isinstance(value, dict):
                look(list(value.values()), deep)

        while frame is not None:
            if self.is_own(frame.f_code.co_filename):
                for names in (frame.f_locals, frame.f_globals):
                    look(list(names.values()), 3)
            frame = frame.f_back
        return found

    def refuse(self, what, instead):
        self.reject(f"{what} is not supported here: use {instead}")

    def reject(self, text):
        file, line = self.caller()
        self.refused.append({"file": file, "line": line, "text": text})
        raise Unsupported(f"{file}:{line}: {text}")

    def caller(self):
        frame = sys._getframe(1)
        while frame is not None:
            file = frame.f_code.co_filename
            if self.is_own(file):
                return _shown(file), frame.f_lineno
            frame = frame.f_back
        return (self.files or ["?"])[0], 0

    def place_of(self, what):
        """File and line of a class."""
        for file in self.files:
            for node in ast.walk(ast.parse(pathlib.Path(file).read_text(errors="replace"))):
                if isinstance(node, ast.ClassDef) and node.name == what.__name__:
                    return file, node.lineno
        return (self.files or ["?"])[0], 0

    def compare(self, result, expected, place):
        """Notes where a model's result is not that of the reference, within what KernelBench allows."""
        import torch

        if isinstance(expected, (list, tuple)):
            for r, e in zip(result, expected):
                self.compare(r, e, place)
            return
        if not isinstance(expected, torch.Tensor) or not isinstance(result, torch.Tensor):
            return
        why = None
        if result.shape != expected.shape:
            why = f"the result has the shape {tuple(result.shape)}, that of Model {tuple(expected.shape)}"
        elif not torch.allclose(result.double(), expected.double(), rtol=1e-2, atol=1e-2, equal_nan=True):
            apart = (result.double() - expected.double()).abs().max().item()
            why = f"the result differs from that of Model by up to {apart:.3g}"
        if why:
            self.wrong.append({"file": place[0], "line": place[1], "text": why})

    def check(self, schedules=20, options=()):
        """Runs all calls under many schedules; returns a Summary of what `antiphase check` found."""
        summary = Summary([], [], list(self.notes))
        many = [] if "--schedules" in options else ["--schedules", str(int(schedules))]
        for program in self.programs:
            if not program.calls:
                continue
            entry = program.entry()
            command = [tool(), "check", *entry["sources"], *entry["options"], *many]
            command += ["--seconds", str(self.seconds), "--json", *options, "--", *entry["arguments"]]
            environment = {
                **os.environ,
                "ANTIPHASE_CHECK_OBJECT": str(program.object),
                "ANTIPHASE_CHECK_LANGUAGE": program.language,
            }
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", env=environment)
            report = json.loads(done.stdout)["programs"][0] if done.stdout.strip() else {}
            if done.returncode not in (0, 4, 5):
                summary.refused.append(done.stderr.strip())
            summary.findings += report.get("findings", [])
            summary.notes += report.get("notes", [])
            if report.get("unfinished") or (done.returncode == 4 and not report.get("refused")):
                summary.refused.append("a run did not end")
            if done.returncode in (0, 4, 5):
                summary.refused += [why["text"] for why in report.get("refused", ())]
        summary.refused += [f"{r['file']}:{r['line']}: {r['text']}" for r in self.refused]
        return summary


@functools.lru_cache(None)
def _is_installed(folder):
    """Whether pip has made a folder, or one around it: in site-packages, or by --target."""
    around = (folder, *map(str, pathlib.Path(folder).parents))
    return "site-packages" in folder or any(glob.glob(f"{glob.escape(one)}/*.dist-info") for one in around)


def _shown(file):
    """The file's name as reports show it."""
    near = os.path.relpath(file)
    return file if near.startswith("..") else near


@dataclasses.dataclass
class Summary:
    """findings: as in the JSON of `antiphase check`. refused: why something was not checked. notes: what was not
    looked at."""

    findings: list
    refused: list
    notes: list

    @property
    def clean(self):
        """Whether everything was checked and nothing was found."""
        return not self.findings and not self.refused

    def __str__(self):
        lines = []
        for f in self.findings:
            at = f["access"]["at"]
            lines.append(f"{at['file']}:{at['line']}: {f['kind']}: {f['access']['action']}, {f['memory']}")
        return "\n".join(lines + self.refused + [f"note: {n}" for n in self.notes]) or "no finding"


def _compiled_as(flags):
    """Those options of nvcc that choose what is compiled, and as which C++."""
    kept, words = [], [str(f) for f in flags or ()]
    for at, word in enumerate(words):
        following = words[at + 1] if at + 1 < len(words) else None
        if word[:2] in ("-D", "-U", "-I") and len(word) > 2:
            kept.append(word)
        elif word in ("-D", "-U", "-I") and following:
            kept.append(word + following)
        elif word in ("-std", "--std") and following:
            kept.append(f"-std={following}")
        elif word.startswith(("-std=", "--std=")):
            kept.append(f"-std={word.partition('=')[2]}")
    return kept


@contextlib.contextmanager
def _replaced(places):
    """Sets attributes, (object, name, value), for a while."""
    before = [(o, n, getattr(o, n, None), hasattr(o, n)) for o, n, _ in places]
    for o, n, v in places:
        setattr(o, n, v)
    try:
        yield
    finally:
        for o, n, v, was in reversed(before):
            setattr(o, n, v) if was else delattr(o, n)
