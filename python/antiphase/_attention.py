# SPDX-License-Identifier: Apache-2.0
"""Attention of arrays: softmax(scale Q K^T + bias) V."""
import ctypes
import math
import operator
from typing import Literal, Union

from . import _arrays, _dlpack, _library, _waiting

_LARGEST = 3.4028234663852886e38  # of float32
Causal = Union[bool, Literal["top_left", "bottom_right"]]
_CAUSAL = {False: 0, True: 1, "top_left": 1, "bottom_right": 2}


# ---- Requests --------------------------------------------------------------------------------------------


def _refuse(shapes, why):
    raise ValueError(f"antiphase: attention of shapes {' and '.join(str(tuple(s)) for s in shapes)}: {why}")


def _broadcast(extents, shapes):
    """The extent that these have when they are broadcast to each other."""
    most = max(extents)
    if 0 in extents:
        most = 0
    if any(extent not in (1, most) for extent in extents):
        _refuse(shapes, f"batches of {' and '.join(map(str, extents))} do not fit: expected the same, or 1")
    return most


class Request:
    """The shapes of a call, checked, and how its operands become (members, heads, rows, depth)."""

    def __init__(self, q, k, v, grouped):
        shapes = q, k, v
        if min(map(len, shapes)) < 2:
            _refuse(shapes, "expected at least two axes each, of rows and their elements")
        (self.queries, self.depth), self.keys = q[-2:], k[-2]
        if k[-1] != self.depth or v[-1] != self.depth:
            _refuse(shapes, "the last extents, elements of a row, must agree")
        if v[-2] != self.keys:
            _refuse(shapes, f"there are {self.keys} keys and {v[-2]} values: they must agree")
        self.rank = max(map(len, shapes))
        full = [(1,) * (max(self.rank, 3) - len(s)) + tuple(s) for s in shapes]
        self.batch = tuple(_broadcast([s[i] for s in full], shapes) for i in range(len(full[0]) - 3))
        self.members = math.prod(self.batch)
        heads, *of_kv = (s[-3] for s in full)
        self.kv_heads = _broadcast(of_kv, shapes)
        self.heads = self.kv_heads if heads == 1 else heads
        if self.kv_heads == 1:
            self.kv_heads = min(1, self.heads)
        if self.heads != self.kv_heads and (
            self.kv_heads == 0
            or self.heads % self.kv_heads != 0
            or not grouped
            and self.kv_heads not in (1, self.heads)
        ):
            _refuse(
                shapes,
                f"{self.heads} heads of queries and {self.kv_heads} of keys and values: expected "
                + (
                    "a multiple of these" if grouped else "the same number, or enable_gqa=True and a multiple"
                ),
            )

    def folded(self, kind, x, heads, rows):
        shape = (self.members, heads, rows, self.depth)
        if kind.about(x)[0] == shape:
            return x
        return kind.spread(x, (*self.batch, heads, rows, self.depth), shape)

    def folded_pairs(self, kind, x, name):
        """A value for each pair of query and key, with an extent of 1 where it is the same for all."""
        if x is None:
            return None
        shape = kind.about(x)[0]
        most = (*self.batch, self.heads, self.queries, self.keys)
        full = (1,) * (len(most) - len(shape)) + shape
        if len(full) > len(most) or any(of not in (1, to) for of, to in zip(full, most)):
            raise ValueError(
                f"antiphase: {name} has shape {shape}: expected one that can be broadcast to {most}, "
                "that of batch, heads, queries and keys"
            )
        batch, pairs = full[:-3], full[-3:]
        if len(batch) == 1 or all(extent == 1 for extent in batch):
            folded = (math.prod(batch), *pairs)
            return x if shape == folded else kind.spread(x, shape, folded)
        return kind.spread(x, (*self.batch, *pairs), (self.members, *pairs))

    def result_shape(self):
        shape = (*self.batch, self.heads, self.queries, self.depth)[max(0, 3 - self.rank) :]
        return (1,) * (self.rank - len(shape)) + shape

    def unfolded(self, kind, out):
        shape = self.result_shape()
        return out if kind.about(out)[0] == shape else kind.spread(out, kind.about(out)[0], shape)


def _window_of(window):
    """(before, after), -1 for all."""
    if window is None:
        return -1, -1
    try:
        before, behind = window if isinstance(window, (tuple, list)) else (window, window)
        both = tuple(-1 if one is None else operator.index(one) for one in (before, behind))
        if min(both) >= -1:
            return both
    except (TypeError, ValueError):
        pass
    raise ValueError(
        f"antiphase: window is {_library.shown(window)}: expected a number of keys, or two: before and after; "
        "None or -1 is all"
    )


def _causal_of(causal):
    try:
        return _CAUSAL[causal]
    except (KeyError, TypeError):
        raise ValueError(
            f"antiphase: causal is {_library.shown(causal)}: expected True, False, 'top_left' or 'bottom_right'"
        ) from None


def scale_of(scale):
    """A scale that is None, for 1 / sqrt(depth), or a number that is finite in float32."""
    if scale is None:
        return None
    try:
        number = math.nan if isinstance(scale, (str, bytes)) else float(scale)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        number = math.nan
    if not abs(number) <= _LARGEST:
        raise ValueError(
            f"antiphase: scale is {_library.shown(scale)}: expected a number that is finite in float32"
        )
    return number


def attend(kind, q, k, v, causal, scale, mask, bias, window, grouped, run):
    """Checks a request, and runs run(q, k, v, bias, mask, causal, scale, before, after) of four axes each."""
    asked, operands = _checked(kind, q, k, v, causal, scale, mask, bias, window, grouped)
    return asked.unfolded(kind, run(*operands))


def _checked(kind, q, k, v, causal, scale, mask, bias, window, grouped):
    """A request, and its operands: q, k, v, bias, mask, causal, scale, before, after."""
    causal, (before, behind) = _causal_of(causal), _window_of(window)
    for name, x, types in (
        ("q", q, ("float32",)),
        ("k", k, ("float32",)),
        ("v", v, ("float32",)),
        ("bias", bias, ("float32",)),
        ("mask", mask, ("bool", "uint8")),
    ):
        of = None if x is None else kind.about(x)[1]
        if of is not None and of not in types:
            way = f"; {_arrays.way_out(kind, of)}" if types == ("float32",) else ""
            raise TypeError(f"antiphase: attention, {name} is {of}: expected {types[0]}{way}")
    asked = Request(*(kind.about(x)[0] for x in (q, k, v)), grouped)
    scale = scale_of(scale)
    return asked, (
        asked.folded(kind, q, asked.heads, asked.queries),
        asked.folded(kind, k, asked.kv_heads, asked.keys),
        asked.folded(kind, v, asked.kv_heads, asked.keys),
        asked.folded_pairs(kind, bias, "bias"),
        asked.folded_pairs(kind, mask, "mask"),
        causal,
        scale,
        before,
        behind,
    )


# ---- Calls -----------------------------------------------------------------------------------------------


def arguments(device, q, k, v, out, bias, visible, causal, scale, before, behind, policy=None):
    """Arguments without addresses. Each array is (shape, strides in elements), of four axes: members, heads,
    rows, elements. Bias and visible are None, or have extents of 1 where they are shared. policy: its name in
    bytes, of a constant; None: the fastest."""
    (members, heads, queries, depth), _ = q
    args = _library.AttentionArgs(
        size=ctypes.sizeof(_library.AttentionArgs),
        device=device,
        causal=causal,
        members=members,
        heads=heads,
        kv_heads=k[0][1],
        queries=queries,
        keys=k[0][2],
        depth=depth,
        scale=0 if scale is None else scale,
        scale_given=scale is not None,
        window_before=before,
        window_behind=behind,
        policy=policy,
    )
    for name, x in (("q", q), ("k", k), ("v", v), ("out", out)):
        set_strides(args, name, x)
    for name, x in (("bias", bias), ("visible", visible)):
        if x is not None:
            to = getattr(args, name)
            to.member_stride, to.head_stride, to.query_stride, to.key_stride = (
                step if extent > 1 and step else _library.REPEATED for extent, step in zip(*x)
            )
    return args


def set_strides(args, name, x):
    to = getattr(args, name)
    to.member_stride, to.head_stride, to.row_stride = (step or _library.REPEATED for step in x[1][:3])


def readable(shape, strides):
    """Whether the library reads rows of this layout: forwards, and the elements of a row lie side by side."""
    return 0 in shape or (shape[-1] <= 1 or strides[-1] == 1) and min(strides) >= 0


def _read(kind, q, k, v, bias, visible, *how, place=None):
    """Arguments for arrays of four axes and a result in `place`, (shape, strides), or a new array; and what owns
    their memory."""
    views, layouts = [], []
    device = kind.view(q).device
    for name, x in (("q", q), ("k", k), ("v", v), ("bias", bias), ("mask", visible)):
        view = layout = None
        if x is not None:
            view = kind.view(x)
            layout = tuple(view.shape), _arrays.elements(kind, view, name)
            if not readable(*layout) if name in "qkv" else min(layout[1]) < 0:
                x = kind.dense(x)
                view = kind.view(x)
                layout = tuple(view.shape), _arrays.elements(kind, view, name)
            if view.device != device:
                raise ValueError(
                    f"antiphase: attention, {name} is on device {view.device}, q on {device}: expected one device"
                )
            _arrays.require_aligned(view.pointer, 1 if name == "mask" else 4, name)
        views.append((x, view)), layouts.append(layout)
    place = place or (layouts[0][0], _dlpack.dense_strides(layouts[0][0]))
    args = arguments(kind.number_of(device), *layouts[:3], place, *layouts[3:], *how)
    for name, (_, view) in zip(("q", "k", "v", "bias", "visible"), views):
        if view is not None:
            getattr(args, name).data = view.pointer
    return args, views


def _of_plain(kind, *operands, out=None, place=None):
    """Attention of arrays of four axes, without gradients: in a new array, or in `out`, where they lie so."""
    args, owners = _read(kind, *operands, place=place)
    q, device = owners[0][0], owners[0][1].device
    if out is None:
        out = kind.empty(q, tuple(owners[0][1].shape))
    args.out.data = kind.pointer(out)
    if 0 in owners[0][1].shape:
        return out
    memory = None
    size = _library.attention_workspace(args) if kind.ordered and args.device != _library.CPU else 0
    if size:
        memory, args.workspace = kind.workspace(size, q)
        args.workspace_size = size
    _waiting.call(_library.attention, args, kind.stream(device))
    _arrays.finish(kind, args.device)
    del memory, owners  # only now: the work is queued
    return out


def _place_in(kind, out, asked, operands):
    """Checks `out`. How the result lies in it, (shape, strides) of four axes; None if it has to be copied there."""
    kind.require_writable(out)
    view, of = kind.view(out), kind.view(operands[0])
    shape, full = tuple(view.shape), (asked.members, asked.heads, asked.queries, asked.depth)
    expected = asked.result_shape()
    if kind.dtype_name(view.dtype) != "float32":
        raise TypeError(f"antiphase: attention, out is {kind.dtype_name(view.dtype)}: expected float32")
    if shape != expected:
        raise ValueError(
            f"antiphase: attention, out has shape {shape}: expected {expected}, that of the result"
        )
    if view.device != of.device:
        raise ValueError(
            f"antiphase: attention, out is on device {view.device}, q on {of.device}: expected one device"
        )
    strides = _arrays.elements(kind, view, "out")
    _arrays.require_places_of_their_own(shape, strides)
    if shape != full and strides == _dlpack.dense_strides(shape):
        shape, strides = full, _dlpack.dense_strides(full)
    begin, end = _extent(view.pointer, shape, strides, 4)
    for x in operands[:5]:
        if x is not None:
            other = kind.view(x)
            size = _arrays.ITEM_BYTES[kind.dtype_name(other.dtype)]
            first, last = _extent(
                other.pointer, other.shape, _arrays.elements(kind, other, "an operand"), size
            )
            if begin < last and first < end:
                return None
    return (shape, strides) if shape == full and readable(shape, strides) and view.pointer % 4 == 0 else None


def _extent(pointer, shape, strides, size):
    """The addresses of an array's first byte and of that after its last."""
    if 0 in shape:
        return 0, 0
    steps = [(extent - 1) * step * size for extent, step in zip(shape, strides)]
    return pointer + sum(min(0, s) for s in steps), pointer + sum(max(0, s) for s in steps) + size


def attention(q, k, v, /, *, causal=False, scale=None, mask=None, bias=None, window=None, out=None):
    """Attention in FP32: softmax(scale q k^T + bias) v over the keys that each query sees.

        out = antiphase.attention(q, k, v, causal=True)

    q: float32 of shape (..., heads, queries, depth). k, v: (..., kv_heads, keys, depth), with kv_heads a divisor
    of heads: each of theirs serves heads / kv_heads of q's. Batch axes in front are broadcast; heads and batch
    may be left out. depth is at most 256. Any strides are read in place, if the elements of a row lie side by
    side.
    causal: True or 'top_left': query i sees keys 0 to i. 'bottom_right': keys 0 to i + keys - queries.
    scale: by default 1 / sqrt(depth).
    mask: bools that can be broadcast to (..., heads, queries, keys); a pair of False takes no part.
    bias: float32, likewise, added to the scaled products; -infinity hides a key.
    window: how many keys before and after the diagonal a query sees at most: a number, or two, of which None
    or -1 is all. The diagonal is that of causal, or 'bottom_right'.
    out: an array for the result, of its shape; it may share memory with the operands, but is then written by a
    copy, as where the elements of a row do not lie side by side.

    Returns float32 of shape (..., heads, queries, depth); of queries that see no key, zeros. Tensors of torch
    have gradients, but not for bias. Streams and errors are those of matmul().
    """
    kind = _common_kind(q, k, v, mask, bias, out)
    if kind.is_torch:
        return _arrays.operator_of_torch("attention")(q, k, v, causal, scale, mask, bias, window, out=out)
    asked, operands = _checked(kind, q, k, v, causal, scale, mask, bias, window, True)
    place = None if out is None else _place_in(kind, out, asked, operands)
    if place is not None:
        return _of_plain(kind, *operands, out=out, place=place)
    result = asked.unfolded(kind, _of_plain(kind, *operands))
    if out is None:
        return result
    kind.assign(out, result)
    return out


def _common_kind(q, k, v, mask, bias, out=None):
    named = ("q", q), ("k", k), ("v", v), ("mask", mask), ("bias", bias), ("out", out)
    return _arrays.common_kind([(name, x) for name, x in named if x is not None])


def explain_attention(q, k, v, /, *, causal=False, scale=None, mask=None, bias=None, window=None):
    """The kernels that attention() would run for these arguments, and why, as lines of text. Nothing is computed.

    Raises what attention() raises for the same arguments.
    """
    kind = _common_kind(q, k, v, mask, bias)
    asked, operands = _checked(kind, q, k, v, causal, scale, mask, bias, window, True)
    args, owners = _read(kind, *operands)
    if 0 in owners[0][1].shape:
        return f"nothing to compute: the result has shape {asked.result_shape()}\n"
    args.out.data = 1 << 40  # a new array: any address with such an alignment gives the same choice
    return _library.text_of(args)
