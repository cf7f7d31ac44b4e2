# SPDX-License-Identifier: Apache-2.0
"""Matrix products, linear layers, scans and attention of antiphase on arrays of NumPy, torch, CuPy, JAX and others.

    import antiphase
    c = antiphase.matmul(a, b)

docs/use/python.md is the first page.
"""
from . import _arrays, _products
from ._advice import advise
from ._attention import attention, explain_attention
from ._cublas import disable, enable, enabled, report
from ._library import VERSION as __version__
from ._library import device_count
from ._linear import linear
from ._scans import cumsum, cumulative_sum, explain_scan, scan

__all__ = [
    "advise",
    "attention",
    "check",
    "cumsum",
    "cumulative_sum",
    "device_count",
    "disable",
    "enable",
    "enabled",
    "explain",
    "explain_attention",
    "explain_scan",
    "linear",
    "matmul",
    "report",
    "scan",
    "unwritten",
]


def _operator_of_torch(name):
    if name == "attention":
        from ._torch_attention import attention as operator
    elif name == "linear":
        from ._torch_linear import linear as operator
    else:
        from ._torch_scans import scan as operator
    return operator


_arrays.operator_of_torch = _operator_of_torch


def __getattr__(name):
    """Imports `check` and `unwritten` on first use: they need NumPy, which the package itself does not."""
    if name in ("check", "unwritten"):
        from . import checking

        return getattr(checking, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *__all__})


def matmul(a, b, /, *, out=None, precision=None, reproducible=False):
    """Matrix product of two float32 arrays, with the semantics of the array API's and NumPy's matmul.

        c = antiphase.matmul(a, b)

    a: shape (..., m, k) or (k,). b: shape (..., k, n) or (k,). Batch axes are broadcast. Any strides are
    read in place; only a matrix that repeats one element along both axes is copied first.
    out: an array for the result, of its shape, that shares no memory with a and b.
    precision: 'fp32' (the default; docs/use/accuracy.md has its error bound) or 'strict', FP32 multiply-adds in
    the order of k.
    reproducible: True: an element of the result has the same bits whatever other rows, columns and members of
    a batch are computed with it; it may take longer, and a device without fast FP64 refuses it.

    Returns an array of shape (..., m, n), without m or n where a or b has one axis, of the operands' library
    and on their device. On a GPU the work is queued on the library's current stream; for JAX, and arrays
    known by DLPack or __cuda_array_interface__ alone, the call waits for it. Host arrays are multiplied by
    the CPU executor, which is slow. torch tensors that require a gradient go through antiphase.torch, which
    provides it.

    Raises TypeError for other element types and for arrays of two libraries; ValueError for shapes that do
    not fit, operands on two devices and an out that cannot hold the result; NotImplementedError where the
    device does not support the call; MemoryError; RuntimeError if the device fails. No array has been
    changed after any of them but RuntimeError.
    """
    if reproducible:
        precision = _products.precision_of(precision, True)
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


def explain(a, b, /, *, precision=None, reproducible=False):
    """The kernel that matmul(a, b) would run, and why, as lines of text. Nothing is computed.

    Raises what matmul() raises for the same arguments.
    """
    kind = _arrays.common_kind([("the first operand", a), ("the second operand", b)])
    return _products.explained(kind, a, b, _products.precision_of(precision, reproducible))
