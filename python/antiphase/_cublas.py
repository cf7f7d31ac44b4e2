# SPDX-License-Identifier: Apache-2.0
"""Control of libantiphase_cublas.so from within a process. docs/cublas.md lists the cuBLAS calls that it
computes."""
import contextlib
import ctypes
import os

from . import _library

_loaded = None
_taken = False  # whether calls are rerouted
_asked = False  # whether enable() holds
_within = 0  # number of enabled() blocks under way
_change = _library.lock()


def place():
    """The library's file: ANTIPHASE_CUBLAS_LIBRARY, else beside libantiphase.so.0; a bare name where that one
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


def _reroute():
    global _taken
    changed = _function("antiphase_cublas_enable")()
    if changed < 0:
        raise MemoryError("antiphase: there was no memory to reroute calls of cuBLAS: none has been")
    _taken = True
    return changed


def _take_back():
    global _taken
    changed = _function("antiphase_cublas_disable")() if _taken else 0
    _taken = False
    return changed


def enable():
    """Reroutes this process's FP32 cuBLAS products, those of torch, CuPy and others, to antiphase where that
    is faster. It affects the libraries loaded so far: call it again after importing others.

    Returns the number of call sites of cuBLAS that have been changed. docs/cublas.md lists the calls taken
    and the settings. Raises RuntimeError if the library cannot be loaded or cannot be put into a running
    process, MemoryError if there is no memory for it.
    """
    global _asked
    with _change:
        changed = _reroute()
        _asked = True
        return changed


def disable():
    """Undoes enable(): cuBLAS computes everything again. Returns the number of call sites changed back; 0
    if enable() was not in effect."""
    global _asked
    with _change:
        _asked = False
        return _take_back()


@contextlib.contextmanager
def enabled():
    """`with antiphase.enabled():` is enable() for its block, in all threads of the process. Blocks may be
    nested and may overlap in several threads: the last one to end restores cuBLAS, unless enable() holds.
    Raises what enable() raises."""
    global _within
    with _change:
        _reroute()
        _within += 1
    try:
        yield
    finally:
        with _change:
            _within -= 1
            if _within == 0 and not _asked:
                _take_back()


def report():
    """One line: how many of this process's cuBLAS products so far were computed, and how many passed on."""
    text = ctypes.create_string_buffer(4096)
    _function("antiphase_cublas_report", ctypes.c_char_p, ctypes.c_size_t, result=ctypes.c_size_t)(
        text, len(text)
    )
    return text.value.decode(errors="replace")


def run(words):
    """Runs the program that these words name, and ends this process as it ends. Raises OSError if it cannot
    be executed."""
    lacks = "has no antiphase_cublas_run: expected the library of this version"
    function = _function("antiphase_cublas_run", ctypes.POINTER(ctypes.c_char_p), lacks=lacks)
    error = function((ctypes.c_char_p * (len(words) + 1))(*map(os.fsencode, words)))
    raise OSError(error, os.strerror(error), words[0])
