# SPDX-License-Identifier: Apache-2.0
"""torch's own scans, overridden where ours are predicted to be faster: antiphase.enable(scans=True)."""
import math

import torch

from . import _scans, _torch_lead, _torch_scans
from ._torch_ops import KIND as _kind

# ---- Predictions -----------------------------------------------------------------------------------------
# Times of one call on an H100, its host's included, in us. Moved bytes are read and written per us.
# By kind of operator: the host's and the GPU's constant part, and bytes per us; bytes moved per element beyond
# one reading and one writing.
_OURS = {"arithmetic": (20, 2.6e6, 0), "extremes": (60, 2.4e6, 32), "log_sum_exp": (25, 1.0e6, 0)}
# torch: likewise; then what its loops take that work through a line: for one step along an axis that is not
# the last, at most, and per column next to it; per element of a row, and per row.
_TORCHS = {
    "arithmetic": (19, 2.2e6, 0.05, 0.01, 1.5e-3, 5.5e-3),
    "extremes": (25, 1.8e6, 0.05, 0.01, 2.5e-3, 5.5e-3),
    "log_sum_exp": (20, 1.8e6, 0.05, 0.01, 1.5e-3, 5.5e-3),
}
_LEAST = 512  # elements: with fewer no prediction is made
_MARGIN = 0.9  # of torch's time: what ours may take at most
_ROWS_AT_ONCE, _STEP_COLUMNS = 1024, 32


def _kind_of(op):
    return "extremes" if op in ("max", "min") else "log_sum_exp" if op == "log_sum_exp" else "arithmetic"


def predicted(op, shape, axis, read, written):
    """(ours, torch's) times in us of a scan of that shape, along an axis that is counted from 0, with so many
    bytes per element read and written."""
    kind, elements, length = _kind_of(op), math.prod(shape), shape[axis]
    inner = math.prod(shape[axis + 1 :])
    lines = elements // length
    constant, bandwidth, more = _OURS[kind]
    ours = constant + elements * (read + written + more) / bandwidth
    constant, bandwidth, step, per_column, per_element, per_row = _TORCHS[kind]
    theirs = elements * max(read + written, 8) / bandwidth
    if inner > 1:
        theirs = max(theirs, length * (step + per_column * min(inner, _STEP_COLUMNS)))
    elif lines > 1 or kind == "extremes":
        theirs = max(theirs, length * per_element * math.ceil(lines / _ROWS_AT_ONCE), lines * per_row)
    return ours, constant + theirs


_margins = {}  # device: the part of torch's time that ours may take


def _margin(device):
    if device not in _margins:
        _margins[device] = _MARGIN if _torch_lead.is_measured(device) else 0
    return _margins[device]


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
    ours, theirs = predicted(op, x.shape, dim % x.dim(), read, written)
    wins = ours < _margin(x.device) * theirs
    shape = " x ".join(map(str, x.shape))
    text = f"{_torch_scans.NAMES[op]} of {shape} along {dim}, {_kind.dtype_name(x.dtype)}"
    return wins, theirs - ours, _torch_lead.Row(text, ours, theirs, wins, _margin(x.device) > 0)


def _led(op, x, dim, dtype):
    """The result in place of torch's, or None: torch's own is predicted to be as fast."""
    if x.numel() < _LEAST:
        scans.passes()
        return None
    key = (op, x.shape, x.dtype, dim, dtype, x.device)
    decision = scans.decided.get(key)
    if decision is None:
        decision = scans.decide(key, _decide(op, x, dim, _torch_scans.result_type(x, op, dtype)))
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
    {n: lambda original, make=make, op=op: make(op, original) for n, (make, op) in _OPERATORS.items()},
)
