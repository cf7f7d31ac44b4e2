# SPDX-License-Identifier: Apache-2.0
"""Calls on the CPU executor, which may take long: signals are seen meanwhile, and what will take more than
ten seconds is said first."""
import _thread
import ctypes
import math
import sys
import threading
import time
import warnings

from . import _library

# Multiply-adds and elements: from some 10 ms on a call is worth a thread, from a second or so on a try with a
# piece of it.
_LONG_PRODUCT, _LONG_SCAN = 1 << 22, 1 << 16
_SLOW_PRODUCT, _SLOW_SCAN = 1 << 29, 1 << 22
_PROBED_EXTENTS, _PROBED_WORK = {"m": 256, "n": 256, "k": 128}, 1 << 22
_WORTH_A_WORD = 10.0  # seconds
_STEP = 0.05


def run(call, args):
    """A call that is long. Python tells its main thread of signals, so another one makes it, and is stopped
    where a handler raises."""
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
        # The memory is in use until it has ended; one that begins after all finds the flag and writes
        # nothing. The signal may have come when the lock had just been taken.
        while not over:
            try:
                if not ended.acquire(timeout=1) and not begun:
                    break
            except BaseException:  # the next signal
                pass
        raise
    if failures:
        raise failures.pop()


def product_work(args):
    """Multiply-adds of a product on the CPU executor, those of tiles' edges included, roughly."""
    if args.device != _library.CPU:
        return 0
    return args.batch * math.prod(max(extent, 16) for extent in (args.m, args.n, args.k))


def run_product(args, work):
    if work < _LONG_PRODUCT:
        _library.check(_library.sgemm(ctypes.addressof(args), None))
    else:
        run(_library.sgemm, args)


def warn_of_product(args, work, what):
    """Before `work` multiply-adds in calls like this one."""
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
        # Any elements are as slow: the first of the memory, in lines as long, and one beside the other as far
        # as that goes.
        piece.length = min(args.length, 2 * _LONG_SCAN)
        piece.inner = min(args.inner, max(1, 2 * _LONG_SCAN // piece.length))
        piece.outer = min(args.outer, max(1, 2 * _LONG_SCAN // (piece.length * piece.inner)))
        probed = piece.outer * piece.length * piece.inner
        piece.memory = ctypes.create_string_buffer(8 * probed + 8)
        piece.out = ctypes.addressof(piece.memory) + 7 & ~7
        _seconds(_library.scan, piece)  # which makes the fibers
        _warn(what, count / probed * _seconds(_library.scan, piece))
    run(_library.scan, args)
    return True


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
