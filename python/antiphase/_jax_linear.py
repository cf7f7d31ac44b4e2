# SPDX-License-Identifier: Apache-2.0
"""Linear layers in 16 bits for JAX: a primitive, and its gradients, which are such layers too."""
import ctypes
import functools
import math

import jax
import numpy
from jax.extend import core
from jax.interpreters import ad, batching

from . import _arrays, _jax_ops, _library, _linear

_TARGET = "antiphase_linear"

# Operands: x and w of three axes, members of a batch first, one for all where that axis is 1; then bias (members, n),
# if there is one. across: whether x and w lie (k, rows) instead of (rows, k). wide: the result is float32.
_primitive = core.Primitive(_TARGET)
_primitive.def_impl(jax.jit(_primitive.bind, static_argnames=("across", "wide")))


def _extents(x, w, across):
    """members, m, n, k"""
    m, k = x.shape[:0:-1] if across[0] else x.shape[1:]
    return max(x.shape[0], w.shape[0]), m, w.shape[2 if across[1] else 1], k


@_primitive.def_abstract_eval
def _shape(x, w, *_, across, wide):
    return jax.core.ShapedArray(_extents(x, w, across)[:3], "float32" if wide else x.dtype)


def _lowering(device):
    def lower(ctx, *operands, across, wide):
        x, w, *bias = ctx.avals_in
        members, m, n, k = _extents(x, w, across)
        types = _linear._TYPES
        args = _library.LinearArgs(
            size=ctypes.sizeof(_library.LinearArgs),
            device=device,
            type=types[x.dtype.name],
            result_type=types["float32" if wide else x.dtype.name],
            m=m,
            n=n,
            k=k,
            members=members,
            y=1,
        )
        # Addresses are known when the program runs: 1 says which operands there are.
        for operand, array, is_across in ((args.x, x, across[0]), (args.w, w, across[1])):
            count, rows, columns = array.shape
            operand.data = 1
            operand.row_stride, operand.k_stride = (1, max(columns, 1)) if is_across else (max(columns, 1), 1)
            operand.member_stride = rows * columns if count > 1 else 0
        if bias:
            args.bias, args.bias_member_stride = 1, n if bias[0].shape[0] > 1 else 0
        return jax.ffi.ffi_lowering(_TARGET)(ctx, *operands, how=numpy.frombuffer(bytes(args), "int64"))

    return lower


_jax_ops.register(_primitive, _TARGET, "antiphase_xla_linear", _lowering)


def _batched(operands, places, *, across, wide):
    """The mapped axis becomes part of the members' axis, or of the rows' axis if x alone is mapped."""
    count = next(x.shape[place] for x, place in zip(operands, places) if place is not None)
    operands = [x if place is None else jax.numpy.moveaxis(x, place, 0) for x, place in zip(operands, places)]
    mapped = [place is not None for place in places]
    x, w, *bias = operands
    if mapped[0] and not any(mapped[1:]) and not across[0] and x.shape[1] == w.shape[0] == 1:
        rows = x.reshape(1, -1, x.shape[-1])
        result = _primitive.bind(rows, w, *bias, across=across, wide=wide)
        return result.reshape(count, 1, x.shape[2], -1), 0
    members = max(x.shape[1 if is_mapped else 0] for x, is_mapped in zip(operands, mapped))
    joined = []
    for x, is_mapped in zip(operands, mapped):
        if not is_mapped and x.shape[0] == 1:
            joined.append(x)
            continue
        x = x if is_mapped else x[None]
        x = jax.numpy.broadcast_to(x, (count, members, *x.shape[2:]))
        joined.append(x.reshape(count * members, *x.shape[2:]))
    result = _primitive.bind(*joined, across=across, wide=wide)
    return result.reshape(count, members, *result.shape[1:]), 0


def _refuse(*_, **__):
    raise NotImplementedError(
        "antiphase: linear has gradients in reverse mode alone: expected jax.vjp or jax.grad"
    )


batching.primitive_batchers[_primitive] = _batched
ad.primitive_jvps[_primitive] = _refuse


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _layer(form, x, w, bias):
    across, wide = form
    given = [t[None] for t in (x, w, bias) if t is not None]
    return _primitive.bind(*given, across=across, wide=wide)[0]


def _forward(form, x, w, bias):
    return _layer(form, x, w, bias), (x, w, bias)


def _gradients(form, kept, grad):
    """Each is a product of two of x, w and the gradient, as they lie."""
    (x_across, w_across), _ = form
    x, w, bias = kept
    narrow = grad.astype(x.dtype)
    product = lambda a, b, *across: _layer((across, False), a, b, None)
    x_gradient = (
        product(w, narrow, not w_across, False) if x_across else product(narrow, w, False, not w_across)
    )
    w_gradient = (
        product(x, narrow, not x_across, True) if w_across else product(narrow, x, True, not x_across)
    )
    bias_gradient = None if bias is None else grad.astype("float32").sum(0).astype(bias.dtype)
    return x_gradient, w_gradient, bias_gradient


_layer.defvjp(_forward, _gradients)


def linear(x, w, bias=None, *, transposed=False, preferred_element_type=None):
    """A linear layer, x w^T + bias, whose bits never depend on the batch.

    x: float16 or bfloat16 of shape (..., k). w: (n, k), of the same type; transposed: (k, n), as Flax keeps kernels.
    bias: (n,), of the result's type, that of x or float32 by preferred_element_type.

    Returns shape (..., n): FP32 sums in the order of k, rounded once with the bias. A row has the same bits whatever
    other rows there are; so does its gradient. Differentiable in reverse mode, any number of times. Raises TypeError
    for other dtypes, ValueError for shapes that do not fit.
    """
    x, w = jax.numpy.asarray(x), jax.numpy.asarray(w)
    dtype = x.dtype.name
    if dtype not in ("float16", "bfloat16") or w.dtype != x.dtype:
        raise TypeError(
            f"antiphase: linear, x is {dtype}, w is {w.dtype.name}: expected both float16 or both bfloat16"
        )
    result = dtype if preferred_element_type is None else _arrays.type_named(preferred_element_type)
    if result not in (dtype, "float32"):
        raise TypeError(f"antiphase: linear, preferred_element_type is {result}: expected {dtype} or float32")
    if x.ndim == 0 or w.ndim != 2 or w.shape[0 if transposed else 1] != x.shape[-1]:
        expected = "(k, n)" if transposed else "(n, k)"
        raise ValueError(
            f"antiphase: linear of shapes {x.shape} and {w.shape}: expected (..., k) and {expected} of the same k"
        )
    n = w.shape[1 if transposed else 0]
    if bias is not None:
        bias = jax.numpy.asarray(bias)
        if bias.dtype.name != result:
            raise TypeError(f"antiphase: linear, bias is {bias.dtype.name}: expected {result}")
        if bias.shape != (n,):
            raise ValueError(f"antiphase: linear, bias has shape {bias.shape}: expected {(n,)}")
    shape = (*x.shape[:-1], n)
    if 0 in shape:
        return jax.numpy.zeros(shape, result)
    rows = x.reshape(math.prod(x.shape[:-1]), x.shape[-1])
    return _layer(((False, bool(transposed)), result != dtype), rows, w, bias).reshape(shape)
