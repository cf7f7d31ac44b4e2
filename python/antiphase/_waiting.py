# SPDX-License-Identifier: Apache-2.0
"""Long calls on the CPU executor: signals are handled while they run, and a warning precedes calls that will
take more than ten seconds."""
import _thread
import ctypes
import math
import sys
import threading
import time
import warnings

from . import _library

# In multiply-adds and elements. LONG: about 10 ms, from where a thread pays. SLOW: about a second, from where
# a trial run of a piece of the call pays.
_LONG_PRODUCT, _LONG_SCAN = 1 << 22, 1 << 16
_SLOW_PRODUCT, _SLOW_SCAN = 1 << 29, 1 << 22
_PROBED_EXTENTS, _PROBED_WORK = {"m": 256, "n": 256, "k": 128}, 1 << 22
_WORTH_A_WORD = 10.0  # seconds: predicted times from which a warning is given
_STEP = 0.05  # seconds between looks at pending signals


def run(call, args):
    """Makes a long call. Python runs signal handlers on the main thread, so the call gets a thread of its
    own, which is interrupted when a handler raises."""
    if _thread.get_ident() != threading.main_thread().ident:
        _library.check(call(ctypes.addressof(args), None))
        return
    flag, ended, begun, over, failures = ctypes.c_int(), _thread.allocate_lock(), [], [], []

    def work():
        begun.append(True)
        try:
            _library.set_interrupt_flag(ctypes.byref(flag))
            _library.check(call(ctypes.addressof(args), None))
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


def product_work(args):
    """Approximate multiply-adds of a product on the CPU executor, padding of tiles included; 0 on a GPU."""
    if args.device != _library.CPU:
        return 0
    return args.batch * math.prod(max(extent, 16) for extent in (args.m, args.n, args.k))


def run_product(args, work):
    if work < _LONG_PRODUCT:
        _library.check(_library.sgemm(ctypes.addressof(args), None))
    else:
        run(_library.sgemm, args)


def warn_of_product(args, work, what):
    """Warns if `work` multiply-adds, in calls like this one, will take long: a piece is timed."""
    if work >= _SLOW_PRODUCT:
        _warn(what, work / product_work(piece := _piece_of_product(args)) * _seconds(_library.sgemm, piece))


def _piece_of_product(args):
    piece = _library.SgemmArgs(
        size=args.size,
        device=args.device,
        precision=args.precision,
        alpha=1,
        **{name: min(getattr(args, name), most) for name, most in _PROBED_EXTENTS.items()},
        batch=1,
    )
    piece.k = min(args.k, max(piece.k, _PROBED_WORK // (max(piece.m, 16) * max(piece.n, 16))))
    piece.batch = max(1, min(args.batch, _PROBED_WORK // product_work(piece)))
    m, n, k = piece.m, piece.n, piece.k
    piece.a_batch_stride, piece.b_batch_stride, piece.c_batch_stride = m * k, k * n, m * n
    (
        piece.a_row_stride,
        piece.a_column_stride,
        piece.b_row_stride,
        piece.b_column_stride,
        piece.c_row_stride,
        piece.c_column_stride,
    ) = (k, 1, n, 1, n, 1)
    piece.memory = [(ctypes.c_float * (piece.batch * count))() for count in (m * k, k * n, m * n)]
    for operand in piece.memory[:2]:
        operand[:] = [0.5] * len(operand)
    piece.a, piece.b, piece.c = map(ctypes.addressof, piece.memory)
    return piece


def run_scan(args, what):
    count = args.outer * args.length * args.inner
    if args.device != _library.CPU or count < _LONG_SCAN:
        return False
    if count >= _SLOW_SCAN:
        piece = type(args).from_buffer_copy(args)
        # The time does not depend on the values: the piece is the first elements in memory, with the same
        # length and inner extent as far as 2 * _LONG_SCAN elements allow.
        piece.length = min(args.length, 2 * _LONG_SCAN)
        piece.inner = min(args.inner, max(1, 2 * _LONG_SCAN // piece.length))
        piece.outer = min(args.outer, max(1, 2 * _LONG_SCAN // (piece.length * piece.inner)))
        probed = piece.outer * piece.length * piece.inner
        piece.memory = ctypes.create_string_buffer(8 * probed + 8)
        piece.out = ctypes.addressof(piece.memory) + 7 & ~7
        _seconds(_library.scan, piece)  # warm-up: creates the fibers
        _warn(what, count / probed * _seconds(_library.scan, piece))
    run(_library.scan, args)
    return True


def run_attention(call, args):
    """Makes a call of attention, or of its gradients, on the CPU executor."""
    pairs = max(1, args.queries) * max(1, args.keys)
    work = args.members * args.heads * pairs * max(args.depth, 16)
    if work < _LONG_PRODUCT:
        _library.check(call(ctypes.addressof(args), None))
        return
    if work >= _SLOW_PRODUCT:
        piece = type(args).from_buffer_copy(args)  # what it writes is written again
        piece.members = piece.heads = piece.kv_heads = 1
        piece.queries = min(args.queries, 64)
        piece.keys = min(args.keys, _PROBED_WORK // (piece.queries * max(args.depth, 16)))
        probed = piece.queries * piece.keys * max(args.depth, 16)
        _warn(
            f"attention of {args.members} x {args.heads} heads of {args.queries} queries and {args.keys} keys",
            work / probed * _seconds(call, piece),
        )
    run(call, args)


def _seconds(call, args):
    start = time.perf_counter()
    run(call, args)
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
