# SPDX-License-Identifier: Apache-2.0
"""The array libraries: how to read each one's arrays, and how to make new ones on the same device.

A `Kind` stands for one library. No library is imported here: a caller that has an array has imported it.
"""
import collections
import sys

from . import _dlpack, _library

ITEM_BYTES = {
    "float32": 4,
    "float64": 8,
    "int8": 1,
    "int16": 2,
    "int32": 4,
    "int64": 8,
    "uint8": 1,
    "uint16": 2,
    "uint32": 4,
    "uint64": 8,
    "float16": 2,
    "bfloat16": 2,
    "bool": 1,
}


# An array as a call needs it. strides are in bytes or elements (Kind.strides_count_bytes); dtype and device
# are the library's own objects, hashable; owner keeps the memory alive, None if the array itself does.
# (typing.NamedTuple would take half of the package's import time.)
View = collections.namedtuple("View", "pointer shape strides dtype device owner", defaults=(None,))


class Kind:
    """The arrays of one library. This base class has NumPy's conventions: strides in bytes, `astype`,
    assignment by `x[...] = y`."""

    name = "NumPy"
    is_torch = False
    conversion = ".astype('float32')"
    strides_count_bytes = True
    quick = None  # torch: the _products.Quick that repeats earlier products
    # Whether work is queued on the library's current stream; otherwise a call waits until the work is done.
    ordered = False

    def view(self, x):
        about = x.__array_interface__
        return View(about["data"][0], x.shape, x.strides, x.dtype, _library.CPU)

    def about(self, x):
        """The shape and the dtype's name of an array, which may have no memory yet (a traced one)."""
        return tuple(x.shape), self.dtype_name(x.dtype)

    def flat(self, x):
        return x.reshape(-1)

    def pointer(self, x):
        return self.view(x)[0]

    def shaped(self, made, shape):
        """A result of empty() in its final shape."""
        return made

    def dtype_name(self, dtype):
        return _native_name(dtype)

    def number_of(self, device):
        return device

    def stream(self, device):
        return None

    def require_writable(self, x):
        if not x.flags.writeable:
            raise ValueError("antiphase: out is read-only: expected an array that may be written")

    def module(self, like):
        return sys.modules["numpy"]

    def empty(self, like, shape, dtype="float32"):
        return self.module(like).empty(shape, self.type_of(dtype))

    def type_of(self, name):
        """NumPy's type of that name."""
        try:
            return sys.modules["numpy"].dtype(name)
        except TypeError:
            raise TypeError(
                f"antiphase: dtype is {name}, which NumPy does not know: expected one that it knows, or ml_dtypes imported"
            ) from None

    def dense(self, x):
        return self.module(x).ascontiguousarray(x)

    def astype(self, x, dtype):
        return x.astype(self.type_of(dtype))

    def permuted(self, x, axes):
        return x.transpose(axes)

    def spread(self, x, shape, to):
        """x, broadcast to one shape, in another shape: a copy only where strides cannot express it."""
        return self.module(x).broadcast_to(x, shape).reshape(to)

    def assign(self, to, value):
        to[...] = value

    def behind_zeros(self, x, axis):
        """x with a 0 inserted before the first element along an axis."""
        shape = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
        return self.joined([self.zeros(x, shape), x], axis)

    def zeros(self, like, shape):
        return self.module(like).zeros(shape, like.dtype)

    def joined(self, arrays, axis):
        return self.module(arrays[0]).concatenate(arrays, axis=axis)

    def widest(self, signed):
        """The default integer type, in which the array API adds up smaller integers."""
        return "int64" if signed else "uint64"


class Cupy(Kind):
    name = "CuPy"
    ordered = True

    def view(self, x):
        return View(x.data.ptr, x.shape, x.strides, x.dtype, x.device.id)

    def pointer(self, x):
        return x.data.ptr

    def stream(self, device):
        return sys.modules["cupy"].cuda.get_current_stream(device).ptr or None

    def require_writable(self, x):
        pass

    def module(self, like):
        return sys.modules["cupy"]

    def empty(self, like, shape, dtype="float32"):
        with like.device:
            return super().empty(like, shape, dtype)

    def workspace(self, size, like):
        """An allocation of `size` bytes for one call on a GPU: its owner and its address."""
        with like.device:
            memory = self.module(like).cuda.alloc(size)
        return memory, memory.ptr

    def dense(self, x):
        with x.device:
            return super().dense(x)

    def astype(self, x, dtype):
        with x.device:
            return super().astype(x, dtype)

    def spread(self, x, shape, to):
        with x.device:
            return super().spread(x, shape, to)

    def assign(self, to, value):
        with to.device:
            super().assign(to, value)

    def behind_zeros(self, x, axis):
        with x.device:
            return super().behind_zeros(x, axis)


def _guard(guards, a, b):
    return guards(
        a,
        b,
        dynamic_dims_sizes=[list(x.shape) for x in (a, b)],
        dynamic_dims_strides=[list(x.stride()) for x in (a, b)],
    ).check


def _tells_apart(torch, guards):
    """Whether torch's TensorGuards, a private interface, distinguish tensors as Quick needs it."""
    try:
        with torch.inference_mode(False), torch.enable_grad():
            a, b = torch.empty(2, 3), torch.empty(3, 2)
            check = _guard(guards, a, b)
            others = (
                torch.empty(3, 4),
                torch.empty(2, 3).t(),
                torch.empty(3, 2, dtype=torch.float64),
                torch.empty(3, 2, requires_grad=True),
                torch._neg_view(b),
                torch.nn.Parameter(b, requires_grad=False),
                torch.empty(3, 2, device="meta"),
                torch.empty(3, 2, 1),
            )
            return (
                check(a, b)
                and check(torch.empty(2, 3), torch.empty(3, 2))
                and not any(check(a, other) for other in others)
            )
    except Exception:  # the signature differs, or there is no such class
        return False


class Torch(Kind):
    name = "torch"
    is_torch = True
    conversion = ".float()"
    strides_count_bytes = False
    ordered = True

    def __init__(self):
        self.torch = torch = sys.modules["torch"]
        self.types = (torch.Tensor, torch.nn.Parameter)
        self.float32 = torch.float32
        # Private functions of torch, not present in every version; the public fallbacks do the same, slower.
        self.raw_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None) or (
            lambda index: torch.cuda.current_stream(index).cuda_stream
        )
        self.current_device = getattr(torch._C, "_cuda_getDevice", None) or torch.cuda.current_device
        self.is_capturing = (
            getattr(torch._C, "_cuda_isCurrentStreamCapturing", None)
            or torch.cuda.is_current_stream_capturing
        )
        guards = getattr(getattr(torch._C, "_dynamo", None), "guards", None)
        self._guards = getattr(guards, "TensorGuards", None)
        self.has_guards = self._guards is not None
        self._guards_are_tested = False
        # Allocates on the current device, as code compiled by torch does.
        self.quick_empty = getattr(guards, "_empty_strided_cuda", None) or (
            lambda shape, strides, dtype: torch.empty_strided(shape, strides, dtype=dtype, device="cuda")
        )
        self.is_compiling = torch.compiler.is_compiling
        # under torch.jit.trace, where extents are tensors
        self.is_tracing = getattr(torch._C, "_is_tracing", None) or torch.jit.is_tracing
        self.is_grad_enabled = torch.is_grad_enabled
        self.modes = torch._C._len_torch_dispatch_stack
        self.transforms = torch._C._functorch.peek_interpreter_stack
        self.forward_level = torch.autograd.forward_ad

    def plain(self, *tensors, gradients=False):
        """Whether the tensors' memory alone determines the result: no gradients (unless they are allowed), tracing,
        transformations, dispatch modes, subclasses, meta tensors or pending negation."""
        if (
            self.is_compiling()
            or self.is_tracing()
            or self.modes()
            or self.transforms() is not None
            or self.forward_level._current_level >= 0
        ):
            return False
        for x in tensors:
            if (
                type(x) not in self.types
                or x.is_neg()
                or x.is_meta
                or (not gradients and x.requires_grad and self.is_grad_enabled())
            ):
                return False
        return True

    def guard(self, a, b):
        """A predicate of two tensors: whether they equal these plain ones in class, dtype, device, shape,
        strides, requires_grad and active transformations, whatever their elements and addresses. It is one
        call of TensorGuards, which torch's compiled code uses; None if this torch has no usable one."""
        if not self._guards_are_tested:
            self.has_guards, self._guards_are_tested = _tells_apart(self.torch, self._guards), True
        return _guard(self._guards, a, b) if self.has_guards else None

    def view(self, x):
        try:
            shape = tuple(map(int, x.shape)) if self.is_tracing() else x.shape
            return View(x.data_ptr(), shape, x.stride(), x.dtype, x.device)
        except RuntimeError:
            if x.layout is self.torch.strided:
                raise
            raise TypeError(
                f"antiphase: a tensor has layout {x.layout}: expected a dense one; convert with .to_dense()"
            ) from None

    def pointer(self, x):
        return x.data_ptr()

    def dtype_name(self, dtype):
        return str(dtype).removeprefix("torch.")

    def number_of(self, device):
        if device.type == "cuda":
            return device.index
        if device.type == "cpu":
            return _library.CPU
        raise TypeError(
            f"antiphase: the tensor is on device {device}: expected cpu or cuda; move it with .to('cuda')"
        )

    def stream(self, device):
        return None if device.type == "cpu" else self.raw_stream(device.index) or None

    def require_writable(self, x):
        pass

    def module(self, like):
        return self.torch

    def empty(self, like, shape, dtype=None):
        return like.new_empty(shape, dtype=dtype and getattr(self.torch, dtype))

    def workspace(self, size, like):
        memory = like.new_empty(-(-size // 4))  # like is float32: no dtype argument is the fastest call
        return memory, memory.data_ptr()

    def dense(self, x):
        return x.contiguous()

    def astype(self, x, dtype):
        return x.to(getattr(self.torch, dtype))

    def permuted(self, x, axes):
        return x.permute(axes)

    def spread(self, x, shape, to):
        return x.expand(shape).reshape(to)

    def assign(self, to, value):
        to.copy_(value)

    def zeros(self, like, shape):
        return like.new_zeros(shape)

    def joined(self, arrays, axis):
        return self.torch.cat(arrays, axis)

    def widest(self, signed):
        return "int64"  # as torch.cumsum


class Capsules(Kind):
    """Arrays of any library, by DLPack or __cuda_array_interface__. They are read on CUDA's default stream,
    and a call waits for its work, since neither protocol can hand the library a stream to wait for."""

    name = "DLPack"
    strides_count_bytes = False

    def view(self, x):
        return self._read(x)[0]

    def about(self, x):
        view = self.view(x)
        return tuple(view.shape), view.dtype

    def flat(self, x):
        return self.module(x).reshape(x, (-1,))

    def _read(self, x):
        """The view, and whether it is writable."""
        if hasattr(x, "__dlpack__"):
            capsule, (kind, number) = _offered(x, _dlpack.capsule_of)
            if kind in (_dlpack.CPU, _dlpack.CUDA_HOST):
                device = _library.CPU
            elif kind in (_dlpack.CUDA, _dlpack.CUDA_MANAGED):
                device = number
            else:
                raise TypeError(
                    f"antiphase: a {_type_name(x)} is on DLPack device {kind}: expected memory of the host or of a CUDA device"
                )
            pointer, shape, strides, dtype, writable = _dlpack.read(capsule)
            return View(pointer, shape, strides, dtype, device, capsule), writable
        pointer, read_only, shape, strides, (dtype, size), stream = _offered(x, _interface_of)
        if strides is None:
            strides = _dlpack.dense_strides(shape)
        elif any(step % size for step in strides):
            raise ValueError(
                f"antiphase: an array of {dtype} has strides of {strides} bytes: expected multiples of {size}; copy it first"
            )
        else:
            strides = tuple(step // size for step in strides)
        if stream:  # the stream of the array's pending work; 1 and 2 are CUDA's default streams
            _library.check(_library.synchronize_stream(_library.CURRENT_DEVICE, stream))
        return View(pointer or 0, shape, strides, dtype, _library.CURRENT_DEVICE), not read_only

    def dtype_name(self, dtype):
        return dtype

    def require_writable(self, x):
        if not self._read(x)[1]:
            raise ValueError(
                f"antiphase: out, a {_type_name(x)}, is read-only: expected an array that may be written"
            )

    def module(self, like):
        if hasattr(like, "__array_namespace__"):
            return like.__array_namespace__()
        raise TypeError(
            f"antiphase: a {_type_name(like)} has no __array_namespace__, by which a new one is made: "
            "give an array for the result as out=, or arrays of NumPy, torch, CuPy or JAX"
        )

    def empty(self, like, shape, dtype="float32"):
        module = self.module(like)
        return module.empty(shape, dtype=self.type_in(module, dtype), device=like.device)

    def type_in(self, module, name):
        try:
            return getattr(module, name)
        except AttributeError:
            raise TypeError(
                f"antiphase: the result would be {name}, which {_module_name(module)} does not have: expected another dtype"
            ) from None

    def dense(self, x):
        view = self.view(x)
        packed = zip(view.shape, view.strides, _dlpack.dense_strides(view.shape))
        if 0 in view.shape or all(extent == 1 or step == dense for extent, step, dense in packed):
            return x
        raise ValueError(
            f"antiphase: a {_type_name(x)} lies in memory as cannot be read here: copy it into rows without gaps first"
        )

    def astype(self, x, dtype):
        module = self.module(x)
        return module.astype(x, self.type_in(module, dtype))

    def permuted(self, x, axes):
        return x if list(axes) == sorted(axes) else self.module(x).permute_dims(x, axes)

    def spread(self, x, shape, to):
        module = self.module(x)
        return module.reshape(module.broadcast_to(x, shape), to)

    def zeros(self, like, shape):
        return self.module(like).zeros(shape, dtype=like.dtype, device=like.device)

    def joined(self, arrays, axis):
        return self.module(arrays[0]).concat(arrays, axis=axis)


class Jax(Capsules):
    name = "JAX"

    def about(self, x):
        return tuple(x.shape), x.dtype.name

    def _read(self, x):
        jax = sys.modules["jax"]
        if isinstance(x, jax.core.Tracer):
            raise TypeError(
                "antiphase: an array is traced, by jax.jit, grad or vmap: expected one with values; call antiphase outside, "
                "or jnp.matmul with precision='highest' under `python -m antiphase run`"
            )
        if x.is_deleted():
            raise ValueError("antiphase: an array has been deleted, or donated: expected one with values")
        if len(x.devices()) != 1:
            raise ValueError(
                f"antiphase: an array lies on {len(x.devices())} devices: expected one; move it with jax.device_put"
            )
        x.block_until_ready()
        view, writable = super()._read(x)
        return view._replace(dtype=x.dtype.name), writable

    def require_writable(self, x):
        raise TypeError("antiphase: out is a JAX array, which cannot be written: leave it out")

    def module(self, like):
        return sys.modules["jax"].numpy

    def empty(self, like, shape, dtype="float32"):
        known = sys.modules["jax"].dtypes.canonicalize_dtype(dtype).name
        if known != dtype:
            raise TypeError(
                f"antiphase: the result would be {dtype}, which JAX makes {known}: set jax_enable_x64, or give another dtype"
            )
        # JAX fills it, so that the memory belongs to this array alone. Shape () is avoided: JAX might return
        # a constant that other arrays share.
        return self.module(like).empty(shape or (1,), dtype, device=next(iter(like.devices())))

    def shaped(self, made, shape):
        return made if shape else made.reshape(())

    def dense(self, x):
        return x

    def astype(self, x, dtype):
        return x.astype(dtype)

    def permuted(self, x, axes):
        return x if list(axes) == sorted(axes) else x.transpose(axes)

    def zeros(self, like, shape):
        return self.module(like).zeros(shape, like.dtype, device=next(iter(like.devices())))

    def widest(self, signed):
        bits = 64 if sys.modules["jax"].config.jax_enable_x64 else 32
        return f"int{bits}" if signed else f"uint{bits}"


def _offered(x, read):
    """read(x), with the errors of an object that violates the protocol it offers turned into a TypeError."""
    try:
        return read(x)
    except (AttributeError, KeyError, IndexError, TypeError, ValueError, RuntimeError) as error:
        raise TypeError(
            f"antiphase: a {_type_name(x)} cannot be read ({error}): expected an array that DLPack or __cuda_array_interface__ "
            "describes"
        ) from None


def _interface_of(x):
    """__cuda_array_interface__ as (pointer, is read-only, shape, strides in bytes or None, (dtype's name,
    bytes), stream)."""
    about = x.__cuda_array_interface__
    pointer, read_only = about["data"]
    strides = about.get("strides")
    return (
        pointer,
        read_only,
        tuple(map(int, about["shape"])),
        strides and tuple(map(int, strides)),
        _type_of(about["typestr"]),
        about.get("stream"),
    )


def _type_of(typestr):
    """The dtype's name and the bytes of an element, from a typestr of __cuda_array_interface__."""
    names = {"f": "float", "i": "int", "u": "uint", "c": "complex", "b": "bool"}
    size = int(typestr[2:])
    if typestr[0] == ">":
        return f"{names.get(typestr[1], typestr[1])}{8 * size} of the other byte order", size
    return ("bool" if typestr[1] == "b" else f"{names.get(typestr[1], typestr[1])}{8 * size}"), size


def _module_name(module):
    return getattr(module, "__name__", type(module).__name__)


def _type_name(x):
    return f"{type(x).__module__}.{type(x).__qualname__}"


# The operator of torch for "attention", "linear" or "scan". The package sets it, since the operators' modules import
# this one.
operator_of_torch = None

_kinds = {}  # type of array: its Kind
_made = {}  # class of Kind: its only instance


def _is(x, module, name):
    """Whether x is an instance of a library's class; False if the library has not been imported."""
    known = getattr(sys.modules.get(module), name, None)
    return known is not None and isinstance(x, known)


def _find(x):
    if _is(x, "numpy", "ndarray"):
        # Other subclasses would lose what they add, such as a mask.
        return Kind if type(x) in (sys.modules["numpy"].ndarray, sys.modules["numpy"].memmap) else None
    for module, name, kind in (("torch", "Tensor", Torch), ("cupy", "ndarray", Cupy), ("jax", "Array", Jax)):
        if _is(x, module, name):
            return kind
    if hasattr(x, "__dlpack__") or hasattr(x, "__cuda_array_interface__"):
        return Capsules
    return None


def kind_of(x, name):
    """The kind of an array; `name` is its name in messages. Raises TypeError for anything else."""
    kind = _kinds.get(type(x))
    if kind is None:
        found = _find(x)
        if found is None:
            way = (
                ".filled() has its numbers"
                if _is(x, "numpy.ma", "MaskedArray")
                else "convert with numpy.asarray"
            )
            raise TypeError(
                f"antiphase: {name} is a {_type_name(x)}: expected an array of NumPy, torch, CuPy or JAX, or one with "
                f"__dlpack__ or __cuda_array_interface__; {way}"
            )
        kind = _made.setdefault(found, found())
        _kinds[type(x)] = kind
    return kind


def common_kind(arrays):
    """The one kind of all arrays, given as (name in messages, array). Raises TypeError if they differ."""
    (first, x), *others = arrays
    kind = kind_of(x, first)
    for name, y in others:
        if kind_of(y, name) is not kind:
            raise TypeError(
                f"antiphase: {first} is a {_type_name(x)}, {name} is a {_type_name(y)}: expected arrays of one library"
            )
    return kind


def elements(kind, view, name):
    """The strides of a view, in elements."""
    if not kind.strides_count_bytes:
        return tuple(view.strides)
    size = view.dtype.itemsize
    if any(stride % size for stride in view.strides):
        raise ValueError(
            f"antiphase: {name} has strides of {view.strides} bytes: expected multiples of {size}; copy it first"
        )
    return tuple(stride // size for stride in view.strides)


def type_named(dtype):
    """The name of an element type, given as text or as a type of NumPy, JAX, torch or Python; None stays None. What is
    no type has a name that no type has."""
    if isinstance(dtype, str):
        dtype = dtype.removeprefix("torch.")
    if dtype is None or isinstance(dtype, str) and dtype in ITEM_BYTES:
        return dtype
    numpy = sys.modules.get("numpy")
    # NumPy's types, and its short names such as "f4"
    if (
        isinstance(dtype, str)
        or numpy is not None
        and isinstance(dtype, type)
        and issubclass(dtype, numpy.generic)
    ):
        try:
            return _native_name(numpy.dtype(dtype))
        except (AttributeError, TypeError, ValueError, SyntaxError):
            return _library.shown(dtype).strip("'") if isinstance(dtype, str) else str(dtype)
    if isinstance(dtype, type):
        made = getattr(dtype, "dtype", None)  # jax.numpy.float32
        return (
            made.name
            if hasattr(made, "name")
            else {float: "float64", int: "int64"}.get(dtype, dtype.__name__)
        )
    if isinstance(getattr(dtype, "name", None), str):
        return _native_name(dtype)
    return _library.shown(dtype).removeprefix("torch.")


def _native_name(dtype):
    return dtype.name if getattr(dtype, "isnative", True) else f"{dtype.name} of the other byte order"


def way_out(kind, of):
    """How to convert elements of an unsupported dtype, as the end of a message."""
    if of.startswith("complex") or of == "clongdouble":
        return "take the real and the imaginary parts apart"
    if of.startswith(("datetime", "timedelta")):
        return ".view('int64') has them as counts of their unit"
    if of.startswith("void"):
        return "take one of their fields"
    if of.startswith(("object", "bytes", "str", "StringDType")):
        return f"if all of them are numbers, convert with {kind.conversion}"
    if of.endswith("of the other byte order"):
        return ".astype(x.dtype.newbyteorder('=')) has them in this one's"
    return f"convert with {kind.conversion}"


def require_places_of_their_own(shape, strides):
    """Raises ValueError if elements of out share memory with one another."""
    if 0 in shape:
        return
    reach = 0
    for step, extent in sorted((abs(step), extent) for step, extent in zip(strides, shape) if extent > 1):
        if step <= reach:
            raise ValueError(
                f"antiphase: out has strides {strides} at shape {tuple(shape)}: expected places of their own for its elements"
            )
        reach += step * (extent - 1)


def require_aligned(pointer, size, name):
    if pointer % size:
        raise ValueError(
            f"antiphase: {name} is at address {pointer:#x}: expected a multiple of {size}; copy it first"
        )


def finish(kind, device):
    """Waits for the work where the array library does not order its own work after it."""
    if not kind.ordered or device == _library.CPU:
        _library.check(_library.synchronize_stream(device, None))
