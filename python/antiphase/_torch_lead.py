# SPDX-License-Identifier: Apache-2.0
"""Overrides torch's operators where ours are predicted to be faster: how they are registered, and what is reported
of them."""
import collections
import ctypes
import inspect
import math
import os
import threading
import warnings

import torch

from . import _library

_PATIENCE = 10_000  # calls: what a program loses that calls ours unsuccessfully is 0.1 s in all

# A line of a profile: what is called, predicted times here and of torch's own in us, whether it would be overridden, and
# whether predictions are of this GPU.
Row = collections.namedtuple("Row", "text ours theirs wins known", defaults=(True,))
_UNMEASURED = "not measured on this GPU"

_measured = {}  # by device


def number_of(device):
    """A device of torch's as the library knows it."""
    if device.type != "cuda":
        return _library.CPU
    return _library.CURRENT_DEVICE if device.index is None else device.index


def is_measured(device):
    """Whether calls on the device may be overridden by prediction: only where it was fitted to such a GPU."""
    if device not in _measured:
        _measured[device] = device.type == "cuda" and _library.is_measured(number_of(device))
    return _measured[device]


families = []


def _allowing(library):
    """The argument that lets a torch.library.Library override kernels, where torch asks for one."""
    known = inspect.signature(library.impl).parameters
    return {"allow_override": True} if "allow_override" in known else {}


def _spend_the_warning():
    """torch warns once in a process that a kernel is overridden: here, where it is not shown."""
    spent = torch.library.Library("antiphase", "FRAGMENT")
    if not _allowing(spent):  # torch 2.9, whose kernels are overridden in Python
        return
    spent.define("overridden() -> ()")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(2):
            spent.impl("overridden", lambda: None, "CPU", **_allowing(spent))
    spent._destroy()


def _why_not_torchs(names, key):
    """Why operators in C++ would pass calls on to other kernels than those in use: another program's have taken the
    place of torch's own. None: they would not."""
    for name in names:
        for line in torch._C._dispatch_dump(f"aten::{name}").splitlines():
            if line.startswith(f"{key}: ") and f"Register{key}_" not in line:
                return f"another kernel has taken the place of torch's {name}"
    return None


_in_cpp = None  # libantiphase_torch.so, once it is loaded


def _asked():
    """ANTIPHASE_TORCH_LIBRARY: empty for the library next to libantiphase.so.0; its file; or "0" for none."""
    return os.environ.get("ANTIPHASE_TORCH_LIBRARY", "")


def asked_in_python():
    return _asked() == "0"


def _loaded():
    """The library that overrides operators in C++. Raises OSError."""
    global _in_cpp
    if _in_cpp is None:
        place = _asked()
        if not place:
            place = os.path.join(os.path.dirname(_library.PLACE), "libantiphase_torch.so")
        library = ctypes.CDLL(place)
        override = library.antiphase_torch_override
        override.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t]
        library.antiphase_torch_counts.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
        library.antiphase_torch_counts.restype = None
        library.antiphase_torch_restore.restype = None
        _in_cpp = library
    return _in_cpp


class _Overridden:
    """A family whose operators are overridden in C++. Raises RuntimeError, with the reason, where they cannot be."""

    def __init__(self, number, names, key, takes_all):
        self.number = number
        why_not = _why_not_torchs(names, key)
        if why_not is None:
            try:
                library = _loaded()
            except (OSError, AttributeError) as error:
                raise RuntimeError(str(error)) from None
            _spend_the_warning()
            text = ctypes.create_string_buffer(1024)
            if library.antiphase_torch_override(number, key.encode(), takes_all, text, len(text)):
                return
            why_not = text.value.decode(errors="replace")
        raise RuntimeError(why_not)

    def _destroy(self):
        _loaded().antiphase_torch_restore(self.number)


def _counted_in_cpp(number):
    """What became of a family's calls there: computed, passed on, unmeasured, and us saved."""
    calls, saved = (ctypes.c_int64 * 3)(), ctypes.c_double()
    if _in_cpp is not None:
        _in_cpp.antiphase_torch_counts(number, calls, ctypes.byref(saved))
    return *calls, 1e6 * saved.value


class _Measured:
    """torch's kernel under a profile, which measures the calls that are listed."""

    def __init__(self, kernel, family):
        self.kernel, self.family = kernel, family

    def call_boxed(self, keys, x, *rest, **named):
        row, self.family.listed.row = getattr(self.family.listed, "row", None), None
        if row is None:
            return self.kernel.call_boxed(keys, x, *rest, **named)
        stream = torch.cuda.current_stream(x.device).cuda_stream if x.is_cuda else None
        times = row.theirs / 1e6, (row.ours if row.wins else row.theirs) / 1e6
        with self.family.measured(self.family.noun.split()[-1], *times, stream):
            return self.kernel.call_boxed(keys, x, *rest, **named)


class Led:
    """A family of torch's operators, overridden in C++ from torch 2.10 on, or else in Python."""

    profiles = False  # lead nothing, and list what would be
    measured = None  # _cublas.measured while profiling
    takes_all = False  # in C++: all calls that can be computed, whatever is predicted
    why_python = None  # why not in C++
    computed = passed = 0
    saved = 0.0  # us
    unmeasured = 0  # calls passed on because nothing was measured on their GPU

    def __init__(self, noun, number, operators, later=()):
        self.noun = noun
        self.number = number  # in preload/torch
        self.operators = operators  # by name: what makes our kernel of torch's
        # those that only take() takes: a kernel in Python takes the host 10 us and more
        self.later = later
        # by call: (whether it is overridden, its predicted gain in us, its row of the profile or None)
        self.decided = _library.Remembered()
        self.rows = collections.Counter()  # while profiling
        self.listed = threading.local()  # row: of the call that is about to be measured
        self.library = None
        self.in_vain, self.callers = (
            0,
            set(),
        )  # calls since begin(), none of which was overridden, and their threads
        self.kept = []
        families.append(self)

    def begin(self, key="CUDA", in_python=False):
        """Takes the operators. Raises RuntimeError for a torch that cannot lend its own kernels (before 2.9).
        in_python: whatever torch allows."""
        if self.library is not None:
            return
        if not (in_python or self.profiles or asked_in_python()):
            self.why_python = None
            try:
                self.library = _Overridden(self.number, self.operators, key, self.takes_all)
                return
            except RuntimeError as error:
                self.why_python = str(error)
        find = getattr(torch.library, "get_kernel", None)
        if find is None:
            raise RuntimeError(
                f"antiphase: torch is {torch.__version__}: its {self.noun} can be overridden from 2.9 on, where torch.library "
                "has get_kernel"
            )

        def original(name):
            kernel = find(f"aten::{name}", key)
            return _Measured(kernel, self) if self.measured else kernel

        # all of them before any is replaced
        self.kernels = {name: make(original(name)) for name, make in self.operators.items()}
        self.library, self.key = torch.library.Library("aten", "IMPL"), key
        self.in_vain = 0
        self.callers.clear()
        for name in self.operators:
            if self.profiles or name not in self.later:
                self.take(name)

    def take(self, name):
        """Replaces torch's kernel of an operator, while the family is overridden in Python."""
        if self.library is None or name not in self.kernels:
            return
        kernel = self.kernels.pop(name)
        # other code may have replaced it: theirs is the original here
        how = {"with_keyset": True, **_allowing(self.library)}
        with warnings.catch_warnings():  # that a kernel is overridden
            warnings.simplefilter("ignore")
            self.library.impl(name, kernel, self.key, **how)

    def end(self):
        """Gives the operators back."""
        if self.library is not None:
            self.library._destroy()
            self.library = None
            self.decided.clear()  # take() follows from decisions

    def passes(self):
        """Counts a call that torch's own computes. After many by one thread, none of which was overridden, torch has its
        operators back: a kernel in Python takes the host 10 us. With several threads, another one could be at the
        dispatcher meanwhile."""
        self.passed += 1
        self.in_vain += 1
        self.callers.add(threading.get_ident())
        if self.in_vain >= _PATIENCE and len(self.callers) == 1 and not self.profiles:
            # The call that runs now still returns through our kernel, which a reference keeps.
            self.kept = [torch.library.get_kernel(f"aten::{name}", self.key) for name in self.operators]
            self.end()

    def led(self, decision, call, may=True):
        """What call() returns, if the decision is to make it; None if torch's own is to compute it. Under a profile
        it always is, and the call is listed."""
        takes, gain, row = decision
        if self.profiles:
            self.rows[row] += 1
            self.listed.row = row
        elif takes and may:
            try:
                found = call()
                self.computed += 1
                self.in_vain = -math.inf
                self.saved += gain
                return found
            except (NotImplementedError, MemoryError, RuntimeError, TypeError, ValueError):
                pass  # nothing has been written: torch's own computes it, or says what is wrong
        self.unmeasured += row is not None and not row.known
        self.passes()
        return None

    def counts(self):
        """What became of the calls: computed, passed on, of these unmeasured, and what was saved, in us."""
        here = self.computed, self.passed, self.unmeasured, self.saved
        return tuple(map(sum, zip(here, _counted_in_cpp(self.number))))

    def report(self):
        """What became of the calls, as a part of a sentence; empty if none was seen."""
        computed, passed, unmeasured, saved = self.counts()
        seen = computed + passed
        if not seen:
            return ""
        return (
            f"{computed} of {seen} {self.noun} computed ({100 * computed // seen} %), "
            f"{saved / 1e6:.3g} s saved as predicted"
            + (f", {unmeasured} passed on: {_UNMEASURED}" if unmeasured else "")
            + (f", by operators in Python: {self.why_python}" if self.why_python else "")
        )

    def profile(self):
        """The list that --profile ends with."""
        lines = [f"{'calls':>8} {'seconds':>10} {'gain':>7}  {self.noun}"]
        listed = 0
        taken = after = 0.0
        for row, calls in sorted(
            ((row, calls) for row, calls in self.rows.items() if row), key=lambda one: -one[0].theirs * one[1]
        ):
            why_not = "no gain predicted" if row.known else _UNMEASURED
            became = "would be computed" if row.wins else f"passed on: {why_not}"
            lines.append(
                f"{calls:8} {calls * row.theirs / 1e6:9.3g}~ {row.theirs / row.ours:7.2f}  {row.text:60} {became}"
            )
            listed += calls
            if row.wins:
                taken, after = taken + calls * row.theirs, after + calls * row.ours
        if self.passed > listed:
            lines.append(
                f"{self.passed - listed:8} {'':10} {'':7}  {'others':60} passed on: too small, or of another kind"
            )
        lines.append(
            f"antiphase would compute {self.noun} of {taken / 1e6:.3g} s in {after / 1e6:.3g} s (predicted), of {self.passed} calls"
        )
        return "\n".join(lines)


def report():
    """What became of torch's overridden operators, as parts of a sentence."""
    return "; ".join(filter(None, (family.report() for family in families)))
