# SPDX-License-Identifier: Apache-2.0
"""Matrix products and scans of antiphase on arrays of NumPy, torch, CuPy, JAX and others.

    import antiphase
    c = antiphase.matmul(a, b)

docs/python.md is the first page.
"""
from . import _arrays, _products
from ._advice import advise
from ._cublas import disable, enable, enabled, report
from ._library import VERSION as __version__
from ._library import device_count
from ._scans import cumsum, cumulative_sum, scan

__all__ = [
    "advise",
    "check",
    "cumsum",
    "cumulative_sum",
    "device_count",
    "disable",
    "enable",
    "enabled",
    "explain",
    "matmul",
    "report",
    "scan",
    "unwritten",
]


def __getattr__(name):
    """What looks for races, on NumPy arrays, comes when it is asked for: it needs NumPy."""
    if name in ("check", "unwritten"):
        from . import checking

        return getattr(checking, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *__all__})


def matmul(a, b, /, *, out=None, precision=None):
    """The matrix product of float32 arrays, as the array API's and numpy's matmul.

    a has shape (..., m, k) or (k,), b (..., k, n) or (k,); batches are broadcast. The result, of shape (...,
    m, n), is on the device of a and b and of their library. Operands may lie in any way that strides can
    tell; none is copied. On a GPU the work is queued on the library's current stream. Arrays of the host are
    multiplied by the CPU executor, slowly.

    out: an array for the result, of its shape, that shares no memory with a and b.
    precision: 'fp32' (the default) or 'strict', FP32 multiply-adds in the order of k.

    torch tensors that require a gradient get it: they go through antiphase.torch.

    Raises TypeError for other types, and for arrays of two libraries; ValueError for shapes that do not fit,
    for two devices and for an out that cannot take the result; NotImplementedError where the device cannot do
    it; MemoryError; RuntimeError if the device fails. Nothing has been changed then, but by RuntimeError.
    """
    kind = _arrays._kinds.get(type(a))
    if kind is not None and kind.quick is not None and out is None and precision is None:
        product = kind.quick.again(a, b)
        if product is not None:
            return product
    if kind is None or type(b) is not type(a) or (out is not None and type(out) is not type(a)):
        named = [("the first operand", a), ("the second operand", b)]
        kind = _arrays.common_kind(named if out is None else [*named, ("out", out)])
    if kind.is_torch:
        if not (kind.plain(a, b) if out is None else kind.plain(a, b, out)):
            from . import torch

            return torch._matmul(a, b, out, precision)
        if out is None and precision is None:
            return _products.quick_product(kind, a, b)
    return _products.product(kind, a, b, out, precision)


def explain(a, b, /, *, precision=None):
    """What matmul(a, b) would run, and why: lines of text. Nothing is computed."""
    kind = _arrays.common_kind([("the first operand", a), ("the second operand", b)])
    return _products.explained(kind, a, b, precision)
