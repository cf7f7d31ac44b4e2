# SPDX-License-Identifier: Apache-2.0
"""Numba's kernels: compiled to PTX by Numba itself, launched under the checker on arrays of the host."""
import contextlib
import functools
import math
import os
import pathlib
import re
import sys
import types
import struct

from . import ptx_kernels
from .fakes import _Event, _Stream, _array_type, _nothing
from .session import Unsupported

FIRST, LAST = (0, 24), (0, 30)  # versions of numba-cuda that were tried
_CAPABILITY = (9, 0)


def _array_class(session):
    import numpy

    class DeviceNDArray(_array_type(numpy, session)):
        """Numba's array on the device."""

        def copy_to_host(self, ary=None, stream=0):
            if ary is None:
                return self.view(numpy.ndarray).copy()
            numpy.copyto(ary, self.view(numpy.ndarray).reshape(ary.shape))
            return ary

        def copy_to_device(self, ary, stream=0):
            self[...] = numpy.asarray(ary).reshape(self.shape)

        @property
        def alloc_size(self):
            return self.nbytes

        def is_c_contiguous(self):
            return self.flags.c_contiguous

        def is_f_contiguous(self):
            return self.flags.f_contiguous

        def bind(self, stream=0):
            return self

        def ravel(self, order="C", stream=0):
            return super().ravel(order)

    return DeviceNDArray


def _in_place_of_the_driver(session, cuda):
    """What replaces functions of numba.cuda that would call it."""
    import numpy

    made_as = _array_class(session)

    def array(shape, dtype=numpy.float64, strides=None, order="C", stream=0, **_):
        if strides is not None:
            session.refuse("an array with strides of its own", "a slice of an array")
        made = numpy.empty(shape, dtype, order).view(made_as)
        made.unwritten = True
        return made

    def like(other, stream=0, **_):
        made = numpy.empty_like(other, subok=False).view(made_as)
        made.unwritten = True
        return made

    def to_device(values, stream=0, copy=True, to=None):
        if to is not None:
            to[...] = values
            return to
        return numpy.array(values, copy=True, order="K", subok=False).view(made_as)

    def host(shape, dtype=numpy.float64, strides=None, order="C", **_):
        return numpy.empty(shape, dtype, order)

    @contextlib.contextmanager
    def whole(*arrays, **_):
        yield arrays[0] if len(arrays) == 1 else list(arrays) or None

    device = types.SimpleNamespace(
        id=0,
        name=b"antiphase",
        compute_capability=_CAPABILITY,
        MULTIPROCESSOR_COUNT=132,
        MAX_THREADS_PER_BLOCK=1024,
        MAX_SHARED_MEMORY_PER_BLOCK=49152,
        MAX_SHARED_MEMORY_PER_BLOCK_OPTIN=232448,
        MAX_GRID_DIM_X=2**31 - 1,
        MAX_BLOCK_DIM_X=1024,
        WARP_SIZE=32,
        reset=_nothing,
    )
    memory = types.SimpleNamespace(free=64 << 30, total=80 << 30)
    context = types.SimpleNamespace(
        device=device, synchronize=_nothing, reset=_nothing, get_memory_info=lambda: memory
    )
    stream = _Stream
    stream.synchronize, stream.auto_synchronize = _nothing, lambda self: contextlib.nullcontext(self)
    functions = {
        "to_device": to_device,
        "device_array": array,
        "managed_array": array,
        "mapped_array": array,
        "device_array_like": like,
        "mapped_array_like": like,
        "pinned_array": host,
        "pinned_array_like": lambda other: numpy.empty_like(other),
        "as_cuda_array": lambda other, sync=True: other,
        "is_cuda_array": lambda other: isinstance(other, made_as),
        "pinned": whole,
        "mapped": whole,
        "event": lambda timing=True: _Event(),
        "event_elapsed_time": lambda *_: 1.0,
        "is_available": lambda: True,
        "detect": lambda: True,
        "get_current_device": lambda: device,
        "select_device": lambda *_: context,
        "current_context": lambda *_: context,
        "list_devices": lambda: [device],
        "gpus": [device],
        "defer_cleanup": contextlib.nullcontext,
        "is_float16_supported": lambda: True,
        "is_bfloat16_supported": lambda: True,
        **dict.fromkeys(("synchronize", "close", "profile_start", "profile_stop"), _nothing),
        **dict.fromkeys(
            (
                "stream",
                "default_stream",
                "legacy_default_stream",
                "per_thread_default_stream",
                "external_stream",
            ),
            lambda *_: stream(),
        ),
    }
    for name, function in functions.items():
        yield cuda, name, function
        for module in (cuda.api, cuda.dispatcher, cuda.compiler):
            if hasattr(module, name):
                yield module, name, function


class _Launches:
    """The kernels of a session."""

    def __init__(self, session, numba_types, library):
        self.session, self.types, self.library = session, numba_types, library
        self.kernels = {}

    def kernel(self, dispatcher, arguments, compile_ptx):
        key = (dispatcher.py_func, arguments)
        if key not in self.kernels:
            options = dispatcher.targetoptions
            if options.get("link"):
                self.session.refuse("link= of a kernel", "a device function in Python")
            named = {n: options[n] for n in ("fastmath", "launch_bounds") if options.get(n)}
            text, _ = compile_ptx(dispatcher.py_func, arguments, cc=_CAPABILITY, lineinfo=True, **named)
            entry = re.search(r"\.entry\s+([\w$]+)", text)[1]
            name = dispatcher.py_func.__name__
            kernel = ptx_kernels.Kernel(self.session, text, entry, name, self.library, "Numba")
            kernel.is_cooperative = "cudaCGSynchronize" in text
            self.kernels[key] = kernel
        return self.kernels[key]

    def launch(self, kernel, kinds, values, grid, block, shared):
        given = []
        for kind, value in zip(kinds, values):
            self._append(kind, value, given, kernel.parameters)
        kernel.launch(grid, block, shared, given, cooperative=kernel.is_cooperative)

    def _append(self, kind, value, given, parameters):
        numba_types = self.types

        def number(form, *numbers):
            given.extend(struct.pack(form, n) for n in numbers)

        if isinstance(kind, numba_types.Array):
            number("<q", 0, 0, value.size, value.dtype.itemsize)
            given.append(ptx_kernels.pointer(self.session, value))
            number("<q", *value.shape, *value.strides)
        elif isinstance(kind, numba_types.BaseTuple):
            for one_kind, one in zip(kind, value):
                self._append(one_kind, one, given, parameters)
        elif isinstance(kind, (numba_types.Integer, numba_types.Boolean)):
            size = parameters[len(given)].bytes
            found = ptx_kernels.address_in(self.session, value, size)
            given.append(found or (int(value) & ((1 << 8 * size) - 1)).to_bytes(size, "little"))
        elif isinstance(kind, numba_types.Float):
            number({16: "<e", 32: "<f", 64: "<d"}[kind.bitwidth], float(value))
        elif isinstance(kind, numba_types.Complex):
            number("<f" if kind.bitwidth == 64 else "<d", value.real, value.imag)
        elif isinstance(kind, numba_types.EnumMember):
            self._append(kind.dtype, value.value, given, parameters)
        else:
            self.session.refuse(f"an argument of Numba's type {kind}", "an array or a number")


def _start(session, cuda):
    tried = f"{FIRST[0]}.{FIRST[1]} to {LAST[0]}.{LAST[1]}"
    own = (
        f"numba.cuda of Numba itself is not supported here: expected that of the package numba-cuda, {tried}"
    )
    try:
        import numba_cuda
    except ImportError as error:
        raise Unsupported(own) from error
    version = ptx_kernels.version_of(numba_cuda)
    if version < FIRST:
        raise Unsupported(f"numba-cuda {numba_cuda.__version__} is not supported here: expected {tried}")
    if "numba_cuda" not in pathlib.Path(cuda.__file__).parts:
        raise Unsupported(
            f"{own}, which is installed but not in use: its .pth file is not in a folder of sites"
        )
    if version > LAST:
        session.notes.append(f"numba-cuda {numba_cuda.__version__} was not tried: expected {tried}")
    try:
        return list(_places(session, cuda))
    except (ImportError, AttributeError) as error:
        raise Unsupported(
            f"numba-cuda {numba_cuda.__version__} is not supported here: {error}; expected {tried}"
        ) from error


def _places(session, cuda):
    from numba.cuda import args, dispatcher, types as numba_types

    import numba
    import numba_cuda
    import numpy

    library = [os.path.dirname(os.path.abspath(module.__file__)) for module in (numba, numba_cuda)]
    launches = _Launches(session, numba_types, library)
    yield from _in_place_of_the_driver(session, cuda)
    compile_ptx = cuda.compile_ptx
    handed = (args.In, args.Out, args.InOut)

    def declared(self, signature):  # a signature that the program names: used by the call
        from numba.cuda.core import sigutils

        arguments, _ = sigutils.normalize_signature(signature)
        vars(self).setdefault("_antiphase_signatures", []).append(arguments)
        self.overloads[arguments] = types.SimpleNamespace(
            max_cooperative_grid_blocks=lambda block, shared=0: 132
            * 2048
            // math.prod(numpy.atleast_1d(block))
        )

    def call(self, values, *configuration):
        values = [value.value if isinstance(value, handed) else value for value in values]
        kinds = tuple(self.typeof_pyval(value) for value in values)
        named = vars(self).get("_antiphase_signatures")
        if named and kinds not in named:
            kinds = next((n for n in named if len(n) == len(kinds)), kinds)
        if len(configuration) > 1:  # of the package numba itself
            grid, block, _, shared = configuration
        else:
            (given,) = configuration
            grid, block, shared = given.griddim, given.blockdim, given.sharedmem
        launches.launch(launches.kernel(self, kinds, compile_ptx), kinds, values, grid, block, shared)

    def for_all(self, *values):
        if self.ntasks > 0:
            block = self.thread_per_block or 128
            self.dispatcher[(self.ntasks + block - 1) // block, block, self.stream, self.sharedmem](*values)

    yield dispatcher.CUDADispatcher, "call", call
    yield dispatcher.CUDADispatcher, "compile", declared
    yield dispatcher.CUDADispatcher, "disable_compile", _nothing
    yield dispatcher.ForAll, "__call__", for_all


@contextlib.contextmanager
def numba(session):
    with ptx_kernels.when_imported("numba.cuda", functools.partial(_start, session)):
        yield
