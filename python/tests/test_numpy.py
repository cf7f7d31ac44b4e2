#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""antiphase on NumPy arrays, on the CPU executor; and on arrays known by DLPack or __cuda_array_interface__
alone."""
import ctypes
import itertools
import os
import re
import signal
import sys
import threading
import time
import unittest.mock
import warnings

import support

numpy = support.need("numpy")
import antiphase
import cupy_stand_in
import torch_stand_in
from antiphase import _arrays, _dlpack, _products

A = lambda *shape, seed=1: support.pattern(numpy, *shape, seed=seed)
# Products that take a workspace: `split` is predicted a fifth faster than others, with 272 columns too.
ROWS, COLUMNS, DEPTH = 258, 130, 256


class Linear(support.Case):
    def test_a_row_has_the_same_bits_in_every_batch(self):
        x, w = A(7, 3, 72).astype("float16"), A(40, 72, seed=2).astype("float16")
        together = antiphase.linear(x, w, dtype="float32")
        self.assertEqual((together.shape, together.dtype), ((7, 3, 40), numpy.float32))
        alone = antiphase.linear(x[4, 1], w, dtype="float32")
        self.assertEqual(alone.tobytes(), together[4, 1].tobytes())
        self.assertEqual(
            antiphase.linear(x, numpy.asfortranarray(w), dtype="float32").tobytes(), together.tobytes()
        )

    def test_bias_activation_and_residual(self):
        x, w, bias = (
            A(5, 72).astype("float16"),
            A(40, 72, seed=2).astype("float16"),
            A(40, seed=3).astype("float16"),
        )
        residual = A(5, 40, seed=4).astype("float16")
        found = antiphase.linear(x, w, bias, residual=residual, activation="relu")
        exact = numpy.maximum(x.astype("float64") @ w.astype("float64").T + bias, 0) + residual
        self.assertEqual(found.dtype, numpy.float16)
        self.assertLess(abs(found - exact).max(), 2e-3 * abs(exact).max())

    def test_one_number_repeated_along_axes(self):
        """Strides of 0, in each library: the library reads two of them as densely packed rows."""
        x, memory = A(3, 20).astype("float16"), A(21, seed=2).astype("float16")
        namespace = Namespace()
        for w in (
            numpy.broadcast_to(memory[20], (9, 20)),
            numpy.broadcast_to(memory[20], (9, 1)),
            numpy.broadcast_to(memory[20], (1, 20)),
            numpy.broadcast_to(memory[:20], (9, 20)),
            numpy.broadcast_to(memory[:9, None], (9, 20)),
            numpy.broadcast_to(memory[20], (600, 20)),
            memory[:9, None][::-1],
        ):
            y = x[:, : w.shape[1]]
            expected = antiphase.linear(y.copy(), w.copy()).tobytes()
            with self.subTest(f"{w.shape}, {w.strides}"):
                self.assertEqual(antiphase.linear(y, w).tobytes(), expected)
                if w.strides[0] >= 0:
                    found = antiphase.linear(Wrapped(y.copy(), namespace=namespace), Wrapped(w))
                    self.assertEqual(found.array.tobytes(), expected)
        for rows in (numpy.broadcast_to(memory[20], (3, 20)), numpy.broadcast_to(memory[:20], (3, 20))):
            w = A(5, 20, seed=3).astype("float16")
            self.assertEqual(antiphase.linear(rows, w).tobytes(), antiphase.linear(rows.copy(), w).tobytes())
            bias = numpy.broadcast_to(memory[20], (5,))
            self.assertEqual(
                antiphase.linear(x, w, bias).tobytes(), antiphase.linear(x, w, bias.copy()).tobytes()
            )
        w = numpy.broadcast_to(numpy.float16(1.5), (60000, 20000))  # 2.4 GB, were it densely packed
        self.assertEqual(antiphase.linear(numpy.ones((1, 20000), "float16"), w[:7]).tolist(), [[30000.0] * 7])
        self.assertEqual(antiphase.linear(x[:, :1], w[:, :1])[2, -1], numpy.float16(1.5) * x[2, 0])

    def test_arguments_as_users_write_them(self):
        x, w, bias = (
            A(2, 5, 72).astype("float16"),
            A(40, 72).astype("float16"),
            A(40, seed=3).astype("float16"),
        )
        expected = antiphase.linear(x, w, bias).tobytes()
        self.assertEqual(antiphase.linear(x, w, bias=bias).tobytes(), expected)
        wide = antiphase.linear(x, w, dtype="float32").tobytes()
        for dtype in (numpy.float32, "f4", numpy.dtype("f4"), "torch.float32"):
            self.assertEqual(antiphase.linear(x, w, dtype=dtype).tobytes(), wide)
        for residual in (A(40, seed=4), A(5, 1, seed=4), A(2, 1, 40, seed=4), numpy.float32([3])):
            residual = residual.astype("float16")
            whole = numpy.broadcast_to(residual, (2, 5, 40)).copy()
            self.assertEqual(
                antiphase.linear(x, w, residual=residual).tobytes(),
                antiphase.linear(x, w, residual=whole).tobytes(),
            )

    def test_wrong_arguments_are_named(self):
        x, w = A(5, 72).astype("float16"), A(40, 72).astype("float16")
        for error, words, call in (
            (ValueError, "expected (..., k) and (n, k)", lambda: antiphase.linear(x, w[:, :70])),
            (TypeError, "expected both float16", lambda: antiphase.linear(x.astype("float32"), w)),
            (ValueError, "activation is 'silu'", lambda: antiphase.linear(x, w, activation="silu")),
            (ValueError, "bias has shape (3,): expected (40,)", lambda: antiphase.linear(x, w, x[0, :3])),
            (TypeError, "dtype is int8", lambda: antiphase.linear(x, w, dtype="int8")),
            (TypeError, "dtype is ['f4']", lambda: antiphase.linear(x, w, dtype=["f4"])),
            (TypeError, "float32 of the other byte order", lambda: antiphase.linear(x, w, dtype=">f4")),
            (
                ValueError,
                "activation is ['relu']: expected",
                lambda: antiphase.linear(x, w, activation=["relu"]),
            ),
            (ValueError, "activation is array", lambda: antiphase.linear(x, w, activation=x)),
            (ValueError, "residual has shape (5, 2)", lambda: antiphase.linear(x, w, residual=x[:, :2])),
            (
                ValueError,
                "broadcast to (5, 40)",
                lambda: antiphase.linear(x, w, residual=numpy.zeros((1, 5, 40), "float16")),
            ),
        ):
            with self.subTest(words), self.assertRaises(error) as raised:
                call()
            self.assertIn(words, str(raised.exception))


class Products(support.Case):
    def assert_right(self, a, b):
        found = antiphase.matmul(a, b)
        self.assertIs(type(found), numpy.ndarray)
        self.assert_product(numpy, antiphase, found, a, b)

    def test_shapes_are_those_of_numpy(self):
        for a, b in (
            ((3, 5), (5, 7)),
            ((5,), (5, 7)),
            ((3, 5), (5,)),
            ((5,), (5,)),
            ((1, 1), (1, 1)),
            ((1, 5), (5, 1)),
            ((2, 3, 5), (5, 4)),
            ((2, 3, 5), (2, 5, 4)),
            ((2, 3, 5), (5,)),
            ((5,), (2, 5, 4)),
            ((2, 1, 3, 5), (4, 5, 6)),
            ((3, 5), (2, 4, 5, 6)),
            ((4, 2, 3, 5), (4, 1, 5, 2)),
            ((3, 1, 2, 3, 4), (3, 5, 1, 4, 2)),
            ((1, 2, 3), (7, 3, 2)),
            ((0, 5), (5, 3)),
            ((3, 0), (0, 4)),
            ((0,), (0,)),
            ((0, 3, 5), (5, 4)),
            ((2, 3, 0), (0, 4)),
            ((4, 0, 3), (1, 3, 2)),
        ):
            with self.subTest(a=a, b=b):
                self.assert_right(A(*a), A(*b, seed=2))

    def test_operands_may_lie_in_any_way(self):
        whole = A(6, 7, 22, 26)
        ways = {
            "rows": lambda x, m, k: x[0, 0, :m, :k],
            "transposed": lambda x, m, k: x[0, 0, :k, :m].T,
            "backwards": lambda x, m, k: x[0, 1, :m, :k][::-1, ::-1],
            "every third": lambda x, m, k: x[1, 0, : 3 * m : 3, : 2 * k : 2],
            "repeated row": lambda x, m, k: numpy.broadcast_to(x[0, 0, 0, :k], (m, k)),
            "repeated column": lambda x, m, k: numpy.broadcast_to(x[0, 0, :m, :1], (m, k)),
            "one number": lambda x, m, k: numpy.broadcast_to(x[0, 0, 3, 3], (m, k)),
            "fortran": lambda x, m, k: numpy.asfortranarray(x[2, 1, :m, :k]),
        }
        for (of_a, a), (of_b, b) in itertools.product(ways.items(), ways.items()):
            with self.subTest(a=of_a, b=of_b):
                self.assert_right(a(whole, 5, 7), b(whole, 7, 3))

    def test_one_number_repeated_along_an_axis(self):
        """The library reads two strides of 0 as densely packed rows."""
        x = A(9)
        for a, b in (((6, 1), (1, 4)), ((1, 6), (6, 1)), ((1, 1), (1, 5)), ((6, 1), (1, 1))):
            self.assert_right(numpy.broadcast_to(x[3], a), numpy.broadcast_to(x[5], b))
            self.assert_right(numpy.broadcast_to(x[3], (3, *a)), A(*b))
            self.assert_right(A(*a), numpy.broadcast_to(x[5], (3, *b)))

    def test_children_forked_while_threads_are_at_work(self):
        a, b = A(40, 50), A(50, 30, seed=2)
        expected, stop = antiphase.matmul(a, b), threading.Event()

        def compute():
            for rows in itertools.cycle(range(1, 40)):
                if stop.is_set():
                    return
                antiphase.matmul(a[:rows], b)
                antiphase.cumsum(a[:rows], axis=0)

        def plan():  # holds the lock most of the time, so that forks meet it
            while not stop.is_set():
                with _products._plans.change:
                    time.sleep(0.002)

        threads = [threading.Thread(target=target) for target in (compute, plan)]
        for thread in threads:
            thread.start()
        try:
            for _ in range(10):
                child = os.fork()
                if child == 0:
                    signal.alarm(20)
                    right = numpy.array_equal(
                        antiphase.matmul(a[::-1], b), expected[::-1]
                    ) and numpy.allclose(antiphase.cumsum(a[:5, 0])[-1], a[:5, 0].sum())
                    os._exit(0 if right else 1)
                self.assertEqual(os.waitpid(child, 0)[1], 0)
        finally:
            stop.set()
            for thread in threads:
                thread.join()

    def test_batches_may_lie_in_any_way(self):
        x, y = A(4, 3, 6, 5), A(4, 3, 5, 2, seed=2)
        for a, b in (
            (x.transpose(1, 0, 2, 3), y.transpose(1, 0, 2, 3)),
            (x[::-1, ::2], y[::2, 1:2][[0, 1, 0, 1]]),
            (x.transpose(2, 0, 1, 3), y[0, 0]),
            (numpy.broadcast_to(x[0], (5, 3, 6, 5)), y[0]),
            (x[0, 0], y.transpose(0, 1, 3, 2).copy().transpose(0, 1, 3, 2)),
            (x[0, 0, 0], y),
            (numpy.broadcast_to(x[0, 0, 0, 0], (3, 2, 5)), y[0]),
        ):
            with self.subTest(a=a.strides, b=b.strides):
                self.assert_right(a, b)

    def test_a_repeated_member_is_not_copied(self):
        """A batch that repeats one matrix 2^30 times would be 8 GB if it were copied; explain() must not."""
        many = numpy.broadcast_to(A(1, 2), (1 << 30, 1, 2))
        self.assertIn("bound:", antiphase.explain(many, A(2, 1)))

    def test_rows_of_a_batch_with_one_b_are_one_product(self):
        self.assertEqual(antiphase.explain(A(8, 16, 32), A(32, 24)), antiphase.explain(A(128, 32), A(32, 24)))

    def test_out(self):
        a, b = A(5, 7), A(7, 3, seed=2)
        big = numpy.full((12, 13), 77, "float32")
        for name, out in (
            ("dense", numpy.empty((5, 3), "float32")),
            ("every second", big[:10:2, :9:3]),
            ("transposed", numpy.empty((3, 5), "float32").T),
            ("backwards", numpy.empty((5, 3), "float32")[::-1, ::-1]),
        ):
            with self.subTest(name):
                self.assertIs(antiphase.matmul(a, b, out=out), out)
                self.assert_product(numpy, antiphase, out, a, b)
        self.assertEqual((big == 77).sum(), 12 * 13 - 15)
        batches = numpy.full((2, 4, 3, 6), 77, "float32").transpose(1, 0, 3, 2)
        x, y = A(2, 6, 5), A(4, 1, 5, 3, seed=3)
        self.assertIs(antiphase.matmul(x, y, out=batches), batches)
        self.assert_product(numpy, antiphase, batches, x, y)

    def test_precision(self):
        a, b = A(33, 130), A(130, 17, seed=2)
        self.assertIn("precision fp32", antiphase.explain(a, b))
        self.assertRegex(antiphase.explain(A(2, 3), A(3, 4)), ": 1 block of ")
        self.assertEqual(antiphase.explain(a, b, precision="fp32"), antiphase.explain(a, b))
        self.assertIn("precision strict", antiphase.explain(a, b, precision="strict"))
        strict = antiphase.matmul(a, b, precision="strict")
        self.assertFalse((strict == antiphase.matmul(a, b)).all())
        exact = a.astype("float64") @ b.astype("float64")
        self.assertTrue((abs(strict - exact) <= 130 * 2.0**-24 * (abs(a).astype("float64") @ abs(b))).all())

    def test_a_row_is_the_same_in_every_batch(self):
        a, b = A(70, 900), A(900, 33, seed=2)
        one = antiphase.matmul(a[5:6], b, reproducible=True)
        for many in (a, a[:9], a[3:]):
            found = antiphase.matmul(many, b, reproducible=True)
            self.assertEqual(found[2 if len(many) == 67 else 5].tobytes(), one.tobytes())
        # Members of a batch that share their first operand are columns of one product, but not here.
        members = numpy.stack([b, b + 1, b * 2])
        of_all = antiphase.matmul(a, members, reproducible=True)
        for member, found in zip(members, of_all):
            self.assertEqual(found.tobytes(), antiphase.matmul(a, member, reproducible=True).tobytes())
        told = antiphase.explain(a, b, reproducible=True)
        self.assertNotEqual(told, antiphase.explain(a, b))
        self.refused(
            ValueError,
            ["reproducible", "'strict'", "expected precision 'fp32'"],
            lambda: antiphase.matmul(a, b, precision="strict", reproducible=True),
        )

    def test_infinities_and_nan(self):
        a, b = A(4, 6), A(6, 5, seed=2)
        a[1, 2], a[2, 3] = numpy.inf, numpy.nan
        b[2, 4] = 0
        found, exact = antiphase.matmul(a, b), a.astype("float64") @ b.astype("float64")
        self.assertTrue(
            (numpy.isnan(found) == numpy.isnan(exact)).all()
            and (numpy.isposinf(found) == numpy.isposinf(exact)).all()
        )
        self.assertTrue(
            numpy.isnan(found[1, 4]) and numpy.isnan(found[2]).all() and numpy.isfinite(found[[0, 3]]).all()
        )

    def test_the_same_bits_in_every_run_and_thread(self):
        a, b = A(3, 21, 40), A(40, 19, seed=2)
        first = antiphase.matmul(a, b).tobytes()
        found = []
        threads = [
            threading.Thread(target=lambda: found.append(antiphase.matmul(a, b).tobytes())) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [first] * 4)

    def test_threads_with_different_addresses_do_not_mix(self):
        """Threads share the plan for a shape, but not its addresses."""
        pairs = [(A(9, 31, seed=i), A(31, 8, seed=50 + i)) for i in range(8)]
        expected = [antiphase.matmul(a, b).tobytes() for a, b in pairs]
        wrong = []

        def work(i):
            for _ in range(20):
                if antiphase.matmul(*pairs[i]).tobytes() != expected[i]:
                    wrong.append(i)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_what_makes_no_sense(self):
        a, b, out = A(3, 4), A(4, 5, seed=2), numpy.full((3, 5), 7, "float32")
        m = antiphase.matmul
        double, half, complex_ = a.astype("float64"), a.astype("float16"), a.astype("complex64")
        swapped = a.astype(">f4")
        frozen = out.copy()
        frozen.flags.writeable = False
        odd = numpy.zeros(3 * 4 * 4 + 1, "int8")[1:].view("float32").reshape(3, 4)
        gaps = numpy.zeros((3, 4), numpy.dtype([("x", "float32"), ("y", "int16")]))["x"]
        masked = numpy.ma.masked_array(a, a > 0)
        repeated = numpy.lib.stride_tricks.as_strided(numpy.zeros(5, "float32"), (3, 5), (0, 4))
        square, shared = A(5, 5, seed=3), A(15)
        for error, words, call in (
            (ValueError, ["(3, 4)", "(5, 6)", "is 4", "5", "must agree"], lambda: m(a, A(5, 6), out=out)),
            (ValueError, ["(3,)", "(4, 5)", "must agree"], lambda: m(A(3), b)),
            (ValueError, ["(3, 4)", "(5,)", "the last of the second"], lambda: m(a, A(5))),
            (
                ValueError,
                ["(2, 3, 4)", "(3, 4, 5)", "(2,) and (3,) do not fit"],
                lambda: m(A(2, 3, 4), A(3, 4, 5), out=out),
            ),
            (ValueError, ["()", "(4, 5)", "at least one axis"], lambda: m(numpy.array(2, "float32"), b)),
            (
                TypeError,
                ["float64 and float32", "expected float32", ".astype('float32')"],
                lambda: m(double, b, out=out),
            ),
            (TypeError, ["float32 and float16", "expected float32"], lambda: m(A(5, 4), half.T)),
            (TypeError, ["int64"], lambda: m(a, numpy.ones((4, 5), "int64"))),
            (TypeError, ["complex64"], lambda: m(complex_, b)),
            (TypeError, ["bool"], lambda: m(a > 0, b)),
            (TypeError, ["other byte order"], lambda: m(swapped, b)),
            (TypeError, ["list", "numpy.asarray"], lambda: m([[1.0]], b)),
            (TypeError, ["second operand is a builtins.float"], lambda: m(a, 2.0)),
            (TypeError, ["MaskedArray", ".filled()"], lambda: m(masked, b)),
            (TypeError, ["out is a builtins.list"], lambda: m(a, b, out=[])),
            (ValueError, ["out has shape (3, 4)", "(3, 5)"], lambda: m(a, b, out=a)),
            (ValueError, ["out has shape (5,)", "(3, 5)"], lambda: m(a, b, out=numpy.zeros(5, "float32"))),
            (TypeError, ["out is float64"], lambda: m(a, b, out=numpy.zeros((3, 5)))),
            (ValueError, ["read-only"], lambda: m(a, b, out=frozen)),
            (ValueError, ["out has the same address as the first"], lambda: m(out, A(5, 5), out=out)),
            (ValueError, ["antiphase: out is 3 x 5", "overlap"], lambda: m(a, b, out=repeated)),
            (
                ValueError,
                ["antiphase: out at", "overlaps the first operand at", "apart"],
                lambda: m(shared[2:14].reshape(3, 4), b, out=shared[:15].reshape(3, 5)),
            ),
            (
                ValueError,
                ["out has the same address as the first operand"],
                lambda: m(square, square, out=square),
            ),
            (
                ValueError,
                ["out has the same address as the second operand"],
                lambda: m(A(5, 5), square, out=square),
            ),
            (ValueError, ["'double'", "'fp32' or 'strict'"], lambda: m(a, b, precision="double")),
            (ValueError, ["precision is []", "'fp32' or 'strict'"], lambda: m(a, b, precision=[])),
            (ValueError, ["first operand is at address", "multiple of 4"], lambda: m(odd, b)),
            (ValueError, ["strides of", "multiples of 4"], lambda: m(gaps, b)),
        ):
            with self.subTest(words):
                self.refused(error, words, call, a, b, out, frozen)

    def test_memory_that_a_call_takes(self):
        """The workspace size, as it is requested from torch before addresses are known."""
        kind, taken = _arrays.kind_of(A(1), ""), []
        for a, b in (
            (A(64, 64), A(64, 64)),
            (A(3, 40, 50)[::-1], A(3, 50, 60)),
            (A(300, 200), A(100, 200).T),
            (A(900, 300), A(300, 800)),
        ):
            plan = antiphase._products._planned(kind, kind.view(a), kind.view(b), None, None)
            found = antiphase._products._aligned_workspace(plan.calls[0][0])
            told = int(antiphase.explain(a, b).partition(" bytes of workspace")[0].split()[-1])
            self.assertGreaterEqual(found, told)
            self.assertEqual(found > 0, told > 0)
            taken.append(found)
        self.assertTrue(any(taken) and not all(taken), taken)

    def test_out_of_several_calls_is_apart(self):
        """Each call sees its own part only, so that the package has to check for shared memory."""
        x = A(3, 1, 2, 4, 4)
        y = A(5, 1, 4, 4, seed=2)
        out = numpy.full((3, 5, 2, 4, 4), 7, "float32")
        shared = out[:, :1]
        kind = _arrays.kind_of(x, "")
        self.assertGreater(
            len(antiphase._products._planned(kind, kind.view(x), kind.view(y), None, None).calls), 1
        )
        self.refused(ValueError, ["shares memory"], lambda: antiphase.matmul(shared, y, out=out), out, y)
        doubled = numpy.lib.stride_tricks.as_strided(
            numpy.zeros(400, "float32"), out.shape, (64, 0, 320, 16, 4)
        )
        self.refused(
            ValueError, ["places of their own"], lambda: antiphase.matmul(x, y, out=doubled), doubled
        )


class Scans(support.Case):
    def assert_same(self, found, expected, near=False):
        self.assertEqual((found.dtype, found.shape), (expected.dtype, expected.shape))
        if near:
            numpy.testing.assert_allclose(found, expected, rtol=2e-6, atol=2e-5)
        else:
            numpy.testing.assert_array_equal(found, expected)

    def test_sums_along_every_axis(self):
        x = A(3, 4, 5)
        for axis in (0, 1, 2, -1, -3):
            self.assert_same(antiphase.cumulative_sum(x, axis=axis), numpy.cumsum(x, axis), near=True)
            self.assert_same(antiphase.cumsum(x, axis), numpy.cumsum(x, axis), near=True)
        self.assert_same(antiphase.cumsum(x), numpy.cumsum(x), near=True)
        self.assert_same(antiphase.cumulative_sum(x[0, 0]), numpy.cumsum(x[0, 0]), near=True)

    def test_log_sum_exp(self):
        x = 50 * A(3, 40, 5)
        x[0, 1], x[1, 0] = -numpy.inf, -numpy.inf
        for dtype in ("float32", "float64"):
            for axis in range(3):
                y = x.astype(dtype)
                self.assert_same(
                    antiphase.scan(y, op="log_sum_exp", axis=axis),
                    numpy.logaddexp.accumulate(y, axis),
                    near=True,
                )
        found = antiphase.scan(x[2], op="log_sum_exp", axis=0, reverse=True)
        self.assert_same(found, numpy.logaddexp.accumulate(x[2, ::-1], 0)[::-1], near=True)
        for error, words, call in (
            (
                NotImplementedError,
                ["of i32", "f32 or f64"],
                lambda: antiphase.scan(x.astype("int32"), op="log_sum_exp"),
            ),
            (ValueError, ["exclusive"], lambda: antiphase.scan(x, op="log_sum_exp", exclusive=True)),
            (
                NotImplementedError,
                ["segments"],
                lambda: antiphase.scan(x[0, 0], op="log_sum_exp", by_key=x[0, 0]),
            ),
        ):
            self.refused(error, words, call)

    def test_types(self):
        """In the array API, smaller integers are added up in the default integer type."""
        for name in (
            "float32",
            "float64",
            "float16",
            "int8",
            "int16",
            "int32",
            "int64",
            "uint8",
            "uint16",
            "uint32",
            "uint64",
        ):
            for shape in ((11,), (3, 7)):
                x = (numpy.arange(numpy.prod(shape)) * 5 % 13).reshape(shape).astype(name)
                with self.subTest(name, shape=shape):
                    self.assert_same(antiphase.cumulative_sum(x, axis=-1), numpy.cumulative_sum(x, axis=-1))
                    self.assert_same(antiphase.scan(x), numpy.cumsum(x, -1, dtype=name))
        x = numpy.full((2, 300), 2048, "float16") + numpy.arange(300).astype("float16") % 2
        for one in (x, x[0], x.T):
            self.assert_same(
                antiphase.cumulative_sum(one, axis=0, dtype="float32"), numpy.cumsum(one, 0, dtype="float32")
            )
            self.assert_same(
                antiphase.scan(one, axis=0, dtype=numpy.float64), numpy.cumsum(one, 0, dtype="float64")
            )
        self.assert_same(
            antiphase.scan(x.astype("int8"), dtype=numpy.longlong),
            numpy.cumsum(x.astype("int8"), 1, dtype="int64"),
        )
        self.assert_same(
            antiphase.scan(x[0], exclusive=True, initial=float("inf"), dtype="float32")[:1],
            numpy.array([numpy.inf], "float32"),
        )
        for name in ("float32", "f4", numpy.float32, numpy.dtype("float32"), numpy.dtype("<f4")):
            self.assert_same(antiphase.scan(x, dtype=name), numpy.cumsum(x, 1, dtype="float32"))
        self.assert_same(
            antiphase.scan(numpy.array([3, -1, 2], "int8"), dtype="float32"),
            numpy.array([3, 2, 4], "float32"),
        )
        self.assert_same(antiphase.scan(numpy.array([200, 100], "uint8")), numpy.array([200, 44], "uint8"))

    def test_bools_are_counted(self):
        mask = A(3, 400) > 0
        for y in (mask, mask[1], mask.T, mask[:, ::2], numpy.full(3, 2, "uint8").view(bool), mask[:0]):
            for axis in range(y.ndim):
                self.assert_same(antiphase.cumsum(y, axis), numpy.cumsum(y, axis))
                self.assert_same(
                    antiphase.cumulative_sum(y, axis=axis, include_initial=True),
                    numpy.cumulative_sum(y, axis=axis, include_initial=True),
                )
                self.assert_same(antiphase.scan(y, axis=axis), numpy.cumsum(y, axis))
        self.assert_same(antiphase.cumsum(mask), numpy.cumsum(mask))
        self.assert_same(antiphase.cumsum(mask, 1, dtype="float32"), numpy.cumsum(mask, 1, dtype="float32"))
        self.assert_same(antiphase.scan(mask[0], op="prod"), numpy.cumprod(mask[0]))
        self.assert_same(
            antiphase.scan(mask[0], heads=mask[0], exclusive=True, initial=3)[:1], numpy.array([3])
        )

    def test_integers_are_added_up_in_the_type_of_out(self):
        """As in NumPy, if no dtype is given."""
        integers = [name for name in antiphase._scans._TYPES if "int" in name]
        for of, to in itertools.product(("bool", *integers), integers):
            for shape in ((300,), (2, 30)):
                x = (numpy.arange(numpy.prod(shape)) * 7 % 100).reshape(shape).astype(of)
                with self.subTest(of, to=to, shape=shape):
                    for call in (
                        lambda out: antiphase.cumsum(x, -1, out=out),
                        lambda out: antiphase.scan(x, out=out),
                    ):
                        out = numpy.zeros(shape, to)
                        self.assertIs(call(out), out)
                        self.assert_same(out, numpy.cumsum(x, -1, out=numpy.zeros(shape, to)))

    def test_names_of_numpy(self):
        x = (numpy.arange(12) * 5 % 7 - 2).astype("int64")
        for names, function in (
            (("sum", "add", "cumsum"), numpy.add),
            (("product", "prod", "multiply", "cumprod"), numpy.multiply),
            (("min", "minimum"), numpy.minimum),
            (("max", "maximum"), numpy.maximum),
        ):
            for name in names:
                self.assert_same(antiphase.scan(x, op=name), function.accumulate(x))

    def test_out_whose_elements_overlap(self):
        strided = numpy.lib.stride_tricks.as_strided
        x = A(4, 4)
        for out in (
            strided(numpy.zeros(4, "float32"), (4, 4), (0, 4)),
            strided(numpy.zeros(7, "float32"), (4, 4), (4, 4)),
        ):
            for call in (
                lambda: antiphase.cumsum(x, 0, out=out),
                lambda: antiphase.scan(x, op="max", out=out),
                lambda: antiphase.matmul(x, x, out=out),
            ):
                self.refused(ValueError, ["its elements"], call, out)
        self.refused(
            ValueError,
            ["places of their own"],
            lambda: antiphase.cumsum(x[0], out=strided(numpy.zeros(1, "float32"), (4,), (0,))),
        )
        one = strided(numpy.zeros(1, "float32"), (1, 1), (0, 0))  # a single element overlaps nothing
        self.assertEqual(float(antiphase.cumsum(x[:1, :1], 0, out=one)[0, 0]), float(x[0, 0]))

    def test_what_becomes_of_other_types(self):
        """The suggested conversion fits the dtype: none discards information."""
        x = numpy.arange(4)
        ways = [
            (x.astype("complex64"), "real and the imaginary parts"),
            (x.astype(complex), "real and the imaginary parts"),
            (x.astype("datetime64[D]"), ".view('int64')"),
            (x.astype("timedelta64[s]"), ".view('int64')"),
            (x.astype("S3"), "if all of them are numbers"),
            (x.astype(object), "if all of them are numbers"),
            (x.astype(str), "if all of them are numbers"),
            (x.astype(">f8"), "newbyteorder('=')"),
            (numpy.zeros(4, [("a", "f4")]), "one of their fields"),
            (x.astype("longdouble"), ".astype('float32')"),
        ]
        for y, way in ways:
            for call in (
                lambda: antiphase.scan(y),
                lambda: antiphase.cumsum(y),
                lambda: antiphase.cumulative_sum(y),
                lambda: antiphase.matmul(y, A(4, 2)),
                lambda: antiphase.matmul(A(4), y),
            ):
                self.refused(TypeError, ["expected float32", way], call)

    def test_a_type_that_numpy_does_not_know(self):
        if "ml_dtypes" in sys.modules:
            self.skipTest("NumPy knows bfloat16")
        for call in (
            lambda: antiphase.cumsum(A(3, 4), 1, dtype="bfloat16"),
            lambda: antiphase.scan(numpy.arange(5), dtype="bfloat16"),
        ):
            self.refused(TypeError, ["dtype is bfloat16", "NumPy", "ml_dtypes"], call)

    def test_initial_zero(self):
        x = numpy.arange(24, dtype="int32").reshape(2, 3, 4)
        for axis in range(3):
            self.assert_same(
                antiphase.cumulative_sum(x, axis=axis, include_initial=True),
                numpy.cumulative_sum(x, axis=axis, include_initial=True),
            )
        self.assert_same(antiphase.cumulative_sum(A(5), include_initial=True)[:1], numpy.zeros(1, "float32"))

    def test_operations_directions_and_kinds(self):
        x = (numpy.arange(60) * 7 % 11 - 5).astype("int32").reshape(3, 4, 5)
        functions = {"sum": numpy.add, "product": numpy.multiply, "min": numpy.minimum, "max": numpy.maximum}
        ends = {"sum": 0, "product": 1, "min": numpy.iinfo("int32").max, "max": numpy.iinfo("int32").min}
        for (op, function), axis, reverse in itertools.product(functions.items(), range(3), (False, True)):
            with self.subTest(op, axis=axis, reverse=reverse):
                turned = numpy.flip(x, axis) if reverse else x
                inclusive = function.accumulate(turned, axis, dtype="int32")
                self.assert_same(
                    antiphase.scan(x, op=op, axis=axis, reverse=reverse),
                    numpy.flip(inclusive, axis) if reverse else inclusive,
                )
                before = numpy.roll(inclusive, 1, axis)
                numpy.moveaxis(before, axis, 0)[0] = ends[op]
                self.assert_same(
                    antiphase.scan(x, op=op, axis=axis, reverse=reverse, exclusive=True),
                    numpy.flip(before, axis) if reverse else before,
                )
        self.assert_same(
            antiphase.scan(x[0, 0], exclusive=True, initial=7),
            7 + numpy.cumsum(x[0, 0], dtype="int32") - x[0, 0],
        )
        self.assert_same(
            antiphase.scan(A(3).astype("float16"), exclusive=True, initial=0.25)[:1],
            numpy.array([0.25], "float16"),
        )

    def test_segments(self):
        x = numpy.arange(1, 10, dtype="float32")
        keys = numpy.array([4, 4, 1, 1, 1, 4, 0, 0, 0])
        heads = numpy.array([0, 0, 1, 0, 0, 1, 1, 0, 0], bool)
        expected = numpy.array([1, 3, 3, 7, 12, 6, 7, 15, 24], "float32")
        for kind in ("int64", "int8", "uint16", "float64"):
            self.assert_same(antiphase.scan(x, by_key=keys.astype(kind)), expected)
        self.assert_same(antiphase.scan(x, heads=heads), expected)
        self.assert_same(antiphase.scan(x, heads=heads.astype("uint8")), expected)
        self.assert_same(
            antiphase.scan(x, by_key=heads), numpy.array([1, 3, 3, 4, 9, 6, 13, 8, 17], "float32")
        )
        self.assert_same(
            antiphase.scan(x, by_key=numpy.repeat(keys, 2)[::2], reverse=True, op="max"),
            numpy.array([2, 2, 5, 5, 5, 6, 9, 9, 9], "float32"),
        )
        # In a wider type: the library does not add up so by segment, so they are converted first.
        for of, to in (
            ("float32", "float64"),
            ("float16", "float32"),
            ("int8", "int32"),
            ("uint16", "uint64"),
            ("int32", "int64"),
        ):
            for segments in ({"by_key": keys}, {"heads": heads}):
                self.assert_same(antiphase.scan(x.astype(of), dtype=to, **segments), expected.astype(to))

    def test_arrays_may_lie_in_any_way(self):
        x = A(4, 5, 6)
        for name, y in (
            ("transposed", x.transpose(2, 0, 1)),
            ("backwards", x[::-1]),
            ("every second", x[:, ::2]),
            ("fortran", numpy.asfortranarray(x)),
            ("repeated", numpy.broadcast_to(x[0], (3, 5, 6))),
            ("one wide", x[:, :1].transpose(1, 2, 0)),
            ("one deep", x[:, :1]),
            ("empty", x[:0]),
        ):
            for axis in range(3):
                with self.subTest(name, axis=axis):
                    before = y.copy()
                    self.assert_same(antiphase.scan(y, axis=axis), numpy.cumsum(y, axis), near=True)
                    self.assert_same(y, before)
        turned = x.transpose(2, 0, 1)  # densely packed in another order: scanned in that order, not copied
        self.assertEqual(antiphase.scan(turned, axis=1).strides, turned.strides)

    def test_out(self):
        x = A(3, 5)
        expected = numpy.cumsum(x, 0)
        for name, out in (
            ("dense", numpy.empty((3, 5), "float32")),
            ("gaps", numpy.empty((3, 10), "float32")[:, ::2]),
            ("fortran", numpy.empty((5, 3), "float32").T),
            ("itself", x),
        ):
            with self.subTest(name):
                self.assertIs(antiphase.cumsum(x, 0, out=out), out)
                self.assert_same(out, expected, near=True)

    def test_what_makes_no_sense(self):
        x, out = A(3, 4), numpy.full((3, 4), 7, "float32")
        s = antiphase.scan
        for error, words, call in (
            (ValueError, ["axis is 2", "(3, 4)", "-2 to 1"], lambda: s(x, axis=2, out=out)),
            (TypeError, ["axis is 1.5"], lambda: s(x, axis=1.5)),
            (ValueError, ["shape ()"], lambda: s(numpy.array(1, "float32"))),
            (ValueError, ["op is 'mean'", "'product'"], lambda: s(x, op="mean", out=out)),
            (ValueError, ["(3, 4)", "expected an axis"], lambda: antiphase.cumulative_sum(x)),
            (TypeError, ["complex64", "float32"], lambda: s(x.astype("complex64"))),
            (TypeError, ["scan of bool"], lambda: s(x > 0, op="max")),
            (TypeError, ["out is bool", "int64"], lambda: antiphase.cumsum(x > 0, 1, out=x > 0)),
            (TypeError, ["axis is True"], lambda: s(x, axis=True, out=out)),
            (TypeError, ["axis is True"], lambda: antiphase.cumsum(x, True)),
            (
                TypeError,
                ["axis is", "expected an integer"],
                lambda: antiphase.cumulative_sum(x, axis=numpy.bool_(False)),
            ),
            (ValueError, ["op is 'mean'"], lambda: s(x, op="mean")),
            (TypeError, ["out is float32", "int64"], lambda: s(numpy.ones((3, 4), int), out=out)),
            (TypeError, ["out is int32", "float32"], lambda: s(x, out=numpy.zeros((3, 4), "int32"))),
            (
                TypeError,
                ["out is uint8", "int64"],
                lambda: s(x > 0, dtype="int64", out=numpy.zeros((3, 4), "uint8")),
            ),
            (TypeError, ["dtype is int7"], lambda: s(x, dtype="int7", out=out)),
            (TypeError, ["dtype is complex64"], lambda: s(x, dtype="complex64", out=out)),
            (ValueError, ["out has shape (4,)", "(3, 4)"], lambda: s(x, out=numpy.zeros(4, "float32"))),
            (TypeError, ["out is float64", "float32"], lambda: s(x, out=numpy.zeros((3, 4)))),
            (ValueError, ["initial is 3", "exclusive"], lambda: s(x, initial=3, out=out)),
            (
                ValueError,
                ["initial is 300", "uint8"],
                lambda: s(numpy.zeros(3, "uint8"), exclusive=True, initial=300),
            ),
            (ValueError, ["initial is 'a'", "float32"], lambda: s(x, exclusive=True, initial="a", out=out)),
            (
                ValueError,
                ["initial is 1e+300", "float32"],
                lambda: s(x, exclusive=True, initial=1e300, out=out),
            ),
            (ValueError, ["op is 'xxx", "xxx...: expected"], lambda: s(x, op="x" * 100000)),
            (ValueError, ["op is ['sum']"], lambda: s(x, op=["sum"], out=out)),
            (TypeError, ["dtype is [1]"], lambda: s(x, dtype=[1])),
            (TypeError, ["dtype is", "other byte order"], lambda: s(x, dtype=">f4", out=out)),
            (TypeError, ["dtype is void40"], lambda: s(x, dtype="int8, float32", out=out)),
            (TypeError, ["axis is array([0, 1])"], lambda: s(x, axis=numpy.array([0, 1]), out=out)),
            (TypeError, ["by_key is float16"], lambda: s(x[0], by_key=x[0].astype("float16"))),
            (ValueError, ["by_key and heads"], lambda: s(x[0], by_key=x[0], heads=x[0])),
            (ValueError, ["(3, 4)", "by_key", "one axis"], lambda: s(x, by_key=x, out=out)),
            (ValueError, ["(4,)", "(3,)"], lambda: s(x[0], by_key=numpy.zeros(3, "int32"))),
            (TypeError, ["heads is int32"], lambda: s(x[0], heads=numpy.zeros(4, "int32"))),
            (TypeError, ["by_key is complex64"], lambda: s(x[0], by_key=x[0].astype("complex64"))),
            (ValueError, ["overlap"], lambda: s(x.reshape(-1)[1:], out=x.reshape(-1)[:-1])),
        ):
            with self.subTest(words):
                self.refused(error, words, call, x, out)


def attention_in_double(q, k, v, *, causal=False, scale=None, mask=None, bias=None, window=None):
    q, k, v = (x.astype("float64") for x in (q, k, v))
    if q.ndim > 2 and k.shape[-3] not in (1, q.shape[-3]):
        k, v = (x.repeat(q.shape[-3] // k.shape[-3], -3) for x in (k, v))
    scores = q @ k.swapaxes(-1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    queries, keys = scores.shape[-2:]
    diagonal = numpy.arange(queries)[:, None] + (0 if causal is True else keys - queries)
    places = numpy.arange(keys)
    seen = places <= diagonal if causal else numpy.ones((queries, keys), bool)
    if window:
        seen = seen & (places >= diagonal - window[0]) & (places <= diagonal + window[1])
    scores = scores if bias is None else scores + bias
    scores = numpy.where(seen if mask is None else seen & mask, scores, -numpy.inf)
    top = scores.max(-1, keepdims=True, initial=-1e300)
    weights = numpy.exp(scores - top)
    return weights / numpy.maximum(weights.sum(-1, keepdims=True), 1e-300) @ v


class Attention(support.Case):
    def near(self, found, expected):
        self.assertEqual((found.shape, found.dtype), (expected.shape, numpy.float32))
        numpy.testing.assert_allclose(found, expected, rtol=2e-6, atol=2e-6)

    def test_values(self):
        for q, k, how in (
            ((5, 8), (7, 8), {}),
            ((3, 5, 8), (3, 7, 8), {"causal": True}),
            ((2, 4, 5, 8), (2, 2, 7, 8), {"causal": "bottom_right"}),
            ((2, 1, 4, 5, 8), (3, 4, 7, 8), {"scale": 0.3}),
            ((2, 4, 5, 8), (2, 4, 7, 8), {"window": (1, 2)}),
            ((2, 4, 5, 8), (1, 1, 7, 8), {"scale": 0}),
            ((2, 4, 5, 8), (1, 1, 7, 8), {"scale": 1e-50, "causal": True}),
            ((2, 4, 5, 8), (2, 4, 7, 8), {"mask": A(2, 1, 5, 7) > 0, "causal": True}),
            ((2, 4, 5, 8), (2, 4, 7, 8), {"mask": A(1, 7) > 0, "bias": A(4, 5, 1)}),
            ((2, 3, 4, 5, 8), (2, 1, 4, 7, 8), {"mask": A(3, 1, 5, 7) > 0}),
            ((2, 4, 5, 8), (2, 4, 7, 8), {"mask": numpy.zeros(1, bool)}),
            ((2, 4, 5, 8), (2, 4, 7, 8), {"bias": numpy.broadcast_to(A(1), (5, 7))}),
            ((4, 70, 64), (4, 130, 64), {"causal": True}),
            ((2, 4, 0, 8), (2, 4, 7, 8), {}),
            ((2, 4, 5, 8), (2, 4, 0, 8), {}),
        ):
            q, k, v = A(*q), A(*k, seed=2), A(*k, seed=3)
            with self.subTest(q=q.shape, k=k.shape, how=list(how)):
                self.near(antiphase.attention(q, k, v, **how), attention_in_double(q, k, v, **how))

    def test_views(self):
        q, k, v = A(2, 4, 5, 8), A(2, 4, 7, 8, seed=2), A(2, 4, 7, 8, seed=3)
        for x, y, z in (
            (q[:, :, ::-1], k.swapaxes(1, 2).copy().swapaxes(1, 2), v[:, ::-1]),
            (q.swapaxes(2, 3).copy().swapaxes(2, 3), k, numpy.broadcast_to(v[:1], v.shape)),
            (numpy.broadcast_to(q[:, :1, :1], q.shape), k, v),
        ):
            self.near(antiphase.attention(x, y, z), attention_in_double(x, y, z))
        found = antiphase.attention(*(Wrapped(x, namespace=Namespace()) for x in (q, k, v)))
        self.near(found.array, attention_in_double(q, k, v))

    def test_out(self):
        q, k, v = A(2, 4, 5, 8), A(2, 4, 7, 8, seed=2), A(2, 4, 7, 8, seed=3)
        expected = antiphase.attention(q, k, v)
        memory = numpy.zeros((3, 2, 5, 9, 8), "float32")
        for out in (
            numpy.empty_like(q),
            memory[0, :, :4, 2:7],  # rows of a larger array
            numpy.zeros((2, 5, 4, 8), "float32").swapaxes(1, 2),  # heads next to each other
            numpy.zeros((2, 4, 5, 16), "float32")[..., ::2],
            numpy.zeros((2, 4, 5, 8), "float32")[:, ::-1],
        ):
            self.assertIs(antiphase.attention(q, k, v, out=out), out)
            numpy.testing.assert_array_equal(out, expected)
        self.assertEqual(numpy.count_nonzero(memory), expected.size)
        out = numpy.zeros((5, 8), "float32")
        antiphase.attention(q[0, 0], k[0, 0], v[0, 0], out=out)
        numpy.testing.assert_array_equal(out, expected[0, 0])
        for x in (q, k, v):  # the operands are read before their memory is written
            own = [y.copy() for y in (q, k[:, :, :5], v[:, :, :5])]
            right = antiphase.attention(*own)
            place = next(i for i, y in enumerate((q, k, v)) if y is x)
            antiphase.attention(*own, out=own[place])
            numpy.testing.assert_array_equal(own[place], right)
        frozen = numpy.empty_like(q)
        frozen.flags.writeable = False
        for error, words, out in (
            (ValueError, ["out has shape (2, 4, 7, 8)", "(2, 4, 5, 8)"], numpy.empty_like(k)),
            (TypeError, ["out is float64", "float32"], q.astype("float64")),
            (
                ValueError,
                ["places of their own"],
                numpy.lib.stride_tricks.as_strided(q, q.shape, (160, 40, 8, 4)),
            ),
            (ValueError, ["read-only"], frozen),
            (TypeError, ["one library"], Wrapped(q)),
        ):
            with self.subTest(words):
                self.refused(error, words, lambda: antiphase.attention(q, k, v, out=out), q, k)

    def test_explain(self):
        q, k = A(2, 4, 300, 64), A(2, 2, 500, 64)
        said = antiphase.explain_attention(q, k, k)
        self.assertEqual(said, antiphase.explain_attention(q[..., ::-1], k.copy(), k))
        self.assertIn("fp32", said)
        self.assertNotEqual(said, antiphase.explain_attention(q, k, k[:, :, :500], causal=True, window=3))
        self.assertIn("nothing to compute", antiphase.explain_attention(q[:, :, :0], k, k))
        self.refused(ValueError, ["must agree"], lambda: antiphase.explain_attention(q, k, k[..., :5]), q, k)
        x = A(4, 1000)
        said = antiphase.explain_scan(x)
        self.assertIn("single-pass", said)
        self.assertEqual(said, antiphase.explain_scan(x.copy(), op="add", axis=1))
        self.assertNotEqual(said, antiphase.explain_scan(x, axis=0))
        self.assertIn("nothing to compute", antiphase.explain_scan(x[:0]))
        keys = numpy.arange(1000) // 3
        self.assertIn("segments", antiphase.explain_scan(x[0], by_key=keys, exclusive=True, initial=2))
        self.refused(
            NotImplementedError, ["log-sum-exp"], lambda: antiphase.explain_scan(x, op="log_sum_exp"), x
        )

    def test_what_makes_no_sense(self):
        q, k = A(2, 4, 5, 8), A(2, 4, 7, 8)
        for error, words, call in (
            (ValueError, ["must agree", "(2, 4, 7, 5)"], lambda: antiphase.attention(q, k, k[..., :5])),
            (ValueError, ["4 heads", "3 of keys"], lambda: antiphase.attention(q, k[:, :3], k[:, :3])),
            (TypeError, ["k is float64", "astype"], lambda: antiphase.attention(q, k.astype("float64"), k)),
            (
                ValueError,
                ["window is -5", "None or -1 is all"],
                lambda: antiphase.attention(q, k, k, window=-5),
            ),
            (ValueError, ["window is (-3, 2)"], lambda: antiphase.attention(q, k, k, window=(-3, 2))),
            *(
                (
                    ValueError,
                    ["scale is", "a number"],
                    lambda wrong=wrong: antiphase.attention(q, k, k, scale=wrong),
                )
                for wrong in ("a", "0.5", [1], 1j, 10**400, float("nan"), q)
            ),
            (TypeError, ["one library"], lambda: antiphase.attention(q, k, Wrapped(k))),
        ):
            with self.subTest(words):
                self.refused(error, words, call, q, k)


class Waiting(support.Case):
    """Long calls on the CPU executor, which takes minutes for large arrays."""

    def setUp(self):
        before = signal.signal(signal.SIGALRM, signal.default_int_handler)  # raises KeyboardInterrupt
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        self.addCleanup(signal.setitimer, signal.ITIMER_REAL, 0)
        quiet = warnings.catch_warnings()
        quiet.__enter__()
        self.addCleanup(quiet.__exit__, None, None, None)
        warnings.simplefilter("ignore", RuntimeWarning)

    def interrupted(self, call, after=0.15):
        start = time.monotonic()
        signal.setitimer(signal.ITIMER_REAL, after)
        with self.assertRaises(KeyboardInterrupt):
            call()
        # A few hundredths of a second on an idle machine; the margin is for a busy one.
        self.assertLess(time.monotonic() - start - after, 1)

    def test_long_calls_can_be_interrupted(self):
        square, batch = numpy.broadcast_to(A(1, 4096), (4096, 4096)), numpy.broadcast_to(
            A(1, 1, 8), (1 << 20, 8, 8)
        )
        line, cube = numpy.ones(1 << 25, "int8"), numpy.ones((2, 3000, 3000), "float32")
        half = numpy.ones((2048, 2048), "float16")
        for call in (
            lambda: antiphase.matmul(square, square),
            lambda: antiphase.matmul(batch, batch),
            lambda: antiphase.cumsum(cube, 1),
            lambda: antiphase.scan(line, by_key=line),
            lambda: antiphase.attention(*[numpy.ones((8, 4096, 64), "float32")] * 3),
            lambda: antiphase.linear(half, half),
        ):
            self.interrupted(call)
            # Later calls are right, whatever state the interrupted call has left the workspace in.
            a, b, x = A(70, 80), A(80, 90, seed=2), A(1 << 17)
            self.assert_product(numpy, antiphase, antiphase.matmul(a, b), a, b)
            numpy.testing.assert_allclose(antiphase.cumsum(x), x.cumsum(dtype="float64"), atol=1e-2)

    def test_a_signal_as_the_call_ends(self):
        """The signal arrives just after the lock that marks the end has been acquired."""

        class Lock:
            def __init__(self, lock=threading.Lock()):
                self.lock, self.release, self.raises = lock, lock.release, True

            def acquire(self, timeout=-1):
                taken = self.lock.acquire(timeout=timeout)
                if taken and timeout != -1 and self.raises:
                    self.raises = False
                    raise KeyboardInterrupt
                return taken

        ended = threading.Event()

        def call():
            with self.assertRaises(KeyboardInterrupt), unittest.mock.patch.object(
                antiphase._waiting._thread, "allocate_lock", Lock
            ):
                antiphase._waiting._run(lambda *_: 0, antiphase._library.SgemmArgs())
            ended.set()

        thread = threading.Thread(target=call, daemon=True)
        with unittest.mock.patch.object(antiphase._waiting.threading, "main_thread", lambda: thread):
            thread.start()
            self.assertTrue(ended.wait(20))

    def test_handlers_that_raise_nothing(self):
        seen = []
        signal.signal(signal.SIGALRM, lambda *_: seen.append(time.monotonic()))
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.02)
        a = A(200, 300)
        found = antiphase.matmul(a, a.T)
        signal.setitimer(signal.ITIMER_REAL, 0)
        self.assertTrue(seen)
        self.assert_product(numpy, antiphase, found, a, a.T)

    def test_in_other_threads_and_with_what_goes_wrong(self):
        a, found = A(200, 300), []
        thread = threading.Thread(target=lambda: found.append(antiphase.matmul(a, a.T)))
        thread.start()
        thread.join()
        self.assertEqual(found[0].tobytes(), antiphase.matmul(a, a.T).tobytes())
        whole = A(400, 400)
        # by the library, in another thread
        self.refused(ValueError, ["overlap"], lambda: antiphase.matmul(whole, whole, out=whole), whole)

    def test_who_waits_for_long_is_told(self):
        a, x, out = A(200, 300), A(3, 70000), numpy.full((200, 200), 7, "float32")
        calls = {
            "matmul of shapes (200, 300) and (300, 200)": lambda: antiphase.matmul(a, a.T, out=out),
            "cumsum of shape (3, 70000)": lambda: antiphase.cumsum(x, 1),
            "matmul of shapes (3, 2, 1, 300) and (2, 300, 200)": lambda: antiphase.matmul(
                numpy.broadcast_to(a[0], (3, 2, 1, 300)), numpy.stack([a.T, -a.T])
            ),
            "linear of shapes (200, 300) and (70, 300)": lambda: antiphase.linear(
                a.astype("float16"), a[:70].astype("float16"), residual=a[0, :70].astype("float16")
            ),
            "attention of 1 x 2 heads of 100 queries and 100 keys": lambda: antiphase.attention(
                *[a.reshape(2, 100, 300)[..., :40].copy()] * 3
            ),
        }
        limits = dict(_SLOW=1)
        for name, call in calls.items():
            with warnings.catch_warnings(record=True) as told, unittest.mock.patch.multiple(
                antiphase._waiting, **limits, _WORTH_A_WORD=0
            ):
                warnings.simplefilter("always")
                call()
            (warning,) = told
            self.assertEqual((warning.category, warning.filename), (RuntimeWarning, __file__))
            self.assertRegex(
                str(warning.message),
                rf"^antiphase: {re.escape(name)} will take about \d+ (seconds|minutes) on the CPU executor",
            )
        with warnings.catch_warnings(), unittest.mock.patch.multiple(
            antiphase._waiting, **limits, _WORTH_A_WORD=0
        ):
            warnings.simplefilter("error")
            out[...] = 7
            with self.assertRaises(RuntimeWarning):
                antiphase.matmul(a, a.T, out=out)
            self.assertTrue((out == 7).all())
        with warnings.catch_warnings():  # short calls do not warn, long ones say how long they will take
            warnings.simplefilter("error")
            antiphase.matmul(a, a.T)
            with self.assertRaisesRegex(RuntimeWarning, "about [1-9]\\d+ minutes"):
                square = numpy.broadcast_to(A(1, 1 << 14), (1 << 14, 1 << 14))
                antiphase.matmul(square, square)


class Wrapped:
    """An array of an unknown library, readable by DLPack. `version`: that of its protocol."""

    def __init__(self, array, version=(1, 0), namespace=None):
        self.array, self.version, self.shape, self.dtype, self.device = (
            array,
            version,
            array.shape,
            array.dtype,
            "cpu",
        )
        if namespace:
            self.__array_namespace__ = lambda: namespace

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **how):
        if self.version is None and how:
            raise TypeError("this library is older than versions")
        return self.array.__dlpack__(**how)


class Namespace:
    """The array namespace of such a library, which makes its arrays."""

    float16, float32, int64 = "float16", "float32", "int64"

    def empty(self, shape, dtype, device):
        assert device == "cpu"
        return Wrapped(numpy.full(shape, 77, dtype), namespace=self)

    def reshape(self, x, shape):
        return Wrapped(x.array.reshape(shape), namespace=self)

    def astype(self, x, dtype):
        return Wrapped(x.array.astype(dtype), namespace=self)

    def permute_dims(self, x, axes):
        return Wrapped(x.array.transpose(axes), namespace=self)


class Foreign(support.Case):
    def test_products_by_dlpack(self):
        a, b = A(2, 3, 5), A(7, 5, seed=2).T
        for version in ((1, 0), None):
            x, y = (Wrapped(v, version, Namespace()) for v in (a, b))
            found = antiphase.matmul(x, y)
            self.assertIs(type(found), Wrapped)
            self.assert_product(numpy, antiphase, found.array, a, b)
            out = Wrapped(numpy.zeros((2, 3, 7), "float32"), version)
            self.assertIs(antiphase.matmul(x, y, out=out), out)
            self.assert_product(numpy, antiphase, out.array, a, b)

    def test_scans_by_dlpack(self):
        x = numpy.arange(24, dtype="int16").reshape(2, 3, 4)
        for y in (x, x.transpose(2, 0, 1)):
            numpy.testing.assert_array_equal(
                antiphase.scan(Wrapped(y.astype("int64"), namespace=Namespace()), axis=1).array, y.cumsum(1)
            )
            numpy.testing.assert_array_equal(
                antiphase.cumulative_sum(Wrapped(y[0, 0].copy(), namespace=Namespace())).array,
                y[0, 0].cumsum(),
            )
            self.refused(
                TypeError, ["__array_namespace__"], lambda: antiphase.cumulative_sum(Wrapped(y > 3), axis=0)
            )
            numpy.testing.assert_array_equal(
                antiphase.cumsum(Wrapped(y > 3, namespace=Namespace()), 1).array, (y > 3).cumsum(1)
            )
        self.refused(
            ValueError,
            ["Wrapped", "copy it"],
            lambda: antiphase.scan(Wrapped(x[:, ::2], namespace=Namespace()), axis=0),
        )
        flat = antiphase.cumsum(Wrapped(A(3, 4), namespace=Namespace()))
        numpy.testing.assert_allclose(flat.array, A(3, 4).cumsum(), rtol=1e-5, atol=1e-5)

    def test_a_result_cannot_be_made(self):
        x = Wrapped(A(3, 3))
        self.refused(TypeError, ["Wrapped", "__array_namespace__", "out="], lambda: antiphase.matmul(x, x))
        x = Wrapped(A(3, 3), namespace=Namespace())
        self.refused(TypeError, ["float64", "Namespace"], lambda: antiphase.cumsum(x, 0, dtype="float64"))

    def test_libraries_are_not_mixed(self):
        self.refused(
            TypeError,
            ["Wrapped", "numpy.ndarray", "one library"],
            lambda: antiphase.matmul(Wrapped(A(3, 3)), A(3, 3)),
        )

    def test_read_only_results(self):
        frozen = A(3, 3)
        frozen.flags.writeable = False
        x = Wrapped(A(3, 3, seed=2))
        self.refused(ValueError, ["read-only"], lambda: antiphase.matmul(x, x, out=Wrapped(frozen)), frozen)

    def capsule(self, versioned, **set_to):
        """A capsule of 3 x 2 elements, column-major, at byte offset 8 of its memory."""
        self.memory = (ctypes.c_float * 8)(*range(8))
        self.shape, self.strides = (ctypes.c_int64 * 2)(3, 2), (ctypes.c_int64 * 2)(1, 3)
        tensor = _dlpack._Tensor(
            ctypes.addressof(self.memory),
            _dlpack._Device(1, 0),
            2,
            _dlpack._Type(2, 32, 1),
            self.shape,
            self.strides,
            8,
        )
        for name, value in set_to.items():
            if hasattr(tensor, name):
                setattr(tensor, name, value)
        self.managed = tensor
        name = b"dltensor"
        if versioned:
            name = b"dltensor_versioned"
            self.managed = _dlpack._Versioned(
                major=set_to.get("major", 1), minor=1, flags=set_to.get("flags", 0), tensor=tensor
            )
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        self.name = set_to.get("name", name)
        return make(ctypes.addressof(self.managed), self.name, None)

    def test_capsules(self):
        for versioned in (False, True):
            pointer, *rest = _dlpack.read(self.capsule(versioned))
            self.assertEqual(pointer, ctypes.addressof(self.memory) + 8)
            self.assertEqual(rest, [(3, 2), (1, 3), "float32", True])
        self.assertEqual(_dlpack.read(self.capsule(True, strides=None))[2], (2, 1))
        for type_, name in (
            ((2, 64, 1), "float64"),
            ((4, 16, 1), "bfloat16"),
            ((0, 8, 1), "int8"),
            ((1, 32, 1), "uint32"),
            ((6, 8, 1), "bool"),
            ((2, 32, 4), "float32x4"),
            ((9, 8, 1), "code 9 of 8"),
        ):
            self.assertEqual(_dlpack.read(self.capsule(True, dtype=_dlpack._Type(*type_)))[3], name)
        for flags in (1, 2, 3):
            self.assertFalse(_dlpack.read(self.capsule(True, flags=flags))[4])
        with self.assertRaisesRegex(BufferError, "DLPack 2.1"):
            _dlpack.read(self.capsule(True, major=2))
        with self.assertRaisesRegex(BufferError, "no capsule that is unused"):
            _dlpack.read(self.capsule(False, name=b"used_dltensor"))

    def test_extents_that_change_where_they_are(self):
        """Under torch's tracing, extents are tensors, which in-place arithmetic would change."""

        class Extent(int):
            def __new__(cls, value):
                made = super().__new__(cls, value)
                made.value = [value]
                return made

            def __int__(self):
                return self.value[0]

            def __mul__(self, other):
                return Extent(int(self) * int(other))

            def __imul__(self, other):
                self.value[0] *= int(other)
                return self

            __rmul__ = __mul__

        shape = tuple(map(Extent, (2, 8, 10)))
        strides = _dlpack.dense_strides(shape)
        self.assertEqual([int(step) for step in strides], [80, 10, 1])
        self.assertEqual({type(step) for step in strides}, {int})
        self.assertEqual(list(map(int, shape)), [2, 8, 10])

    def test_memory_of_other_devices(self):
        class Elsewhere(Wrapped):
            def __dlpack_device__(self):
                return (8, 0)

        self.refused(
            TypeError, ["DLPack device 8"], lambda: antiphase.matmul(Elsewhere(A(3, 3)), Elsewhere(A(3, 3)))
        )

    def test_cuda_array_interface(self):
        class Device:
            def __init__(self, **about):
                self.__cuda_array_interface__ = {
                    "shape": (3, 4),
                    "typestr": "<f4",
                    "data": (4096, False),
                    "version": 3,
                } | about

        kind = _arrays.kind_of(Device(), "x")
        self.assertEqual(kind.view(Device())[:4], (4096, (3, 4), (4, 1), "float32"))
        self.assertEqual(kind.view(Device(strides=(4, 12), typestr="<i4"))[1:4], ((3, 4), (1, 3), "int32"))
        self.refused(ValueError, ["multiples of 4"], lambda: kind.view(Device(strides=(6, 2))))
        self.refused(ValueError, ["read-only"], lambda: kind.require_writable(Device(data=(4096, True))))
        self.refused(
            TypeError, ["float64"], lambda: antiphase.matmul(Device(typestr="<f8"), Device(), out=Device())
        )
        self.refused(
            TypeError,
            ["other byte order"],
            lambda: antiphase.matmul(Device(typestr=">f4"), Device(), out=Device()),
        )
        self.refused(
            ValueError, ["(3, 4)", "must agree"], lambda: antiphase.matmul(Device(), Device(), out=Device())
        )


class Cupy(support.Case):
    """Calls with the stand-in for CuPy, whose device 1 is mapped to the CPU executor: the workspace is CuPy's
    memory, and no call waits."""

    def setUp(self):
        def call(function, of):
            def on_the_cpu(address, stream):
                args = of.from_address(address)
                self.assertEqual(args.device, 1)
                args.device = antiphase._library.CPU
                try:
                    return function(address, stream)
                finally:
                    args.device = 1

            return on_the_cpu

        library = antiphase._library
        sgemm, scan, linear, told = library.sgemm, library.scan, library.linear, library.workspace_bytes

        def asked(args):
            args.device = antiphase._library.CPU
            try:
                return told(args)
            finally:
                args.device = 1

        instead = {
            "sgemm": call(sgemm, library.SgemmArgs),
            "scan": call(scan, library.ScanArgs),
            "linear": call(linear, library.LinearArgs),
            "workspace_bytes": asked,
            "synchronize_stream": lambda *_: self.fail("it waited"),
        }
        for patch in (
            unittest.mock.patch.dict(sys.modules, cupy=cupy_stand_in.module()),
            unittest.mock.patch.multiple(antiphase._library, **instead),
        ):
            patch.start()
            self.addCleanup(patch.stop)
        cupy_stand_in.allocated.clear()

    def on_1(self, array):
        return cupy_stand_in.ndarray(array, 1)

    def test_products(self):
        a, b = A(ROWS, DEPTH), A(COLUMNS, DEPTH, seed=2).T
        found = antiphase.matmul(self.on_1(a), self.on_1(b))
        self.assertIs(type(found), cupy_stand_in.ndarray)
        self.assertEqual((found.device.id, cupy_stand_in.Device.current), (1, 0))
        self.assert_product(numpy, antiphase, found.array, a, b)
        self.assertEqual([device for device, _ in cupy_stand_in.allocated], [1])
        out = self.on_1(numpy.zeros((ROWS, COLUMNS), "float32"))
        self.assertIs(antiphase.matmul(self.on_1(a), self.on_1(b), out=out), out)
        numpy.testing.assert_array_equal(out.array, found.array)
        repeated = numpy.broadcast_to(numpy.float32(3), (ROWS, DEPTH))
        numpy.testing.assert_allclose(
            antiphase.matmul(self.on_1(repeated), self.on_1(b)).array, repeated @ b, rtol=1e-5, atol=1e-4
        )
        self.refused(
            TypeError, ["cupy_stand_in.ndarray", "numpy.ndarray"], lambda: antiphase.matmul(self.on_1(a), b)
        )
        self.refused(
            ValueError, ["devices 1 and 0"], lambda: antiphase.matmul(self.on_1(a), cupy_stand_in.ndarray(b))
        )

    def test_linear_layers(self):
        x, memory = A(3, 20).astype("float16"), A(20, seed=2).astype("float16")
        dense = A(9, 20).astype("float16")
        for w in (numpy.broadcast_to(memory[3], (9, 20)), numpy.broadcast_to(memory, (9, 20)), dense):
            found, copied = (
                antiphase.linear(self.on_1(x), self.on_1(like), activation="gelu") for like in (w, w.copy())
            )
            self.assertEqual(found.device.id, 1)
            self.assertEqual(found.array.tobytes(), copied.array.tobytes())

    def test_scans(self):
        x = A(4, 6)
        for y in (x, x[:, ::2], x.T):
            found = antiphase.cumulative_sum(self.on_1(y), axis=0, include_initial=True)
            self.assertEqual(found.device.id, 1)
            numpy.testing.assert_allclose(
                found.array, numpy.cumulative_sum(y, axis=0, include_initial=True), rtol=1e-5, atol=1e-5
            )
        out = self.on_1(numpy.zeros((4, 12), "float32")[:, ::2])
        antiphase.cumsum(self.on_1(x), 1, out=out)
        numpy.testing.assert_allclose(out.array, x.cumsum(1), rtol=1e-5, atol=1e-5)
        numpy.testing.assert_allclose(
            antiphase.cumsum(self.on_1(x), dtype="float64").array, x.astype("float64").cumsum(), rtol=1e-9
        )


class TorchOnGpus(support.Case):
    """The fast path of products, with a stand-in for torch; its calls are passed to the CPU executor."""

    guards = False

    def setUp(self):
        self.calls = []  # (workspace, its size, stream)
        self.meanwhile = lambda: None
        sgemm, workspace_bytes = antiphase._library.sgemm, antiphase._library.workspace_bytes

        def run(place, stream):
            args = antiphase._library.SgemmArgs.from_address(place) if isinstance(place, int) else place._obj
            self.calls.append(
                (
                    args.workspace,
                    args.workspace_size,
                    stream if stream is None else getattr(stream, "value", stream),
                )
            )
            before, self.meanwhile = self.meanwhile, lambda: None
            before()
            device, args.device = args.device, antiphase._library.CPU
            try:
                return sgemm(ctypes.addressof(args), None)
            finally:
                args.device = device

        def asked(args):
            args.device = antiphase._library.CPU
            return workspace_bytes(args)

        for patch in (
            unittest.mock.patch.dict(sys.modules, torch=torch_stand_in.module(self.guards)),
            unittest.mock.patch.dict(_arrays._kinds),
            unittest.mock.patch.dict(_arrays._made),
            unittest.mock.patch.dict(_products._quick_plans),
            unittest.mock.patch.dict(_products._plans),
            unittest.mock.patch.object(_products, "_kept", _products._Kept()),
            unittest.mock.patch.multiple(
                antiphase._library, sgemm=run, sgemm_of_pointers=run, workspace_bytes=asked
            ),
        ):
            patch.start()
            self.addCleanup(patch.stop)
        vars(torch_stand_in.now).update(
            device=0,
            stream=0,
            capturing=False,
            grad=True,
            compiling=False,
            tracing=False,
            modes=0,
            results=0,
            workspaces=[],
            guarded=0,
        )
        self.now = torch_stand_in.now

    def product(self, m=ROWS, n=COLUMNS, device=0, seed=1):
        """Makes a product and returns its workspace: (address, size)."""
        a, b = A(m, DEPTH, seed=seed), A(DEPTH, n, seed=2)
        found = antiphase.matmul(torch_stand_in.tensor(a, device), torch_stand_in.tensor(b, device))
        self.assertIs(type(found), torch_stand_in.Tensor)
        self.assertEqual(found.get_device(), device)
        self.assert_product(numpy, antiphase, found.array, a, b)
        return self.calls[-1][:2]

    def test_working_memory_is_kept(self):
        self.product()  # the first call plans
        first = self.product(seed=3)
        self.assertGreater(first[1], 0)
        self.assertEqual((self.now.results, len(self.now.workspaces)), (1, 2))
        self.assertEqual([self.product(seed=4), self.product(seed=5)], [first] * 2)
        self.assertEqual((self.now.results, len(self.now.workspaces)), (3, 2))
        # The workspace of a larger product serves smaller ones.
        self.product(n=272)
        larger = self.product(n=272)
        self.assertGreater(larger[1], first[1])
        self.assertEqual(self.product(), larger)

    def test_memory_of_one_stream_and_thread(self):
        self.product()
        first = self.product()
        self.now.stream = 7
        second = self.product()
        self.assertEqual(self.calls[-1][2], 7)
        self.assertNotEqual(first[0], second[0])
        self.now.stream = 0
        others = []
        thread = threading.Thread(target=lambda: others.append(self.product()))
        thread.start()
        thread.join()
        self.assertNotEqual(others[0][0], first[0])
        self.assertEqual(self.product(), first)

    def test_memory_that_is_not_kept(self):
        self.product()
        kept, count = self.product(), len(self.now.workspaces)
        self.now.capturing = True  # the graph owns memory allocated during capture
        self.assertNotEqual(self.product()[0], kept[0])
        self.now.capturing = False
        for _ in range(3):  # plans, then calls on a device that is not the current one
            self.product(device=1)
        self.assertEqual([device for device, _ in self.now.workspaces[-3:]], [1] * 3)
        with unittest.mock.patch.object(_products, "_MOST_KEPT_BYTES", kept[1] - 1):
            self.product()
        a, b = A(ROWS, DEPTH), A(DEPTH, COLUMNS, seed=2)
        kind = _arrays.kind_of(torch_stand_in.tensor(a), "a")
        _products.quick_product(kind, torch_stand_in.tensor(a), torch_stand_in.tensor(b), keep=False)
        self.assertEqual(len(self.now.workspaces), count + 6)
        self.assertEqual(self.product(), kept)

    def test_a_call_within_a_call(self):
        self.product()
        self.product()
        inner = []

        def meanwhile():
            thread = threading.Thread(target=lambda: inner.append(self.product(seed=9)))
            thread.start()
            thread.join()

        self.meanwhile = meanwhile
        self.product(seed=8)  # its arguments are its own: the result is right
        self.assertEqual(len(inner), 1)

    def test_unaligned_operands(self):
        whole, b = torch_stand_in.aligned((50000,)), A(300, 140, seed=2)
        whole[:] = A(50000)
        for first in (0, 1, 0, 1):
            a = whole[first : first + 45000].reshape(150, 300)
            found = antiphase.matmul(torch_stand_in.Tensor(a), torch_stand_in.tensor(b))
            self.assert_product(numpy, antiphase, found.array, a, b)


class TorchOnGpusAgain(TorchOnGpus):
    """The same, where torch has TensorGuards, which compare tensors with those of earlier calls."""

    guards = True

    def setUp(self):
        super().setUp()
        patch = unittest.mock.patch.object(
            _arrays, "_tells_apart", lambda torch, guards: guards is torch_stand_in.TensorGuards
        )
        patch.start()
        self.addCleanup(patch.stop)

    def pair(self, m=ROWS, n=COLUMNS, device=0):
        return torch_stand_in.tensor(A(m, DEPTH), device), torch_stand_in.tensor(A(DEPTH, n, seed=2), device)

    def test_tensors_are_compared_by_one_call(self):
        for m, n in ((ROWS, COLUMNS), (33, 70)):
            for _ in range(2):  # plans, then remembers
                self.product(m, n)
            before = self.now.guarded
            with unittest.mock.patch.object(_products, "quick_product", None):
                for _ in range(3):
                    self.product(m, n)
            self.assertEqual(self.now.guarded, before + 3)
        with unittest.mock.patch.object(_products, "quick_product", None):  # alternating shapes
            for m, n in 3 * ((ROWS, COLUMNS), (33, 70)):
                self.product(m, n)

    def test_what_is_not_alike(self):
        a, b = self.pair()
        again = lambda x, y: kind.quick.again(x, y)
        for _ in range(3):
            antiphase.matmul(a, b)
        kind = _arrays.kind_of(a, "a")
        self.assertIsNotNone(again(a, b))
        wide = torch_stand_in.Tensor(torch_stand_in.aligned((ROWS, DEPTH + 40))[:, :DEPTH])
        other, wanted = self.pair(device=1)[0], torch_stand_in.Tensor(a.array)
        wanted.requires_grad = True
        for x, y in ((wide, b), (other, b), (wanted, b), (a, self.pair(n=COLUMNS + 1)[1])):
            self.assertIsNone(again(x, y))
        for change in ({"compiling": True}, {"tracing": True}, {"modes": 1}):
            with unittest.mock.patch.multiple(self.now, **change):
                self.assertIsNone(again(a, b))
                self.assertFalse(kind.plain(a, b))
        with unittest.mock.patch.object(kind.forward_level, "_current_level", 0):
            self.assertIsNone(again(a, b))
        self.assertIsNotNone(again(a, b))

    def test_gradients_that_nobody_wants(self):
        a, b = self.pair()
        b.requires_grad = True
        with unittest.mock.patch.object(self.now, "grad", False):
            for _ in range(3):
                antiphase.matmul(a, b)
            kind = _arrays.kind_of(a, "a")
            self.assertIsNotNone(kind.quick.again(a, b))
        self.assertIsNone(kind.quick.again(a, b))  # gradients are on again

    def test_few_tensors_of_the_same_shapes_are_remembered(self):
        for padding in range(12):
            a = torch_stand_in.Tensor(torch_stand_in.aligned((ROWS, DEPTH + 4 * padding))[:, :DEPTH])
            for _ in range(3):
                antiphase.matmul(a, self.pair()[1])
        (known,) = _arrays.kind_of(a, "a").quick.known.values()
        self.assertEqual(len(known), _products._MOST_GUARDS)

    def test_guards_that_do_not_tell_apart(self):
        with unittest.mock.patch.object(_arrays, "_tells_apart", lambda *_: False):
            for _ in range(4):
                self.product()
        kind = _arrays.kind_of(self.pair()[0], "a")
        self.assertFalse(kind.has_guards)
        self.assertEqual((kind.quick.known, self.now.guarded), ({}, 0))


if __name__ == "__main__":
    support.main()
