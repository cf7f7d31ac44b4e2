#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fingerprint.py: names, addresses and order of kernels do not matter, code does. On made-up code and on a
compiler's output."""
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

SCRIPTS = pathlib.Path(sys.argv.pop()).resolve() / "build"
sys.path.insert(0, str(SCRIPTS))
import fingerprint  # noqa: E402

NVCC, CUOBJDUMP = os.environ.get("ANTIPHASE_NVCC"), os.environ.get("ANTIPHASE_CUOBJDUMP")


class Elf:
    """An ELF file in nvcc's format with the sections that are added. A kernel is a section .text.NAME and a
    symbol of that section."""

    def __init__(self):
        # name, type, content, link, info, size
        self.sections, self.symbols = [("", 0, b"", 0, 0, 0)], [("", 0, 0, 0, 0)]

    def section(self, name, content=b"", type=1, info=0, size=None):
        self.sections.append((name, type, content, 0, info, len(content) if size is None else size))
        return len(self.sections) - 1

    def symbol(self, name, where, type=2, other=0x10, value=0):
        self.symbols.append((name, type, other, where, value))
        return len(self.symbols) - 1

    def kernel(self, name, code, registers=32, frame=0, shared=0, threads=256):
        symbol = self.symbol(name, self.section(f".text.{name}", code))
        of_file = ((0x2F, registers), (0x11, frame))
        file_info = b"".join(
            struct.pack("<BBHII", 4, attribute, 8, symbol, value) for attribute, value in of_file
        )
        self.section(
            f".nv.info.{name}",
            struct.pack("<BBH", 3, 0x4C, 1) + struct.pack("<BBHIII", 4, 0x05, 12, threads, 1, 1),
        )
        self.section(f".nv.shared.{name}", type=8, size=shared)
        return file_info

    def bytes(self, infos=b""):
        if infos:
            self.section(".nv.info", infos)
        strings = bytearray(b"\0")

        def text(string):
            strings.extend(string.encode() + b"\0")
            return len(strings) - len(string.encode()) - 1

        table = b"".join(
            struct.pack("<IBBHQQ", text(name), type, other, where, value, 0)
            for name, type, other, where, value in self.symbols
        )
        self.section(".symtab", table, type=2)
        names = [text(section[0]) for section in self.sections] + [text(".strtab")]
        self.section(".strtab", bytes(strings), type=3)
        last, content, headers = len(self.sections) - 1, b"", b""
        for (_, type, data, _, info, size), name in zip(self.sections, names):
            headers += struct.pack("<IIQQQQIIQQ", name, type, 0, 0, 64 + len(content), size, last, info, 1, 0)
            content += data
        head = struct.pack(
            "<HHIQQQIHHHHHH", 2, 190, 1, 0, 0, 64 + len(content), 0, 64, 0, 0, 64, len(self.sections), last
        )
        return b"\x7fELF\x02\x01\x01" + bytes(9) + head + content + headers


def cubin(*kernels, before=(), **attributes):
    """A cubin with kernels given as pairs of name and code."""
    elf = Elf()
    for name, content in before:
        elf.section(name, content)
    return elf.bytes(b"".join(elf.kernel(name, code, **attributes) for name, code in kernels))


def codes(data):
    return dict(fingerprint.Cubin(data).kernels())


CODE, OTHER = bytes(range(64)), bytes(range(1, 65))


class MachineCode(unittest.TestCase):
    def code(self, *arguments, **more):
        return codes(cubin(("k", CODE), *arguments, **more))["k"]

    def test_what_a_fingerprint_looks_like(self):
        found = codes(cubin(("one", CODE), ("other", OTHER)))
        self.assertEqual(sorted(found), ["one", "other"])
        for code in found.values():
            self.assertRegex(code, "^[0-9a-f]{16}$")
        self.assertNotEqual(found["one"], found["other"])

    def test_names_order_and_neighbours_do_not_matter(self):
        one, other = codes(cubin(("one", CODE), ("other", OTHER))).values()
        self.assertEqual(
            codes(cubin(("x", OTHER), ("a_longer_name", CODE))), {"a_longer_name": one, "x": other}
        )
        self.assertEqual(codes(cubin(("k", CODE)))["k"], one)
        self.assertEqual(
            codes(cubin(("k", CODE), before=[(".debug_line", b"lines"), (".nv.constant0.k", b"arguments")]))[
                "k"
            ],
            one,
        )

    def test_every_instruction_matters(self):
        for at in range(len(CODE)):
            changed = CODE[:at] + bytes([CODE[at] ^ 1]) + CODE[at + 1 :]
            self.assertNotEqual(codes(cubin(("k", changed)))["k"], self.code(), at)
        self.assertNotEqual(codes(cubin(("k", CODE + CODE[:16])))["k"], self.code())

    def test_resources_matter(self):
        for attribute in ("registers", "frame", "shared", "threads"):
            self.assertNotEqual(self.code(**{attribute: 48}), self.code(), attribute)

    def test_attributes_are_those_of_the_kernel(self):
        """Another kernel's registers do not count."""
        elf = Elf()
        infos = elf.kernel("k", CODE) + elf.kernel("other", OTHER, registers=99)
        self.assertEqual(codes(elf.bytes(infos))["k"], self.code())

    def test_tables_of_constants_and_variables_matter(self):
        found = [
            self.code(before=[(name, content)])
            for name in (".nv.constant3", ".nv.global.init", ".nv.constant2.k")
            for content in (b"1234", b"1235")
        ]
        self.assertEqual(len({*found, self.code()}), 7)

    def with_address(self, variable, where, value, offset=16):
        """A kernel that contains the address of a variable, relocated when the code is loaded."""
        elf = Elf()
        infos = elf.kernel("k", CODE)
        symbol = elf.symbol(
            variable, elf.section(where, type=8, size=64) if where else 0, type=1, other=0, value=value
        )
        elf.section(".rela.text.k", struct.pack("<QQq", offset, symbol << 32 | 2, 0), type=4, info=1)
        return codes(elf.bytes(infos))["k"]

    def test_addresses_matter_by_what_they_are_of_not_by_its_name(self):
        first = self.with_address("counter", ".nv.global", 8)
        self.assertEqual(self.with_address("renamed", ".nv.global", 8), first)
        others = [
            self.with_address("counter", ".nv.global", 12),
            self.with_address("counter", ".nv.global", 8, offset=32),
            self.with_address("counter", ".nv.local", 8),
            self.with_address("vprintf", "", 0),
            self.with_address("__assertfail", "", 0),
        ]
        self.assertEqual(len({first, *others}), 6)

    def test_what_is_no_elf_file_is_refused(self):
        for data in (b"", b"text", b"\x7fELF\x01\x01" + bytes(60)):
            with self.assertRaisesRegex(fingerprint.Unreadable, "expected an ELF file of 64 bits"):
                codes(data)


PTX = """//
// Generated by NVIDIA NVVM Compiler
//
.version 9.0
.target sm_80
.address_size 64

.extern .func (.param .b32 func_retval0) vprintf
(
.param .b64 vprintf_param_0
)
;
.const .align 4 .b8 _ZN3one5tableE[16] = {0, 0, 128, 63, 0, 0, 0, 64};
.global .align 4 .u32 counter;
.func (.param .b32 func_retval0) _Z6helperfi(
.param .b32 _Z6helperfi_param_0
)
{
.reg .f32 %f<5>;
mov.u64 %rd2, _ZN3one5tableE;
ret;
}
.visible .entry _ZN3one1kEPfi(
.param .u64 _ZN3one1kEPfi_param_0
)
.maxntid 256, 1, 1
{
.reg .b32 %r<4>;
.shared .align 4 .b8 _ZZN3one1kEPfiE1s[256];
ld.param.u64 %rd1, [_ZN3one1kEPfi_param_0];
.loc 1 23 4
@%p1 bra $L__BB1_2;
{
call.uni (retval0), _Z6helperfi, (param0);
}
$L__BB1_2:
add.s32 %r1, %r2, 1; // one more
ret;

}
.visible .entry plain()
{
mov.u64 %rd1, counter;
atom.global.add.u32 %r1, [%rd1], 7;
ret;
}
"""


class Ptx(unittest.TestCase):
    def setUp(self):
        self.before = dict(fingerprint.kernels_of_ptx(PTX))
        self.assertEqual(sorted(self.before), ["_ZN3one1kEPfi", "plain"])

    def changed(self, old, new):
        """The kernels whose fingerprints change with the text; the others must keep theirs."""
        self.assertIn(old, PTX)
        after = dict(fingerprint.kernels_of_ptx(PTX.replace(old, new)))
        self.assertEqual(len(after), 2)
        return [name for name, code in zip(self.before, after.values()) if code != self.before[name]]

    def test_names_and_numbers_of_labels_do_not_matter(self):
        for old, new in (
            ("_ZN3one1k", "_ZN5other2kk"),
            ("_Z6helperfi", "_Z2hfi"),
            ("_ZN3one5tableE", "_ZN5other1tE"),
            ("L__BB1", "L__BB7"),
            ("counter", "tally"),
            ("plain", "renamed"),
        ):
            self.assertEqual(self.changed(old, new), [], old)

    def test_lines_comments_and_layout_do_not_matter(self):
        for old, new in (
            (".loc 1 23 4\n", ""),
            (".loc 1 23 4", ".loc 2 9 9"),
            ("// one more", "/* two\nmore */"),
            ("ret;\n\n}", "ret;\n}"),
            (".version 9.0", ".version 8.7"),
        ):
            self.assertEqual(self.changed(old, new), [], old)

    def test_instructions_matter(self):
        for old, new in (
            ("%r2, 1;", "%r2, 2;"),
            ("add.s32", "sub.s32"),
            ("bra $L__BB1_2", "bra $L__BB1_3"),
            ("E1s[256]", "E1s[512]"),
            (".maxntid 256", ".maxntid 128"),
        ):
            self.assertEqual(self.changed(old, new), ["_ZN3one1kEPfi"], old)
        self.assertEqual(self.changed("[%rd1], 7", "[%rd1], 8"), ["plain"])

    def test_what_a_kernel_uses_matters(self):
        for old, new in (("0, 0, 128, 63", "0, 0, 128, 64"), ("%f<5>", "%f<6>")):
            self.assertEqual(self.changed(old, new), ["_ZN3one1kEPfi"], old)
        self.assertEqual(self.changed(".align 4 .u32 counter", ".align 8 .u64 counter"), ["plain"])

    def test_the_order_of_kernels_does_not_matter(self):
        head, kernel, plain = (part.strip() for part in PTX.replace(".visible", "\0.visible").split("\0"))
        self.assertEqual(dict(fingerprint.kernels_of_ptx("\n".join((head, plain, kernel)))), self.before)


# A stand-in for cuobjdump: an object file is JSON with the files in it.
TOOL = f"""#!{sys.executable}
import json, sys
assert sys.argv[1:5] == ["-xelf", "all", "-xptx", "all"]
try:
    for name, content in json.load(open(sys.argv[5])).items():
        open(name, "wb").write(bytes.fromhex(content))
except ValueError:
    sys.exit("cuobjdump fatal: no device code")
"""


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.tool = self.root / "cuobjdump"
        self.tool.write_text(TOOL)
        self.tool.chmod(0o755)
        self.object("a/x.cu.o", sm_90a=cubin(("k", CODE)), sm_80=cubin(("k", CODE)))
        self.object("a/y.cu.o", sm_90a=cubin(("l", OTHER)))
        (self.root / "a/host.cpp.o").write_text("without kernels")

    def object(self, name, ptx="", **cubins):
        files = {f"x.1.{architecture}.cubin": data.hex() for architecture, data in cubins.items()}
        if ptx:
            files["x.1.sm_80.ptx"] = ptx.encode().hex()
        (self.root / name).parent.mkdir(exist_ok=True)
        (self.root / name).write_text(json.dumps(files))

    def run_script(self, *arguments, code=0):
        done = subprocess.run(
            [sys.executable, SCRIPTS / "fingerprint.py", "--cuobjdump", self.tool, *arguments],
            capture_output=True,
            text=True,
            cwd=self.root,
        )
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout if code == 0 or not done.stderr else done.stderr

    def test_a_line_for_each_kernel(self):
        lines = [line.split() for line in self.run_script("a").splitlines()]
        self.assertEqual(
            [(architecture, name) for architecture, _, name in lines],
            [("sm_80", "k"), ("sm_90a", "k"), ("sm_90a", "l")],
        )
        self.assertIn(f"sm_90a {codes(cubin(('k', CODE)))['k']} k\n", self.run_script("a/x.cu.o"))

    def test_the_same_code_wherever_it_is_and_whatever_it_is_called(self):
        self.object("b/z.cu.o", sm_90a=cubin(("renamed", OTHER), ("k", CODE)), sm_80=cubin(("k", CODE)))
        told = self.run_script("--compare", "a", "b")
        self.assertEqual(
            told,
            "sm_80: 1 kernels in A, 1 in B, 1 of the same code\n"
            "sm_90a: 2 kernels in A, 2 in B, 2 of the same code\nthe same code\n",
        )

    def test_different_code_is_named(self):
        self.object("b/z.cu.o", sm_90a=cubin(("renamed", OTHER[::-1]), ("k", CODE)), sm_80=cubin(("k", CODE)))
        told = self.run_script("--compare", "a", "b", code=1)
        self.assertRegex(
            told,
            r"sm_90a: 2 kernels in A, 2 in B, 1 of the same code\n"
            r"  only in A: \w{16} l\n  only in B: \w{16} renamed\ndifferent code\n$",
        )
        self.object("b/z.cu.o", sm_90a=cubin(("l", OTHER), ("k", CODE)))  # not for sm_80
        self.assertRegex(
            self.run_script("--compare", "a", "b", code=1),
            r"sm_80: 1 kernels in A, 0 in B, 0 of the same code\n  only in A: \w{16} k\n",
        )

    def test_a_kernel_that_is_there_more_often_is_a_difference(self):
        self.object("b/x.cu.o", sm_90a=cubin(("k", CODE)), sm_80=cubin(("k", CODE)))
        self.object("b/y.cu.o", sm_90a=cubin(("l", OTHER), ("copy", OTHER)))
        told = self.run_script("--compare", "a", "b", code=1)
        self.assertRegex(
            told,
            r"only in B: \w{16} copy \(1 of 2 with this code\)\n  only in B: \w{16} l \(1 of 2 with this code\)\n",
        )

    def test_ptx_is_compared_as_such(self):
        self.object("b/x.cu.o", ptx=PTX)
        self.object("c/x.cu.o", ptx=PTX.replace("_ZN3one1k", "_ZN5other2kk"))
        self.assertIn(
            "compute_80: 2 kernels in A, 2 in B, 2 of the same code\n", self.run_script("--compare", "b", "c")
        )
        self.object("c/x.cu.o", ptx=PTX.replace("add.s32", "sub.s32"))
        self.run_script("--compare", "b", "c", code=1)

    def test_what_the_build_needs(self):
        self.run_script(
            "--table", "t.json", "--source", "t.cpp", "--compiler", "13.0.88", "a/x.cu.o", "a/y.cu.o"
        )
        k, l = codes(cubin(("k", CODE)))["k"], codes(cubin(("l", OTHER)))["l"]
        self.assertEqual(
            json.loads((self.root / "t.json").read_text()),
            {"compiler": "13.0.88", "kernels": {"sm_80": [k], "sm_90a": sorted([k, l])}},
        )
        source = (self.root / "t.cpp").read_text()
        self.assertIn(
            f'    {{"k", "sm_80:{k}"}},\n    {{"k", "sm_90a:{k}"}},\n    {{"l", "sm_90a:{l}"}},\n', source
        )

    def test_what_cannot_be_read_is_refused(self):
        (self.root / "bad.cu.o").write_text("no object")
        self.assertIn("bad.cu.o: cuobjdump fatal: no device code", self.run_script("bad.cu.o", code=1))
        self.assertIn("missing.o does not exist", self.run_script("missing.o", code=1))
        (self.root / "empty").mkdir()
        self.assertIn("there is no *.cu.o below it", self.run_script("--compare", "a", "empty", code=1))
        self.object("odd.cu.o", sm_90a=cubin(("k", CODE))[:100])
        self.assertIn("odd.cu.o: x.1.sm_90a.cubin: ", self.run_script("odd.cu.o", code=1))

    def test_wrong_usage(self):
        for arguments in (
            [],
            ["a", "--compare", "a", "a"],
            ["--table", "t.json", "a"],
            ["--cuobjdump", "no-such-tool", "a"],
        ):
            self.run_script(*arguments, code=2)


SOURCE = """
__constant__ float table[4] = {1, 2, 3, 4};
namespace one {
template <int N> __global__ void scale(float* p, int i) {
  __shared__ float s[64];
  s[threadIdx.x] = p[i];
  __syncthreads();
  p[i] = s[63 - threadIdx.x] * N;
}
__global__ void divide(float* p, int i) {
  p[i] = table[i & 3] / p[i + 1];
}
template __global__ void scale<2>(float*, int);
}
"""


@unittest.skipUnless(
    NVCC and CUOBJDUMP, "there is no CUDA toolkit with cuobjdump to compile and to read kernels with"
)
class Compiled(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.root = pathlib.Path(folder.name)
        cls.compile("before", SOURCE)

    @classmethod
    def compile(cls, name, source):
        folder = cls.root / name
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.cu").write_text(source)
        subprocess.run(
            [
                NVCC,
                "-gencode",
                "arch=compute_80,code=compute_80",
                "-gencode",
                "arch=compute_90a,code=sm_90a",
                "--compress-mode=size",
                "-c",
                folder / f"{name}.cu",
                "-o",
                folder / f"{name}.cu.o",
            ],
            check=True,
        )

    def compare(self, name, source, code):
        self.compile(name, source)
        done = subprocess.run(
            [
                sys.executable,
                SCRIPTS / "fingerprint.py",
                "--cuobjdump",
                CUOBJDUMP,
                "--compare",
                self.root / "before",
                self.root / name,
            ],
            capture_output=True,
            text=True,
        )
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout

    def test_comments_names_and_order_do_not_matter(self):
        moved = SOURCE.replace("namespace one {", "// Two kernels.\n\nnamespace another_name {")
        for old, new in (("scale", "times"), ("s[", "row["), ("table", "numbers")):
            moved = moved.replace(old, new)
        divide = moved[
            moved.index("__global__ void divide") : moved.index("template __global__ void times<2>")
        ]
        moved = moved.replace(divide, "").replace("template <int N>", divide + "template <int N>")
        told = self.compare("moved", moved, 0)
        self.assertEqual(
            told,
            "compute_80: 2 kernels in A, 2 in B, 2 of the same code\n"
            "sm_90a: 2 kernels in A, 2 in B, 2 of the same code\nthe same code\n",
        )

    def test_a_changed_instruction_matters(self):
        for name, old, new, kernel in (("sign", "* N", "+ N", "scale"), ("constant", "& 3", "& 1", "divide")):
            told = self.compare(name, SOURCE.replace(old, new), 1)
            self.assertEqual(told.count("only in A"), 2, told)
            self.assertEqual(told.count(kernel), 4, told)

    def test_a_changed_table_of_constants_matters(self):
        told = self.compare("table", SOURCE.replace("3, 4}", "3, 5}"), 1)
        self.assertIn("divide", told)


if __name__ == "__main__":
    unittest.main()
