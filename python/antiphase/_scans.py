# SPDX-License-Identifier: Apache-2.0
"""Scans of arrays: running sums, products, minima and maxima along an axis."""
import ctypes
import math
import operator
import struct

from . import _arrays, _library, _waiting

_TYPES = {
    "float32": 1,
    "float64": 2,
    "int8": 3,
    "int16": 4,
    "int32": 5,
    "int64": 6,
    "uint8": 7,
    "uint16": 8,
    "uint32": 9,
    "uint64": 10,
    "float16": 11,
    "bfloat16": 12,
}
# Operators by this package's names, then by NumPy's: written by scripts/generate/scan_operators.py.
_OPERATIONS = {
    "sum": 0,
    "product": 1,
    "min": 2,
    "max": 3,
    "log_sum_exp": 4,
    "add": 0,
    "cumsum": 0,
    "prod": 1,
    "multiply": 1,
    "cumprod": 1,
    "minimum": 2,
    "maximum": 3,
}
_OWN_NAMES = {number: name for name, number in reversed(_OPERATIONS.items())}
_PACKED = {
    "float32": "f",
    "float64": "d",
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "uint8": "B",
    "uint16": "H",
    "uint32": "I",
    "uint64": "Q",
    "float16": "e",
}


def _wider(dtype, result):
    """Whether the library itself can add up elements of type `dtype` in type `result`."""
    if dtype in ("float16", "bfloat16"):
        return result == "float32"
    if dtype == "float32":
        return result == "float64"
    if "int" not in dtype or "int" not in result or dtype.startswith("u") != result.startswith("u"):
        return False
    return _arrays.ITEM_BYTES[result] >= max(4, 2 * _arrays.ITEM_BYTES[dtype])


def _packed(value, dtype):
    """The bytes of a number in a dtype. Raises ValueError if the dtype cannot hold it."""
    try:
        if dtype == "bfloat16":  # struct has no such format: round the float32, to nearest, ties to even
            bits = struct.unpack("=I", struct.pack("=f", value))[0]
            rounded = bits if math.isnan(value) else bits + 0x7FFF + (bits >> 16 & 1)
            if rounded & 0x7F800000 == 0x7F800000 and math.isfinite(value):
                raise OverflowError
            return struct.pack("=H", (rounded >> 16) & 0xFFFF)
        # "=": in native mode struct would turn a float that is too large into infinity
        return struct.pack("=" + _PACKED[dtype], value)
    except (struct.error, OverflowError, TypeError):
        raise ValueError(
            f"antiphase: initial is {_library.shown(value)}: expected a number that {dtype} holds"
        ) from None


def _order_in_memory(view, strides):
    """The axes from outermost to innermost if the array is densely packed in that order, else None."""
    long = [i for i, extent in enumerate(view.shape) if extent > 1]
    outermost_first = sorted(long, key=lambda i: -strides[i])
    step = 1
    for i in reversed(outermost_first):
        if strides[i] != step:
            return None
        step *= view.shape[i]
    # Axes of one element could go anywhere: they keep their places, so that packed rows give 0, 1, 2, ...
    axes = list(range(len(view.shape)))
    for at, i in zip(long, outermost_first):
        axes[at] = i
    return axes


def _axis_of(axis, shape, name):
    if not shape:
        raise ValueError(f"antiphase: {name} of an array of shape (): expected at least one axis")
    try:
        if isinstance(axis, bool) or str(getattr(axis, "dtype", "")).endswith("bool"):
            raise TypeError
        axis = operator.index(axis)
    except TypeError:
        raise TypeError(f"antiphase: axis is {_library.shown(axis)}: expected an integer") from None
    if not -len(shape) <= axis < len(shape):
        raise ValueError(
            f"antiphase: axis is {axis}, the array has shape {tuple(shape)}: expected {-len(shape)} to {len(shape) - 1}"
        )
    return axis % len(shape)


class _Scan:
    """A request for one scan, with its options checked."""

    def __init__(
        self,
        name,
        op="sum",
        reverse=False,
        exclusive=False,
        by_key=None,
        heads=None,
        initial=None,
        widens=False,
    ):
        if not isinstance(op, str) or op not in _OPERATIONS:
            *names, last = (repr(_OWN_NAMES[number]) for number in sorted(_OWN_NAMES))
            raise ValueError(f"antiphase: op is {_library.shown(op)}: expected {', '.join(names)} or {last}")
        if by_key is not None and heads is not None:
            raise ValueError("antiphase: by_key and heads are both given: expected one of them")
        if initial is not None and not exclusive:
            raise ValueError(
                f"antiphase: initial is {_library.shown(initial)}: only an exclusive scan has one"
            )
        self.name, self.reverse, self.exclusive, self.initial = name, reverse, exclusive, initial
        self.op = _OWN_NAMES[_OPERATIONS[op]]
        self.widens = widens  # whether small integers are added up in the default integer type
        self.segments = by_key if by_key is not None else heads
        self.segments_name = "by_key" if by_key is not None else "heads"

    def run(self, x, axis, dtype, out):
        kind = _arrays.common_kind(
            [
                (n, y)
                for n, y in (("x", x), (self.segments_name, self.segments), ("out", out))
                if y is not None
            ]
        )
        arrays = [y for y in (x, self.segments, out) if y is not None]
        dtype = self._result_type(kind, x, dtype, out)
        if kind.is_torch:
            if not kind.plain(*arrays):
                return _arrays.operator_of_torch("scan")(self, x, axis, dtype, out)
            if len(arrays) == 1 and self.initial is None and type(axis) is int:
                to = x.dtype if dtype is None else getattr(kind.torch, dtype, None)
                if x.layout is kind.torch.strided and -x.dim() <= axis < x.dim() and to is not None:
                    found = of_tensor(kind, x, axis, self.op, to, bool(self.reverse), bool(self.exclusive))
                    if found is not None:
                        return found
        return self.of_plain(kind, x, axis, dtype, out)

    def explained(self, x, axis, dtype):
        """The kernels that run() would run, and why."""
        named = [("x", x), (self.segments_name, self.segments)]
        kind = _arrays.common_kind([(name, y) for name, y in named if y is not None])
        return self.of_plain(kind, x, axis, self._result_type(kind, x, dtype, None), None, explain=True)

    def _result_type(self, kind, x, dtype, out):
        """The name of the result's dtype, or None for that of x. As in NumPy, integers are added up in out's
        dtype, and bools are counted; as in the array API, smaller integers are added up in the default
        integer type."""
        if dtype is not None:
            return _arrays.type_named(dtype)
        of = kind.about(x)[1]
        if "int" not in of and of != "bool":
            return None
        to = kind.about(out)[1] if out is not None else "none"
        if to in _TYPES and "int" in to:
            return to
        if not (self.widens or of == "bool" and self.op in ("sum", "product")) or of not in (*_TYPES, "bool"):
            return None
        widest = kind.widest(signed=not of.startswith("u"))
        return widest if _arrays.ITEM_BYTES[widest] > _arrays.ITEM_BYTES[of] else of

    def of_plain(self, kind, x, axis, dtype, out, explain=False):
        if out is not None:
            kind.require_writable(out)
        view = kind.view(x)
        axis = _axis_of(axis, view.shape, self.name)
        of = kind.dtype_name(view.dtype)
        to = _arrays.type_named(dtype) or of
        if of not in _TYPES and not (of == "bool" and to != of):
            raise TypeError(
                f"antiphase: {self.name} of {of}: expected {', '.join(_TYPES)}; {_arrays.way_out(kind, of)}"
            )
        if to not in _TYPES:
            raise TypeError(f"antiphase: dtype is {to}: expected {', '.join(_TYPES)}")
        if out is not None:
            self._require_out(kind, kind.view(out), view, to)
        if to != of and not (self.segments is None and _adds_wider(self.op, of, to, view.shape, axis)):
            x, of = kind.astype(x, to), to
            view = kind.view(x)
        keys = self._keys(kind, view)
        order = _order_in_memory(view, _arrays.elements(kind, view, "x"))
        if order is None:
            x = kind.dense(x)
            view, order = kind.view(x), list(range(len(view.shape)))
        _arrays.require_aligned(view.pointer, _arrays.ITEM_BYTES[of], "x")
        if explain:
            if 0 in view.shape:
                return f"nothing to compute: the result has shape {tuple(view.shape)}\n"
            args, _ = self._filled(kind, view, keys, order, axis, of, to)
            args.out = 1 << 40  # a new array: any address with such an alignment gives the same choice
            return _library.text_of(args)
        place = made = None
        if out is not None:
            place = kind.view(out)
            strides = _arrays.elements(kind, place, "out")
            if _order_in_memory(place, strides) != order or place.pointer % _arrays.ITEM_BYTES[to]:
                place = None  # scan into a new array, then copy it to out
        if place is None:
            made = kind.empty(x, tuple(view.shape[i] for i in order), to)
            place = kind.view(made)
        self._call(kind, view, place, keys, order, axis, of, to)
        if made is None:
            return out
        # Permuted only now that the elements are there: JAX permutes by copying.
        result = kind.permuted(made, [order.index(i) for i in range(len(order))])
        if out is None:
            return result
        kind.assign(out, result)
        return out

    def _require_out(self, kind, place, view, to):
        if tuple(place.shape) != tuple(view.shape):
            raise ValueError(
                f"antiphase: out has shape {tuple(place.shape)}: expected {tuple(view.shape)}, that of x"
            )
        if kind.dtype_name(place.dtype) != to:
            raise TypeError(f"antiphase: out is {kind.dtype_name(place.dtype)}: expected {to}")
        if place.device != view.device:
            raise ValueError(
                f"antiphase: out is on device {place.device}, x on {view.device}: expected one device"
            )
        _arrays.require_places_of_their_own(place.shape, _arrays.elements(kind, place, "out"))

    def _keys(self, kind, view):
        """(pointer, the library's type, array that owns the memory, its view) of by_key or heads, or None."""
        if self.segments is None:
            return None
        keys = kind.view(self.segments)
        if len(view.shape) != 1 or tuple(keys.shape) != tuple(view.shape):
            raise ValueError(
                f"antiphase: {self.name} of shape {tuple(view.shape)} with {self.segments_name} of shape {tuple(keys.shape)}: "
                "expected one axis, and as many as there are elements"
            )
        if keys.device != view.device:
            raise ValueError(
                f"antiphase: {self.segments_name} is on device {keys.device}, x on {view.device}: expected one device"
            )
        of = kind.dtype_name(keys.dtype)
        if self.segments_name == "heads" and of not in ("bool", "uint8", "int8"):
            raise TypeError(f"antiphase: heads is {of}: expected bool, or integers of 8 bits")
        if of == "bool":
            of = "uint8"
        if of not in _TYPES or of in ("float16", "bfloat16"):
            raise TypeError(f"antiphase: by_key is {of}: expected integers, float32, float64 or bool")
        owner = self.segments
        if _arrays.elements(kind, keys, self.segments_name) != (1,) and keys.shape[0] > 1:
            owner = kind.dense(owner)
            keys = kind.view(owner)
        _arrays.require_aligned(keys.pointer, _arrays.ITEM_BYTES[of], self.segments_name)
        return keys.pointer, _TYPES[of], owner, keys

    def _filled(self, kind, view, keys, order, axis, of, to):
        """Arguments without the result's address, and what owns the memory of the initial value."""
        args = _arguments(kind, view, order, axis, self.op, self.reverse, self.exclusive, of, to)
        args.input, initial = view.pointer, None
        if self.initial is not None:
            initial = ctypes.create_string_buffer(_packed(self.initial, to))
            args.initial = ctypes.addressof(initial)
        if keys is not None:
            args.keys, args.key_type, args.segments = keys[0], keys[1], self.segments_name == "heads"
        return args, initial

    def _call(self, kind, view, place, keys, order, axis, of, to):
        if 0 in view.shape:
            return
        device = kind.number_of(view.device)
        args, initial = self._filled(kind, view, keys, order, axis, of, to)
        args.out = place.pointer
        what = lambda: f"{self.name} of shape {tuple(view.shape)}"
        _waiting.call(_library.scan, args, kind.stream(view.device), what)
        _arrays.finish(kind, device)
        del initial


def _adds_wider(op, of, to, shape, axis):
    """Whether the library reads elements of type `of` and adds them up in type `to`: of one line only."""
    return op == "sum" and _wider(of, to) and (math.prod(shape) == shape[axis] or shape[axis] == 0)


def _arguments(kind, view, order, axis, op, reverse, exclusive, of, to):
    """The arguments of a scan, without addresses. order: of the axes in memory."""
    at = order.index(axis)
    extents = [view.shape[i] for i in order]
    return _library.ScanArgs(
        size=ctypes.sizeof(_library.ScanArgs),
        device=kind.number_of(view.device),
        type=_TYPES[of],
        outer=math.prod(extents[:at]),
        length=extents[at],
        inner=math.prod(extents[at + 1 :]),
        operation=_OPERATIONS[op],
        kind=bool(exclusive),
        direction=bool(reverse),
        result_type=_TYPES[to],
    )


# Scans of torch's tensors, by all that matters of them but their addresses: (arguments, shape and strides of
# the result, bytes of an element). None: the tensor has to be converted or copied first.
_known = _library.Remembered()


def of_tensor(kind, x, axis, op, to, reverse=False, exclusive=False, in_place=False):
    """The scan of a plain tensor of torch in one call of the library; None if it takes more. to: torch's dtype
    of the result. Most of its host time is the library's: what it does depends on x's layout alone, and is
    worked out once."""
    key = (op, to, axis, reverse, exclusive, x.dtype, x.shape, x.stride(), x.device)
    try:
        known = _known[key]
    except KeyError:
        known = _known.keep(key, _learn(kind, x, axis, op, to, reverse, exclusive))
    if known is None:
        return None
    ready, shape, strides, size = known
    pointer = x.data_ptr()
    if pointer % size:
        return None
    made = x if in_place else kind.torch.empty_strided(shape, strides, dtype=to, device=x.device)
    args = _library.ScanArgs.from_buffer_copy(ready)
    args.input, args.out = pointer, made.data_ptr()
    if args.device == _library.CPU:
        if x.numel():
            _waiting.call(_library.scan, args, None, lambda: f"a scan of shape {tuple(shape)}")
        _arrays.finish(kind, args.device)
    else:
        status = _library.scan_of_pointers(ctypes.byref(args), ctypes.c_void_p(kind.stream(x.device)))
        if status:
            _library.check(status)
    return made


def _learn(kind, x, axis, op, to, reverse, exclusive):
    view = kind.view(x)
    axis = _axis_of(axis, view.shape, "a scan")
    of, result = kind.dtype_name(view.dtype), kind.dtype_name(to)
    if of not in _TYPES or result not in _TYPES:
        return None
    if result != of and not _adds_wider(op, of, result, view.shape, axis):
        return None
    order = _order_in_memory(view, view.strides)
    if order is None:
        return None
    strides, step = [0] * len(order), 1
    for i in reversed(order):
        strides[i], step = step, step * view.shape[i]
    ready = _arguments(kind, view, order, axis, op, reverse, exclusive, of, result)
    return ready, tuple(view.shape), tuple(strides), _arrays.ITEM_BYTES[of]


def scan(
    x,
    /,
    *,
    op="sum",
    axis=-1,
    reverse=False,
    exclusive=False,
    by_key=None,
    heads=None,
    initial=None,
    dtype=None,
    out=None,
):
    """Running sums, products, minima or maxima along an axis: element i of the result combines elements 0
    to i of x.

        antiphase.scan(x, op="max", axis=0)
        antiphase.scan(x, exclusive=True, by_key=keys)

    x: float32, float64, float16, bfloat16, or integers of 8 to 64 bits; also bool, for sums and products or
    with a dtype. It is copied first unless it is densely packed in some order of its axes.
    op: 'sum', 'product', 'min' or 'max', or NumPy's names for them: 'add', 'prod', 'maximum' and others. Or
    'log_sum_exp', the logarithm of running sums of exponentials: of float32 and float64, inclusive, without
    segments.
    reverse: from the end of the axis to its beginning.
    exclusive: element i combines the elements before it. The first is `initial`, by default the neutral
    element: 0 for sums, 1 for products, the dtype's largest value for minima, its lowest for maxima.
    by_key: keys of x's shape, which must have one axis: integers, float32, float64 or bool. Each run of equal
    keys is a segment, scanned on its own.
    heads: in place of by_key, bools or integers of 8 bits: a segment begins where one is not 0.
    dtype: of the result and of the sums. By default x's; for integers that of an integer out; for sums and
    products of bools the default integer type. x is converted to it first unless the library can add up in
    it while reading x.
    out: an array of x's shape for the result, which may be x itself.

    Returns an array of x's shape, of its library and on its device. On a GPU the work is queued on the
    library's current stream, as by matmul(). docs/design/scan.md describes the method.

    Raises TypeError for other dtypes, ValueError for arguments that are out of range or do not fit together,
    NotImplementedError where the device does not support the call. Nothing has been changed then.
    """
    return _Scan("scan", op, reverse, exclusive, by_key, heads, initial).run(x, axis, dtype, out)


def explain_scan(
    x,
    /,
    *,
    op="sum",
    axis=-1,
    reverse=False,
    exclusive=False,
    by_key=None,
    heads=None,
    initial=None,
    dtype=None,
):
    """The kernels that scan() would run for these arguments, and why, as lines of text. Nothing is scanned.

    Raises what scan() raises for the same arguments; NotImplementedError for 'log_sum_exp', which has one kernel.
    """
    return _Scan("scan", op, reverse, exclusive, by_key, heads, initial).explained(x, axis, dtype)


def cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False):
    """The array API's cumulative_sum: running sums along an axis, which may be left out if x has one axis.

    dtype: by default x's, or for smaller integers and bools the array library's default integer type.
    include_initial: insert a 0 before the first sum, which makes the axis one element longer.

    Dtypes, devices and errors are those of scan().
    """
    kind = _arrays.kind_of(x, "x")
    shape = kind.about(x)[0]
    if axis is None:
        if len(shape) != 1:
            raise ValueError(
                f"antiphase: cumulative_sum of shape {shape}: expected an axis, only an array of one axis needs none"
            )
        axis = 0
    axis = _axis_of(axis, shape, "cumulative_sum")
    sums = _Scan("cumulative_sum", widens=True).run(x, axis, dtype, None)
    return kind.behind_zeros(sums, axis) if include_initial else sums


def cumsum(x, /, axis=None, dtype=None, out=None):
    """NumPy's cumsum: running sums along an axis; without an axis, of all elements in row-major order, as one
    axis.

    Dtypes, devices and errors are those of scan(). dtype: by default that of cumulative_sum(), or for
    integers that of an integer out.
    """
    kind = _arrays.kind_of(x, "x")
    if axis is None:
        x, axis = kind.flat(x), 0
    return _Scan("cumsum", widens=True).run(x, axis, dtype, out)
