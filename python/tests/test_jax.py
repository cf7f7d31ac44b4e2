#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""antiphase on JAX arrays, on the CPU executor: operands are read by DLPack, results are JAX arrays."""
import os

os.environ["JAX_PLATFORMS"] = "cpu"
import support

numpy, jax = support.need("numpy"), support.need("jax")
import antiphase
import jax.numpy as jnp

A = lambda *shape, seed=1: support.pattern(numpy, *shape, seed=seed)


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


if __name__ == "__main__":
    support.main()
