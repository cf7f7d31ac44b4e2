# SPDX-License-Identifier: Apache-2.0
"""Triton and Gluon: a driver of Triton's runtime whose device is the checker. Its compiler makes PTX, which needs no
GPU and no ptxas."""
import contextlib
import functools
import hashlib
import math
import operator
import os
import pathlib
import re
import struct

from . import ptx_kernels
from .session import _TYPES, Unsupported

FIRST, LAST = (3, 4), (3, 9)  # versions that were tried
_SHARED = 232448  # bytes a block, as on sm_90


class _Array:
    """An array of NumPy as Triton wants arguments: with the address of its first element."""

    def __init__(self, array):
        self.array, self.shape, self.dtype = array, array.shape, array.dtype
        self.strides = tuple(s // array.itemsize for s in array.strides)

    def data_ptr(self):
        return self.array.ctypes.data

    def stride(self, axis=None):
        return self.strides if axis is None else self.strides[axis]

    def numel(self):
        return self.array.size

    def element_size(self):
        return self.array.itemsize

    def zero_(self):
        self.array[...] = 0
        return self

    def clone(self):
        return _Array(self.array.copy())

    def copy_(self, other):
        self.array[...] = getattr(other, "array", other)
        return self


def _argument(value):
    import numpy

    if isinstance(value, numpy.ndarray):
        if value.dtype.name not in _TYPES:
            raise TypeError(f"an array of {value.dtype}: Triton has no such type of elements")
        return _Array(value)
    if isinstance(value, (tuple, list)):
        made = map(_argument, value)
        return type(value)(*made) if hasattr(value, "_fields") else type(value)(made)
    return value.item() if isinstance(value, numpy.generic) else value


def _number(value, kind, size):
    """The bits of an argument that is a number."""
    if kind.startswith(("i", "u")):
        return (int(value) & ((1 << 8 * size) - 1)).to_bytes(size, "little")
    if kind == "bf16":
        (bits,) = struct.unpack("<I", struct.pack("<f", value))
        if math.isfinite(value):
            bits += 0x7FFF + (bits >> 16 & 1)
        return struct.pack("<H", bits >> 16 & 0xFFFF)
    return struct.pack({2: "<e", 4: "<f", 8: "<d"}[size], value)


def _flat(kinds, values):
    """Arguments that are not constants, with their types; tuples are taken apart."""
    for kind, value in zip(kinds, values):
        if isinstance(kind, tuple):
            yield from _flat(kind, value)
        elif kind != "constexpr":
            yield kind, value


class _Utils:
    def load_binary(self, name, kernel, shared, device):
        return None, (name, kernel, shared), 32, 0, 1024  # no module, so that none is unloaded

    def unload_module(self, module):
        pass

    def get_device_properties(self, device):
        return {
            "max_shared_mem": _SHARED,
            "max_num_regs": 65536,
            "multiprocessor_count": 132,
            "warpSize": 32,
            "sm_clock_rate": 1980000,
            "mem_clock_rate": 2619000,
            "mem_bus_width": 5120,
        }


class _Tuning:
    """One choice among configurations: the first that fits, or, by ANTIPHASE_AUTOTUNE=all, each runs."""

    def __init__(self):
        self.every = os.environ.get("ANTIPHASE_AUTOTUNE") == "all"
        self.is_dry, self.is_done = False, False

    def bench(self, call, quantiles=None, **_):
        seconds = 2.0 if self.is_done else 1.0
        if self.every or not self.is_done:
            self.is_dry = not self.every
            try:
                call()
            finally:
                self.is_dry = False
            self.is_done = True
        return [seconds] * len(quantiles) if quantiles else seconds


class _Launches:
    """The kernels of a session."""

    def __init__(self, session, library):
        self.session, self.library = session, library
        self.kernels, self.tuning = {}, _Tuning()

    def launch(self, grid, compiled, source, metadata, values):
        if self.tuning.is_dry:
            return
        grid = tuple(map(operator.index, grid))
        if math.prod(grid) <= 0:  # nothing is launched
            return
        name, text, shared = compiled
        key = (name, text)
        if key not in self.kernels:
            code = text.decode() if isinstance(text, bytes) else text
            is_gluon = type(source).__name__.startswith("Gluon")
            language = "Gluon" if is_gluon else "Triton"
            self.kernels[key] = ptx_kernels.Kernel(
                self.session, code, name, name, [self.library], language, own_barriers=True
            )
        kernel = self.kernels[key]
        maps = iter(getattr(metadata, "tensordesc_meta", None) or ())
        kinds = source.signature.values()
        if len(values) < len(kinds):  # constants are left out, before Triton 3.3
            kinds = [kind for kind in kinds if kind != "constexpr"]
        given = []
        for kind, value in _flat(kinds, values):
            given += self._parameters(kind, _argument(value), maps, kernel.parameters[len(given) :])
        blocks = math.prod(grid) * getattr(metadata, "num_ctas", 1)
        for use in ("global_scratch", "profile_scratch"):
            if len(given) < len(kernel.parameters):
                size = (getattr(metadata, f"{use}_size", 0) or 0) * blocks
                given.append(ptx_kernels.scratch(self.session, size) if size else None)
        ctas = getattr(metadata, "num_ctas", 1)
        cluster = (ctas, 1, 1) if ctas > 1 else (0, 0, 0)
        whole = (grid[0] * ctas, *grid[1:])
        together = bool(getattr(metadata, "launch_cooperative_grid", False))
        kernel.launch(whole, (metadata.num_warps * 32, 1, 1), shared, given, cluster, together)

    def _pointer(self, value):
        return ptx_kernels.pointer_of(self.session, value, "an argument of a Triton kernel")

    def _parameters(self, kind, value, maps, parameters):
        """The parameters that one argument becomes."""
        if kind.startswith("*"):
            return [self._pointer(value)]
        if kind in ("i64", "u64") and (found := ptx_kernels.address_in(self.session, value, 8)):
            return [found]
        if not kind.startswith("tensordesc"):
            return [_number(value, kind, parameters[0].bytes)]
        sizes = [struct.pack("<i", n) for n in value.shape]
        strides = [struct.pack("<q", n) for n in value.strides]
        described = next(maps, None)
        base = self._pointer(value.base)
        if described is None:  # before sm_90: the array and its sizes in place of a tensor map
            flags = [b"\1" if flag else b"\0" for flag in (value.padding == "nan", value.round_f32_to_tf32)]
            wide = [struct.pack("<q", n) for n in value.shape]
            return [base, *wide, *strides, *flags[: len(parameters) - 1 - 4 * len(sizes)], *sizes, *strides]
        if getattr(value, "padding", "zero") == "nan":
            self.session.refuse("a tensor descriptor that pads with NaN", 'padding "zero"')
        if described.get("is_im2col") or described.get("fp4_padded"):
            self.session.refuse("a tensor descriptor of im2col or of FP4", "a plain tensor descriptor")
        size = described["elem_size"]
        made = ptx_kernels.tensor_map(
            base,
            ptx_kernels.map_type(described["elem_type"]),
            described["swizzle"],
            value.shape[::-1],
            [n * size for n in value.strides[-2::-1]],
            described["block_size"][::-1],
        )
        return [made, *sizes, *strides]


def _driver(triton, launches, target, base):
    """The driver's class depends on Triton's."""

    class Launcher:
        def __init__(self, source, metadata):
            self.source, self.metadata = source, metadata

        def __call__(self, x, y, z, stream, function, packed, launch_metadata, enter, leave, *values):
            # compiled in an earlier session, maybe
            triton.runtime.driver.active.launches.launch(
                (x, y, z), function, self.source, self.metadata, values
            )

    class Driver(base):
        def __init__(self):
            self.utils, self.launcher_cls, self.launches = _Utils(), Launcher, launches

        @staticmethod
        def is_active():
            return True

        def get_current_target(self):
            return target

        def get_current_device(self):
            return 0

        def set_current_device(self, device):
            pass

        def get_current_stream(self, device=None):
            return 0

        def get_device_capability(self, device=0):
            return divmod(target.arch, 10)

        def get_active_torch_device(self):
            import torch

            return torch.device("cuda", 0)

        def get_device_interface(self):
            import torch

            return torch.cuda

        def map_python_to_cpp_type(self, kind):
            return kind

        def get_benchmarker(self):
            return launches.tuning.bench

        def get_empty_cache_for_benchmark(self):
            return None

        def clear_cache(self, cache):
            pass

    return Driver()


def _given_arrays(function):
    """Arrays of NumPy among the arguments have addresses. A kernel goes by its name in what is wrong with them."""

    @functools.wraps(function)
    def called(self, *positional, **named):
        try:
            return function(self, *map(_argument, positional), **{k: _argument(v) for k, v in named.items()})
        except TypeError as error:
            if "dynamic_func()" not in str(error):
                raise
            raise TypeError(str(error).replace("dynamic_func()", f"{self.fn.__name__}()")) from None

    return called


def place_of(error, session):
    """File, line and text of an error of Triton's compiler, which knows lines of the kernel; None for others."""
    said = None
    while error is not None:
        source, node = getattr(error, "src", None), getattr(error, "node", None)
        if isinstance(source, str) and hasattr(node, "lineno") and hasattr(error, "error_message"):
            said = (source, node.lineno, error.error_message or type(error).__name__)
        error = error.__cause__  # in a function that the kernel calls
    for file in session.python_files() if said else ():
        rows = pathlib.Path(file).read_text(errors="replace").split("\n")
        first = said[0].split("\n")[0].strip()
        for number, row in enumerate(rows):
            if row.strip() == first:
                return file, number + said[1], f"does not compile: {said[2]}"
    return None


def _key_of(folder, version):
    """What tells one Triton from another in the keys of its cache: its own key reads all of its compiler, which
    takes most of a second, at the start of each process."""
    seen = hashlib.sha256(version.encode())
    for place, _, names in sorted(os.walk(folder)):
        for name in sorted(names):
            if name.endswith((".py", ".so")):
                about = os.stat(os.path.join(place, name))
                seen.update(f"{place}/{name} {about.st_size} {about.st_mtime_ns}\n".encode())
    return f"antiphase-{seen.hexdigest()}"


def _start(session, triton):
    """Makes the checker Triton's device."""
    version = ptx_kernels.version_of(triton)
    if version < FIRST:
        raise Unsupported(
            f"Triton {triton.__version__} is not supported here: expected 3.{FIRST[1]} or newer"
        )
    if version > LAST:
        session.notes.append(f"Triton {triton.__version__} was not tried with this version of antiphase")
    try:
        return _places(session, triton)
    except (ImportError, AttributeError) as error:
        tried = f"expected 3.{FIRST[1]} to 3.{LAST[1]}"
        raise Unsupported(f"Triton {triton.__version__} is not supported here: {error}; {tried}") from error


def _places(session, triton):
    from triton.backends.compiler import GPUTarget
    from triton.backends.driver import DriverBase
    from triton.backends.nvidia import compiler
    from triton.runtime.autotuner import Autotuner
    from triton.runtime.jit import JITFunction
    from triton.tools.tensor_descriptor import TensorDescriptor

    import triton.testing  # noqa: F401

    # Triton loads the PTX. The hash keeps it apart, in Triton's own cache, from machine code and from PTX with
    # names of files as seen from elsewhere.
    where = hashlib.sha256("\n".join([os.getcwd(), *session.files]).encode()).hexdigest()

    def make_cubin(*arguments, **_):
        return next(a for a in arguments if isinstance(a, str)).encode()

    os.environ.pop("TRITON_INTERPRET", None)
    launches = _Launches(session, os.path.dirname(os.path.abspath(triton.__file__)))
    asked = re.fullmatch(r"sm_?(\d+)a?", os.environ.get("TRITON_OVERRIDE_ARCH", "sm90"))
    target = GPUTarget("cuda", int(asked[1]) if asked else 90, 32)
    made, run = TensorDescriptor.from_tensor, Autotuner.run
    key = functools.lru_cache(
        lambda: _key_of(os.path.dirname(os.path.abspath(triton.__file__)), triton.__version__)
    )

    def from_tensor(tensor, *more, **named):
        return made(_argument(tensor), *more, **named)

    def tuned(self, *positional, **named):
        launches.tuning.is_done = False
        return _given_arrays(run)(self, *positional, **named)

    active = "_active" if hasattr(triton.runtime.driver, "_active") else "active"  # which it is in Triton 3.4
    places = [
        (compiler.CUDABackend, "make_cubin", make_cubin),
        (compiler.CUDABackend, "hash", lambda self: f"antiphase-{self.target.arch}-{where}"),
        (triton.runtime.driver, active, _driver(triton, launches, target, DriverBase)),
        (JITFunction, "run", _given_arrays(JITFunction.run)),
        (TensorDescriptor, "__init__", _given_arrays(TensorDescriptor.__init__)),
        (TensorDescriptor, "from_tensor", staticmethod(from_tensor)),
        (Autotuner, "run", tuned),
        (triton.testing, "do_bench", launches.tuning.bench),
        (triton.testing, "do_bench_cudagraph", launches.tuning.bench),
    ]
    for module in (triton.runtime.cache, triton.compiler.compiler):  # the second one up to Triton 3.4
        if hasattr(module, "triton_key"):
            places.append((module, "triton_key", key))
    with contextlib.suppress(ImportError):
        from triton.experimental.gluon.nvidia import hopper

        places.append((hopper.TensorDescriptor, "__init__", _given_arrays(hopper.TensorDescriptor.__init__)))
    return places


@contextlib.contextmanager
def triton(session):
    with ptx_kernels.when_imported("triton", functools.partial(_start, session)):
        yield
