# SPDX-License-Identifier: Apache-2.0
"""torch's own scans, led here where that is predicted to be faster: antiphase.enable(scans=True)."""
import atexit
import collections
import math
import os
import sys

import torch

from . import _scans, _torch_scans
from ._torch_ops import KIND as _kind

# ---- Predictions -----------------------------------------------------------------------------------------
# Times of one call on an H100, its host's included, in us. Moved bytes are read and written per us.
# By kind of operator: the host's and the GPU's constant part, and bytes per us; bytes moved per element beyond
# one reading and one writing.
_OURS = {"arithmetic": (20, 2.6e6, 0), "extremes": (60, 2.4e6, 32), "log_sum_exp": (25, 1.0e6, 0)}
# torch: likewise; then what its loops take that work through a line: for one step along an axis that is not
# the last, at most, and per column beside it; per element of a row, and per row.
_TORCHS = {
    "arithmetic": (19, 2.2e6, 0.05, 0.01, 1.5e-3, 5.5e-3),
    "extremes": (25, 1.8e6, 0.05, 0.01, 2.5e-3, 5.5e-3),
    "log_sum_exp": (20, 1.8e6, 0.05, 0.01, 1.5e-3, 5.5e-3),
}
_LEAST = 512  # elements: with fewer no prediction is made
_MARGIN = 0.9  # of torch's time: what ours may take at most
_MARGIN_ELSEWHERE = 0.4  # on GPUs that the law was not fitted to
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
        capability = torch.cuda.get_device_capability(device) if device.type == "cuda" else (0, 0)
        _margins[device] = (
            _MARGIN if capability == (9, 0) else _MARGIN_ELSEWHERE if capability >= (8, 0) else 0
        )
    return _margins[device]


# ---- What has been asked, and what became of it ----------------------------------------------------------

_profiles = False  # lead nothing, and list what would be
_decided = {}  # by call: (whether it is led, its predicted gain in us, its row)
_MOST_DECIDED = 4096


class _Counts:
    computed = passed = 0
    saved = 0.0  # us


counts = _Counts()
_rows = collections.Counter()  # while profiling: calls by (name, shape, axis, dtype, ours, torch's)


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
    row = (_torch_scans.NAMES[op], tuple(x.shape), dim, _kind.dtype_name(x.dtype), ours, theirs, wins)
    return wins, theirs - ours, row


def _led(op, x, dim, dtype):
    """The result in place of torch's, or None: torch's own is predicted to be as fast."""
    if x.numel() < _LEAST:
        counts.passed += 1
        return None
    key = (op, x.shape, x.dtype, dim, dtype, x.device)
    decision = _decided.get(key)
    if decision is None:
        if len(_decided) >= _MOST_DECIDED:
            _decided.clear()
        to = _torch_scans.result_type(x, op, dtype)
        decision = _decided[key] = _decide(op, x, dim, to)
    takes, gain, row = decision
    if _profiles:
        _rows[row] += 1
        takes = False
    if takes and (x.device.type == "cpu" or not _kind.is_capturing()):
        try:
            found = _torch_scans.of_operator(op, x, dim, dtype)
            counts.computed += 1
            counts.saved += gain
            return found
        except (NotImplementedError, MemoryError, RuntimeError, TypeError, ValueError):
            pass  # nothing has been written: torch's own computes it, or says what is wrong
    counts.passed += 1
    return None


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

_library = None


def begin(key="CUDA"):
    """Takes the operators. Raises RuntimeError for a torch that cannot lend its own kernels (before 2.9)."""
    global _library
    if _library is not None:
        return
    find = getattr(torch.library, "get_kernel", None)
    if find is None:
        raise RuntimeError(
            f"antiphase: torch is {torch.__version__}: its scans can be led from 2.9 on, where torch.library has get_kernel"
        )
    kernels = [
        (name, make(op, find(f"aten::{name}", key))) for name, (make, op) in _OPERATORS.items()
    ]  # all of them before any is replaced
    _library = torch.library.Library("aten", "IMPL")
    for name, kernel in kernels:
        _library.impl(name, kernel, key, with_keyset=True)


def end():
    """Gives the operators back."""
    global _library
    if _library is not None:
        _library._destroy()
        _library = None


def report():
    """What became of torch's scans, as a part of a sentence; empty if none was seen."""
    seen = counts.computed + counts.passed
    if not seen:
        return ""
    return (
        f"{counts.computed} of {seen} scans computed ({100 * counts.computed // seen} %), "
        f"{counts.saved / 1e6:.3g} s saved as predicted"
    )


def _profile():
    """The list that --profile ends with."""
    lines = [f"{'calls':>8} {'seconds':>10} {'gain':>7}  scan"]
    total = taken = after = 0.0
    for (name, shape, dim, of, ours, theirs, wins), calls in sorted(
        ((row, calls) for row, calls in _rows.items() if row), key=lambda one: -one[0][5] * one[1]
    ):
        what = f"{name} of {' x '.join(map(str, shape))} along {dim}, {of}"
        lines.append(
            f"{calls:8} {calls * theirs / 1e6:9.3g}~ {theirs / ours:7.2f}  {what:60} {'would be computed' if wins else 'passed on: no gain predicted'}"
        )
        total += calls
        if wins:
            taken, after = taken + calls * theirs, after + calls * ours
    lines.append(
        f"antiphase would compute scans of {taken / 1e6:.3g} s in {after / 1e6:.3g} s (predicted), of {int(total)} calls"
    )
    return "\n".join(lines)


def follow():
    """For a program that `run --scans` has started: takes the operators, and tells at its end what became of
    them, as the library for cuBLAS does."""
    global _profiles
    wish = os.environ.get("ANTIPHASE_REPORT", "")
    if os.environ.get("ANTIPHASE_DISABLE") == "1":
        return
    _profiles = os.environ.get("ANTIPHASE_PROFILE") == "1"
    begin()

    def tell():
        if _profiles:
            print(f"antiphase[{os.getpid()}]: scans\n{_profile()}", file=sys.stderr)
        elif wish != "0" and (counts.computed or wish == "1"):
            print(f"antiphase[{os.getpid()}]: {report() or 'no scans of torch were seen'}", file=sys.stderr)

    atexit.register(tell)
