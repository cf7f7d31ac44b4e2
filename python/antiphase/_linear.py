# SPDX-License-Identifier: Apache-2.0
"""Linear layers in 16 bits whose bits never depend on the batch."""
import ctypes
import math

from . import _arrays, _library

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


def linear(x, w, bias=None, /, *, residual=None, activation=None, dtype=None):
    """A linear layer, activation(x w^T + bias) + residual, whose bits never depend on the batch.

        y = antiphase.linear(x, w, bias)

    x: float16 or bfloat16 of shape (..., k). w: (n, k), of the same type, as torch.nn.Linear keeps it. bias:
    (n,); residual: (..., n), both of the result's type. Any strides of w are read in place; the others are
    copied unless they are dense.
    activation: 'relu', 'gelu' or 'gelu_tanh'.
    dtype: of the result: that of x (the default), or 'float32'.

    Returns an array of shape (..., n). Sums are FP32, in the order of k; bias, activation and residual are
    FP32, too, and the result is rounded once. A row has the same bits whatever other rows there are and wherever
    it stands. torch tensors have gradients, except through an activation. Streams and errors are those of matmul().
    """
    named = [(n, a) for n, a in (("x", x), ("w", w), ("bias", bias), ("residual", residual)) if a is not None]
    kind = _arrays.common_kind(named)
    shape, of = kind.about(x)
    about_w = kind.about(w)
    result = of if dtype is None else str(dtype).removeprefix("torch.")
    if of not in ("float16", "bfloat16") or about_w[1] != of:
        raise TypeError(
            f"antiphase: linear, x is {of}, w is {about_w[1]}: expected both float16 or both bfloat16"
        )
    if result not in (of, "float32"):
        raise TypeError(f"antiphase: linear, dtype is {result}: expected {of} or float32")
    if activation not in _FUNCTIONS:
        raise ValueError(
            f"antiphase: linear, activation is {_library.shown(activation)}: expected 'relu', 'gelu' or 'gelu_tanh'"
        )
    if len(shape) < 1 or len(about_w[0]) != 2 or about_w[0][1] != shape[-1]:
        raise ValueError(
            f"antiphase: linear of shapes {shape} and {about_w[0]}: expected (..., k) and (n, k) of the same k"
        )
    if kind.is_torch and activation is None:
        return _arrays.operator_of_torch("linear")(x, w, bias, residual, result != of)
    if kind.is_torch and not kind.plain(*(a for _, a in named)):
        raise NotImplementedError(
            "antiphase: linear has no gradients through an activation: apply torch's to the result"
        )
    (n, k), out_shape = about_w[0], (*shape[:-1], about_w[0][0])
    for name, a, expected in (("bias", bias, (n,)), ("residual", residual, out_shape)):
        if a is not None and kind.about(a)[0] != expected:
            raise ValueError(f"antiphase: linear, {name} has shape {kind.about(a)[0]}: expected {expected}")
    x, bias, residual = (None if a is None else kind.dense(a) for a in (x, bias, residual))
    of_x, of_w = _operand(kind, x, "x", (of,)), _operand(kind, w, "w", (of,))
    if min(of_w[1]) < 0:
        w = kind.dense(w)
        of_w = _operand(kind, w, "w", (of,))
    others = {
        name: _operand(kind, a, name, (result,))[0]
        for name, a in (("bias", bias), ("residual", residual))
        if a is not None
    }
    device = of_x[0].device
    for name, view in (("w", of_w[0]), *others.items()):
        if view.device != device:
            raise ValueError(
                f"antiphase: linear, {name} is on device {view.device}, x on {device}: expected one device"
            )
    out = kind.empty(x, out_shape, result)
    args = _library.LinearArgs(
        size=ctypes.sizeof(_library.LinearArgs),
        device=kind.number_of(device),
        type=_TYPES[of],
        result_type=_TYPES[result],
        function=_FUNCTIONS[activation],
        m=math.prod(shape[:-1]),
        n=n,
        k=k,
        members=1,
        y=kind.pointer(out),
    )
    args.x.data, args.x.row_stride, args.x.k_stride = of_x[0].pointer, k, 1
    args.w.data, args.w.row_stride, args.w.k_stride = of_w[0].pointer, *of_w[1]
    if bias is not None:
        args.bias = others["bias"].pointer
    if residual is not None:
        args.residual = others["residual"].pointer
    if 0 not in out_shape:
        _library.check(_library.linear(ctypes.addressof(args), kind.stream(device)))
        _arrays.finish(kind, args.device)
    return kind.shaped(out, out_shape)
