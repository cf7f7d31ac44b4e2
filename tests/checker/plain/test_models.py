# SPDX-License-Identifier: Apache-2.0
"""antiphase check model.py: kernels in Python programs, with a small stand-in for torch."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

TOOL, HERE = sys.argv.pop(1), pathlib.Path(__file__).resolve().parent
MODELS = sorted((HERE / "models").glob("*.py"))
PATH = [str(HERE / "small_torch"), os.environ.get("PYTHONPATH", "")]
ENVIRONMENT = {**os.environ, "PYTHONPATH": ":".join(PATH), "ANTIPHASE_PYTHON": sys.executable}

try:
    import numpy  # noqa: F401
except ImportError:
    print("there is no NumPy here")
    sys.exit(77)


def check(*words, **more):
    command = [TOOL, "check", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, env={**ENVIRONMENT, **more}, cwd=HERE)


class Models(unittest.TestCase):
    def marks(self, file):
        files = [file, *([file.with_suffix(".cu")] if file.with_suffix(".cu").exists() else [])]
        for f in files:
            for number, line in enumerate(f.read_text().split("\n"), 1):
                if found := re.search(r"// FOUND: (.*)$", line):
                    yield str(f.relative_to(HERE)), number, found[1]

    def test_right_and_broken(self):
        for file in MODELS:
            with self.subTest(file.name):
                name = file.relative_to(HERE)
                right = check(name, "--schedules", 4)
                self.assertEqual(right.returncode, 0, right.stdout + right.stderr)
                self.assertIn("no finding in 4 schedules", right.stdout)
                self.assertNotIn("note:", right.stdout)
                broken = check(name, "-D", "BROKEN=1", "--schedules", 4, "--json")
                self.assertEqual(broken.returncode, 5, broken.stdout + broken.stderr)
                (program,) = json.loads(broken.stdout)["programs"]
                at = [(f["access"]["at"], f["kind"]) for f in program["findings"]]
                for mark in self.marks(file):
                    self.assertIn(mark, [(a["file"], a["line"], kind) for a, kind in at])

    def refused(self, text, *words):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "model.py")
            file.write_text(text)
            return check(file, *words)

    def test_what_is_not_supported(self):
        for text, code, said in (
            (
                "import cupy\n\ncupy.ElementwiseKernel('T x', 'T y', 'y = x')",
                3,
                "model.py:3: cupy.ElementwiseKernel is not",
            ),
            (
                "import cupy\ncupy.RawKernel('__global__ void add(int* x) {}', 'sub')",
                3,
                "model.py:2: there is no kernel 'sub' in this source",
            ),
            ("import torch\n\n\nclass ModelNew:\n    pass\n", 3, "no get_inputs() is there for ModelNew"),
            ("import no_such_package\n", 3, "No module named 'no_such_package'"),
            ("print(1)\n", 3, "has called no kernel that can be checked"),
            ("x = (\n", 3, "model.py:1: does not compile"),
            (
                "import os\nos.kill(os.getpid(), 9)\n",
                3,
                "which ended with signal 9 (Killed), as it does for lack",
            ),
            (
                "import cupy, numpy\nx = numpy.lib.stride_tricks.as_strided(cupy.zeros(1), (1 << 30,), (8,))\n"
                "cupy.RawKernel('extern \"C\" __global__ void k(double* x) {}', 'k')((1,), (1,), (x,))",
                3,
                "model.py:3: k() is given 8192 MiB, and the checker follows at most 4096 MiB",
            ),
            (
                "import cupy, torch\ncupy.RawKernel('extern \"C\" __global__ void k(float* a) {}', 'k')((1,), (1,), (torch.randn(3),))",
                3,
                "model.py:2: argument 0 of k is a Tensor: expected an array of the library's own, a number, or an address",
            ),
            (
                "import cupy\ncupy.RawKernel('extern \"C\" __global__ void k(float a) {}', 'k')((1,), (1,), (2.0,))",
                3,
                "model.py:2: TypeError: k(): incompatible function arguments: expected a float of 4 bytes as argument 0",
            ),
            (
                "import cupy\ncupy.RawKernel('''\n__global__ void k(float* a) {\n  undeclared;\n}''', 'k')((1,), (1,), (None,))",
                3,
                "model.py:4: ‘undeclared’ was not declared",
            ),
        ):
            with self.subTest(said):
                done = self.refused(text)
                self.assertEqual(done.returncode, code, done.stdout + done.stderr)
                self.assertIn(said, done.stdout + done.stderr)

    def test_the_standard_that_a_kernel_asks_for(self):
        for options, code in ((("-std=c++17",), 0), (("--std", "c++17"), 0), (("--std=c++20",), 5)):
            done = self.refused(
                "import cupy\nx = cupy.zeros(64, dtype=cupy.float32)\n"
                'cupy.RawKernel(\'extern "C" __global__ void k(float* x) {\\n#if __cplusplus > 201703L\\n'
                f"x[0] = threadIdx.x;\\n#endif\\n}}', 'k', options={options})((1,), (64,), (x,))\n",
                "--schedules",
                2,
            )
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)

    def test_a_kernel_that_nothing_calls_is_named(self):
        text = (
            (HERE / "models/histogram.py")
            .read_text()
            .replace("return op.hist_cuda(*inputs)", "return inputs")
        )
        done = self.refused(text)
        self.assertEqual(done.returncode, 3, done.stdout)
        self.assertIn("nothing has called histogram", done.stdout + done.stderr)

    def test_a_model_that_calls_kernels_in_eval_only(self):
        text = (HERE / "models/histogram.py").read_text()
        call = "        return op.hist_cuda(*inputs)"
        self.assertIn(call, text)
        trained = call.replace("return", "return inputs if self.training else")
        evaluated = (
            "    training = True\n\n    def eval(self):\n        self.training = False\n\n    def forward"
        )
        text = text.replace(call, trained).replace("    def forward", evaluated)
        done = self.refused(text, "-D", "BROKEN=1", "--schedules", 4)
        self.assertEqual(done.returncode, 5, done.stdout)
        self.assertIn("so it was run in eval() too", done.stdout)

    def test_a_kernel_bound_as_a_function_is_named(self):
        text = (
            (HERE / "models/histogram.py")
            .read_text()
            .replace('functions=["hist_cuda"]', 'functions=["hist"]')
        )
        done = self.refused(text)
        self.assertEqual(done.returncode, 3, done.stdout)
        self.assertIn("functions= names hist, a __global__ function", done.stdout + done.stderr)

    def test_a_result_that_differs_from_the_reference(self):
        text = (HERE / "models/cumsum.py").read_text()
        for sign, code in (("1", 0), ("-1", 5)):
            model = f"""

class Model(nn.Module):
    def forward(self, x):
        return torch.tensor({sign} * x.numpy().cumsum(1))
"""
            with self.subTest(sign):
                done = self.refused(text + model, "--schedules", 2)
                self.assertEqual(done.returncode, code, done.stdout + done.stderr)
                if code:
                    self.assertIn("wrong result", done.stdout)
                    self.assertIn("the result differs from that of Model by up to", done.stdout)
                    line = next(
                        k for k, row in enumerate(text.split("\n"), 1) if row.startswith("class ModelNew")
                    )
                    self.assertIn(f"model.py:{line}\n", done.stdout)

    def test_options(self):
        for words, said in (
            (("--kernels", "x.cpp"), "--kernels is for programs in CUDA C++"),
            (("-I", "x"), "-Ix is not for Python programs"),
            (("--fix",), "--fix takes .cu files"),
            (("--needless",), "--needless takes .cu files"),
        ):
            done = check("models/loaded.py", *words)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn(said, done.stderr)
        done = check("nofile.py")
        self.assertEqual((done.returncode, done.stderr), (3, "antiphase: there is no file 'nofile.py'\n"))
        done = check("models/loaded.py", "-D", "BROKN=1", "--schedules", 1)
        self.assertIn("-D BROKN: no file sets BROKN at its top", done.stdout)

    def test_capture_in_a_program(self):
        text = f"""
import sys
sys.path.insert(0, {str(HERE.parents[2] / "python")!r})
from antiphase_check.capture import capture
with capture() as kernels:
    import cupy
    x = cupy.zeros(64, dtype=cupy.float32)
    k = cupy.RawKernel('''extern "C" __global__ void k(float* x) {{
  x[threadIdx.x % 32] = threadIdx.x;
}}''', "k")
    k((1,), (64,), (x,))
summary = kernels.check(schedules=3)
assert not summary.clean
print(summary)
"""
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "uses.py")
            file.write_text(text)
            done = subprocess.run(
                [sys.executable, str(file)],
                capture_output=True,
                text=True,
                env={**ENVIRONMENT, "ANTIPHASE_TOOL": TOOL},
            )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("uses.py:9: race: write of 4 bytes", done.stdout)


unittest.main()
