# SPDX-License-Identifier: Apache-2.0
"""antiphase check program.py: kernels in languages that compile to PTX. Languages that are not installed are
skipped; what they have in common is tested without them, on the PTX of a kernel of ours."""
import enum
import importlib.util
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import types
import unittest

TOOL, PYTHON = (str(pathlib.Path(sys.argv.pop(1)).resolve()) for _ in range(2))
HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = HERE / "languages"
ENVIRONMENT = {**os.environ, "ANTIPHASE_PYTHON": sys.executable}
os.environ["ANTIPHASE_TOOL"] = TOOL
sys.path.insert(0, PYTHON)

try:
    import numpy as np
except ImportError:
    print("there is no NumPy here")
    sys.exit(77)

from antiphase_check import cuda_bindings, fakes, ptx_kernels, session, triton_kernels  # noqa: E402


def check(*words, **more):
    command = [TOOL, "check", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, env={**ENVIRONMENT, **more}, cwd=HERE)


# Lane t loads element 31 - t, lane 31 - t gets its value plus one by a shuffle, and stores it there.
REVERSED_TWICE = """.version 8.0
.target sm_90
.address_size 64
.visible .entry turn(.param .u64 x)
{
.reg .b32 %r<8>;
.reg .b64 %rd<5>;
ld.param.u64 %rd1, [x];
mov.u32 %r1, %tid.x;
sub.s32 %r2, 31, %r1;
mul.wide.s32 %rd2, %r2, 4;
add.s64 %rd3, %rd1, %rd2;
ld.global.b32 %r3, [%rd3];
add.s32 %r4, %r3, 1;
shfl.sync.idx.b32 %r5, %r4, %r2, 31, -1;
mul.wide.s32 %rd4, %r1, 4;
add.s64 %rd4, %rd1, %rd4;
st.global.b32 [%rd4], %r5;
ret;
}
"""


UNORDERED = """
import numpy as np
import triton
import triton.language as tl


@triton.jit
def turn(scratch, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(scratch + i, i)
    BARRIER
    tl.store(out + i, tl.load(scratch + N - 1 - i))


out = np.zeros(256, np.int32)
turn[(1,)](np.zeros(256, np.int32), out, 256)
assert (out == np.arange(256)[::-1]).all()
"""


class Languages(unittest.TestCase):
    def test_a_barrier_has_the_name_of_the_language(self):
        if importlib.util.find_spec("triton") is None:
            self.skipTest("there is no triton here")
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "turn.py"
            for barrier, code in (("tl.debug_barrier()", 0), ("pass", 5)):
                file.write_text(UNORDERED.replace("BARRIER", barrier))
                done = check(str(file), "--schedules", 3, "--json")
                self.assertEqual(done.returncode, code, done.stdout + done.stderr)
            for f in json.loads(done.stdout)["programs"][0]["findings"]:
                if f["kind"] != "wrong result":
                    self.assertIn("tl.debug_barrier()", f["missing"]["text"])
                self.assertNotIn("__sync", f["missing"]["text"])

    def test_nothing_runs_on_when_the_tool_is_ended(self):
        for number in (signal.SIGTERM, signal.SIGKILL):
            with self.subTest(number), tempfile.TemporaryDirectory() as folder:
                file, pid = pathlib.Path(folder) / "sleeps.py", pathlib.Path(folder) / "pid"
                file.write_text(
                    f"import os, pathlib, time\npathlib.Path({str(pid)!r}).write_text(str(os.getpid()))\ntime.sleep(60)\n"
                )
                tool = subprocess.Popen([TOOL, "check", file], stderr=subprocess.DEVNULL)
                for _ in range(200):
                    if pid.exists() and pid.read_text():
                        break
                    time.sleep(0.1)
                tool.send_signal(number)
                tool.wait()
                state = pathlib.Path(f"/proc/{pid.read_text()}/stat")

                def runs():
                    return state.exists() and state.read_text().rpartition(")")[2].split()[0] != "Z"

                for _ in range(50):
                    if not runs():
                        break
                    time.sleep(0.1)
                self.assertFalse(runs())

    def right_and_broken(self, package, file, **more):
        if importlib.util.find_spec(package) is None:
            self.skipTest(f"there is no {package} here")
        name = f"languages/{file}"
        right = check(name, "--schedules", 3, **more)
        self.assertEqual(right.returncode, 0, right.stdout + right.stderr)
        self.assertIn("no finding in 3 schedules", right.stdout)
        self.assertNotIn("note:", right.stdout)
        broken = check(name, "-D", "BROKEN=1", "--schedules", 3, "--json", **more)
        self.assertEqual(broken.returncode, 5, broken.stdout + broken.stderr)
        (program,) = json.loads(broken.stdout)["programs"]
        found = {(f["access"]["at"]["line"], f["kind"]) for f in program["findings"]}
        self.assertEqual({f["access"]["at"]["file"] for f in program["findings"]}, {name})
        marks = [
            (number, mark[1])
            for number, line in enumerate((HERE / name).read_text().split("\n"), 1)
            if (mark := re.search(r"# FOUND: (.*)$", line))
        ]
        self.assertTrue(marks)
        for mark in marks:
            self.assertIn(mark, found)

    def test_triton(self):
        self.right_and_broken("triton", "triton_programs.py")

    def test_gluon(self):
        self.right_and_broken("triton", "gluon_ring.py", TRITON_OVERRIDE_ARCH="sm80")

    def test_numba(self):
        self.right_and_broken("numba_cuda", "numba_sums.py")

    def test_cute(self):
        self.right_and_broken("cutlass", "cute_reverse.py")

    def test_tilelang(self):
        if None in map(importlib.util.find_spec, ("tilelang", "torch")) or shutil.which("nvcc") is None:
            self.skipTest("there is no TileLang, torch or nvcc here")
        program = "languages/tilelang_programs.py"
        right = check(program, "--schedules", 3)
        self.assertEqual(right.returncode, 0, right.stdout + right.stderr)
        for kernel in ("add_up", "multiply"):
            self.assertIn(f"{kernel}_kernel: 1 call", right.stdout)
        broken = check(program, "-D", "BROKEN=1", "--schedules", 3, "--json")
        self.assertEqual(broken.returncode, 5, broken.stdout + broken.stderr)
        found = [f for p in json.loads(broken.stdout)["programs"] for f in p["findings"]]
        self.assertEqual({f["access"]["at"]["file"] for f in found}, {"add_up_kernel.cu"})
        self.assertIn("race", {f["kind"] for f in found})

    def test_a_device_of_torch_is_the_one_of_its_tensors(self):
        if None in map(importlib.util.find_spec, ("triton", "torch")):
            self.skipTest("there is no torch or no triton here")
        text = (PROGRAMS / "triton_programs.py").read_text()
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "program.py")
            file.write_text(
                text[: text.index("\ndef run(random)")] + "\nimport torch\nimport torch._dynamo\n"
                "device = triton.runtime.driver.active.get_active_torch_device()\n"
                "x, out = torch.ones(100, device=device), torch.zeros(100, device='cuda')\n"
                "assert x.device == device == out.device and device.type == 'cuda'\n"
                "seed, offset = torch.cuda.default_generators[0].get_state().view(torch.int64)\n"
                "with torch.cuda.device(device):\n"
                "    add[(1,)](x, x, out, 100, BLOCK=128, MASKED=True)\n"
                "assert offset == 0 and (out == 2).all()\n"
            )
            done = check(file, "--schedules", 2)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_all_configurations_of_autotune(self):
        if importlib.util.find_spec("triton") is None:
            self.skipTest("there is no triton here")
        text = (PROGRAMS / "triton_programs.py").read_text()
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "program.py")
            head = text[: text.index("\ndef run(random)")]
            file.write_text(
                head + "\nx, counts = np.arange(500, dtype=np.int32) % 7, np.zeros(7, np.int32)\n"
                "histogram[lambda chosen: (triton.cdiv(500, chosen['BLOCK']),)](x, counts, 500)\n"
                "assert np.array_equal(counts, np.bincount(x, minlength=7))\n"
            )
            for every, times in (("first", 1), ("all", 2)):
                done = check(file, "--schedules", 1, ANTIPHASE_AUTOTUNE=every)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertEqual(done.stdout.count("histogram: "), times)

    def test_wrong_programs(self):
        """One sentence for each, with the user's line."""
        if importlib.util.find_spec("triton") is None:
            self.skipTest("there is no triton here")
        head = (
            "import numpy as np, triton, triton.language as tl\n"
            "@triton.jit\n"
            "def inner(x):\n"
            "    return tl.dot(x, x)\n"
            "@triton.jit\n"
            "def double(x, n, BLOCK: tl.constexpr, WRONG: tl.constexpr = False):\n"
            "    i = tl.arange(0, BLOCK)\n"
            "    if WRONG:\n"
            "        inner(tl.load(x + i))\n"
            "    tl.store(x + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)\n"
            "x = np.ones(100, np.float32)\n"
        )
        run = "double[(1,)](x, 100, BLOCK=128)\n"
        for end, code, said in (
            (
                "double[(1,)](x, BLOCK=128)",
                3,
                "12: TypeError: double() missing 1 required positional argument: 'n'",
            ),
            ("double[(1,)](x.tolist(), 100, BLOCK=128)", 3, "12: TypeError: failed to specialize argument"),
            (
                "double[(1,)](x.astype(complex), 100, BLOCK=128)",
                3,
                "12: TypeError: an array of complex128: Triton",
            ),
            (
                "double[(1,)](x, 100, BLOCK=100)",
                3,
                "7: does not compile: arange's range must be a power of 2",
            ),
            ("double[(1,)](x, 100, BLOCK=128, WRONG=True)", 3, "4: does not compile: "),
            ("double[(1.5,)](x, 100, BLOCK=128)", 3, "12: TypeError: 'float' object cannot be"),
            ("double[(0,)](x, 100, BLOCK=128)", 3, "has called no kernel"),
            ("double[(1,)](x, 128, BLOCK=128)", 5, "model.py:10"),
            (run + "raise ValueError('after')", 3, "13: ValueError: after"),
            (run + "assert x[0] == 3", 3, "13: AssertionError"),
            (run + "raise SystemExit(1)", 3, "13: the program ended with 1"),
            (run + "raise SystemExit", 0, ""),
            (run + "import os; os._exit(7)", 3, "was not run to its end by"),
            ("", 3, "has called no kernel"),
        ):
            with self.subTest(end), tempfile.TemporaryDirectory() as folder:
                file = pathlib.Path(folder, "model.py")
                file.write_text(head + end + "\n")
                done = check(file, "--schedules", 1)
                self.assertEqual(done.returncode, code, done.stdout + done.stderr)
                self.assertIn(said, done.stdout + done.stderr)
                self.assertNotIn("Traceback", done.stdout + done.stderr)

    def test_a_check_of_results_of_some_blocks(self):
        if importlib.util.find_spec("triton") is None:
            self.skipTest("there is no triton here")
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "model.py")
            file.write_text(
                "import numpy as np, triton, triton.language as tl\n"
                "@triton.jit\n"
                "def one(x, BLOCK: tl.constexpr):\n"
                "    tl.store(x + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), 1)\n"
                "x = np.zeros(1 << 18, np.float32)\n"
                "one[(2048,)](x, BLOCK=128)\n"
                "assert x.all()\n"
            )
            some = check(file, "--schedules", 1)
            self.assertEqual(some.returncode, 0, some.stdout + some.stderr)
            self.assertIn("model.py:7 has ended the program (AssertionError), which may be for", some.stdout)
            every = check(file, "--schedules", 1, "--blocks", "all")
            self.assertEqual(every.returncode, 0, every.stdout + every.stderr)
            self.assertNotIn("note:", every.stdout)

    def test_a_key_of_triton_by_its_files(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "compiler.py")
            file.write_text("one")
            keys = [triton_kernels._key_of(folder, version) for version in ("3.8", "3.9", "3.9")]
            file.write_text("another")
            keys.append(triton_kernels._key_of(folder, "3.9"))
        self.assertEqual(keys[1], keys[2])
        self.assertEqual(len(set(keys)), 3)

    def test_a_kernel_in_two_sessions(self):
        if importlib.util.find_spec("triton") is None:
            self.skipTest("there is no triton here")
        program = """
import numpy as np, sys, triton, triton.language as tl
sys.path.insert(0, sys.argv[1])
from antiphase_check.capture import capture

@triton.jit
def following(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i) + 1)

for missing in (0, 1):
    with capture() as kernels:
        following[(1,)](np.ones(64, np.float32), np.zeros(64 - missing, np.float32), BLOCK=64)
    print(kernels.check(schedules=1))
"""
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "twice.py")
            file.write_text(program)
            done = subprocess.run([sys.executable, file, PYTHON], capture_output=True, text=True)
        said = done.stdout.splitlines()
        self.assertEqual(len(said), 2, done.stdout + done.stderr)
        self.assertEqual(said[0], "no finding")
        self.assertIn("twice.py:9: access outside memory: write of 4 bytes", said[1])

    def test_numba_without_its_package(self):
        for version, said in ((None, "numba-cuda, 0.24 to 0.30"), ("0.30.0", "installed but not in use")):
            with self.subTest(version), tempfile.TemporaryDirectory() as folder:
                root = pathlib.Path(folder)
                text = "raise ImportError('none')" if version is None else f"__version__ = '{version}'"
                for module, content in (("numba", ""), ("numba/cuda", ""), ("numba_cuda", text)):
                    (root / module).mkdir()
                    (root / module / "__init__.py").write_text(content)
                (root / "model.py").write_text("from numba import cuda\n")
                done = check(root / "model.py", PYTHONPATH=f"{folder}:{os.environ.get('PYTHONPATH', '')}")
                self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
                self.assertIn("numba.cuda of Numba itself is not supported here", done.stderr)
                self.assertIn(said, done.stderr)

    def test_versions(self):
        for package, said in (
            ("triton", "Triton 2.1.0 is not supported here: expected 3.4 or newer"),
            ("numba", "numba-cuda 0.1.0 is not supported here: expected 0.24 to 0.30"),
            ("cutlass", "CuTe DSL 3.0 is not supported here: expected 4.8 or newer"),
            ("tilelang", "TileLang 0.1.9 is not supported here: expected 0.1.15 or newer"),
        ):
            with self.subTest(package), tempfile.TemporaryDirectory() as folder:
                root = pathlib.Path(folder)
                for module, text in (
                    ("triton", "__version__ = '2.1.0'"),
                    ("cutlass", "__version__ = '3.0'"),
                    ("tilelang", "__version__ = '0.1.9'"),
                    ("numba", ""),
                    ("numba/cuda", ""),
                    ("numba_cuda", "__version__ = '0.1.0'"),
                ):
                    (root / module).mkdir()
                    (root / module / "__init__.py").write_text(text)
                file = root / "model.py"
                file.write_text("from numba import cuda\n" if package == "numba" else f"import {package}\n")
                path = f"{folder}:{os.environ.get('PYTHONPATH', '')}"
                done = check(file, PYTHONPATH=path)
                self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
                self.assertIn(said, done.stderr)


# All lanes store one word to shared memory, and issue one bulk store of all words.
COPY = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry copy(.param .u64 to)
.reqntid 32
{
  .reg .b32 %r<4>;
  .reg .b64 %rd<3>;
  .shared .align 128 .b8 words[128];
  .shared .align 4 .b8 last[4];
  .file 1 "kernels/copy.py"
  .loc 1 3 0
  mov.u32 %r1, %tid.x;
  mov.u32 %r3, words;
  mad.lo.u32 %r2, %r1, 4, %r3;
  st.shared.u32 [%r2], %r1;
  .loc 1 4 0
  st.shared.u32 [last], 31;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  ld.param.u64 %rd1, [to];
  cvta.to.global.u64 %rd2, %rd1;
  .loc 1 5 0
  cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r3], 128;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
  ret;
}
.file 1 "kernels/copy.py"
"""


# The first word of `addresses` is one of a float, to which one is added.
BY_ADDRESS = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry increase(.param .u64 addresses)
.reqntid 1
{
  .reg .f32 %f<3>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [addresses];
  ld.global.u64 %rd2, [%rd1];
  ld.global.f32 %f1, [%rd2];
  add.f32 %f2, %f1, 0f3F800000;
  st.global.f32 [%rd2], %f2;
  ret;
}
"""


class Kernels(unittest.TestCase):
    """Without a language: what all of them call."""

    def setUp(self):
        self.session = session.Session()
        self.session.files = [__file__]
        self.text = (PROGRAMS / "add.ptx").read_text()

    def kernel(self, text=None):
        return ptx_kernels.Kernel(self.session, text or self.text, "add", "sum of two", ["/language"])

    def launch(self, kernel, *arrays, n=300, blocks=2):
        given = [ptx_kernels.pointer(self.session, a) for a in arrays]
        kernel.launch((blocks, 1, 1), (128, 1, 1), 0, [*given, n.to_bytes(4, "little"), None, None])

    def test_no_end_leaves_a_folder(self):
        begin = f"import sys; sys.path.insert(0, {PYTHON!r}); import antiphase_check.session as s; "
        capture = "from antiphase_check import capture\nwith capture.capture() as c: "
        for end, code in (
            ("a = s.Session()", 0),
            ("a = s.Session(); 1 / 0", 1),
            (capture + "sys.exit(3)", 3),
        ):
            with self.subTest(end), tempfile.TemporaryDirectory() as folder:
                done = subprocess.run(
                    [sys.executable, "-c", f"{begin}print(s.tempfile.gettempdir())\n{end}"],
                    env={**ENVIRONMENT, "TMPDIR": folder},
                    capture_output=True,
                    text=True,
                )
                self.assertEqual((done.returncode, done.stdout), (code, folder + "\n"), done.stderr)
                self.assertEqual(os.listdir(folder), [])

    def test_results_and_findings(self):
        x, y, out = np.arange(300, dtype=np.float32), np.ones(300, np.float32), np.zeros(300, np.float32)
        kernel = self.kernel()
        self.launch(kernel, x, y, out)
        self.assertTrue(np.array_equal(out, x + y))
        self.assertEqual(str(self.session.check(schedules=2)), "no finding")
        half = np.zeros(200, np.float32)
        self.launch(kernel, x, y, half)
        (finding,) = self.session.check(schedules=2).findings
        self.assertEqual((finding["kind"], finding["kernel"]), ("access outside memory", "sum of two"))
        self.assertEqual(finding["access"]["at"], {"file": "kernels/add.py", "line": 9})

    def test_views_of_one_array_share_its_memory(self):
        both = np.arange(600, dtype=np.float32)
        self.launch(self.kernel(), both[:300], both[300:], both[:300])
        self.assertTrue(np.array_equal(both[:300], np.arange(300, 900, 2)))
        self.assertTrue(np.array_equal(both[300:], np.arange(300, 600)))

    def test_addresses_in_an_array_are_those_of_other_arrays(self):
        x, other = np.arange(3, dtype=np.float32), np.zeros(1, np.float32)
        kernel = ptx_kernels.Kernel(self.session, BY_ADDRESS, "increase", "increase")
        for at, expected in ((1, [0, 2, 2]), (2, [0, 2, 3])):
            addresses = np.array([x.ctypes.data + 4 * at, other.ctypes.data, 1 << 40])
            before = addresses.copy()
            kernel.launch((1, 1, 1), (1, 1, 1), 0, [ptx_kernels.pointer_of(self.session, addresses, "it")])
            self.assertEqual(x.tolist(), expected)
            self.assertTrue(np.array_equal(addresses, before))
        self.assertEqual(str(self.session.check(schedules=1)), "no finding")

    def test_an_integer_is_an_address_of_an_array_that_a_variable_holds(self):
        x = [np.zeros(3, np.float32)]
        found = ptx_kernels.address_in(self.session, x[0].ctypes.data + 4, 8)
        self.assertEqual((found.base, found.offset), (x[0].ctypes.data, 4))
        for number in (5, 1 << 33):
            self.assertIsNone(ptx_kernels.address_in(self.session, number, 8))

    def test_a_graph_is_work_for_its_replays(self):
        cuda_graph, graph = fakes._graphs(self.session)
        captured = cuda_graph()
        x, y, out = np.zeros(300, np.float32), np.ones(300, np.float32), np.zeros(300, np.float32)
        with graph(captured):
            self.launch(self.kernel(), x, y, out)
        self.assertEqual(out.sum(), 0)
        for times in (1, 2):
            x[:] = times
            captured.replay()
            self.assertTrue(np.array_equal(out, x + y))
        self.assertEqual(str(self.session.check(schedules=1)), "no finding")

    def test_cuda_bindings_that_are_installed_give_memory_of_the_host(self):
        class Results(enum.Enum):
            cudaSuccess = 0

        module = types.ModuleType("cuda.bindings.runtime")
        module.cudaError_t, module.cudaStream_t = Results, int
        for name in ("cudaMalloc", "cudaMemset", "cudaMemcpy", "cudaFree", "cudaStreamCreate"):
            setattr(module, name, None)
        self.session.text = "import cutlass"
        name, before = module.__name__, sys.modules.get(module.__name__)
        sys.modules[name] = module
        try:
            with cuda_bindings.bindings(self.session):
                success, place = module.cudaMalloc(1200)
                self.assertEqual((success, module.cudaStreamCreate()), (Results.cudaSuccess, (success, 0)))
                self.assertEqual(module.cudaMemset(place, 0, 1200), (success,))
                pointer = self.session.pointer(place)
                ones = [ptx_kernels.pointer(self.session, np.ones(300, np.float32)) for _ in range(2)]
                values = [*ones, pointer, (300).to_bytes(4, "little"), None, None]
                self.kernel().launch((2, 1, 1), (128, 1, 1), 0, values)
                out = np.zeros(300, np.float32)
                module.cudaMemcpy(out.ctypes.data, place, 1200, 2)
                self.assertTrue((out == 2).all())
                with self.assertRaisesRegex(session.Unsupported, "1204 bytes are copied to an allocation"):
                    module.cudaMemset(place, 0, 1204)
                module.cudaFree(place)
                self.assertEqual(self.session.pointer(place), place)
            self.assertIsNone(module.cudaMalloc)
        finally:
            del sys.modules[name]
            if before is not None:
                sys.modules[name] = before

    def test_what_compilers_do_is_pedantic_or_theirs(self):
        for own, lines in ((False, [4, 5]), (True, [5])):
            with self.subTest(own):
                self.setUp()
                to = np.zeros(32, np.int32)
                kernel = ptx_kernels.Kernel(self.session, COPY, "copy", "copy", own_barriers=own)
                kernel.launch((1, 1, 1), (32, 1, 1), 0, [ptx_kernels.pointer(self.session, to)])
                self.assertTrue(np.array_equal(to, np.arange(32)))
                found = self.session.check(schedules=2).findings
                self.assertEqual({f["severity"] for f in found}, {"pedantic"})
                at = [f["access"]["at"] for f in found]
                self.assertEqual(
                    sorted((a["file"], a["line"]) for a in at), [("kernels/copy.py", n) for n in lines]
                )

    def test_lanes_that_hand_on_what_they_have_loaded_are_their_compilers(self):
        for own in (False, True):
            with self.subTest(own):
                self.setUp()
                x = np.arange(32, dtype=np.int32)
                kernel = ptx_kernels.Kernel(self.session, REVERSED_TWICE, "turn", "turn", own_barriers=own)
                kernel.launch((1, 1, 1), (32, 1, 1), 0, [ptx_kernels.pointer(self.session, x)])
                self.assertTrue(np.array_equal(x, np.arange(1, 33)))
                found = {f["kind"] for f in self.session.check(schedules=3).findings}
                self.assertEqual(found, set() if own else {"overwritten in use"})

    def test_lines_of_the_language_are_not_the_users(self):
        text = self.text.replace("kernels/add.py", "/language/add.py")
        self.assertIn('"<language/add.py>"', pathlib.Path(self.kernel(text).program.sources[0]).read_text())

    def test_parameters(self):
        parameters = [
            ptx_kernels.Parameter(p) for p in (".param .u64 .ptr .global .align 1 a", ".param .f32 b")
        ]
        self.assertEqual([(p.type, p.bytes) for p in parameters], [("unsigned long", 8), ("float", 4)])
        bytes_of = ptx_kernels.Parameter("\t.param .align 64 .b8 map[128]")
        self.assertEqual((bytes_of.type.partition(" {")[0], bytes_of.bytes), ("struct alignas(64)", 128))

    def test_what_does_not_fit(self):
        with self.assertRaisesRegex(session.Unsupported, "2 arguments for 6 parameters of sum of two"):
            self.kernel().launch((1, 1, 1), (32, 1, 1), 0, [None, None])
        with self.assertRaisesRegex(session.Unsupported, "the compiler's PTX has no kernel sub"):
            ptx_kernels.Kernel(self.session, self.text, "sub", "sub")
        with self.assertRaisesRegex(session.Unsupported, "x is an address that is in no known array"):
            ptx_kernels.pointer_of(self.session, 4096, "x")


if __name__ == "__main__":
    unittest.main()
