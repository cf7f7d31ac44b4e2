# SPDX-License-Identifier: Apache-2.0
"""Linear layers in 16 bits whose bits never depend on the batch."""
import ctypes
import math

from . import _arrays, _library, _waiting

_TYPES = {"float32": 1, "float16": 11, "bfloat16": 12}  # of antiphase.h
_FUNCTIONS = {None: 0, "relu": 1, "gelu": 2, "gelu_tanh": 3}


def _operand(kind, x, name, types):
    """The view of an array, and its strides in elements."""
    shape, of = kind.about(x)
    if of not in types:
        raise TypeError(f"antiphase: linear, {name} is {of}: expected {' or '.join(types)}")
    view = kind.view(x)
    _arrays.require_aligned(view.pointer, 4 if of == "float32" else 2, name)
    return view, _arrays.elements(kind, view, name)


def _function_of(activation):
    try:
        return _FUNCTIONS[activation]
    except (KeyError, TypeError):
        raise ValueError(
            f"antiphase: linear, activation is {_library.shown(activation)}: expected 'relu', 'gelu' or 'gelu_tanh'"
        ) from None


def _spread(kind, residual, shape):
    of = kind.about(residual)[0]
    if of == shape:
        return residual
    if len(of) > len(shape) or any(a not in (1, b) for a, b in zip(of[::-1], shape[::-1])):
        raise ValueError(
            f"antiphase: linear, residual has shape {of}: expected one that can be broadcast to {shape}"
        )
    return kind.spread(residual, shape, shape)


def linear(x, w, /, bias=None, *, residual=None, activation=None, dtype=None):
    """A linear layer, activation(x w^T + bias) + residual, whose bits never depend on the batch.

        y = antiphase.linear(x, w, bias)

    x: float16 or bfloat16 of shape (..., k). w: (n, k), of the same type, as torch.nn.Linear keeps it. bias:
    (n,); residual: broadcast to (..., n); both of the result's type. Any strides of w are read in place, also where it
    is broadcast; the others are copied unless they are dense.
    activation: 'relu', 'gelu' or 'gelu_tanh'.
    dtype: of the result: that of x (the default), or float32, as a name or a type.

    Returns an array of shape (..., n). Sums are FP32, in the order of k; bias, activation and residual are
    FP32, too, and the result is rounded once. A row has the same bits whatever other rows there are and wherever
    it stands. torch tensors have gradients, except through an activation. Streams and errors are those of matmul().
    """
    named = [(n, a) for n, a in (("x", x), ("w", w), ("bias", bias), ("residual", residual)) if a is not None]
    kind = _arrays.common_kind(named)
    (shape, of), (of_w, type_of_w) = kind.about(x), kind.about(w)
    result = of if dtype is None else _arrays.type_named(dtype)
    if of not in ("float16", "bfloat16") or type_of_w != of:
        raise TypeError(
            f"antiphase: linear, x is {of}, w is {type_of_w}: expected both float16 or both bfloat16"
        )
    if result not in (of, "float32"):
        raise TypeError(f"antiphase: linear, dtype is {result}: expected {of} or float32")
    function = _function_of(activation)
    if len(shape) < 1 or len(of_w) != 2 or of_w[1] != shape[-1]:
        raise ValueError(
            f"antiphase: linear of shapes {shape} and {of_w}: expected (..., k) and (n, k) of the same k"
        )
    (n, k), out_shape = of_w, (*shape[:-1], of_w[0])
    if residual is not None:
        residual = _spread(kind, residual, out_shape)
    if kind.is_torch and activation is None:
        return _arrays.operator_of_torch("linear")(x, w, bias, residual, result != of)
    if kind.is_torch and not kind.plain(*(a for _, a in named)):
        raise NotImplementedError(
            "antiphase: linear has no gradients through an activation: apply torch's to the result"
        )
    if bias is not None and kind.about(bias)[0] != (n,):
        raise ValueError(f"antiphase: linear, bias has shape {kind.about(bias)[0]}: expected {(n,)}")
    x, bias, residual = (None if a is None else kind.dense(a) for a in (x, bias, residual))
    view, _ = _operand(kind, x, "x", (of,))
    view_of_w, strides = _operand(kind, w, "w", (of,))
    if min(strides) < 0:
        w = kind.dense(w)
        view_of_w, strides = _operand(kind, w, "w", (of,))
    others = {
        name: _operand(kind, a, name, (result,))[0]
        for name, a in (("bias", bias), ("residual", residual))
        if a is not None
    }
    device = view.device
    for name, other in (("w", view_of_w), *others.items()):
        if other.device != device:
            raise ValueError(
                f"antiphase: linear, {name} is on device {other.device}, x on {device}: expected one device"
            )
    out = kind.empty(x, out_shape, result)
    args = _library.LinearArgs(
        size=ctypes.sizeof(_library.LinearArgs),
        device=kind.number_of(device),
        type=_TYPES[of],
        result_type=_TYPES[result],
        function=function,
        m=math.prod(shape[:-1]),
        n=n,
        k=k,
        members=1,
        y=kind.pointer(out),
    )
    args.x.data, args.x.row_stride, args.x.k_stride = view.pointer, k, 1
    args.w.data = view_of_w.pointer
    args.w.row_stride, args.w.k_stride = (step or _library.REPEATED for step in strides)
    for name, other in others.items():
        setattr(args, name, other.pointer)
    if 0 not in out_shape:
        what = lambda: f"linear of shapes {shape} and {of_w}"
        _waiting.call(_library.linear, args, kind.stream(device), what)
        _arrays.finish(kind, args.device)
    return kind.shaped(out, out_shape)
