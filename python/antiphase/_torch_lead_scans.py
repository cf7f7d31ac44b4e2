# SPDX-License-Identifier: Apache-2.0
"""torch's own scans, overridden where ours are predicted to be faster: antiphase.enable(scans=True)."""
import math

import torch

from . import _library, _scans, _torch_lead, _torch_scans
from ._torch_ops import KIND as _kind

# ---- Predictions -----------------------------------------------------------------------------------------
_LEAST = (
    512  # elements: with fewer no prediction is made, which would take the host longer than it could save
)
_compare = _library.compare_torch_scan


# ---- What is overridden ---------------------------------------------------------------------------------


def _decide(op, x, dim, to):
    """(whether to lead the call, the predicted gain in us, its row of the profile)."""
    if not (x.dim() and -x.dim() <= dim < x.dim() and x.numel()):
        return False, 0, None
    if _kind.dtype_name(to) not in _scans._TYPES or op == "log_sum_exp" and not x.dtype.is_floating_point:
        return False, 0, None
    read, written = x.dtype.itemsize, to.itemsize + (8 if op in ("max", "min") else 0)
    if op == "log_sum_exp" and read == 2:  # converted before and after
        read, written = 10, 10
    axis = dim % x.dim()
    outer, inner = math.prod(x.shape[:axis]), math.prod(x.shape[axis + 1 :])
    operation = _scans._OPERATIONS[op]
    ours, theirs, wins = _compare(
        _torch_lead.number_of(x.device), operation, outer, x.shape[axis], inner, read, written
    )
    ours, theirs = 1e6 * ours, 1e6 * theirs
    shape = " x ".join(map(str, x.shape))
    text = f"{_torch_scans.NAMES[op]} of {shape} along {dim}, {_kind.dtype_name(x.dtype)}"
    return wins, theirs - ours, _torch_lead.Row(text, ours, theirs, wins, _torch_lead.is_measured(x.device))


def _led(op, x, dim, dtype):
    """The result in place of torch's, or None: torch's own is predicted to be as fast."""
    if x.numel() < _LEAST:
        scans.passes()
        return None
    key = (op, x.shape, x.dtype, dim, dtype, x.device)
    decision = scans.decided.get(key)
    if decision is None:
        decision = scans.decided.keep(key, _decide(op, x, dim, _torch_scans.result_type(x, op, dtype)))
    may = x.device.type == "cpu" or not _kind.is_capturing()
    return scans.led(decision, lambda: _torch_scans.of_operator(op, x, dim, dtype), may)


# ---- torch's operators -----------------------------------------------------------------------------------


def _fits(out, like, to):
    return out.shape == like.shape and out.dtype == to and out.device == like.device


def _functional(op, original):
    def kernel(keys, x, dim, *, dtype=None):
        found = _led(op, x, dim, dtype)
        return original.call_boxed(keys, x, dim, dtype=dtype) if found is None else found

    return kernel


def _functional_plain(op, original):
    def kernel(keys, x, dim):
        found = _led(op, x, dim, None)
        return original.call_boxed(keys, x, dim) if found is None else found

    return kernel


def _to_out(op, original):
    def kernel(keys, x, dim, *, dtype=None, out):
        if _fits(out, x, _torch_scans.result_type(x, op, dtype)):
            found = _led(op, x, dim, dtype)
            if found is not None:
                return out.copy_(found)
        return original.call_boxed(keys, x, dim, dtype=dtype, out=out)

    return kernel


def _in_place(op, original):
    def kernel(keys, x, dim, *, dtype=None):
        if _torch_scans.result_type(x, op, dtype) == x.dtype:
            found = _led(op, x, dim, dtype)
            if found is not None:
                return x.copy_(found)
        return original.call_boxed(keys, x, dim, dtype=dtype)

    return kernel


# torch's operator: what makes its kernel, and of what
_OPERATORS = {
    "cumsum": (_functional, "sum"),
    "cumsum.out": (_to_out, "sum"),
    "cumsum_": (_in_place, "sum"),
    "cumprod": (_functional, "product"),
    "cumprod.out": (_to_out, "product"),
    "cumprod_": (_in_place, "product"),
    "cummax": (_functional_plain, "max"),
    "cummin": (_functional_plain, "min"),
    "logcumsumexp": (_functional_plain, "log_sum_exp"),
}

scans = _torch_lead.Led(
    "scans",
    1,
    {n: lambda original, make=make, op=op: make(op, original) for n, (make, op) in _OPERATORS.items()},
)
