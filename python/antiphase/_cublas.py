# SPDX-License-Identifier: Apache-2.0
"""libantiphase_cublas.so from within a process: docs/cublas.md says which of a program's cuBLAS calls it computes."""
import contextlib
import ctypes
import os
import pathlib
import threading

from . import _library

_loaded = None
_asked = 0  # for how many contexts, and calls of enable(), products are taken
_change = threading.RLock()


def place():
    """The library's file: beside libantiphase.so.0, or of ANTIPHASE_CUBLAS_LIBRARY."""
    named = os.environ.get("ANTIPHASE_CUBLAS_LIBRARY")
    return named or str(pathlib.Path(_library.PLACE).absolute().parent / "libantiphase_cublas.so")


def _function(name, *types):
    global _loaded
    if _loaded is None:
        try:
            _loaded = ctypes.CDLL(place())
        except OSError as error:
            raise RuntimeError(f"antiphase: {place()} cannot be loaded: {error}") from None
    try:
        function = getattr(_loaded, name)
    except AttributeError:
        raise RuntimeError(f"antiphase: {place()} cannot be put into a process that runs: start the program by "
                           "`python -m antiphase run program.py`") from None
    function.argtypes = types
    return function


def _switch(name):
    status = _function(name)()
    if status:
        raise RuntimeError(f"antiphase: {name}() returned {status}: no calls have been rerouted")


def enable():
    """From now on this process's FP32 products of cuBLAS, those of torch, CuPy and others, are computed by antiphase where that is faster.

    docs/cublas.md says which, and which settings there are. Raises RuntimeError if that cannot be done in a process that runs.
    """
    global _asked
    with _change:
        if _asked == 0:
            _switch("antiphase_cublas_enable")
        _asked = 1


def disable():
    """Takes enable() back: cuBLAS computes everything again. Without enable() it does nothing."""
    global _asked
    with _change:
        if _asked:
            _switch("antiphase_cublas_disable")
        _asked = 0


@contextlib.contextmanager
def enabled():
    """`with antiphase.enabled():` is enable() for the statements in it, in all threads. It may be nested."""
    with _change:
        before = _asked
        enable()
    try:
        yield
    finally:
        if not before:
            disable()


def report():
    """What has been taken so far, in one line."""
    text = ctypes.create_string_buffer(4096)
    _function("antiphase_cublas_report", ctypes.c_char_p, ctypes.c_size_t)(text, len(text))
    return text.value.decode(errors="replace")
