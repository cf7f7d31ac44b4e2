# SPDX-License-Identifier: Apache-2.0
"""What capture() puts in place of torch's extensions, CuPy and PyCUDA: arrays of the host, and kernels that run
under the checker."""
import contextlib
import ctypes
import functools
import logging
import re
import sys
import types

from .session import (
    KERNELS,
    _MAIN,
    _NAMES,
    _SIZES,
    _TYPES,
    Array,
    Memory,
    Pointer,
    Program,
    Unsupported,
    Word,
    _compiled_as,
    _replaced,
    launching_main,
)

# torch
# ----------------------------------------------------------------------------------------------------------


def _bytes_at(address, size):
    return (ctypes.c_char * size).from_address(address).raw if size else b""  # string_at() ends at 2 GiB


class _Tensors:
    """Makes torch's tensors from results, and arrays for calls from tensors."""

    def __init__(self, torch, session):
        self.torch, self.session = torch, session
        self.address = torch.Tensor.data_ptr

    def data_ptr(self, tensor):
        """In place of Tensor.data_ptr(): an extension may be given the integer in place of the tensor."""
        if tensor.is_meta:
            self.session.refuse("data_ptr() of a tensor without values", "the tensor as argument")
        address = self.address(tensor)
        unwritten = getattr(tensor, "_antiphase_unwritten", False)
        storage = tensor.untyped_storage()
        tensor._antiphase_unwritten = unwritten
        base, size = storage.data_ptr(), storage.nbytes()
        self.session.memories[base] = Memory(base, size, tensor, "_antiphase_unwritten")
        return address

    def array(self, kind, sizes, data):
        dtype = getattr(self.torch, _NAMES[kind])
        if not data:
            return self.torch.empty(sizes, dtype=dtype)
        made = self.torch.frombuffer(bytearray(data), dtype=dtype).reshape(sizes)
        return made.to("meta") if self.meta else made

    def view(self, owner, sizes, strides, offset):
        if sizes == tuple(owner.shape) and strides == tuple(owner.stride()) and offset == 0:
            return owner
        return owner.as_strided(sizes, strides, owner.storage_offset() + offset)

    def store(self, array, data):
        if isinstance(array.owner, Memory):
            return array.owner.store(data)
        owner = array.owner.detach()
        if not owner.is_meta:
            span = owner.as_strided((array.span(),), (1,))
            span.copy_(self.torch.frombuffer(bytearray(data), dtype=owner.dtype))

    def packed(self, value):
        if not isinstance(value, self.torch.Tensor):
            if isinstance(value, (list, tuple)):
                return [self.packed(one) for one in value]
            if type(value) is int:
                return self.session.pointer(value)
            if isinstance(value, self.torch.dtype):
                return _TYPES[str(value).partition(".")[2]]
            return str(value) if isinstance(value, self.torch.device) else value
        name = str(value.dtype).partition(".")[2]
        if name not in _TYPES:
            raise TypeError(f"a tensor has elements of type {name}, which is not supported here")
        plain = value.detach()
        kind = "m" if value.is_meta else "u" if getattr(value, "_antiphase_unwritten", False) else "d"
        made = Array(_TYPES[name], tuple(plain.shape), tuple(plain.stride()), None, kind, owner=value)

        def data():
            span = plain.as_strided((made.span(),), (1,))
            return _bytes_at(self.address(span), made.span() * _SIZES[made.type]) if made.span() else b""

        made.data = data
        return made

    meta = False

    def call(self, program, name):
        def function(*positional, **named):
            if self.session.graph is not None:
                self.session.refuse(
                    "a call of an extension in a graph of torch", "the call without the graph"
                )
            packed = [self.packed(a) for a in positional]
            with_names = {k: self.packed(v) for k, v in named.items()}
            every = [a for a in [*packed, *with_names.values()] if isinstance(a, Array)]
            self.meta = any(a.kind == "m" for a in every)
            for a in every:
                if a.kind == "u":
                    a.owner._antiphase_unwritten = False
            with self.torch.no_grad():
                return program.call(name, packed, with_names, self)

        function.__name__ = name
        return function


class _Functions(types.ModuleType):
    """The module that load_inline() returns."""

    def __init__(self, name, program, make):
        super().__init__(name)
        self._program, self._make = program, make

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        function = self._make.call(self._program, name)
        setattr(self, name, function)
        return function


def _listed(sources):
    return [sources] if isinstance(sources, str) else list(sources or ())


def on_host(torch, session):
    """A mode of torch in which the device 'cuda' is the host, whose tensors say that they are on it."""
    reads = {
        "size",
        "stride",
        "numel",
        "nelement",
        "dim",
        "is_contiguous",
        "data_ptr",
        "element_size",
        "__len__",
    }

    def host(value):
        if isinstance(value, torch.device) and value.type == "cuda":
            return torch.device("cpu")
        return "cpu" if isinstance(value, str) and re.fullmatch(r"cuda(:\d+)?", value) else value

    class OnHost(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            kwargs = dict(kwargs or {})
            if func is torch.Tensor.cuda or func is torch.Tensor.pin_memory:
                return args[0]
            if func is torch.device:  # newer torch comes here, too; it is mapped where it is used
                return func(*args, **kwargs)
            if func == torch.Tensor.is_cuda.__get__:
                return not args[0].is_meta
            if func == torch.Tensor.device.__get__:
                device = func(*args)
                return torch.device("cuda", 0) if device.type == "cpu" else device
            if func is torch.Tensor.get_device:
                return 0
            name = getattr(func, "__name__", "")
            if name not in reads and name != "__get__":
                for value in [*args, *kwargs.values()]:
                    if isinstance(value, torch.Tensor) and getattr(value, "_antiphase_unwritten", False):
                        value._antiphase_unwritten = False
            if type(kwargs.get("device")) is int:  # the number of a GPU
                kwargs["device"] = "cpu"
            if func is torch.Tensor.to and len(args) > 1 and type(args[1]) is int:
                args = (args[0], "cpu", *args[2:])
            args, kwargs = tuple(map(host, args)), {k: host(v) for k, v in kwargs.items()}
            if session.graph is not None and name not in reads and name != "__get__":
                return session.graph.record(torch, func, name, args, kwargs)
            made = func(*args, **kwargs)
            if name in ("empty", "empty_like", "new_empty", "empty_strided") and isinstance(
                made, torch.Tensor
            ):
                made._antiphase_unwritten = True
            return made

    return OnHost()


def _nothing(*_, **__):
    return None


def _graphs(session):
    """torch.cuda's CUDAGraph, and graph(), within which work is recorded in place of being done."""

    class CUDAGraph:
        def __init__(self, *_, **__):
            self.work = []

        def record(self, torch, function, name, arguments, named):
            changes_a_tensor = "out" in named or name in ("__setitem__", "__iadd__", "__isub__", "__imul__")
            if changes_a_tensor or re.search(r"[^_]_$", name):
                self.work.append(lambda: function(*arguments, **named))
                return named.get("out", arguments[0] if arguments else None)
            made = function(*arguments, **named)
            if isinstance(made, torch.Tensor) and not made._is_view():
                self.work.append(lambda: made.copy_(function(*arguments, **named)))
            return made

        def replay(self):
            for work in self.work:
                work()

        def capture_begin(self, *_, **__):
            session.graph = self

        def capture_end(self):
            session.graph = None

        reset = pool = enable_debug_mode = _nothing

    @contextlib.contextmanager
    def graph(cuda_graph, *_, **__):
        cuda_graph.capture_begin()
        try:
            yield
        finally:
            cuda_graph.capture_end()

    return CUDAGraph, graph


def device_memory(session, ndarray, size):
    """Memory of the device that nothing was written to: an array of bytes, which the session knows."""
    import numpy

    made = numpy.empty(int(size), numpy.uint8).view(ndarray)
    made.unwritten = True
    session.memories[made.ctypes.data] = Memory(made.ctypes.data, int(size), made, "unwritten")
    return made


class _Event:
    cuda_event = 1  # a handle: not the null one

    def __init__(self, *_, **__):
        pass

    record = synchronize = wait = _nothing

    def elapsed_time(self, _):
        return 1.0

    def query(self):
        return True


class _Generator:
    """torch.cuda's generator of random numbers, whose state is a seed and an offset."""

    def __init__(self):
        self.seed_value, self.offset = 0, 0

    def manual_seed(self, seed):
        self.seed_value, self.offset = seed, 0
        return self

    def initial_seed(self):
        return self.seed_value

    def get_state(self):
        import torch

        return torch.tensor([self.seed_value, self.offset]).view(torch.uint8)

    def set_state(self, state):
        import torch

        self.seed_value, self.offset = state.view(torch.int64).tolist()


class _Stream(_Event):
    cuda_stream = ptr = 0

    def __enter__(self):
        return self

    __exit__ = wait_event = wait_stream = record_event = _nothing


@contextlib.contextmanager
def torch(session):
    if not session.uses("torch"):
        yield
        return
    import torch

    logging.getLogger("torch.utils.cpp_extension").setLevel(logging.ERROR)  # it warns that there is no device
    import torch.utils.cpp_extension as extensions

    make = _Tensors(torch, session)

    def module(name, program, sources, is_python_module):
        for space in re.findall(r"\bTORCH_LIBRARY(?:_FRAGMENT)?\s*\(\s*(\w+)", "\n".join(sources)):
            setattr(torch.ops, space, _Functions(space, program, make))
        return _Functions(name, program, make) if is_python_module else None

    def load_inline(
        name,
        cpp_sources,
        cuda_sources=None,
        *others,  # sycl_sources, functions
        functions=None,
        extra_cflags=None,
        extra_cuda_cflags=None,
        extra_include_paths=None,
        is_python_module=True,
        **__,
    ):
        cpp, cuda = _listed(cpp_sources), _listed(cuda_sources)
        functions = functions or next((o for o in others if o), None)
        names = [functions] if isinstance(functions, str) else list(functions or ())
        for kernel in names:
            if re.search(rf"\b__global__\b[^;{{}}=]*?\b{re.escape(kernel)}\s*\(", "\n".join(cuda)):
                session.reject(
                    f"functions= names {kernel}, a __global__ function, which Python cannot call: expected a "
                    "function of the host that launches it"
                )
        bound = "".join(f'  m.def("{f}", torch::wrap_pybind_function({f}));\n' for f in names)
        bound = f"PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {{\n{bound}}}\n" if names else ""
        head = "#include <torch/extension.h>\n"
        first = head + "#include <cuda.h>\n#include <cuda_runtime.h>\n"
        device = "".join(session.located(s) for s in cuda)
        host = "".join(session.located(s) for s in cpp)
        end = f'#line 1 "{name}: main"\n{bound}{_MAIN}'
        flags = _compiled_as([*(extra_cflags or ()), *(extra_cuda_cflags or ())])
        flags += [f"-I{p}" for p in _listed(extra_include_paths)]
        if "{" in "".join(cpp) and cuda:
            files = [("cuda.cu", first + device), ("main.cu", head + host + end)]
        else:  # declarations, so that both are one unit, which is compiled sooner
            files = [("cuda.cu", first + device + host + end)]
        return module(name, Program(session, name, files, flags), [*cpp, *cuda], is_python_module)

    def load(
        name,
        sources,
        extra_cflags=None,
        extra_cuda_cflags=None,
        extra_ldflags=None,
        extra_include_paths=None,
        *_,
        is_python_module=True,
        **__,
    ):
        paths = [str(p) for p in _listed(sources)]
        flags = _compiled_as([*(extra_cflags or ()), *(extra_cuda_cflags or ())])
        flags += [f"-I{p}" for p in _listed(extra_include_paths)]
        program = Program(session, name, [("main.cu", "#include <torch/extension.h>\n" + _MAIN)], flags)
        program.sources = [*paths, *program.sources]
        texts = []
        for path in paths:
            with open(path, errors="replace") as file:
                texts.append(file.read())
        return module(name, program, texts, is_python_module)

    properties = types.SimpleNamespace(
        name="antiphase", major=9, minor=0, multi_processor_count=132, total_memory=1 << 30, warp_size=32
    )
    cuda_graph, graph = _graphs(session)
    places = [(extensions, "load_inline", load_inline), (extensions, "load", load)]
    places.append((torch.Tensor, "data_ptr", lambda tensor: make.data_ptr(tensor)))
    cuda = getattr(torch, "cuda", None)
    if cuda is not None:
        places += [
            (cuda, "is_available", lambda: True),
            (cuda, "device_count", lambda: 1),
            (cuda, "current_device", lambda: 0),
            (cuda, "get_device_name", lambda *_: "antiphase"),
            (cuda, "get_device_capability", lambda *_: (9, 0)),
            (cuda, "get_device_properties", lambda *_: properties),
            (cuda, "current_stream", lambda *_: _Stream()),
            (cuda, "default_stream", lambda *_: _Stream()),
            (cuda, "CUDAGraph", cuda_graph),
            (cuda, "graph", graph),
            (cuda, "is_current_stream_capturing", lambda: session.graph is not None),
            (cuda, "Event", _Event),
            (cuda, "Stream", _Stream),
            (cuda, "stream", lambda s: s),
            (cuda, "device", lambda *_: contextlib.nullcontext()),
            (cuda, "default_generators", (_Generator(),)),
            (cuda, "device_of", lambda *_: contextlib.nullcontext()),
            *(
                (cuda, name, lambda *_, **__: None)  # a function each: torch._dynamo lists them as keys
                for name in (
                    "synchronize",
                    "empty_cache",
                    "set_device",
                    "set_stream",
                    "init",
                    "manual_seed_all",
                )
            ),
        ]
    if hasattr(torch, "backends"):  # of tensors that say that they are on a GPU
        places.append((torch.backends.cudnn, "is_acceptable", lambda *_: False))
    if hasattr(torch, "compile"):
        places.append(
            (torch, "compile", lambda model=None, **_: model if model is not None else (lambda m: m))
        )
    if hasattr(torch, "set_default_device"):
        places.append((torch, "set_default_device", _nothing))
    with _replaced(places):
        if hasattr(torch, "overrides"):
            with on_host(torch, session):
                yield
        else:
            yield


# kernels by name: CuPy and PyCUDA
# ----------------------------------------------------------------------------------------------------------


class _NumPyArrays:
    """Stores what kernels left in NumPy's arrays."""

    def store(self, array, data):
        import numpy

        if isinstance(array.owner, Memory):
            return array.owner.store(data)
        flat = numpy.frombuffer(data, dtype=array.owner.dtype)
        owner = array.owner.view(numpy.ndarray)
        there = numpy.lib.stride_tricks.as_strided(flat, owner.shape, owner.strides)
        owner[...] = there


class _Kernel:
    """A kernel of a source text, which launch() runs on arrays."""

    def __init__(self, session, source, name, options=()):
        self.session, self.name, self.allowed = session, name, 0
        plain = re.escape(name.partition("<")[0].rpartition("::")[2].strip())
        text = "\n".join([source, *map(str, options or ())])  # a macro of the options may be the name
        if not re.search(rf'\b{plain}\b|##|#\s*include\s*"', text):
            session.reject(f"there is no kernel '{name}' in this source")
        text = (
            f'#include {KERNELS}\n#line 1 "{name}: source"\n{session.located(source)}#line 1 "{name}: main"\n'
        )
        text += launching_main(name, name)
        self.program = Program(session, name, [("kernel.cu", text)], _compiled_as(options))

    def _address(self, value):
        import numpy

        whole = type(value) is int or isinstance(value, (numpy.int64, numpy.uint64))
        found = self.session.pointer(int(value)) if whole else value
        return found if isinstance(found, Pointer) else value

    def launch(self, grid, block, shared, arguments):
        sizes = [*_three(grid), *_three(block), int(shared), self.allowed, 0, 0, 0, 0]
        packed = [_packed(self._address(a)) for a in arguments]
        for number, value in enumerate(packed):
            if not isinstance(value, (Array, Pointer, Word, type(None))):
                self.session.reject(
                    f"argument {number} of {self.name} is a {type(value).__name__}: expected an array of the "
                    "library's own, a number, or an address such as data_ptr()"
                )
        self.session.work(self.program.call, self.name, [sizes, *packed], {}, _NumPyArrays())


def _three(sizes):
    sizes = [sizes] if isinstance(sizes, int) else list(sizes)
    return [*map(int, sizes), 1, 1, 1][:3]


def _packed(value):
    import numpy

    if isinstance(value, numpy.ndarray):
        if value.dtype.name not in _TYPES:
            raise Unsupported(f"an array has elements of type {value.dtype}, which is not supported here")
        size, plain = value.dtype.itemsize, value.view(numpy.ndarray)
        strides = tuple(s // size for s in plain.strides)
        kind = "u" if getattr(value, "unwritten", False) else "d"
        made = Array(_TYPES[value.dtype.name], plain.shape, strides, None, kind, owner=value)
        made.data = lambda: _bytes_at(plain.ctypes.data, made.span() * size) if made.span() else b""
        if kind == "u":
            value.unwritten = False
        return made
    if isinstance(value, (bool, int, float)):
        value = numpy.bool_(value) if isinstance(value, bool) else numpy.asarray(value)[()]
    if isinstance(value, numpy.generic) and value.dtype.name in _TYPES:
        return Word(_TYPES[value.dtype.name], value.tobytes())
    return value


def _array_type(numpy, session):
    class ndarray(numpy.ndarray):
        """An array that stands for one on the device; `unwritten`: it was never stored to."""

        unwritten = False

        def __array_finalize__(self, of):
            self.unwritten = False

        def get(self, *_, **__):
            return self.view(numpy.ndarray).copy()

        def set(self, values, *_):
            self[...] = values

        def __setitem__(self, place, values):
            self.unwritten = False
            super().__setitem__(place, values)

        def fill(self, value):
            self.unwritten = False
            super().fill(value)

        def __array_ufunc__(self, ufunc, method, *inputs, out=None, **named):
            plain = [i.view(numpy.ndarray) if isinstance(i, ndarray) else i for i in inputs]
            if out is not None:
                for o in out:
                    o.unwritten = False
                named["out"] = tuple(o.view(numpy.ndarray) if isinstance(o, ndarray) else o for o in out)
            made = getattr(ufunc, method)(*plain, **named)
            if out is not None:
                return out[0]
            return numpy.asarray(made).view(ndarray)

        @property
        def gpudata(self):
            return self

        @property
        def data(self):  # of CuPy: an address on the device, from which an integer may be taken
            base, at = self, self.ctypes.data
            while isinstance(base.base, ndarray):
                base = base.base
            session.memories[base.ctypes.data] = Memory(base.ctypes.data, base.nbytes, base, "unwritten")
            return types.SimpleNamespace(ptr=at, device=self.device, mem=types.SimpleNamespace(ptr=at))

        @property
        def device(self):
            return types.SimpleNamespace(id=0)

    return ndarray


class _Module(types.ModuleType):
    """A module whose other names are NumPy's, with arrays of our type as results."""

    def __init__(self, name, numpy, ndarray):
        super().__init__(name)
        self.__path__ = []
        self._numpy, self._array = numpy, ndarray

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(self._numpy, name)
        if isinstance(found, types.ModuleType):
            found = _Module(f"{self.__name__}.{name}", found, self._array)
        elif callable(found) and not isinstance(found, type):
            inner = found

            def found(*positional, **named):
                made = inner(*positional, **named)
                if name in ("empty", "empty_like"):
                    made = made.view(self._array)
                    made.unwritten = True
                    return made
                return self._wrapped(made)

        setattr(self, name, found)
        return found

    def _wrapped(self, made):
        import numpy

        if isinstance(made, numpy.ndarray):
            return made.view(self._array)
        if isinstance(made, tuple):
            return tuple(map(self._wrapped, made))
        return made


@contextlib.contextmanager
def _modules(made):
    before = {name: sys.modules.get(name) for name in made}
    sys.modules.update(made)
    try:
        yield
    finally:
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module


@contextlib.contextmanager
def cupy(session):
    if not session.uses("cupy"):
        yield
        return
    import numpy

    ndarray = _array_type(numpy, session)
    module = _Module("cupy", numpy, ndarray)

    class RawKernel:
        def __init__(self, code, name, options=(), **_):
            self._kernel, self.name, self.code = _Kernel(session, code, name, options), name, code

        def __call__(self, grid, block, args=(), *, shared_mem=0, stream=None):
            self._kernel.launch(grid, block, shared_mem, args)

        compile = _nothing

        @property
        def max_dynamic_shared_size_bytes(self):
            return self._kernel.allowed or 49152

        @max_dynamic_shared_size_bytes.setter
        def max_dynamic_shared_size_bytes(self, most):
            self._kernel.allowed = int(most)

    class RawModule:
        def __init__(self, *, code=None, path=None, options=(), **_):
            if code is None:
                session.refuse("RawModule of a compiled file", "RawModule(code=...)")
            self.code, self.options, self._kernels = code, options, {}

        def get_function(self, name):
            if name not in self._kernels:
                self._kernels[name] = RawKernel(self.code, name, self.options)
            return self._kernels[name]

        def get_global(self, name):
            session.refuse("RawModule.get_global", "an argument of the kernel")

        compile = _nothing

    def refused(name, instead):
        return lambda *_, **__: session.refuse(f"cupy.{name}", instead)

    cuda = types.ModuleType("cupy.cuda")
    cuda.Device = lambda *_: contextlib.nullcontext(
        types.SimpleNamespace(use=_nothing, synchronize=_nothing, id=0)
    )
    cuda.Stream, cuda.Event = _Stream, _Event
    cuda.Stream.null = _Stream()
    cuda.get_current_stream = lambda *_: _Stream()
    cuda.get_elapsed_time = lambda *_: 1.0
    cuda.is_available = lambda: True
    cuda.runtime = types.SimpleNamespace(deviceSynchronize=_nothing, getDeviceCount=lambda: 1)
    cuda.stream = types.SimpleNamespace(get_current_stream=lambda *_: _Stream())
    module.ndarray, module.RawKernel, module.RawModule, module.cuda = ndarray, RawKernel, RawModule, cuda
    module.asnumpy = lambda a, *_, **__: numpy.array(a).view(numpy.ndarray)
    module.get_array_module = lambda *_: module
    module.memoize = lambda *_, **__: functools.cache
    module.clear_memo = _nothing
    module.util = types.SimpleNamespace(memoize=module.memoize, clear_memo=_nothing)
    cuda.compile_with_cache = lambda code, options=(), **_: RawModule(code=code, options=options)
    for name in ("ElementwiseKernel", "ReductionKernel", "fuse"):
        setattr(module, name, refused(name, "RawKernel, with the whole kernel in CUDA C++"))
    cupyx = types.ModuleType("cupyx")
    cupyx.jit = types.SimpleNamespace(
        rawkernel=lambda *_, **__: session.refuse("cupyx.jit.rawkernel", "cupy.RawKernel")
    )
    with _modules({"cupy": module, "cupy.cuda": cuda, "cupyx": cupyx}):
        yield


@contextlib.contextmanager
def pycuda(session):
    if not session.uses("pycuda"):
        yield
        return
    import numpy

    ndarray = _array_type(numpy, session)

    def device(size, dtype=numpy.uint8):
        made = numpy.empty(size, dtype).view(ndarray)
        made.unwritten = True
        return made

    def to_device(values):
        made = numpy.array(values).view(ndarray)
        return made

    def copy(to, source, *_):
        source = numpy.ascontiguousarray(source).view(numpy.ndarray).reshape(-1).view(numpy.uint8)
        there = to.view(numpy.ndarray).reshape(-1).view(numpy.uint8)
        there[: min(len(there), len(source))] = source[: len(there)]
        if isinstance(to, ndarray):
            to.unwritten = False

    class Handed:
        """In, Out or InOut: an array of the host that is copied for a launch."""

        def __init__(self, array):
            self.array = array

    class In(Handed):
        pass

    class Out(Handed):
        pass

    class InOut(Handed):
        pass

    class Function:
        def __init__(self, kernel):
            self._kernel = kernel

        def __call__(self, *arguments, block=(1, 1, 1), grid=(1, 1), shared=0, stream=None, **_):
            given = []
            for a in arguments:
                if isinstance(a, Out):
                    given.append(device(a.array.shape, a.array.dtype))
                else:
                    given.append(to_device(a.array) if isinstance(a, Handed) else a)
            self._kernel.launch(grid, block, shared, given)
            for a, g in zip(arguments, given):
                if isinstance(a, (Out, InOut)):
                    a.array[...] = g

        def prepare(self, *_, **__):
            return self

        def prepared_call(self, grid, block, *arguments, shared_size=0):
            self(*arguments, block=block, grid=grid, shared=shared_size)

        def prepared_async_call(self, grid, block, stream, *arguments, shared_size=0):
            self(*arguments, block=block, grid=grid, shared=shared_size)

        def set_attribute(self, _, most):
            self._kernel.allowed = int(most)

        set_cache_config = _nothing

    class SourceModule:
        def __init__(self, source, nvcc="nvcc", options=None, *_, **__):
            self.source, self.options = source, options or ()

        def get_function(self, name):
            return Function(_Kernel(session, self.source, name, self.options))

        def get_global(self, name):
            session.refuse("SourceModule.get_global", "an argument of the kernel")

        def get_texref(self, name):
            session.refuse("SourceModule.get_texref", "a pointer to global memory")

    package, driver = types.ModuleType("pycuda"), types.ModuleType("pycuda.driver")
    package.__path__ = []
    driver.In, driver.Out, driver.InOut, driver.Stream, driver.Event = In, Out, InOut, _Stream, _Event
    driver.mem_alloc = lambda size: device(int(size))
    driver.mem_alloc_like = lambda a: device(a.nbytes)
    driver.to_device, driver.init = to_device, _nothing
    driver.memcpy_htod = driver.memcpy_dtoh = driver.memcpy_dtod = copy
    driver.memcpy_htod_async = driver.memcpy_dtoh_async = copy
    driver.from_device_like = (
        lambda d, like: d.view(numpy.ndarray).reshape(-1).view(like.dtype).reshape(like.shape)
    )
    driver.pagelocked_empty = lambda shape, dtype, **_: numpy.empty(shape, dtype)
    driver.Context = types.SimpleNamespace(synchronize=_nothing, pop=_nothing)
    driver.Device = lambda *_: types.SimpleNamespace(
        make_context=lambda *_: driver.Context, name=lambda: "antiphase", get_attribute=lambda *_: 0
    )
    driver.function_attribute = types.SimpleNamespace(MAX_DYNAMIC_SHARED_SIZE_BYTES=8)
    compiler, arrays = types.ModuleType("pycuda.compiler"), _Module("pycuda.gpuarray", numpy, ndarray)
    compiler.SourceModule = SourceModule
    arrays.to_gpu, arrays.GPUArray = to_device, ndarray
    made = {
        "pycuda": package,
        "pycuda.driver": driver,
        "pycuda.compiler": compiler,
        "pycuda.gpuarray": arrays,
    }
    for name in ("autoinit", "autoprimaryctx"):
        made[f"pycuda.{name}"] = types.ModuleType(f"pycuda.{name}")
    made["pycuda.autoinit"].context = driver.Context
    made["pycuda.autoinit"].device = driver.Device()
    for name in made:
        if "." in name:
            setattr(package, name.partition(".")[2], made[name])
    with _modules(made):
        yield


# cuda-python: NVRTC, and the driver's functions that launch what it has compiled
# ----------------------------------------------------------------------------------------------------------

_WORDS = {
    "float": 6,
    "double": 7,
    "half": 5,
    "bool": 11,
    **dict.fromkeys(("char", "signed char", "unsigned char", "int8_t", "uint8_t"), 1),
    **dict.fromkeys(("short", "unsigned short", "int16_t", "uint16_t"), 2),
    **dict.fromkeys(("int", "unsigned", "unsigned int", "int32_t", "uint32_t"), 3),
    **dict.fromkeys(("long", "long long", "unsigned long", "unsigned long long"), 4),
    **dict.fromkeys(("size_t", "int64_t", "uint64_t"), 4),
}


def _parameters(session, source, name):
    """Element types of a kernel's parameters; None for a pointer."""
    found = re.search(rf"\b{re.escape(name)}\s*\(([^)]*)\)", source)
    for parameter in found[1].split(",") if found and found[1].strip() else ():
        if "*" in parameter:
            yield None
            continue
        kind = re.sub(r"\b(const|__restrict__|__grid_constant__)\b", " ", parameter).split()
        kind = " ".join(kind[:-1] if len(kind) > 1 else kind)
        if kind not in _WORDS:
            session.refuse(f"a kernel's parameter of type {kind}", "a number or a pointer")
        yield _WORDS[kind]


class _Pointer(int):
    def getPtr(self):
        return id(self)


@contextlib.contextmanager
def cuda_python(session):
    if not session.uses("cuda"):
        yield
        return
    import numpy

    ndarray = _array_type(numpy, session)
    package, bindings = types.ModuleType("cuda"), types.ModuleType("cuda.bindings")
    nvrtc, driver = types.ModuleType("cuda.bindings.nvrtc"), types.ModuleType("cuda.bindings.driver")
    package.__path__, bindings.__path__ = [], []
    nvrtc.nvrtcResult = types.SimpleNamespace(NVRTC_SUCCESS=0)
    driver.CUresult = types.SimpleNamespace(CUDA_SUCCESS=0)
    driver.CUstream = type("CUstream", (), {})  # tvm_ffi asks whether an argument is one
    programs, memory = {}, {}

    def create(source, *_):
        programs[len(programs)] = [source.decode() if isinstance(source, bytes) else source, ()]
        return 0, len(programs) - 1

    def compiled(program, count, options):
        programs[program][1] = [o.decode() if isinstance(o, bytes) else o for o in options]
        return (0,)

    def text_of(program):
        return f"antiphase {program} ".encode().ljust(64)

    def to_text(program, to):
        ctypes.memmove(to, text_of(program), 64)
        return (0,)

    def load(place):
        data = place if isinstance(place, bytes) else _bytes_at(int(place), 64)
        if not data.startswith(b"antiphase "):
            session.refuse("a module that NVRTC has not compiled here", "nvrtcCreateProgram")
        return 0, int(data.split()[1])

    def function(module, name):
        source, options = programs[module]
        name = name.decode() if isinstance(name, bytes) else name
        return 0, (_Kernel(session, source, name, options), list(_parameters(session, source, name)))

    def allocate(size):
        made = device_memory(session, ndarray, size)
        memory[made.ctypes.data] = made
        return 0, _Pointer(made.ctypes.data)

    def at(place):
        """The allocation that holds a place, and the offset in it."""
        for start, made in memory.items():
            if start <= int(place) < start + len(made):
                return made, int(place) - start
        session.refuse("a pointer that is not cuMemAlloc's", "cuMemAlloc")

    def copy(to, source, size, *_):
        ctypes.memmove(int(to), int(source), int(size))
        for start, made in memory.items():
            if start <= int(to) < start + len(made):
                made.unwritten = False
        return (0,)

    def clear(place, value, count, width):
        ctypes.memmove(int(place), int(value).to_bytes(width, "little") * int(count), width * int(count))
        at(place)[0].unwritten = False
        return (0,)

    def launch(kernel, gx, gy, gz, bx, by, bz, shared, stream, arguments, extra=0):
        kernel, kinds = kernel
        given = []
        for number, kind in enumerate(kinds):
            if isinstance(arguments, tuple):
                value = arguments[0][number]
                data = int(value if value is not None else 0) if kind is None else None
                data = (
                    data.to_bytes(8, "little")
                    if kind is None
                    else numpy.asarray(
                        value.value if hasattr(value, "value") else value, _NAMES[kind]
                    ).tobytes()
                )
            else:
                (place,) = numpy.frombuffer(_bytes_at(int(arguments) + 8 * number, 8), numpy.uint64)
                data = _bytes_at(int(place), 8 if kind is None else _SIZES[kind])
            if kind is not None:
                given.append(Word(kind, data))
                continue
            pointer = int.from_bytes(data, "little")
            made, offset = at(pointer) if pointer else (None, 0)
            if offset:
                session.refuse("a pointer into an allocation", "the allocation, and an offset as an argument")
            given.append(made)
        kernel.launch((gx, gy, gz), (bx, by, bz), shared, given)
        return (0,)

    def attribute(function, _, value):
        function[0].allowed = int(value)
        return (0,)

    def done(*_):
        return (0,)

    nvrtc.nvrtcCreateProgram, nvrtc.nvrtcCompileProgram = create, compiled
    nvrtc.nvrtcGetPTXSize = nvrtc.nvrtcGetCUBINSize = lambda _: (0, 64)
    nvrtc.nvrtcGetPTX = nvrtc.nvrtcGetCUBIN = to_text
    nvrtc.nvrtcGetProgramLogSize = lambda _: (0, 1)
    nvrtc.nvrtcGetProgramLog = nvrtc.nvrtcDestroyProgram = done
    driver.cuModuleLoadData, driver.cuModuleGetFunction = load, function
    driver.cuMemAlloc, driver.cuLaunchKernel, driver.cuFuncSetAttribute = allocate, launch, attribute
    driver.CUfunction_attribute = types.SimpleNamespace(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES=8)
    driver.CUdeviceptr = _Pointer
    for name in ("HtoD", "DtoH", "DtoD"):
        setattr(driver, f"cuMemcpy{name}", copy)
        setattr(driver, f"cuMemcpy{name}Async", copy)
    driver.cuMemsetD8 = lambda place, value, count: clear(place, value, count, 1)
    driver.cuMemsetD32 = lambda place, value, count: clear(place, value, count, 4)
    driver.CUdevice_attribute = types.SimpleNamespace(
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR=75, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR=76
    )
    driver.cuDeviceGetAttribute = lambda which, _: (0, 9 if which == 75 else 0)
    for name in ("cuDeviceGet", "cuCtxCreate", "cuStreamCreate", "cuDevicePrimaryCtxRetain"):
        setattr(driver, name, lambda *_: (0, 0))
    for name in (
        "cuInit",
        "cuCtxSynchronize",
        "cuCtxSetCurrent",
        "cuCtxDestroy",
        "cuMemFree",
        "cuModuleUnload",
    ):
        setattr(driver, name, done)
    for name in ("cuStreamSynchronize", "cuStreamDestroy"):
        setattr(driver, name, done)
    package.bindings, bindings.nvrtc, bindings.driver = bindings, nvrtc, driver
    package.nvrtc, package.cuda = nvrtc, driver  # the names of older versions
    made = {"cuda": package, "cuda.bindings": bindings, "cuda.nvrtc": nvrtc, "cuda.cuda": driver}
    with _modules({**made, "cuda.bindings.nvrtc": nvrtc, "cuda.bindings.driver": driver}):
        yield
