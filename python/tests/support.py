# SPDX-License-Identifier: Apache-2.0
"""Helpers of the Python package's tests: required modules, inputs, the library's error bound, refusals."""
import importlib
import os
import re
import sys
import tempfile
import unittest

SKIPPED = 77


def need(name):
    """Imports a module that the tests need; skips them with a message if it is missing."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        skip(f"{name} cannot be imported by {sys.executable} ({error})")


def skip(reason):
    """Skips all tests of the program."""
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def pattern(numpy, *shape, seed=1):
    """Random float32 values without any structure: an index that is off by one changes the result."""
    return numpy.random.default_rng([seed, *shape]).standard_normal(shape).astype("float32")


def units_of(text):
    """The error bound that explain() prints, in units of u |A||B|."""
    return float(re.search(r"^bound: ([\d.]+) u \|A\|\|B\|", text, re.MULTILINE)[1])


class Case(unittest.TestCase):
    def in_two_processes(self, torch, device, function):
        """Calls function(rank, path of a file to meet by, 2) in two processes."""
        if not torch.distributed.is_available():
            self.skipTest("torch has no torch.distributed")
        if device.type != "cpu" and torch.cuda.device_count() < 2:
            self.skipTest("there is one GPU: NCCL's processes have one each")
        with tempfile.TemporaryDirectory() as folder:
            torch.multiprocessing.spawn(function, (os.path.join(folder, "meeting"), 2), nprocs=2)

    def refused(self, error, words, call, *unchanged):
        """Expects an error with a one-line message that contains all of `words`, and the arrays unchanged."""
        before = [bytes(x.tobytes()) for x in unchanged]
        with self.assertRaises(error) as caught:
            call()
        said = str(caught.exception)
        self.assertTrue(said.startswith("antiphase: "), said)
        self.assertNotIn("\n", said)
        for word in words:
            self.assertIn(word, said)
        self.assertEqual([bytes(x.tobytes()) for x in unchanged], before)

    def assert_product(self, numpy, antiphase, found, a, b):
        """Expects `found` within the library's error bound of the product in FP64, without NaN."""
        exact = numpy.matmul(a.astype("float64"), b.astype("float64"))
        self.assertEqual(tuple(found.shape), exact.shape)
        found = numpy.asarray(found)
        self.assertEqual(found.dtype, numpy.float32)
        if exact.size == 0 or a.shape[-1] == 0:
            self.assertFalse(found.any())
            return
        units = units_of(antiphase.explain(a, b))
        most = (
            numpy.matmul(abs(a).astype("float64"), abs(b).astype("float64")) * units * 2.0**-24
            + 2.0**-149
        )
        self.assertTrue(
            (abs(found - exact) <= most).all(),
            f"{a.shape} x {b.shape}: off by {abs(found - exact).max()}, bound {most.max()}",
        )


class CountingRunner(unittest.TextTestRunner):
    """Fails if no test ran."""

    def run(self, suite):
        result = super().run(suite)
        if result.testsRun == 0:
            sys.exit("no test has this name")
        return result


def main():
    unittest.main(testRunner=CountingRunner)
