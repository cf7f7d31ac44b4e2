# SPDX-License-Identifier: Apache-2.0
"""Products of arrays: plans that map a NumPy-like `matmul` to calls of the library, and their execution."""
import ctypes
import itertools
import re
import threading

from . import _arrays, _dlpack, _library, _waiting

_REPRODUCIBLE = "fp32, reproducible"  # what `precision` is for matmul(reproducible=True)
_PRECISIONS = {
    None: (0, 0),
    "fp32": (0, 0),
    "strict": (1, 0),
    _REPRODUCIBLE: (0, 1),
}  # and SgemmArgs.reproducible
_FLOAT_BYTES = 4
_from_buffer_copy, _byref, _pointer = (_library.SgemmArgs.from_buffer_copy, ctypes.byref, ctypes.c_void_p)
_FIRST, _SECOND = "the first operand", "the second operand"


class _Plan:
    """The calls for a product of arrays with given shapes, strides, dtypes and device."""

    __slots__ = ("shape", "device", "calls", "workspaces", "copied")

    def __init__(self, shape, device, calls, copied=()):
        self.shape = shape  # of the result
        self.device = device
        self.calls = calls  # of (arguments without addresses, offsets of a, b and c in bytes)
        self.workspaces = {}  # low bits of the addresses: bytes
        self.copied = copied  # by operand: whether it has to be copied first


def _refuse_shapes(a, b, why):
    raise ValueError(f"antiphase: matmul of shapes {tuple(a)} and {tuple(b)}: {why}")


def _refuse_precision(precision):
    raise ValueError(f"antiphase: precision is {_library.shown(precision)}: expected 'fp32' or 'strict'")


def _broadcast(a, b):
    """The common batch shape, and the strides of a and of b in it, 0 where an operand is repeated. None if
    the batches do not fit."""
    (shape_a, strides_a), (shape_b, strides_b) = a, b
    batch_a, batch_b = shape_a[:-2], shape_b[:-2]
    rank = max(len(batch_a), len(batch_b))
    shape, steps = [], ([], [])
    for i in range(-rank, 0):
        ea, eb = (batch[i] if -i <= len(batch) else 1 for batch in (batch_a, batch_b))
        if ea != eb and 1 not in (ea, eb):
            return None
        shape.append(eb if ea == 1 else ea)
        for to, extent, batch, strides in (
            (steps[0], ea, batch_a, strides_a),
            (steps[1], eb, batch_b, strides_b),
        ):
            to.append(strides[i - 2] if extent != 1 and -i <= len(batch) else 0)
    return tuple(shape), *steps


def _merged(dimensions):
    """The same batch in fewer dimensions, each (extent, strides of a, b and c): those of extent 1 are
    dropped, and neighbours are merged where the strides of all three arrays allow it."""
    kept = []
    for extent, *strides in dimensions:
        if extent == 1:
            continue
        if kept and all(outer == inner * extent for outer, inner in zip(kept[-1][1:], strides)):
            kept[-1] = (kept[-1][0] * extent, *strides)
        else:
            kept.append((extent, *strides))
    return kept


def _matrix_strides(rows, columns, row_stride, column_stride, name):
    """Strides for the library: REPEATED for 0, since it reads two zeros as densely packed rows and rejects a
    single one."""
    if row_stride or column_stride or columns <= 1 or rows <= 1:
        return row_stride or _library.REPEATED, column_stride or _library.REPEATED
    raise ValueError(
        f"antiphase: {name} is one element, {rows} x {columns} times: expected places of their own for its elements"
    )


def _plan(a, b, c, precision, device, biased):
    """`a`, `b`: (shape, strides in elements). `c`: the strides of the result, None for densely packed rows.
    `biased`: there is a bias for each column, so that a batch must not be folded into n."""
    (shape_a, strides_a), (shape_b, strides_b) = a, b
    if not shape_a or not shape_b:
        _refuse_shapes(shape_a, shape_b, "expected at least one axis each; numbers are multiplied by *")
    row, column = len(shape_a) > 1, len(shape_b) > 1
    if not row:
        shape_a, strides_a = (1, *shape_a), (0, *strides_a)
    if not column:
        shape_b, strides_b = (*shape_b, 1), (*strides_b, 0)
    (m, k), (kb, n) = shape_a[-2:], shape_b[-2:]
    if k != kb:
        _refuse_shapes(
            a[0],
            b[0],
            f"the last extent of the first is {k}, the {'second to last' if column else 'last'} of the second {kb}: "
            "they must agree",
        )
    found = _broadcast((shape_a, strides_a), (shape_b, strides_b))
    if found is None:
        _refuse_shapes(
            a[0],
            b[0],
            f"batches of {shape_a[:-2]} and {shape_b[:-2]} do not fit: expected extents that are the same, or 1",
        )
    batch, batch_a, batch_b = found
    shape = batch + ((m,) if row else ()) + ((n,) if column else ())
    strides = list(_dlpack.dense_strides(shape) if c is None else c)
    column_stride = strides.pop() if column else 0
    row_stride = strides.pop() if row else 0
    if any(extent == 0 for extent in shape):
        return _Plan(shape, device, [])
    dimensions = _merged(zip(batch, batch_a, batch_b, strides))
    ra, ca, rb, cb = *strides_a[-2:], *strides_b[-2:]
    # A batch that shares one B is a single product with m times the rows, where the strides of A and C allow
    # it; one that shares one A is a single product with n times the columns.
    while (ra or ca) and dimensions and dimensions[-1][1:] == (m * ra, 0, m * row_stride):
        m *= dimensions.pop()[0]
    # Not where the bits must not depend on a batch, as they may on n.
    apart = biased or precision[1]
    while (rb or cb) and not apart and dimensions and dimensions[-1][1:] == (0, n * cb, n * column_stride):
        n *= dimensions.pop()[0]
    # A call takes one batch dimension: the longest. The others become separate calls.
    one = max(range(len(dimensions)), key=lambda i: dimensions[i][0]) if dimensions else None
    members = dimensions.pop(one) if dimensions else (1, 0, 0, 0)
    ra, ca = _matrix_strides(m, k, ra, ca, _FIRST)
    rb, cb = _matrix_strides(k, n, rb, cb, _SECOND)
    rc, cc = _matrix_strides(m, n, row_stride, column_stride, "out")
    filled = _library.SgemmArgs(
        size=ctypes.sizeof(_library.SgemmArgs),
        device=device,
        precision=precision[0],
        reproducible=precision[1],
        m=m,
        n=n,
        k=k,
        a_row_stride=ra,
        a_column_stride=ca,
        b_row_stride=rb,
        b_column_stride=cb,
        c_row_stride=rc,
        c_column_stride=cc,
        alpha=1,
        beta=0,
        batch=members[0],
        a_batch_stride=members[1],
        b_batch_stride=members[2],
        c_batch_stride=members[3],
    )
    calls = [
        (filled, *(_FLOAT_BYTES * sum(i * d[of] for i, d in zip(place, dimensions)) for of in (1, 2, 3)))
        for place in itertools.product(*(range(d[0]) for d in dimensions))
    ]
    return _Plan(shape, device, calls)


_plans = _library.Remembered()


def _planned(kind, a, b, c, precision, biased=False):
    """The cached or new plan for views; `c` is the view of out, or None."""
    if precision is not None and not isinstance(precision, str):  # it may be unhashable
        _refuse_precision(precision)
    key = (kind, a[1:5], b[1:5], precision, biased, c and c[1:5])
    plan = _plans.get(key)
    if plan is None:
        plan = _plans.keep(key, _made(kind, a, b, c, precision, biased))
    return plan


def _made(kind, a, b, c, precision, biased):
    if precision not in _PRECISIONS:
        _refuse_precision(precision)
    types = tuple(kind.dtype_name(v.dtype) for v in (a, b))
    if types != ("float32", "float32"):
        other = types[types[0] == "float32"]
        raise TypeError(
            f"antiphase: matmul of {types[0]} and {types[1]}: expected float32; {_arrays.way_out(kind, other)}"
        )
    if a.device != b.device:
        raise ValueError(
            f"antiphase: matmul of arrays on devices {a.device} and {b.device}: expected one device"
        )
    device = kind.number_of(a.device)
    operands = [(tuple(v.shape), _arrays.elements(kind, v, name)) for v, name in ((a, _FIRST), (b, _SECOND))]
    copied = tuple(_is_one_element(*operand) for operand in operands)
    if any(copied):
        return _Plan((), device, [], copied)
    if c is None:
        return _plan(*operands, None, _PRECISIONS[precision], device, biased)
    if kind.dtype_name(c.dtype) != "float32":
        raise TypeError(f"antiphase: out is {kind.dtype_name(c.dtype)}: expected float32")
    if c.device != a.device:
        raise ValueError(
            f"antiphase: out is on device {c.device}, the operands are on {a.device}: expected one device"
        )
    # The shape is checked first: strides of another shape would be meaningless.
    shape = _plan(*operands, None, (0, 0), device, biased).shape
    if tuple(c.shape) != shape:
        raise ValueError(f"antiphase: out has shape {tuple(c.shape)}: expected {shape}, that of the product")
    return _plan(*operands, _arrays.elements(kind, c, "out"), _PRECISIONS[precision], device, biased)


def _is_one_element(shape, strides):
    """Whether one element is repeated along both axes of a matrix: such an operand is copied first."""
    return len(shape) > 1 and not any(strides[-2:]) and min(shape[-2:]) > 1 and 0 not in shape


def _extent_in_memory(v, strides):
    """The addresses of the first byte and one past the last byte of a view that is not empty."""
    ends = [(extent - 1) * stride * _FLOAT_BYTES for extent, stride in zip(v.shape, strides)]
    return (
        v.pointer + sum(min(end, 0) for end in ends),
        v.pointer + sum(max(end, 0) for end in ends) + _FLOAT_BYTES,
    )


def _require_apart(kind, c, operands):
    """For a product of several calls: none may write what another reads or writes. Within a single call the
    library checks that itself."""
    strides = _arrays.elements(kind, c, "out")
    _arrays.require_places_of_their_own(c.shape, strides)
    first, end = _extent_in_memory(c, strides)
    for v in operands:
        other, its_end = _extent_in_memory(v, _arrays.elements(kind, v, "an operand"))
        if first < its_end and other < end:
            raise ValueError("antiphase: out shares memory with an operand: expected memory of its own")


def precision_of(precision, reproducible):
    """What the other functions take as `precision` for the two arguments of a user."""
    if not reproducible:
        return precision
    if precision not in (None, "fp32"):
        raise ValueError(
            f"antiphase: reproducible with precision {_library.shown(precision)}: expected precision 'fp32'"
        )
    return _REPRODUCIBLE


def _named(error):
    """An error of the library about A, B and C, by the names of matmul's arguments."""
    names = {"A": _FIRST, "B": _SECOND, "C": "out"}
    return type(error)(re.sub(r"\b[ABC]\b", lambda m: names[m[0]], str(error)))


def product(kind, a, b, out, precision, *, alpha=1, beta=0, bias=None):
    """alpha ab + beta out + bias, for arrays of one kind without gradients. `bias`: one value for each column
    of ab, densely packed."""
    va, vb, vc = kind.view(a), kind.view(b), None
    if out is not None:
        kind.require_writable(out)
        vc = kind.view(out)
    plan = _planned(kind, va, vb, vc, precision, bias is not None)
    if plan.copied:
        a, b = (kind.dense(x) if copied else x for x, copied in zip((a, b), plan.copied))
        return product(kind, a, b, out, precision, alpha=alpha, beta=beta, bias=bias)
    at_a, at_b = va[0], vb[0]
    if out is None:
        out = kind.empty(a, plan.shape)
        at_c = kind.pointer(out)
    else:
        at_c = vc[0]
        if len(plan.calls) > 1:
            _require_apart(kind, vc, (va, vb))
    if (at_a | at_b | at_c) & (_FLOAT_BYTES - 1):
        for at, name in ((at_a, _FIRST), (at_b, _SECOND), (at_c, "out")):
            _arrays.require_aligned(at, _FLOAT_BYTES, name)
    stream = kind.stream(va[4])
    what, times = lambda: f"matmul of shapes {tuple(va[1])} and {tuple(vb[1])}", len(plan.calls)
    for filled, offset_a, offset_b, offset_c in plan.calls:
        args = _from_buffer_copy(filled)
        args.a, args.b, args.c = at_a + offset_a, at_b + offset_b, at_c + offset_c
        if alpha != 1 or beta:
            args.alpha, args.beta = alpha, beta
        if bias is not None:
            args.column_bias = kind.pointer(bias)
        try:
            _queue(kind, args, plan, stream, a, what, times)
        except ValueError as error:
            raise _named(error) from None
        times = 0
    if plan.calls:
        _arrays.finish(kind, plan.device)
    return kind.shaped(out, plan.shape)


_quick_plans = _library.Remembered()
_MOST_KEPT_BYTES = 1 << 25


class _Kept(threading.local):
    """A thread's workspace for each (device, stream). Reuse is safe: work on one stream runs in order, and
    one thread queues a whole call before the next."""

    def __init__(self):
        self.by_stream = {}


_kept = _Kept()


_MOST_GUARDS = 8  # for each pair of shapes


class Quick:
    """Fast path for planned products of plain torch tensors on a GPU at default precision. A product takes
    microseconds, so the path has as little Python as possible: its functions are closures, because closure
    variables are looked up faster than module globals and attributes.
    """

    def __init__(self, kind):
        self.kind = kind
        # (shape of a, of b): up to _MOST_GUARDS of (guard, plan, whether an operand requires a gradient)
        self.known = _library.Remembered()
        self.run = self._made_run()
        self.again = self._made_again()

    def remember(self, a, b, plan):
        """Makes again() find this plan for tensors like these."""
        guard = self.kind.guard(a, b)
        if guard is None:
            return
        with self.known.change:
            key, frozen = (a.shape, b.shape), a.requires_grad or b.requires_grad
            # A new list replaces the old one, which other threads may be iterating over.
            self.known.keep(key, [(guard, plan, frozen), *self.known.get(key, ())][:_MOST_GUARDS])

    def _made_run(self):
        """run(plan, a, b, keep): the product."""
        kind, float32 = self.kind, self.kind.float32
        current_device, empty, raw_stream, is_capturing = (
            kind.current_device,
            kind.quick_empty,
            kind.raw_stream,
            kind.is_capturing,
        )
        sgemm, check, pointer = _library.sgemm_of_pointers, _library.check, _pointer

        def run(plan, a, b, keep):
            filled, shape, strides, low_bits, size, spare, device = plan
            at_a, at_b = a.data_ptr(), b.data_ptr()
            here = current_device() == device
            out = empty(shape, strides, float32) if here else a.new_empty(shape)
            at_c = out.data_ptr()
            if (at_a | at_b | at_c) & low_bits:
                return product(kind, a, b, None, None)
            # A struct serves one call at a time: another thread may be inside the library with the last one.
            try:
                args, place = spare.pop()
            except IndexError:
                args = _from_buffer_copy(filled)
                place = _byref(args)
            args.a = at_a
            args.b = at_b
            args.c = at_c
            stream = raw_stream(device)
            if size:
                # Not kept: the memory of a captured call, which the graph owns, and that of calls on other
                # devices than the current one, which are rare.
                if keep and here and size <= _MOST_KEPT_BYTES and not is_capturing():
                    kept = _kept.by_stream.get((device, stream))
                    if kept is None or kept[2] < size:
                        kept = _kept.by_stream[device, stream] = *kind.workspace(size, a), size
                    _, args.workspace, args.workspace_size = kept
                else:
                    memory, args.workspace = kind.workspace(size, a)
                    args.workspace_size = size
            status = sgemm(place, pointer(stream) if stream else None)
            spare.append((args, place))
            if status:
                check(status)
            return out

        return run

    def _made_again(self):
        """again(a, b): the product if tensors like these have been remembered, else None."""
        kind, known, run = self.kind, self.known, self.run
        is_compiling, is_tracing, modes, forward = (
            kind.is_compiling,
            kind.is_tracing,
            kind.modes,
            kind.forward_level,
        )
        is_grad_enabled = kind.is_grad_enabled
        last = (lambda a, b: False), None, False

        def again(a, b):
            nonlocal last
            # Guards do not cover these.
            if is_compiling() or is_tracing() or modes() or forward._current_level >= 0:
                return None
            guard, plan, frozen = last
            if not guard(a, b):
                for guard, plan, frozen in known.get((a.shape, b.shape), ()):
                    if guard(a, b):
                        last = guard, plan, frozen
                        break
                else:
                    return None
            if frozen and is_grad_enabled():
                return None
            return run(plan, a, b, True)

        return again


def quick_product(kind, a, b, keep=True):
    """product() of two plain torch tensors at default precision. Falls back to product() where the tensors
    are not on one GPU, have not been planned yet, or take more than one call.

    keep: the thread may keep the workspace for its next call. Not inside torch's operators: torch.compile
    runs them once while allocations go to a pool that a CUDA graph will own."""
    device = a.get_device()
    if not (
        a.is_cuda
        and b.is_cuda
        and b.get_device() == device
        and a.dtype is kind.float32
        and b.dtype is kind.float32
    ):
        return product(kind, a, b, None, None)
    key = (a.shape, a.stride(), b.shape, b.stride(), device)
    plan = _quick_plans.get(key)
    if plan is None:
        result = product(kind, a, b, None, None)
        _remember_quick(kind, a, b, key)
        return result
    if kind.quick is None:
        kind.quick = Quick(kind)
    result = kind.quick.run(plan, a, b, keep)
    if keep and kind.has_guards:
        kind.quick.remember(a, b, plan)
    return result


def _aligned_workspace(filled):
    """Workspace bytes of a call whose arrays are aligned to 256 bytes. The addresses are made up."""
    args = _from_buffer_copy(filled)
    args.a, args.b, args.c = 1 << 44, 1 << 45, 1 << 46
    return _library.workspace_bytes(args)


def _remember_quick(kind, a, b, key):
    plan = _planned(kind, kind.view(a), kind.view(b), None, None)
    if len(plan.calls) != 1:
        return
    size = _aligned_workspace(plan.calls[0][0])
    # The workspace size may depend on the operands' alignment: it holds where these low bits are 0. The
    # empty list is a pool of argument structs: pop and append are atomic among threads.
    low_bits = (256 if size else _FLOAT_BYTES) - 1
    strides = _dlpack.dense_strides(plan.shape)
    _quick_plans.keep(key, (plan.calls[0][0], plan.shape, strides, low_bits, size, [], a.get_device()))


def _queue(kind, args, plan, stream, like, what, times):
    """Makes one call. Its workspace comes from the array library where that has a stream-ordered allocator,
    else from the pool of libantiphase."""
    memory = None
    if kind.ordered and plan.device != _library.CPU:
        key = (
            *((at or 0) & 255 for at in (args.a, args.b, args.c)),
            args.beta != 0,
        )  # `or 0`: the address of an empty array is None
        size = plan.workspaces.get(key)
        if size is None:
            size = plan.workspaces[key] = _library.workspace_bytes(args)
        if size:
            memory, args.workspace = kind.workspace(size, like)
            args.workspace_size = size
    _waiting.call(_library.sgemm, args, stream, what, times)
    del memory  # only now: the work is queued, and later allocations are ordered after it on the stream


def explained(kind, a, b, precision):
    va, vb = kind.view(a), kind.view(b)
    plan = _planned(kind, va, vb, None, precision)
    if plan.copied:  # explain the product of the dense copies
        step = _FLOAT_BYTES if kind.strides_count_bytes else 1
        va, vb = (
            v._replace(pointer=1 << 41, strides=tuple(step * s for s in _dlpack.dense_strides(v.shape)))
            if copied
            else v
            for v, copied in zip((va, vb), plan.copied)
        )
        plan = _planned(kind, va, vb, None, precision)
    if not plan.calls:
        return f"nothing to compute: the product has shape {plan.shape}\n"
    args = _from_buffer_copy(plan.calls[0][0])
    args.a, args.b = va.pointer, vb.pointer
    # The result will be a new allocation: any address with such an alignment gives the same choice.
    args.c = 1 << 40
    more = f"{len(plan.calls)} calls, each as this one:\n" if len(plan.calls) > 1 else ""
    return more + _library.text_of(args)
