#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""antiphase on JAX arrays, and antiphase.jax within jit, on the CPU executor, or antiphase.jax on
ANTIPHASE_TEST_DEVICE, such as cuda."""
import os

DEVICE = os.environ.get("ANTIPHASE_TEST_DEVICE", "cpu")
os.environ["JAX_PLATFORMS"] = DEVICE
if DEVICE == "cpu":  # most of the time is compilation
    os.environ.setdefault(
        "XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
    )
import support

numpy, jax = support.need("numpy"), support.need("jax")
import unittest

import antiphase
import antiphase.jax as aj
import jax.numpy as jnp

try:
    jnp.zeros(1)
except Exception as error:  # without a GPU, releases of JAX differ in what they raise
    support.skip(f"JAX finds no device {DEVICE} ({type(error).__name__}: {error})")

A = lambda *shape, seed=1: support.pattern(numpy, *shape, seed=seed)


@unittest.skipUnless(DEVICE == "cpu", "arrays on a GPU go the way of CuPy's")
class Jax(support.Case):
    def test_products(self):
        for a, b in (
            ((3, 5), (5, 7)),
            ((5,), (5,)),
            ((5,), (5, 7)),
            ((2, 1, 3, 5), (4, 5, 6)),
            ((3, 0), (0, 4)),
            ((0, 3), (3, 2)),
        ):
            with self.subTest(a=a, b=b):
                a, b = A(*a), A(*b, seed=2)
                found = antiphase.matmul(jnp.asarray(a), jnp.asarray(b))
                self.assertIsInstance(found, jax.Array)
                self.assertEqual(found.devices(), jnp.asarray(a).devices())
                self.assert_product(numpy, antiphase, found, a, b)

    def test_operands_that_are_being_computed(self):
        a = jnp.asarray(A(200, 200))
        for _ in range(5):
            b = jnp.tanh(a @ a)  # asynchronous: not computed yet
            found = antiphase.matmul(b[:8], b.T)
            self.assert_product(numpy, antiphase, found, numpy.asarray(b[:8]), numpy.asarray(b.T))

    def test_results_are_memory_of_their_own(self):
        """JAX assumes that its arrays never change: a result must not share memory with other arrays."""
        a, b = jnp.asarray(A(3, 5)), jnp.asarray(A(5, 7))
        zeros, scalar = jnp.empty((3, 7)), jnp.empty(())
        first, dot = antiphase.matmul(a, b), antiphase.matmul(a[0], a[0])
        kept, kept_dot = numpy.array(first), float(dot)
        antiphase.matmul(2 * a, b), antiphase.matmul(2 * a[0], a[0])
        numpy.testing.assert_array_equal(first, kept)
        self.assertEqual(float(dot), kept_dot)
        self.assertFalse(zeros.any() or jnp.empty((3, 7)).any() or scalar or jnp.empty(()))

    def test_scans(self):
        x = A(3, 4, 5)
        for axis in range(-1, 3):
            numpy.testing.assert_allclose(
                antiphase.cumulative_sum(jnp.asarray(x), axis=axis),
                numpy.cumsum(x, axis),
                rtol=2e-6,
                atol=2e-5,
            )
        # Shapes with axes of one element; and other orders of the axes, which JAX permutes by copying.
        for shape in ((1, 6), (6, 1), (2, 1, 3), (4, 1, 2), (1, 1, 5), (1,)):
            y = A(*shape)
            for axis in range(len(shape)):
                numpy.testing.assert_allclose(
                    antiphase.cumsum(jnp.asarray(y), axis), numpy.cumsum(y, axis), rtol=2e-6, atol=2e-5
                )
                numpy.testing.assert_array_equal(
                    antiphase.scan(jnp.asarray(y.T), op="max", axis=-1 - axis),
                    numpy.maximum.accumulate(y.T, -1 - axis),
                )
        integers = jnp.asarray(numpy.arange(24, dtype="int16").reshape(4, 6))
        found = antiphase.cumulative_sum(integers, axis=1, include_initial=True)
        self.assertEqual(found.dtype, "int32")  # as jnp.cumulative_sum, where jax_enable_x64 is off
        numpy.testing.assert_array_equal(found, jnp.cumulative_sum(integers, axis=1, include_initial=True))
        mask = jnp.asarray(x[0] > 0)
        found = antiphase.cumsum(mask, 1)
        self.assertEqual(found.dtype, jnp.cumsum(mask, 1).dtype)
        numpy.testing.assert_array_equal(found, jnp.cumsum(mask, 1))
        half = jnp.arange(300, dtype=jnp.bfloat16)
        self.assertEqual(antiphase.scan(half).dtype, jnp.bfloat16)
        numpy.testing.assert_array_equal(
            antiphase.scan(half, dtype=jnp.float32),
            numpy.cumsum(numpy.asarray(half, "float32"), dtype="float32"),
        )
        first = antiphase.scan(half, exclusive=True, initial=1.5)[0]
        self.assertEqual((first.dtype, float(first)), (jnp.bfloat16, 1.5))

    def test_what_makes_no_sense(self):
        a, gone = jnp.asarray(A(3, 3)), jnp.asarray(A(3, 3))
        gone.delete()
        for error, words, call in (
            (ValueError, ["has been deleted"], lambda: antiphase.matmul(gone, a)),
            (TypeError, ["PRNGKeyArray", "cannot be read"], lambda: antiphase.matmul(jax.random.key(0), a)),
            (TypeError, ["cannot be read"], lambda: antiphase.scan(jnp.zeros(4, "int4"))),
            (TypeError, ["scan of float8_e4m3fn"], lambda: antiphase.scan(jnp.zeros(4, "float8_e4m3fn"))),
            (
                ValueError,
                ["initial is 3.4e+38", "bfloat16"],
                lambda: antiphase.scan(jnp.ones(3, "bfloat16"), exclusive=True, initial=3.4e38),
            ),
            (TypeError, ["traced", "jax.jit"], lambda: jax.jit(antiphase.matmul)(a, a)),
            (TypeError, ["traced", "grad"], lambda: jax.grad(lambda x: antiphase.matmul(x, x).sum())(a)),
            (TypeError, ["traced", "vmap"], lambda: jax.vmap(antiphase.scan)(a)),
            (TypeError, ["cannot be written"], lambda: antiphase.matmul(a, a, out=a)),
            (
                TypeError,
                ["JAX makes int32", "jax_enable_x64"],
                lambda: antiphase.scan(jnp.arange(3), dtype="int64"),
            ),
            (TypeError, ["float16", ".astype('float32')"], lambda: antiphase.matmul(a.astype("float16"), a)),
            (TypeError, ["ArrayImpl", "numpy.ndarray", "one library"], lambda: antiphase.matmul(a, A(3, 3))),
            (ValueError, ["(3, 3)", "(2, 3)", "must agree"], lambda: antiphase.matmul(a, a[:2])),
        ):
            with self.subTest(words):
                self.refused(error, words, call, a)


class WithinPrograms(support.Case):
    """antiphase.jax, next to jax.lax's functions of the same names."""

    NAMES = ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp")

    def setUp(self):
        jax.config.update("jax_enable_x64", True)
        self.addCleanup(jax.config.update, "jax_enable_x64", False)
        self.x = jnp.asarray(A(3, 5, 4), "float64")

    def near(self, found, expected, tolerance=1e-6):
        self.assertEqual((found.dtype, found.shape), (expected.dtype, expected.shape))
        numpy.testing.assert_allclose(
            numpy.asarray(found, "float64"), numpy.asarray(expected, "float64"), tolerance, tolerance
        )

    def each(self):
        for at, name in enumerate(self.NAMES):
            for axis in range(3):
                reverse = (at + axis) % 2 == 1
                with self.subTest(name, axis=axis, reverse=reverse):
                    yield (
                        lambda x, axis=axis: getattr(aj, name)(x, axis, reverse),
                        lambda x, axis=axis: getattr(jax.lax, name)(x, axis, reverse),
                    )

    def test_values(self):
        for dtype in ("float32", "float64"):
            x = (3 * self.x).astype(dtype)
            for ours, theirs in self.each():
                self.near(jax.jit(ours)(x), theirs(x), 1e-5)
        for dtype in ("float16", "bfloat16", "int8", "int32", "int64", "uint16"):
            for name in self.NAMES[:4]:
                x = (3 * self.x).astype(dtype)
                self.near(
                    getattr(aj, name)(x, -1), getattr(jax.lax, name)(x, 2), 0.05 if "float" in dtype else 0
                )
        self.assertEqual(aj.cumsum(jnp.zeros((0, 3))).shape, (0, 3))
        big = jnp.ones(100_003, "float32")
        self.assertEqual(float(jax.jit(lambda x: aj.cumsum(x * 2)[-1])(big)), 200_006)

    def test_derivatives(self):
        for ours, theirs in self.each():
            of = [lambda x, f=f: (f(x) ** 2).sum() for f in (ours, theirs)]
            self.near(*(jax.grad(f)(self.x) for f in of))
            self.near(*(jax.jvp(f, (self.x,), (self.x + 1,))[1] for f in of))
        of = [lambda x, f=f: (f(x, 0) ** 3).sum() for f in (aj.cumsum, jax.lax.cumsum)]
        self.near(*(jax.jit(jax.hessian(f))(self.x[:, 0]) for f in of))

    def test_batches(self):
        for place in range(3):
            for ours, theirs in self.each():
                self.near(
                    *(jax.vmap(lambda x, f=f: f(x, 1), in_axes=place)(self.x) for f in (ours, theirs)), 1e-5
                )
            gradients = (
                jax.vmap(jax.grad(lambda x, f=f: (f(x, 0) ** 2).sum()), in_axes=place)(self.x)
                for f in (aj.cumsum, jax.lax.cumsum)
            )
            self.near(*gradients)

    def test_what_makes_no_sense(self):
        for error, words, call in (
            (TypeError, ["cumsum of complex64", "bfloat16"], lambda: aj.cumsum(jnp.zeros(3, "complex64"))),
            (TypeError, ["cumlogsumexp of float16"], lambda: aj.cumlogsumexp(jnp.zeros(3, "float16"))),
            (ValueError, ["axis is 1", "(3,)"], lambda: jax.jit(lambda x: aj.cummax(x, 1))(jnp.zeros(3))),
        ):
            with self.subTest(words):
                self.refused(error, words, call)
        about = jax.ShapeDtypeStruct((3,), "float32")
        device = -1 if DEVICE == "cpu" else -2
        for how, said in (
            ([device, 1, 0, 0, 0, 1, 3], "an array of 8 integers of 64 bits"),
            ([device, 1, 9, 0, 0, 1, 3, 1], "operation is 9"),
        ):
            with self.assertRaisesRegex(Exception, said):
                call = jax.ffi.ffi_call("antiphase_scan", about)
                call(jnp.zeros(3, "float32"), how=numpy.array(how, "int64")).block_until_ready()


class Attention(support.Case):
    """antiphase.jax.dot_product_attention, next to jax.nn's."""

    def tensors(self, q=(2, 5, 4, 8), k=(2, 7, 4, 8)):
        return [jnp.asarray(A(*shape, seed=i)) for i, shape in enumerate((q, k, k))]

    def near(self, found, expected):
        for x, y in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
            self.assertEqual((x.dtype, x.shape), (y.dtype, y.shape))
            numpy.testing.assert_allclose(x, y, 2e-5, 2e-5)

    def both(self, tensors, *more, **how):
        """Values and gradients, within jit."""
        of = []
        for function in (aj.dot_product_attention, jax.nn.dot_product_attention):
            call = lambda *t, f=function: f(*t, *more, **how)
            weights = jnp.asarray(A(*tensors[0].shape, seed=9))

            def values_and_gradients(*t):
                values, back = jax.vjp(call, *t)
                return values, back(weights)

            of.append(jax.jit(values_and_gradients)(*tensors))
        with self.subTest([x.shape for x in tensors], how=list(how)):
            self.near(*of)

    def test_values_and_gradients(self):
        with jax.default_matmul_precision("highest"):
            causal = {"is_causal": True, "scale": 0.3}
            for how, *shapes in (
                ({},),
                (causal, (2, 7, 4, 8), (2, 7, 4, 8)),
                (causal, (2, 5, 4, 8), (2, 7, 2, 8)),
                ({"scale": 1e-50}, (2, 5, 4, 8), (2, 7, 4, 8)),
                ({}, (2, 5, 4, 8), (2, 7, 1, 8)),
                ({}, (5, 4, 8), (7, 4, 8)),
                (causal, (1, 70, 2, 64), (1, 130, 2, 64)),
            ):
                self.both(self.tensors(*shapes), **how)
            tensors = self.tensors()
            self.both(tensors, local_window_size=3)
            self.both(tensors, local_window_size=(1, 2), is_causal=True)
            self.both(self.tensors(k=(2, 5, 4, 8)), local_window_size=(1, 0))
            for shape in ((1, 4, 5, 7), (2, 1, 1, 7)):
                bias, mask = jnp.asarray(A(*shape, seed=4)), jnp.asarray(A(*shape, seed=5) > -0.5).at[
                    ..., 0
                ].set(True)
                self.both(tensors, bias)
                self.both(tensors, None, mask)
                self.both(tensors, bias, mask, is_causal=True)

    def test_mapped(self):
        q, k, v = self.tensors((3, 2, 5, 4, 8), (3, 2, 7, 4, 8))
        mask = jnp.asarray(A(3, 1, 1, 5, 7) > -0.5).at[..., 0].set(True)
        for axes, tensors in (
            ((0, 0, 0, None), (q, k, v, mask[0])),
            ((1, None, 2, 0), (jnp.moveaxis(q, 0, 1), k[0], jnp.moveaxis(v, 0, 2), mask)),
            ((None, 0, None, 0), (q[0], k, v[0], mask)),
        ):
            for make in (lambda f: f, lambda f: jax.grad(lambda *t: (f(*t) ** 2).sum(), (0, 1, 2))):
                with jax.default_matmul_precision("highest"):
                    of = [
                        jax.vmap(make(lambda q, k, v, mask, f=f: f(q, k, v, None, mask)), axes)(*tensors)
                        for f in (aj.dot_product_attention, jax.nn.dot_product_attention)
                    ]
                with self.subTest(axes):
                    self.near(*of)

    def test_what_makes_no_sense(self):
        q, k, v = self.tensors()
        ours = aj.dot_product_attention
        loss = lambda q, bias=None: (ours(q, k, v, bias) ** 2).sum()
        for error, words, call in (
            (TypeError, ["query is float16"], lambda: ours(q.astype("float16"), k, v)),
            (TypeError, ["mask is float32"], lambda: ours(q, k, v, None, jnp.ones((5, 7)))),
            (ValueError, ["(2, 7, 3, 8)", "no multiple of 3"], lambda: ours(q, k[:, :, :3], v[:, :, :3])),
            (ValueError, ["without B"], lambda: ours(q, k[0], v[0])),
            (ValueError, ["key and value alike"], lambda: ours(q, k, v[:, :6])),
            (ValueError, ["bias has shape (3, 7)"], lambda: ours(q, k, v, jnp.ones((3, 7)))),
            (NotImplementedError, ["local_window_size is 1"], lambda: ours(q, k, v, local_window_size=1)),
            (NotImplementedError, ["bias is differentiated"], lambda: jax.grad(loss, 1)(q, jnp.ones((5, 7)))),
            (NotImplementedError, ["second derivatives"], lambda: jax.hessian(loss)(q)),
            (
                NotImplementedError,
                ["second derivatives"],
                lambda: jax.grad(lambda q: jax.grad(loss)(q).sum())(q),
            ),
        ):
            with self.subTest(words):
                self.refused(error, words, call)
        about, device = jax.ShapeDtypeStruct((3,), "float32"), -1 if DEVICE == "cpu" else -2
        with self.assertRaisesRegex(Exception, "expected antiphase_attention_args as an array of integers"):
            call = jax.ffi.ffi_call("antiphase_attention", about)
            call(jnp.zeros(3, "float32"), how=numpy.array([496, device & 0xFFFFFFFF, 0])).block_until_ready()
        self.near(jax.grad(loss)(q, jnp.ones((5, 7))), jax.grad(loss)(q))


class Linear(support.Case):
    """antiphase.jax.linear: one bit of a row that depends on others is an error."""

    @staticmethod
    def operands(dtype="bfloat16"):
        make = lambda *shape, seed: jnp.asarray(A(*shape, seed=seed)).astype(dtype)
        return make(3, 23, 40, seed=1), make(24, 40, seed=2), make(24, seed=3)

    def near(self, found, expected):
        unit = 2.0**-8 if found.dtype.name == "bfloat16" else 2.0**-10
        expected = numpy.asarray(expected, "float64")
        off = abs(numpy.asarray(found, "float64") - expected)
        self.assertTrue((off <= unit * abs(expected) + 2.0**-7).all(), off.max())

    def same(self, found, expected):
        self.assertEqual(found.dtype, expected.dtype)
        self.assertEqual(numpy.asarray(found).tobytes(), numpy.asarray(expected).tobytes())

    def test_values_and_gradients(self):
        exactly = lambda x, w, bias: x @ w.T + bias
        for dtype in ("bfloat16", "float16"):
            x, w, bias = self.operands(dtype)
            wide = [numpy.asarray(t, "float64") for t in (x, w, bias)]
            found = jax.jit(aj.linear)(x, w, bias)
            self.assertEqual((found.dtype, found.shape), (x.dtype, (3, 23, 24)))
            self.near(found, exactly(*wide))
            self.same(jax.jit(lambda *t: aj.linear(*t, transposed=True))(x, jnp.array(w.T), bias), found)
            grad = jnp.asarray(A(3, 23, 24, seed=4)).astype(dtype)
            out = numpy.asarray(grad, "float64")
            expected = out @ wide[1], out.reshape(-1, 24).T @ wide[0].reshape(-1, 40), out.sum((0, 1))
            for transposed in (False, True):
                of = lambda x, w, b: aj.linear(x, w.T if transposed else w, b, transposed=transposed)
                for one, to in zip(jax.jit(lambda g: jax.vjp(of, x, w, bias)[1](g))(grad), expected):
                    self.assertEqual(one.dtype, x.dtype)
                    self.near(one, to)
            for wide in ("float32", jnp.float32, "f4"):
                self.assertEqual(aj.linear(x, w, preferred_element_type=wide).dtype, "float32")

    def test_rows_have_the_same_bits_in_every_batch(self):
        x, w, bias = self.operands()
        rows = x.reshape(69, 40)
        both = jax.jit(
            lambda t: (aj.linear(t, w, bias), jax.grad(lambda u: aj.linear(u, w).astype("float32").sum())(t))
        )
        together = both(rows)
        for first, count in ((0, 1), (68, 1), (3, 8), (5, 64)):
            for alone, all_rows in zip(both(rows[first : first + count]), together):
                self.same(alone, all_rows[first : first + count])
        self.same(both(rows.at[1::2].set(jnp.nan))[0][::2], together[0][::2])
        self.same(jax.vmap(lambda t: aj.linear(t, w, bias))(x), aj.linear(x, w, bias))
        ws, biases = jnp.stack([w, w[::-1], 2 * w]), jnp.stack([bias, -bias, bias])
        each = jnp.stack([aj.linear(*t) for t in zip(x, ws, biases)])
        self.same(jax.jit(jax.vmap(aj.linear))(x, ws, biases), each)
        self.same(
            jax.vmap(aj.linear, (None, 0, None))(x[0], ws, bias),
            jnp.stack([aj.linear(x[0], t, bias) for t in ws]),
        )
        self.same(jax.vmap(aj.linear, (2, None, None))(jnp.moveaxis(x, 0, 2), w, bias), aj.linear(x, w, bias))

    def test_further_derivatives(self):
        x, w, _ = self.operands()
        of = lambda t: (aj.linear(t, w).astype("float32") ** 2).sum()
        slope = jax.grad(lambda t: (jax.grad(of)(t).astype("float32") ** 2).sum() / 2)(x[0, :2])
        double = numpy.asarray(w, "float64")
        square = double.T @ double
        expected = 4 * numpy.asarray(x[0, :2], "float64") @ square @ square
        off = abs(numpy.asarray(slope, "float64") - expected)
        self.assertLess(off.max(), 0.03 * abs(expected).max())
        with self.assertRaisesRegex(Exception, "forward-mode|reverse mode"):
            jax.jvp(of, (x[0],), (x[0],))

    def test_what_makes_no_sense(self):
        x, w, bias = self.operands()
        for error, words, call in (
            (TypeError, ["x is float32"], lambda: aj.linear(x.astype("float32"), w)),
            (ValueError, ["(3, 23, 40)", "(24, 39)"], lambda: aj.linear(x, w[:, :39])),
            (ValueError, ["expected (..., k) and (k, n)"], lambda: aj.linear(x, w, transposed=True)),
            (ValueError, ["bias has shape (23,)"], lambda: aj.linear(x, w, bias[:23])),
            (
                TypeError,
                ["bias is bfloat16: expected float32"],
                lambda: aj.linear(x, w, bias, preferred_element_type="float32"),
            ),
            (
                TypeError,
                ["preferred_element_type is int8"],
                lambda: aj.linear(x, w, preferred_element_type="int8"),
            ),
            (TypeError, ["type is ['f4']"], lambda: aj.linear(x, w, preferred_element_type=["f4"])),
        ):
            self.refused(error, words, call)
        self.assertEqual(aj.linear(x[:0], w).shape, (0, 23, 24))
        self.assertFalse(aj.linear(x[..., :0], w[:, :0]).any())


if __name__ == "__main__":
    support.main()
