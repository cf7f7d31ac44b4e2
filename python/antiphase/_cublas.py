# SPDX-License-Identifier: Apache-2.0
"""libantiphase_cublas.so from within a process: docs/cublas.md says which of a program's cuBLAS calls it
computes."""
import contextlib
import ctypes
import os

from . import _library

_loaded = None
_taken = False  # whether calls are rerouted
_asked = False  # by enable()
_within = 0  # how many statements of enabled() are under way
_change = _library.lock()


def place():
    """The library's file: of ANTIPHASE_CUBLAS_LIBRARY, or beside libantiphase.so.0; the system's has no
    folder."""
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
    """From now on FP32 products of this process's cuBLAS calls, those of torch, CuPy and others, are computed
    by antiphase where that is faster. Serves the libraries that are loaded; call it again after others have
    been imported.

    Returns how many places that call cuBLAS have been changed. docs/cublas.md says which calls are taken, and
    which settings there are. Raises RuntimeError if that cannot be done in a process that runs.
    """
    global _asked
    with _change:
        changed = _reroute()
        _asked = True
        return changed


def disable():
    """Takes enable() back: cuBLAS computes everything again. Returns how many places have been changed; 0
    without enable()."""
    global _asked
    with _change:
        _asked = False
        return _take_back()


@contextlib.contextmanager
def enabled():
    """`with antiphase.enabled():` is enable() for the statements in it, in all threads. It may be nested,
    also in enable(), and several threads may be within: the last one to leave takes it back."""
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
    """What has become of this process's products of cuBLAS so far: a line."""
    text = ctypes.create_string_buffer(4096)
    _function("antiphase_cublas_report", ctypes.c_char_p, ctypes.c_size_t, result=ctypes.c_size_t)(
        text, len(text)
    )
    return text.value.decode(errors="replace")


def run(words):
    """Ends this process as the program ends that these words name. OSError: it cannot be executed."""
    lacks = "has no antiphase_cublas_run: expected the library of this version"
    function = _function("antiphase_cublas_run", ctypes.POINTER(ctypes.c_char_p), lacks=lacks)
    error = function((ctypes.c_char_p * (len(words) + 1))(*map(os.fsencode, words)))
    raise OSError(error, os.strerror(error), words[0])
