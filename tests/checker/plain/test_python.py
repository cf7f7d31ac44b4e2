# SPDX-License-Identifier: Apache-2.0
"""antiphase.checking: kernels on NumPy arrays."""
import os
import pathlib
import sys
import tempfile
import unittest

os.environ["ANTIPHASE_TOOL"] = sys.argv.pop(1)
# the package's folder; ANTIPHASE_LIBRARY says where its library is
sys.path.insert(0, os.path.dirname(sys.argv.pop(1)))

try:
    import numpy as np  # noqa: E402
except ImportError:
    print("there is no NumPy here")
    sys.exit(77)
from antiphase.checking import check, unwritten  # noqa: E402

SOURCE = """#include <torch/extension.h>
template <class T> __global__ void sums(const T* from, T* to, int n) {
  extern __shared__ int part[];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  part[threadIdx.x] = i < n ? from[i] : 0;
  BARRIER;
  if (threadIdx.x == 0) for (int k = 0; k < blockDim.x; ++k) to[blockIdx.x] += part[k];
}
torch::Tensor run(torch::Tensor x) { sums<int><<<1, 32>>>(x.data_ptr<int>(), nullptr, 0); return x; }
int main() { return undeclared; }
"""


class Checking(unittest.TestCase):
    def sums(self, barrier, to, expected=None):
        x = (np.arange(45, dtype=np.int32) * 7) % 11
        return (
            check(
                SOURCE.replace("undeclared", "0"),
                "sums<int>",
                2,
                32,
                [x, to, np.int32(45)],
                expected=expected or {},
                shared_bytes=128,
                schedules=3,
                options=[f"-DBARRIER={barrier}"],
            ),
            x,
        )

    def test_right(self):
        x = (np.arange(45, dtype=np.int32) * 7) % 11
        report, _ = self.sums(
            "__syncthreads()", np.zeros(2, np.int32), {1: np.array([x[:32].sum(), x[32:].sum()])}
        )
        self.assertTrue(report.clean, report)
        self.assertGreater(report.accesses, 100)

    def test_a_race(self):
        report, _ = self.sums("", np.zeros(2, np.int32))
        race = next(f for f in report.findings if f.kind == "race")
        self.assertEqual((race.kernel, race.line, race.earlier_line), ("sums", 7, 5))
        self.assertIn("kernel.cu:7: race: read of 4 bytes", str(report))

    def test_a_wrong_result_and_memory_that_nobody_wrote(self):
        report, _ = self.sums("__syncthreads()", unwritten(2, np.int32), {1: [1, 2]})
        self.assertEqual({f.kind for f in report.findings}, {"uninitialised memory read", "wrong result"})
        self.assertIn("\nwrong result: ", "\n" + str(report))  # it has no code place
        self.assertNotIn(":0:", str(report))

    def test_which_element_differs(self):
        report = check(
            "__global__ void twice(double* x) { x[threadIdx.x] *= 2; }",  # a text of one line
            "twice",
            1,
            6,
            [np.arange(6.0).reshape(2, 3)],
            expected={0: [0, 2, 4, 6.5, 8, 10]},
            schedules=2,
        )
        (wrong,) = report.findings
        self.assertEqual(
            (wrong.kind, wrong.argument, wrong.element, wrong.got, wrong.expected),
            ("wrong result", 0, 3, 6.0, 6.5),
        )
        self.assertIn("argument 0[3] is 6: expected 6.5", str(report))
        self.assertTrue(str(report).endswith("\n1 finding in 2 schedules"), report)
        race, _ = self.sums("", np.zeros(2, np.int32))
        self.assertEqual({(f.element, f.got) for f in race.findings}, {(None, None)})

    def test_types_of_values(self):
        """Byte order, integers that doubles do not tell apart, and expected values that the array's type cannot hold."""
        scale = "__global__ void scale(const float* x, float* y, int n, float f) { int i = threadIdx.x; if (i < n) y[i] = f * x[i]; }"
        x = np.arange(1, 9, dtype=np.float32)
        run = lambda x, f, expected, y="float32": check(
            scale, "scale", 1, 32, [x, unwritten(8, y), 8, f], expected={1: expected}, schedules=2
        )
        self.assertTrue(run(x.astype(">f4"), np.float32(2), 2 * x).clean)
        # rounded to float32
        self.assertTrue(run(x, 0.1, (x * np.float64(np.float32(0.1))).astype(">f8"), ">f4").clean)
        values = [
            np.float32(np.inf),
            float("-inf"),
            float("nan"),
            np.float64("nan"),
            -3,
            2.5,
            np.float16(0.5),
            True,
        ]
        parameters = ", ".join(f"float f{i}" for i in range(8))
        stores = " ".join(f"y[{i}] = f{i};" for i in range(8))
        store = f"__global__ void store(float* y, {parameters}) {{ {stores} }}"
        report = check(
            store, "store", 1, 1, [unwritten(8, "f4"), *values], expected={0: np.float32(values)}, schedules=1
        )
        self.assertTrue(report.clean, report)
        halves = "__global__ void half_of(const long long* x, long long* y) { y[threadIdx.x] = x[threadIdx.x] / 2; }"
        large = (1 << 60) + 2 * np.arange(8)
        half_of = lambda expected: check(
            halves, "half_of", 1, 8, [large, unwritten(8, "int64")], expected={1: expected}, schedules=2
        )
        self.assertTrue(half_of(large // 2).clean)
        (wrong,) = half_of(large // 2 + (np.arange(8) == 5)).findings
        self.assertEqual((wrong.element, wrong.got, wrong.expected), (5, (1 << 59) + 5, (1 << 59) + 6))
        for expected, said in (
            (np.arange(8) / 2, r"expected\[1\] has 0.5 at 1: expected what int64 holds"),
            (np.where(np.arange(8) == 3, np.nan, 0), r"has nan at 3"),
            ([1e19] * 8, r"has 1e\+19 at 0"),
            (np.full(8, 1 << 63, "uint64"), r"has 9223372036854775808 at 0"),
            ([1j] * 8, r"complex128: expected real numbers"),
            (["1"] * 8, r"expected real numbers"),
        ):
            with self.subTest(said), self.assertRaisesRegex((ValueError, TypeError), said):
                half_of(expected)
        with self.assertRaisesRegex(
            ValueError, r"expected\[1\] has 1e\+300 at 0: expected what float32 holds"
        ):
            run(x, 2.0, np.full(8, 1e300))

    def test_launches_that_do_not_compile(self):
        kernel, x = "__global__ void one(int* x, int n, float f) { if (n > 0) x[0] = f; }", np.zeros(
            2, np.int32
        )
        for name, args, said in (
            ("none", [x, 1, 2.0], r"^none cannot be launched with the arguments \(int\*, 1, 2.0\): .*none"),
            ("one", [x, 1], r"^one cannot be launched with .* \(int\*, 1\): expected \(int\*, int, float\)$"),
            (
                "one",
                [x, 2**40, 2.0],
                r" \(int\*, 1099511627776, 2.0\): a parameter is too small for a number$",
            ),
            ("one", [x, 1, 1e300], r"^one cannot be launched .*: a parameter is too small for a number$"),
        ):
            with self.subTest(said), self.assertRaisesRegex(ValueError, said):
                check(kernel, name, 1, 1, args, schedules=1)
        source = """__global__ void store(long long* x, unsigned long long* y, long long n, unsigned long long m) {
  *x = n, *y = m;
}"""
        least, most = -(1 << 63), (1 << 64) - 1
        to = [unwritten(1, "int64"), unwritten(1, "uint64")]
        report = check(
            source, "store", 1, 1, [*to, least, most], expected={0: [least], 1: [most]}, schedules=1
        )
        self.assertTrue(report.clean, report)

    def test_bools(self):
        kernel = "__global__ void negated(const bool* x, bool* y) { y[threadIdx.x] = !x[threadIdx.x]; }"
        x = np.arange(9) % 3 == 0
        run = lambda expected: check(
            kernel, "negated", 1, 9, [x, unwritten(9, bool)], expected={1: expected}, schedules=2
        )
        self.assertTrue(run(~x).clean)
        (wrong,) = run(~x ^ (np.arange(9) == 4)).findings
        self.assertEqual((wrong.element, wrong.got, wrong.expected), (4, 1, 0))
        with self.assertRaisesRegex(ValueError, "has 2 at 0: expected what bool holds"):
            run([2] * 9)

    def test_paths_and_texts(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a;b{c.cu")
            text = "__global__ void one(int* x) { *x = 1; }"
            with open(path, "w") as file:
                file.write(text)
            for source in (path, pathlib.Path(path), text):
                report = check(source, "one", 1, 1, [unwritten(1, np.int32)], expected={0: [1]}, schedules=1)
                self.assertTrue(report.clean, report)
            with self.assertRaisesRegex(ValueError, "none;here.cu"):
                check(os.path.join(folder, "none;here.cu"), "one", 1, 1, [unwritten(1, np.int32)])

    def test_errors_are_few_and_the_sources_own(self):
        with self.assertRaises(ValueError) as raised:
            check("__global__ void k() {}\nint a\n", "k", 1, 32, [])
        self.assertLess(len(str(raised.exception).split("\n")), 12, raised.exception)
        with self.assertRaises(ValueError) as raised:
            check("__global__ void k() {" + "\n".join(f"  a{i};" for i in range(9)) + "}", "k", 1, 32, [])
        self.assertEqual(str(raised.exception).count("error:"), 3, raised.exception)
        self.assertIn("a2", str(raised.exception))
        self.assertTrue(str(raised.exception).endswith("and 6 more errors"), raised.exception)

    def test_refusals(self):
        with self.assertRaisesRegex(ValueError, "kernel.cu:10:.*undeclared"):
            check(SOURCE.replace("int main()", "int f()"), "sums<int>", 1, 32, [])
        for arguments, said in (
            ((0, 32, []), "grid = 0"),
            ((1, 32, ["x"]), "argument 0 is a str"),
            ((1, 32, [np.zeros(2, complex)]), "complex128"),
            ((1.5, 32, []), "grid = 1.5: expected a size"),
            ((1, "32", []), "block = '32': expected a size"),
            ((1, (1, 2, 3, 4), []), "up to three"),
            ((1, 32, np.zeros(2)), "args is a ndarray: expected a list"),
            ((1, 32, [1 << 64]), "argument 0 is 18446744073709551616"),
            ((1, 32, [1j]), "argument 0 is a complex"),
        ):
            with self.subTest(said), self.assertRaisesRegex((ValueError, TypeError), said):
                check(SOURCE, "sums<int>", *arguments)
        for named, said in (
            ({"options": "-DN=3"}, r"options = '-DN=3': expected a list"),
            ({"options": [3]}, "3 is not for the compiler"),
            ({"schedules": 0}, "schedules = 0: expected a whole number, 1 or more"),
            ({"seconds": 1.5}, "seconds = 1.5"),
            ({"shared_bytes": -1}, "shared_bytes = -1"),
            ({"tolerance": "a"}, "tolerance = 'a'"),
            ({"expected": [1]}, "expected is a list"),
            ({"expected": {"0": [1]}}, r"expected\['0'\]: there is no array"),
        ):
            with self.subTest(said), self.assertRaisesRegex((ValueError, TypeError), said):
                check(SOURCE, "sums<int>", 1, 32, [np.zeros(2, np.int32)], **named)
        for shape in (-1, 1.5, (2, -3), "8"):
            with self.subTest(shape), self.assertRaisesRegex(ValueError, r"a size of unwritten\(\) = "):
                unwritten(shape, "float32")
        with self.assertRaisesRegex(ValueError, "has 3 elements"):
            check(SOURCE, "sums<int>", 1, 32, [np.zeros(2, np.int32)], expected={0: [1, 2, 3]})


unittest.main()
