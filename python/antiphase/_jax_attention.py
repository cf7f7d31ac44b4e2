# SPDX-License-Identifier: Apache-2.0
"""Attention for JAX: a primitive with its gradient."""
import functools

import jax
import numpy
from jax.custom_derivatives import SymbolicZero
from jax.extend import core
from jax.interpreters import ad, batching

from . import _attention, _dlpack, _jax_ops, _library

_TARGET = "antiphase_attention"
_GRADIENTS = ("q_gradient", "k_gradient", "v_gradient")

# Operands come in the order of antiphase_attention_args: q, k, v, for the backward out, bias and mask if there are
# any, for the backward softmax and the gradient of out. Rows lie as JAX has them, [member][row][head][element].
# `pairs`: which of bias and mask there are. `how`: causal, scale, before, after.
_primitive = core.Primitive(_TARGET)
_primitive.multiple_results = True
_primitive.def_impl(jax.jit(_primitive.bind, static_argnames=("backward", "pairs", "how")))


def _shapes(q, k, v, *_, backward, **__):
    rows = [jax.core.ShapedArray(x.shape, x.dtype) for x in (q, k, v)]
    members, queries, heads, _ = q.shape
    return rows if backward else [rows[0], jax.core.ShapedArray((members, heads, queries, 2), q.dtype)]


_primitive.def_abstract_eval(_shapes)


def _rows(shape):
    """(shape, strides) with the axes in the library's order."""
    members, rows, heads, depth = shape
    return (members, heads, rows, depth), (rows * heads * depth, depth, heads * depth, 1)


def _lowering(device):
    def lower(ctx, *operands, backward, pairs, how):
        shapes = [about.shape for about in ctx.avals_in]
        q, k, v = map(_rows, shapes[:3])
        masks = iter(shapes[3 + backward :])
        bias, mask = (
            (shape := next(masks)) and (shape, _dlpack.dense_strides(shape)) if there else None
            for there in pairs
        )
        args = _attention.arguments(device, q, k, v, q, bias, mask, *how)
        names = ["q", "k", "v", "out"] + ["bias"] * pairs[0] + ["visible"] * pairs[1]
        if backward:
            names += ["out_gradient", *_GRADIENTS]
            for name, x in zip(("out_gradient", *_GRADIENTS), (q, q, k, v)):
                _attention.set_strides(args, name, x)
        for name in names:
            getattr(args, name).data = 1
        args.softmax = 1
        return jax.ffi.ffi_lowering(_TARGET)(ctx, *operands, how=numpy.frombuffer(bytes(args), "int64"))

    return lower


_jax_ops.register(_primitive, _TARGET, "antiphase_xla_attention", _lowering)


def _batched(operands, places, *, backward, pairs, how):
    """The mapped axis becomes a part of that of the members."""
    count = next(x.shape[place] for x, place in zip(operands, places) if place is not None)
    is_pairs = [False] * (3 + backward) + [True] * sum(pairs) + [False] * (2 * backward)
    members = next(
        x.shape[0 if place is None else 1 if place == 0 else 0]
        for x, place, of_pairs in zip(operands, places, is_pairs)
        if not of_pairs
    )
    joined = []
    for x, place, of_pairs in zip(operands, places, is_pairs):
        if place is not None:
            x = jax.numpy.moveaxis(x, place, 0)
        elif of_pairs and x.shape[0] == 1:
            joined.append(x)
            continue
        else:
            x = x[None]
        x = jax.numpy.broadcast_to(x, (count, members, *x.shape[2:]))
        joined.append(x.reshape(count * members, *x.shape[2:]))
    found = _primitive.bind(*joined, backward=backward, pairs=pairs, how=how)
    return [x.reshape(count, members, *x.shape[1:]) for x in found], [0] * len(found)


def _refuse(*_, **__):
    raise NotImplementedError(
        "antiphase: attention has gradients, and these have none: for second derivatives, and tangents, take "
        "jax.nn.dot_product_attention"
    )


batching.primitive_batchers[_primitive] = _batched
ad.primitive_jvps[_primitive] = _refuse


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _attend(how, q, k, v, bias, mask):
    return _forward(how, q, k, v, bias, mask)[0]


def _forward(how, q, k, v, bias, mask):
    given = [x for x in (bias, mask) if x is not None]
    pairs = bias is not None, mask is not None
    return _primitive.bind(q, k, v, *given, backward=False, pairs=pairs, how=how)


def _with_residuals(how, *operands):
    if operands[3] is not None and operands[3].perturbed:
        raise NotImplementedError(
            "antiphase: attention, bias is differentiated, which is not computed here: jax.nn.dot_product_attention "
            "has it; or take jax.lax.stop_gradient(bias)"
        )
    operands = [None if x is None else x.value for x in operands]
    out, softmax = _forward(how, *operands)
    return out, (operands, out, softmax)


def _gradients(how, kept, grad):
    (q, k, v, bias, mask), out, softmax = kept
    if isinstance(grad, SymbolicZero):
        grad = jax.numpy.zeros(grad.shape, grad.dtype)
    given = [x for x in (bias, mask) if x is not None]
    pairs = bias is not None, mask is not None
    found = _primitive.bind(q, k, v, out, *given, softmax, grad, backward=True, pairs=pairs, how=how)
    return *found, None, None


_attend.defvjp(_with_residuals, _gradients, symbolic_zeros=True)


def _refuse_shapes(shapes, why):
    raise ValueError(f"antiphase: attention of shapes {' and '.join(map(str, shapes))}: {why}")


def dot_product_attention(
    query, key, value, bias=None, mask=None, *, scale=None, is_causal=False, local_window_size=None
):
    """jax.nn.dot_product_attention in FP32: softmax(scale query key^T + bias) value.

    query: float32 of shape (B, T, N, H), key and value (B, S, K, H), with K a divisor of N; or all without B. H is
    at most 256.
    bias: float32, added; mask: bools, of which True takes part. Both can be broadcast to (B, N, T, S).
    scale: by default 1 / sqrt(H). is_causal: query i sees keys 0 to i. local_window_size: how many keys before
    and after its own place a query sees at most, a number or two.

    Returns float32 of query's shape; of queries that see no key, zeros. Differentiable in reverse mode, once, by
    query, key and value. Raises TypeError for other dtypes, ValueError for shapes that do not fit,
    NotImplementedError for other derivatives.
    """
    q, k, v = map(jax.numpy.asarray, (query, key, value))
    shapes = [x.shape for x in (q, k, v)]
    for name, x, of in (
        ("query", q, "float32"),
        ("key", k, "float32"),
        ("value", v, "float32"),
        ("bias", bias, "float32"),
        ("mask", mask, "bool"),
    ):
        if x is not None and jax.numpy.asarray(x).dtype.name != of:
            raise TypeError(
                f"antiphase: attention, {name} is {jax.numpy.asarray(x).dtype.name}: expected {of}"
            )
    if q.ndim not in (3, 4) or k.ndim != q.ndim:
        _refuse_shapes(shapes, "expected (B, T, N, H) and (B, S, K, H), or all without B")
    if k.shape != v.shape or q.shape[-1] != k.shape[-1] or q.shape[:-3] != k.shape[:-3]:
        _refuse_shapes(shapes, "expected key and value alike, and the same B and H of all")
    if k.shape[-2] == 0 or q.shape[-2] % k.shape[-2]:
        _refuse_shapes(shapes, f"{q.shape[-2]} heads of query are no multiple of {k.shape[-2]}")
    if q.ndim == 3:
        q, k, v = q[None], k[None], v[None]
    (members, queries, heads, depth), keys = q.shape, k.shape[1]
    masks = []
    for name, x in (("bias", bias), ("mask", mask)):
        if x is not None:
            x = jax.numpy.asarray(x)
            most = members, heads, queries, keys
            full = (1,) * (4 - x.ndim) + x.shape
            if len(full) > 4 or any(of not in (1, to) for of, to in zip(full, most)):
                raise ValueError(
                    f"antiphase: {name} has shape {x.shape}: expected one that can be broadcast to {most}"
                )
            x = x.reshape(full)
        masks.append(x)
    before, behind = _attention._window_of(local_window_size)
    if not is_causal:  # then the library's diagonal ends at the last query and key
        sides = [
            side + off if side >= 0 else side
            for side, off in ((before, keys - queries), (behind, queries - keys))
        ]
        if any(now < 0 <= was for was, now in zip((before, behind), sides)):
            raise NotImplementedError(
                f"antiphase: local_window_size is {local_window_size}, with {queries} queries and {keys} keys: expected a "
                "wider one, is_causal=True, or as many keys"
            )
        before, behind = sides
    if 0 in q.shape:
        return jax.numpy.zeros_like(query)
    out = _attend((int(bool(is_causal)), _attention.scale_of(scale), before, behind), q, k, v, *masks)
    return out.reshape(query.shape)
