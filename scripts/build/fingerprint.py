#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fingerprints of compiled kernels: they change with the code that a GPU runs, not with names or comments.

    fingerprint.py FILE...              prints a line per kernel: architecture, fingerprint, mangled name
    fingerprint.py --compare A B        compares two builds; exit status 1 if their code differs
    fingerprint.py --table FILE.json --source FILE.cpp --compiler VERSION FILE...
                                        writes the table by which report.py checks figures, and the
                                        definition for tool/measure/kernel_code.hpp

FILE, A and B are object files, libraries, programs, or folders, which stand for all *.cu.o below them.
cuobjdump extracts the machine code and the PTX (--cuobjdump, else the one on PATH).

The fingerprint of machine code (sm_90a) covers every bit of a kernel's instructions and of the functions it
calls, its registers, stack frame, barriers, thread limit and shared memory, and its file's tables of
constants and variables. That of PTX, which the driver compiles later, has an architecture named compute_80 or
the like; it covers a kernel's text and the declarations it uses, with symbols numbered in order of
appearance. A fingerprint is the beginning of the SHA-256 of that. Exit status: 0 fine, 1 different or
unreadable, 2 usage.
"""
import argparse
import collections
import hashlib
import json
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

DIGITS = 16
Kernel = collections.namedtuple("Kernel", "architecture name code")


class Unreadable(Exception):
    """A file has no kernels that can be read; the message says which and why."""


def digest(parts):
    """The fingerprint of texts and bytes; each one's length is hashed too, so that boundaries matter."""
    made = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else str(part).encode()
        made.update(b"%d:" % len(data))
        made.update(data)
    return made.hexdigest()[:DIGITS]


# ---- machine code: an ELF file (64 bits, little endian) with a section .text.<kernel> for each kernel ----

SYMBOLS, RELOCATIONS_WITH_ADDEND, NO_BITS, RELOCATIONS = 2, 4, 8, 9  # section types
FUNCTION, IS_KERNEL = 2, 0x10  # a symbol's type, and NVIDIA's bit in its st_other
# Attributes in .nv.info: those of the file, each with a symbol and a value; those of a kernel.
OF_FILE = {0x2F: "registers", 0x11: "frame"}
OF_KERNEL = {0x4C: "barriers", 0x05: "most threads", 0x10: "threads"}
# sm_70 and later: bytes of an instruction; the opcodes (12 bits) of LDL and STL.
INSTRUCTION, LOCAL_ACCESSES = 16, (0x983, 0x387)
TABLES = re.compile(r"\.nv\.(constant[1-9]\d*|global\.init)$")  # constant0 holds the arguments of a call


class Cubin:
    def __init__(self, data):
        if data[:6] != b"\x7fELF\x02\x01":
            raise Unreadable("expected an ELF file of 64 bits, little endian")
        self.data = data
        table, size, count, names = struct.unpack_from("<Q", data, 0x28) + struct.unpack_from(
            "<HHH", data, 0x3A
        )
        self.sections = [Section(data, table + i * size) for i in range(count)]
        for section in self.sections:
            section.name = self.text(self.sections[names], section.name_at)
        self.by_name = {section.name: section for section in self.sections}
        self.symbols = []  # (name, type, other, section's number, value)
        for section in self.sections:
            if section.type == SYMBOLS:
                for at in range(section.offset, section.offset + section.size, 24):
                    name, info, other, where, value = struct.unpack_from("<IBBHQ", data, at)
                    self.symbols.append(
                        (self.text(self.sections[section.link], name), info & 15, other, where, value)
                    )

    def text(self, section, at):
        begin = section.offset + at
        return self.data[begin : self.data.index(b"\0", begin)].decode()

    def content(self, section):
        return b"" if section.type == NO_BITS else self.data[section.offset : section.offset + section.size]

    def attributes(self, name):
        """The (attribute's number, data) pairs of a section .nv.info."""
        section = self.by_name.get(name)
        data, at, found = self.content(section) if section else b"", 0, []
        while at + 4 <= len(data):
            form, attribute, value = struct.unpack_from("<BBH", data, at)
            at += 4
            found.append((attribute, data[at : at + value] if form == 4 else data[at - 2 : at]))
            at += value if form == 4 else 0
        return found

    def relocations(self, number):
        """A section's relocations: (offset, info, target, its type, its value, addend). The target is an
        external symbol's name; for the file's own symbols only the kind of section, not the name."""
        found = []
        for section in self.sections:
            if section.info != number or section.type not in (RELOCATIONS, RELOCATIONS_WITH_ADDEND):
                continue
            form, size = ("<QQq", 24) if section.type == RELOCATIONS_WITH_ADDEND else ("<QQ", 16)
            for at in range(section.offset, section.offset + section.size, size):
                offset, info, *addend = struct.unpack_from(form, self.data, at)
                name, type, _, where, value = self.symbols[info >> 32]
                inside = 0 < where < len(self.sections)
                kind = (
                    re.match(r"\.(nv\.)?\w+(\.init)?", self.sections[where].name).group() if inside else name
                )
                found.append((offset, info & 0xFFFFFFFF, kind, type, value, *addend))
        return sorted(found)

    def kernel_symbols(self):
        """The kernels: (number of the symbol, name, number of the section with its code)."""
        return [
            (number, name, where)
            for number, (name, type, other, where, _) in enumerate(self.symbols)
            if type == FUNCTION and other & IS_KERNEL
        ]

    def of_file(self, number):
        """A kernel's attributes in the file's .nv.info, as (name, data) pairs in order."""
        return [
            (OF_FILE[attribute], value[4:])
            for attribute, value in sorted(self.attributes(".nv.info"))
            if attribute in OF_FILE and struct.unpack_from("<I", value)[0] == number
        ]

    def shared(self, name):
        """Bytes of shared memory that a kernel declares with a size."""
        section = self.by_name.get(f".nv.shared.{name}")
        return section.size if section else 0

    def resources(self):
        """Yields (name, registers, bytes of stack, loads and stores of local memory, bytes of shared memory)."""
        for number, name, where in self.kernel_symbols():
            known = {attribute: struct.unpack("<I", data)[0] for attribute, data in self.of_file(number)}
            code = self.content(self.sections[where])
            local = sum(
                struct.unpack_from("<H", code, at)[0] & 0xFFF in LOCAL_ACCESSES
                for at in range(0, len(code), INSTRUCTION)
            )
            yield name, known["registers"], known["frame"], local, self.shared(name)

    def kernels(self):
        tables = []
        for number, section in enumerate(self.sections):
            if TABLES.match(section.name):
                tables += [section.name, self.content(section), *self.relocations(number)]
            elif section.name == ".nv.global":
                tables += [section.name, section.size]
        for number, name, where in self.kernel_symbols():
            parts = [self.content(self.sections[where]), *self.relocations(where), *tables]
            parts += [f"{attribute} {value.hex()}" for attribute, value in self.of_file(number)]
            parts += [
                f"{OF_KERNEL[attribute]} {value.hex()}"
                for attribute, value in sorted(self.attributes(f".nv.info.{name}"))
                if attribute in OF_KERNEL
            ]
            own = self.by_name.get(f".nv.constant2.{name}")
            yield name, digest([*parts, f"shared {self.shared(name)}", self.content(own) if own else b""])


class Section:
    def __init__(self, data, at):
        self.name_at, self.type, _, _, self.offset, self.size, self.link, self.info = struct.unpack_from(
            "<IIQQQQII", data, at
        )
        self.name = ""


# ---- PTX -------------------------------------------------------------------------------------------------

NO_CODE = re.compile(
    r"//[^\n]*|/\*.*?\*/|^[ \t]*\.(?:version|target|address_size|file|loc|section)\b[^\n;{]*$",
    re.DOTALL | re.MULTILINE,
)
SPACE = re.compile(r"\s+")
DECLARED = re.compile(
    r"(?:\.(?:entry|func)\s+(?:\([^)]*\)\s*)?|\.(?:global|const|shared)\b[^=;{(]*?\s)([A-Za-z_$%][\w$]*)\s*(?=[\[(=;]|$)"
)
FUNCTION_BEGINS = re.compile(r"\s*(?:\.\w+\s+)*\.(?:entry|func)\b")


def statements(text):
    """The declarations and functions of a PTX text, in order."""
    begin = depth = 0
    for mark in re.finditer(r"[{};]", text):
        depth += {"{": 1, "}": -1, ";": 0}[mark.group()]
        if depth == 0 and (mark.group() == ";" or FUNCTION_BEGINS.match(text, begin)):
            yield text[begin : mark.end()].strip()
            begin = mark.end()


def kernels_of_ptx(text):
    declared = {}
    for statement in statements(NO_CODE.sub("", text)):
        found = DECLARED.search(statement)
        if found:
            declared[found[1]] = SPACE.sub(" ", statement)
    plain = [re.escape(name) for name in declared if name[0] not in "$_"]
    symbol = re.compile(
        r"[$_](?<![\w.%$].)[\w$]+" + "".join(rf"|(?<![\w.%$]){name}(?![\w$])" for name in plain)
    )
    for name, statement in declared.items():
        if re.match(r"(\.\w+ )*\.entry\b", statement):
            numbers, parts = {}, []

            def numbered(found):
                return "$" + str(numbers.setdefault(found.group(), len(numbers)))

            waiting = [name]
            for used in waiting:
                parts.append(symbol.sub(numbered, declared[used]))
                waiting += [other for other in numbers if other in declared and other not in waiting]
            yield name, digest(parts)


# ---- files -----------------------------------------------------------------------------------------------


def from_code(path, cuobjdump, read):
    """What read(architecture, whether it is PTX, its path) yields of each piece of code in a file."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [cuobjdump, "-xelf", "all", "-xptx", "all", path.resolve()],
            cwd=folder,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise Unreadable(f"{path}: {(done.stderr or done.stdout).strip()}")
        for made in sorted(pathlib.Path(folder).iterdir()):
            architecture = re.search(r"\.sm_(\w+)\.(cubin|ptx)$", made.name)
            if not architecture:
                continue
            try:
                yield from read(architecture[1], architecture[2] == "ptx", made)
            except (Unreadable, struct.error, IndexError, ValueError) as failure:
                raise Unreadable(f"{path}: {made.name}: {failure}") from None


def kernels_in(architecture, is_ptx, made):
    kernels = kernels_of_ptx(made.read_text()) if is_ptx else Cubin(made.read_bytes()).kernels()
    label = ("compute_" if is_ptx else "sm_") + architecture
    return (Kernel(label, name, code) for name, code in kernels)


def kernels_of(paths, cuobjdump):
    """All kernels of files and folders, in order, duplicates included."""
    files = []
    for path in paths:
        if not path.exists():
            raise Unreadable(f"{path} does not exist")
        inside = sorted(path.rglob("*.cu.o")) if path.is_dir() else [path]
        if not inside:
            raise Unreadable(f"{path}: there is no *.cu.o below it")
        files += inside
    return sorted(kernel for file in files for kernel in from_code(file, cuobjdump, kernels_in))


def table_text(kernels, compiler):
    table = {}
    for kernel in kernels:
        table.setdefault(kernel.architecture, set()).add(kernel.code)
    kernels = {architecture: sorted(codes) for architecture, codes in table.items()}
    return json.dumps({"compiler": compiler, "kernels": kernels}, indent=1) + "\n"


def source_text(kernels):
    all_of_them = sorted({(kernel.name, kernel.architecture, kernel.code) for kernel in kernels})
    rows = "".join(
        f'    {{"{name}", "{architecture}:{code}"}},\n' for name, architecture, code in all_of_them
    )
    return (
        "// The code of the kernels; written by scripts/build/fingerprint.py.\n"
        '#include "tool/measure/kernel_code.hpp"\n\nnamespace antiphase::tool {\n\n'
        f"std::span<const kernel_code> kernel_codes() {{\n  static constexpr kernel_code all[] = {{\n{rows}  }};\n  return all;\n}}\n\n"
        "}  // namespace antiphase::tool\n"
    )


def readable(names):
    """The names demangled, if c++filt is installed."""
    tool = shutil.which("c++filt") or shutil.which("cu++filt")
    if not tool or not names:
        return names
    return subprocess.run(
        [tool], input="\n".join(names), capture_output=True, text=True, check=True
    ).stdout.splitlines()


def compare(before, after):
    """Prints the kernels that only one of two lists holds. Returns whether there are none."""
    same = True
    for architecture in sorted({kernel.architecture for kernel in before + after}):
        codes = [
            collections.Counter(k.code for k in kernels if k.architecture == architecture)
            for kernels in (before, after)
        ]
        shared = sum((codes[0] & codes[1]).values())
        print(
            f"{architecture}: {sum(codes[0].values())} kernels in A, {sum(codes[1].values())} in B, {shared} of the same code"
        )
        for label, kernels, more in (("A", before, codes[0] - codes[1]), ("B", after, codes[1] - codes[0])):
            of_them = [k for k in kernels if k.architecture == architecture and k.code in more]
            for kernel, name in zip(of_them, readable([k.name for k in of_them])):
                times = more[kernel.code]
                of = sum(k.code == kernel.code for k in of_them)
                print(
                    f"  only in {label}: {kernel.code} {name}"
                    + (f" ({times} of {of} with this code)" if of > times else "")
                )
                same = False
    return same


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", metavar="FILE", nargs="*", type=pathlib.Path)
    parser.add_argument("--compare", nargs=2, metavar=("A", "B"), type=pathlib.Path)
    parser.add_argument("--cuobjdump", metavar="TOOL", default="cuobjdump")
    parser.add_argument("--table", metavar="FILE", type=pathlib.Path)
    parser.add_argument("--source", metavar="FILE", type=pathlib.Path)
    parser.add_argument("--compiler", metavar="VERSION")
    options = parser.parse_args()
    if bool(options.compare) == bool(options.files):
        parser.error("expected files, or --compare and two")
    if bool(options.table or options.source) and not (
        options.table and options.source and options.compiler and options.files
    ):
        parser.error("--table, --source and --compiler belong together, with files")
    cuobjdump = shutil.which(options.cuobjdump)
    if not cuobjdump:
        parser.error(
            f"there is no {options.cuobjdump}: expected the CUDA toolkit's cuobjdump on PATH or named with --cuobjdump"
        )
    try:
        if options.compare:
            same = compare(*(kernels_of([path], cuobjdump) for path in options.compare))
            print("the same code" if same else "different code")
            return 0 if same else 1
        kernels = kernels_of(options.files, cuobjdump)
    except Unreadable as failure:
        print(f"fingerprint.py: {failure}", file=sys.stderr)
        return 1
    if options.table:
        options.table.write_text(table_text(kernels, options.compiler))
        options.source.write_text(source_text(kernels))
    else:
        print("".join(f"{k.architecture} {k.code} {k.name}\n" for k in kernels), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
