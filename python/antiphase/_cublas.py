# SPDX-License-Identifier: Apache-2.0
"""Control of libantiphase_cublas.so from within a process. docs/use/cublas.md lists the cuBLAS calls that it
computes."""
import contextlib
import ctypes
import os
import sys

from . import _library

_loaded = None
_change = _library.lock()


def place():
    """The library's file: ANTIPHASE_CUBLAS_LIBRARY, else next to libantiphase.so.0; a bare name where that one
    comes from the loader's search path."""
    named, folder = os.environ.get("ANTIPHASE_CUBLAS_LIBRARY"), os.path.dirname(_library.PLACE)
    return named or os.path.join(folder and os.path.abspath(folder), "libantiphase_cublas.so")


_TOO_OLD = (
    "cannot be put into a process that runs: start the program by " "`python -m antiphase run program.py`"
)


def _function(name, *types, result=ctypes.c_int, lacks=_TOO_OLD):
    global _loaded
    if _loaded is None:
        try:
            _loaded = ctypes.CDLL(place())
        except OSError as error:
            raise RuntimeError(f"antiphase: {place()} cannot be loaded: {error}") from None
    try:
        function = getattr(_loaded, name)
    except AttributeError:
        raise RuntimeError(f"antiphase: {place()} {lacks}") from None
    function.argtypes, function.restype = types, result
    return function


class _Switch:
    """Something that is on while it is asked for by enable(), or by an enabled() block in progress."""

    def __init__(self, turn_on, turn_off):
        self._turn_on, self._turn_off = turn_on, turn_off
        self._is_on = self._asked = False
        self._within = 0  # number of blocks in progress

    def on(self, asked):
        changed = self._turn_on()
        self._is_on = True
        if asked:
            self._asked = True
        else:
            self._within += 1
        return changed

    def off(self, asked):
        if asked:
            self._asked = False
        else:
            self._within -= 1
            if self._within or self._asked:
                return 0
        changed = self._turn_off() if self._is_on else 0
        self._is_on = False
        return changed


def _reroute():
    changed = _function("antiphase_cublas_enable")()
    if changed < 0:
        raise MemoryError("antiphase: there was no memory to reroute calls of cuBLAS: none has been")
    return changed


def _restore():
    return _function("antiphase_cublas_disable")()


def _lead_scans():
    from ._torch_lead_scans import scans

    scans.begin()


def _leave_scans():
    from ._torch_lead_scans import scans

    scans.end()


def _lead_attention():
    from ._torch_lead_attention import attention

    try:
        attention.begin()
    except RuntimeError:  # a torch before 2.9, or without CUDA
        pass


def _leave_attention():
    from ._torch_lead_attention import attention

    attention.end()


_products = _Switch(_reroute, _restore)
_scans = _Switch(_lead_scans, _leave_scans)
_attention = _Switch(_lead_attention, _leave_attention)


def _turn_on(asked, attention, scans):
    """What has been turned on: the number of call sites that have changed, and the switches."""
    on = []
    try:
        for switch in (
            *((_scans,) if scans else ()),
            *((_attention,) if attention and "torch" in sys.modules else ()),
            _products,
        ):
            changed = switch.on(asked)
            on.append(switch)
    except BaseException:
        for switch in on:
            switch.off(asked)
        raise
    return changed, on


def enable(*, attention=True, scans=False):
    """Reroutes this process's FP32 cuBLAS products, those of torch, CuPy and others, to antiphase where that
    is faster, and torch's FP32 attention on CUDA devices of compute capability 9.0 (from torch 2.9 on). It affects
    the libraries loaded so far: call it again after importing others.

    attention: False: torch's attention is left alone.
    scans: override torch's cumsum, cumprod, cummax, cummin and logcumsumexp of CUDA tensors, too, where that is
    predicted to be faster, also within torch's own functions and gradients. It imports torch.

    Returns the number of call sites of cuBLAS that have been changed. docs/use/cublas.md lists the calls taken
    and the settings. Raises RuntimeError if the library cannot be loaded or cannot be put into a running
    process, or torch is older than 2.9 and scans are asked for; MemoryError if there is no memory for it.
    """
    with _change:
        return _turn_on(True, attention, scans)[0]


def disable():
    """Undoes enable(): cuBLAS and torch compute everything again. Returns the number of call sites changed
    back; 0 if enable() was not in effect."""
    with _change:
        _scans.off(asked=True)
        _attention.off(asked=True)
        return _products.off(asked=True)


@contextlib.contextmanager
def enabled(*, attention=True, scans=False):
    """`with antiphase.enabled():` is enable() for its block, in all threads of the process. Blocks may be
    nested and may overlap in several threads: the last one to end restores cuBLAS and torch's operators, unless
    enable() holds. Raises what enable() raises."""
    with _change:
        _, on = _turn_on(False, attention, scans)
    try:
        yield
    finally:
        with _change:
            for switch in reversed(on):
                switch.off(asked=False)


def report():
    """One line: how many of this process's cuBLAS products so far were computed, and how many passed on; then
    likewise of torch's attention and scans, if any were seen."""
    text = ctypes.create_string_buffer(4096)
    _function("antiphase_cublas_report", ctypes.c_char_p, ctypes.c_size_t, result=ctypes.c_size_t)(
        text, len(text)
    )
    lead = sys.modules.get(f"{__package__}._torch_lead")
    led = lead.report() if lead else ""
    return text.value.decode(errors="replace") + (f"; {led}" if led else "")


@contextlib.contextmanager
def measured(kind, seconds, would_be, stream):
    """Measures a call of "attention" or "scans" in a stream for this process's profile; predicted are what it takes, and
    what it would take."""
    try:
        begin = _function("antiphase_cublas_begin", ctypes.c_void_p, result=ctypes.c_void_p)
        types = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_double, ctypes.c_double
        end = _function("antiphase_cublas_end", *types)
    except RuntimeError:  # no library for cuBLAS: there is no such profile
        yield
        return
    begun = begin(stream)
    try:
        yield
    finally:
        end(begun, kind.encode(), seconds, would_be)


def run(words):
    """Runs the program that these words name, and ends this process as it ends. Raises OSError if it cannot
    be executed."""
    lacks = "has no antiphase_cublas_run: expected the library of this version"
    function = _function("antiphase_cublas_run", ctypes.POINTER(ctypes.c_char_p), lacks=lacks)
    error = function((ctypes.c_char_p * (len(words) + 1))(*map(os.fsencode, words)))
    raise OSError(error, os.strerror(error), words[0])
