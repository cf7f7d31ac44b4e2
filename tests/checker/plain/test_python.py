# SPDX-License-Identifier: Apache-2.0
"""antiphase.checking: kernels on NumPy arrays."""
import os
import sys
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
        ):
            with self.subTest(said), self.assertRaisesRegex((ValueError, TypeError), said):
                check(SOURCE, "sums<int>", *arguments)
        with self.assertRaisesRegex(ValueError, "has 3 elements"):
            check(SOURCE, "sums<int>", 1, 32, [np.zeros(2, np.int32)], expected={0: [1, 2, 3]})


unittest.main()
