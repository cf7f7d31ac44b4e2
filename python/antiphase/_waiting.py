# SPDX-License-Identifier: Apache-2.0
"""Calls of the library's functions that compute. On the CPU executor, where they may be long, signals are handled
while they run, and a warning precedes those that will take more than ten seconds."""
import _thread
import collections
import ctypes
import math
import sys
import threading
import time
import warnings

from . import _library

# In multiply-adds. LONG: about 10 ms, from where a thread pays. SLOW: one or two seconds, from where a trial run of a
# piece of the call pays.
_LONG, _SLOW = 1 << 22, 1 << 29
_PIECE, _EXTENT = 1 << 22, 256  # work of a piece, and its extents, at most
_OF_AN_ELEMENT = 64  # of a scan takes as long as so many multiply-adds
_WORTH_A_WORD = 10.0  # seconds: predicted times from which a warning is given
_STEP = 0.05  # seconds between looks at pending signals


def call(function, args, stream, what=None, times=1):
    """Calls a function of _library that takes arguments and a stream: the one place where that is done, except for
    quick calls of tensors on a GPU.

    what: a function that gives the call's name in a warning; by default it is that of its arguments.
    times: of how many calls like this one the warning is; 0: it has been given."""
    if args.device != _library.CPU:
        status = function(ctypes.addressof(args), stream)
        if status:
            _library.check(status)
        return
    kind = _KINDS[type(args)]
    work = kind.work(args)
    if work * times >= _SLOW:
        piece = kind.piece(args)
        _seconds(function, piece)  # warm-up: creates the fibers
        seconds = _seconds(function, piece) * work * times / kind.work(piece)
        _warn(kind.name(args) if what is None else what(), seconds)
    if work < _LONG:
        _library.check(function(ctypes.addressof(args), None))
    else:
        _run(function, args)


def _run(function, args):
    """Makes a long call. Python runs signal handlers on the main thread, so the call gets a thread of its
    own, which is interrupted when a handler raises."""
    if _thread.get_ident() != threading.main_thread().ident:
        _library.check(function(ctypes.addressof(args), None))
        return
    flag, ended, begun, over, failures = ctypes.c_int(), _thread.allocate_lock(), [], [], []

    def work():
        begun.append(True)
        try:
            _library.set_interrupt_flag(ctypes.byref(flag))
            _library.check(function(ctypes.addressof(args), None))
        except BaseException as failure:
            failures.append(failure)
        finally:
            over.append(True)
            ended.release()

    ended.acquire()
    try:
        _thread.start_new_thread(work, ())
        while not ended.acquire(timeout=_STEP):
            pass
    except BaseException:
        flag.value = 1
        # The call uses the arrays until it has ended, so wait for that. A thread that starts only now finds
        # the flag set and writes nothing. `over` is asked too: the signal may have come just after the lock
        # was acquired.
        while not over:
            try:
                if not ended.acquire(timeout=1) and not begun:
                    break
            except BaseException:  # of another signal
                pass
        raise
    if failures:
        raise failures.pop()


def _seconds(function, args):
    start = time.perf_counter()
    _run(function, args)
    return time.perf_counter() - start


def _warn(what, seconds):
    if seconds < _WORTH_A_WORD:
        return
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_globals.get("__package__") == __package__:
        frame, level = frame.f_back, level + 1
    how_long = f"{seconds:.0f} seconds" if seconds < 120 else f"{seconds / 60:.0f} minutes"
    warnings.warn(
        f"antiphase: {what} will take about {how_long} on the CPU executor; what the array library has of its own takes a "
        "fraction of that",
        RuntimeWarning,
        stacklevel=level,
    )


# ---- What calls take, by the type of their arguments ---------------------------------------------------------
# work: in multiply-adds, padding of tiles included. piece: arguments of a small part of the call, which reads what the
# call reads; no time depends on values. name: of the call, in a warning.

_Kind = collections.namedtuple("_Kind", "work piece name")


def _tiles(count, *extents):
    return count * math.prod(max(extent, 16) for extent in extents)


def _with_memory(piece, name, size):
    """The piece, with a result of its own of so many bytes."""
    piece.memory = ctypes.create_string_buffer(size + 16)
    setattr(piece, name, ctypes.addressof(piece.memory) + 15 & ~15)
    return piece


def _small(args):
    """A copy of m, n, k as large as a piece may be."""
    piece = type(args).from_buffer_copy(args)
    piece.m, piece.n = min(args.m, _EXTENT), min(args.n, _EXTENT)
    piece.k = min(args.k, max(_EXTENT // 2, _PIECE // _tiles(1, piece.m, piece.n)))
    return piece


def _members(count, work):
    """Members of a batch in a piece, each of which is so much work."""
    return max(1, min(count, _PIECE // work))


def _product_work(args):
    return _tiles(args.batch, args.m, args.n, args.k)


def _product_piece(args):
    piece = _small(args)
    piece.batch = _members(args.batch, _tiles(1, piece.m, piece.n, piece.k))
    piece.c_row_stride, piece.c_column_stride, piece.c_batch_stride = piece.n, 1, piece.m * piece.n
    return _with_memory(piece, "c", 4 * piece.batch * piece.m * piece.n)


def _linear_work(args):
    return _tiles(1 if args.group_ends else args.members, args.m, args.n, args.k)


def _linear_piece(args):
    piece = _small(args)
    piece.members = 1 if args.group_ends else _members(args.members, _tiles(1, piece.m, piece.n, piece.k))
    piece.group_ends, piece.y_row_stride, piece.y_member_stride = None, 0, 0
    piece.kernel = (
        _library.text_of(args).partition(":")[0].encode()
    )  # tiles of another size take another time
    return _with_memory(piece, "y", 4 * piece.members * piece.m * piece.n)


def _scan_work(args):
    return _OF_AN_ELEMENT * args.outer * args.length * args.inner


def _scan_piece(args):
    """The first elements in memory, with the same length and inner extent as far as the work allows."""
    piece = type(args).from_buffer_copy(args)
    most = 2 * _PIECE // _OF_AN_ELEMENT
    piece.length = min(args.length, most)
    piece.inner = min(args.inner, max(1, most // piece.length))
    piece.outer = min(args.outer, max(1, most // (piece.length * piece.inner)))
    return _with_memory(piece, "out", 8 * piece.outer * piece.length * piece.inner)


def _attention_work(args):
    pairs = max(1, args.queries) * max(1, args.keys)
    return args.members * args.heads * pairs * max(args.depth, 16)


def _attention_piece(args):
    """Of one head. What it writes is written again."""
    piece = type(args).from_buffer_copy(args)
    piece.members = piece.heads = piece.kv_heads = 1
    piece.queries = min(args.queries, 64)
    piece.keys = min(args.keys, _PIECE // (max(1, piece.queries) * max(args.depth, 16)))
    return piece


_KINDS = {
    _library.SgemmArgs: _Kind(
        _product_work,
        _product_piece,
        lambda args: f"a product of {args.m} x {args.k} and {args.k} x {args.n}",
    ),
    _library.LinearArgs: _Kind(
        _linear_work, _linear_piece, lambda args: f"linear of {args.m} x {args.k} and {args.n} x {args.k}"
    ),
    _library.ScanArgs: _Kind(
        _scan_work,
        _scan_piece,
        lambda args: f"a scan of {args.outer} x {args.length} x {args.inner} elements",
    ),
    _library.AttentionArgs: _Kind(
        _attention_work,
        _attention_piece,
        lambda args: (
            f"attention of {args.members} x {args.heads} heads of {args.queries} queries and {args.keys} keys"
        ),
    ),
}
