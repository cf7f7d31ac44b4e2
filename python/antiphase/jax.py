# SPDX-License-Identifier: Apache-2.0
"""Scans, attention and linear layers for JAX under the names of jax.lax and jax.nn, within jit, grad and vmap, too.

    import antiphase.jax
    sums = jax.jit(lambda x: antiphase.jax.cumsum(x, axis=1))(x)
    out = jax.jit(antiphase.jax.dot_product_attention)(query, key, value)

Scans take float16 to float64, bfloat16 and integers, attention float32, linear layers float16 and bfloat16. All run on
the stream of the program that XLA compiles, on GPUs, or slowly by the CPU executor. Results have the same bits in every
run.
"""

import jax
import numpy
from jax.extend import core
from jax.interpreters import ad, batching

from . import _jax_ops, _scans
from ._jax_attention import dot_product_attention
from ._jax_linear import linear

__all__ = ["cumlogsumexp", "cummax", "cummin", "cumprod", "cumsum", "dot_product_attention", "linear"]

_TARGET = "antiphase_scan"
_THEIRS = {
    "product": jax.lax.cumprod,
    "max": jax.lax.cummax,
    "min": jax.lax.cummin,
    "log_sum_exp": jax.lax.cumlogsumexp,
}

_scan = core.Primitive(_TARGET)
_scan.def_impl(jax.jit(_scan.bind, static_argnames=("op", "axis", "reverse")))
_scan.def_abstract_eval(lambda x, **_: jax.core.ShapedArray(x.shape, x.dtype))


def _lowering(device):
    def lower(ctx, x, *, op, axis, reverse):
        (about,) = ctx.avals_in
        outer, length, inner = (
            int(numpy.prod(part, dtype="int64"))
            for part in (about.shape[:axis], about.shape[axis], about.shape[axis + 1 :])
        )
        how = (
            device,
            _scans._TYPES[about.dtype.name],
            _scans._OPERATIONS[op],
            0,
            reverse,
            outer,
            length,
            inner,
        )
        return jax.ffi.ffi_lowering(_TARGET)(ctx, x, how=numpy.array(how, "int64"))

    return lower


def _tangents(primals, tangents, *, op, axis, reverse):
    (x,), (t,) = primals, tangents
    result = _scan.bind(x, op=op, axis=axis, reverse=reverse)
    if type(t) is ad.Zero:
        return result, ad.Zero.from_primal_value(result)
    if op == "sum":
        return result, _scan.bind(t, op=op, axis=axis, reverse=reverse)
    return result, jax.jvp(lambda x: _THEIRS[op](x, axis=axis, reverse=reverse), (x,), (t,))[1]


def _transposed(cotangent, x, *, op, axis, reverse):
    """Of sums alone, which are linear: the sums in the other direction."""
    if type(cotangent) is ad.Zero:
        return (ad.Zero(x.aval),)
    return (_scan.bind(cotangent, op=op, axis=axis, reverse=not reverse),)


def _batched(operands, places, *, op, axis, reverse):
    (x,), (place,) = operands, places
    return _scan.bind(x, op=op, axis=axis + (place <= axis), reverse=reverse), place


ad.primitive_jvps[_scan] = _tangents
ad.primitive_transposes[_scan] = _transposed
batching.primitive_batchers[_scan] = _batched
_jax_ops.register(_scan, _TARGET, "antiphase_xla_scan", _lowering)


def _of(op, name, x, axis, reverse):
    x = jax.numpy.asarray(x)
    if (
        x.dtype.name not in _scans._TYPES
        or op == "log_sum_exp"
        and x.dtype.name not in ("float32", "float64")
    ):
        raise TypeError(
            f"antiphase: {name} of {x.dtype.name}: expected "
            + ("float32 or float64" if op == "log_sum_exp" else ", ".join(_scans._TYPES))
        )
    return _scan.bind(x, op=op, axis=_scans._axis_of(axis, x.shape, name), reverse=bool(reverse))


def cumsum(operand, axis=0, reverse=False):
    """jax.lax.cumsum: running sums along an axis, in operand's dtype. reverse: from the end of the axis.
    Differentiable in both modes. Raises TypeError for other dtypes, ValueError for other axes."""
    return _of("sum", "cumsum", operand, axis, reverse)


def cumprod(operand, axis=0, reverse=False):
    """jax.lax.cumprod: running products, otherwise as cumsum(). Derivatives are those of jax.lax."""
    return _of("product", "cumprod", operand, axis, reverse)


def cummax(operand, axis=0, reverse=False):
    """jax.lax.cummax: running maxima, otherwise as cumprod(). NaN stays."""
    return _of("max", "cummax", operand, axis, reverse)


def cummin(operand, axis=0, reverse=False):
    """jax.lax.cummin: running minima, otherwise as cumprod(). NaN stays."""
    return _of("min", "cummin", operand, axis, reverse)


def cumlogsumexp(operand, axis=0, reverse=False):
    """jax.lax.cumlogsumexp: the logarithm of running sums of exponentials, of float32 and float64; otherwise
    as cumprod()."""
    return _of("log_sum_exp", "cumlogsumexp", operand, axis, reverse)
