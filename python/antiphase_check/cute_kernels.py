# SPDX-License-Identifier: Apache-2.0
"""CuTe DSL: the library that its host code calls in place of CUDA's is one whose launches run under the checker."""
import contextlib
import ctypes
import functools
import math
import os
import pathlib
import re
import struct
import subprocess

from . import cuda_bindings, ptx_kernels
from .session import Unsupported

FIRST, LAST = (4, 8), (4, 8)  # versions that were tried
_ANSWERED = """_cudaLibraryLoadData _cudaLibraryGetKernel _cudaLaunchKernelEx _cudaDeviceGetAttribute _cudaGetDevice
_cudaGetDeviceCount _cuTensorMapEncodeTiled""".split()
_IGNORED = """_cudaLibraryUnload _cuKernelGetAttribute _cudaKernelSetAttributeForDevice _cudaSetDevice
_cudaDeviceSynchronize _cudaStreamSynchronize _cudaFuncSetAttribute cuda_dialect_init_library_once
cuda_dialect_unload_library_once cuda_dialect_print_on_error cuda_dialect_get_error_name
cuda_dialect_assert_success CuteDSLRT_GetErrorName CuteDSLRT_GetErrorString""".split()
_REFUSED = """_cudaLibraryGetGlobal _cudaLaunchKernel _cudaMalloc _cudaMemcpy _cudaMemset
_cudaMemcpyAsync _cudaMemsetAsync""".split()
_CALLS = _ANSWERED + _IGNORED + _REFUSED
_MAP_BYTES = 128
_MULTIPROCESSORS = 132
_CLUSTER, _COOPERATIVE = 4, 2  # of cudaLaunchAttributeID
_ATTRIBUTE_BYTES = 72


class _Configuration(ctypes.Structure):  # cudaLaunchConfig_t
    _fields_ = [
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared", ctypes.c_size_t),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.c_void_p),
        ("count", ctypes.c_uint),
    ]


def _numbers(address, kind, count):
    return list((kind * count).from_address(address)) if count > 0 else []


def _store(address, value):
    ctypes.c_void_p.from_address(address).value = value


def _as_on_device(capsule):
    """Says in a capsule of DLPack that its tensor is on the GPU: pointers to it are to global memory then."""
    python = ctypes.pythonapi
    python.PyCapsule_GetName.restype, python.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
    python.PyCapsule_GetPointer.restype = ctypes.c_void_p
    python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    name = python.PyCapsule_GetName(capsule)
    begin = python.PyCapsule_GetPointer(capsule, name) + (32 if name == b"dltensor_versioned" else 0)
    ctypes.c_int32.from_address(begin + 8).value = 2  # DLTensor's device, kDLCUDA


class _Library:
    """What answers the calls of compiled host code."""

    def __init__(self, session):
        self.session, self.folder = session, pathlib.Path(session.folder) / "cute"
        self.folder.mkdir(exist_ok=True)
        self.path = self.folder / "runtime.so"
        self.loading = ""  # the PTX of the module that is being loaded
        self.modules, self.entries, self.kernels = [""], [None], {}
        self.failed = None
        self.folders = []

    def build(self):
        text = "static long (*answer)(int, long*);\n"
        text += 'extern "C" void set_answer(long (*to)(int, long*)) { answer = to; }\n'
        names = [f"x{n}" for n in range(12)]
        takes = ", ".join(f"long {n}" for n in names)
        for number, name in enumerate(_CALLS):
            body = f"long all[] = {{{', '.join(names)}}}; return answer({number}, all);"
            text += f'extern "C" long {name}({takes}) {{ {body} }}\n'
        source = self.folder / "runtime.cpp"
        source.write_text(text)
        subprocess.run(["g++", "-shared", "-fPIC", "-O1", str(source), "-o", str(self.path)], check=True)
        kind = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_int, ctypes.POINTER(ctypes.c_long))
        self.answer = kind(self._answer)
        ctypes.CDLL(str(self.path)).set_answer(self.answer)

    def _answer(self, number, given):
        try:
            name = _CALLS[number]
            if name in _ANSWERED:
                return getattr(self, name.lstrip("_"))(given) or 0
            elif name in _REFUSED:
                self.session.refuse(
                    f"{name.lstrip('_')} by host code of CuTe DSL", "arrays of NumPy or torch"
                )
        except BaseException as error:  # must not pass through the host code
            self.failed = self.failed or error
        return 0

    def raise_failure(self):
        failed, self.failed = self.failed, None
        if failed is not None:
            raise failed

    def cudaLibraryLoadData(self, given):
        self.modules.append(self.loading)
        _store(given[0], len(self.modules) - 1)

    def cudaLibraryGetKernel(self, given):
        name = ctypes.string_at(given[2]).decode()
        self.entries.append((self.modules[given[1]], name))
        _store(given[0], len(self.entries) - 1)

    def cuTensorMapEncodeTiled(self, given):
        """Writes the bits that host code of CuTe DSL makes by itself elsewhere: _tensor_map() reads them."""
        to, kind, rank, address, sizes, strides, box, _, interleave, swizzle = given[:10]
        kind, rank, interleave, swizzle = (n & 0xFFFFFFFF for n in (kind, rank, interleave, swizzle))
        words, data = [0] * 32, bytearray(_MAP_BYTES)
        words[0], words[1] = address & 0xFFFFFFFF, address >> 32
        hardware = {8: 9, 9: 10, 10: 8}.get(kind, kind)  # the inverse of map_type()
        words[2] = (rank - 1) << 4 | hardware << 7 | interleave << 11 | swizzle << 13
        words[3 : 3 + rank - 1] = [n >> 4 for n in _numbers(strides, ctypes.c_uint64, rank - 1)]
        words[8 : 8 + rank] = [n - 1 for n in _numbers(sizes, ctypes.c_uint64, rank)]
        data[:] = struct.pack("<32I", *words)
        data[55 : 55 + rank] = bytes(n - 1 for n in _numbers(box, ctypes.c_uint32, rank))
        ctypes.memmove(to, bytes(data), _MAP_BYTES)

    def cudaDeviceGetAttribute(self, given):
        of = {75: 9, 76: 0, 16: _MULTIPROCESSORS, 97: 232448}  # capability, multiprocessors, shared memory
        ctypes.c_int.from_address(given[0]).value = of.get(given[1] & 0xFFFFFFFF, 0)

    def cudaGetDeviceCount(self, given):
        ctypes.c_int.from_address(given[0]).value = 1

    def cudaGetDevice(self, given):
        ctypes.c_int.from_address(given[0]).value = 0

    def cudaLaunchKernelEx(self, given):
        c = _Configuration.from_address(given[0])
        key = self.entries[given[1]]
        if key not in self.kernels:
            text, entry = key
            name = re.sub(r"^kernel_cutlass_(.+?)_(?:[Tt]ensor|[Tt]iled|object|cutlass|\d).*$", r"\1", entry)
            self.kernels[key] = ptx_kernels.Kernel(self.session, text, entry, name, self.folders, "CuTe DSL")
        kernel = self.kernels[key]
        cluster, together = (0, 0, 0), False
        for number in range(c.count):
            at = c.attributes + number * _ATTRIBUTE_BYTES
            which = ctypes.c_int.from_address(at).value
            if which == _CLUSTER:
                cluster = tuple(_numbers(at + 8, ctypes.c_uint, 3))
            together |= which == _COOPERATIVE and ctypes.c_int.from_address(at + 8).value != 0
        if together and math.prod(c.grid) > _MULTIPROCESSORS * (2048 // max(1, math.prod(c.block))):
            return 720  # cudaErrorCooperativeLaunchTooLarge
        addresses = _numbers(given[2], ctypes.c_void_p, len(kernel.parameters))
        values = [self._value(ctypes.string_at(a, p.bytes)) for a, p in zip(addresses, kernel.parameters)]
        kernel.launch(tuple(c.grid), tuple(c.block), c.shared, values, cluster, together)

    def _value(self, data):
        """A parameter's bytes, with places of arrays where there are addresses."""
        if len(data) % 8:
            return data
        parts = [data[at : at + 8] for at in range(0, len(data), 8)]
        for number, part in enumerate(parts):
            value = int.from_bytes(part, "little")
            found = self.session.pointer(value) if value else value
            parts[number] = part if isinstance(found, int) else found
        if len(data) == _MAP_BYTES and isinstance(parts[0], ptx_kernels.Pointer):
            return self._tensor_map(parts[0], struct.unpack("<32I", data), data)
        return parts[0] if len(parts) == 1 else parts

    def _tensor_map(self, base, words, data):
        """Host code of CuTe DSL makes the bits that GPUs read by itself."""
        form = words[2]
        rank, kind, interleave, swizzle = (form >> 4 & 7) + 1, form >> 7 & 15, form >> 11 & 3, form >> 13 & 3
        if interleave:
            self.session.refuse("a tensor map with interleaved channels", "a plain tensor map")
        strides = [16 * n for n in words[3 : 3 + rank - 1]]
        sizes, box = [n + 1 for n in words[8 : 8 + rank]], [n + 1 for n in data[55 : 55 + rank]]
        return ptx_kernels.tensor_map(base, ptx_kernels.map_type(kind), swizzle, sizes, strides, box)


def _start(session, library, cutlass):
    version = ptx_kernels.version_of(cutlass)
    tried = f"expected {FIRST[0]}.{FIRST[1]}"
    if version < FIRST:
        raise Unsupported(f"CuTe DSL {cutlass.__version__} is not supported here: {tried} or newer")
    if version > LAST:
        session.notes.append(f"CuTe DSL {cutlass.__version__} was not tried: {tried}")
    try:
        return _places(session, library, cutlass)
    except (ImportError, AttributeError) as error:
        raise Unsupported(
            f"CuTe DSL {cutlass.__version__} is not supported here: {error}; {tried}"
        ) from error


def _places(session, library, cutlass):
    from cutlass.base_dsl import compiler, jit_executor
    from cutlass.base_dsl.runtime import cuda
    from cutlass.cute import runtime, testing
    from cutlass.cutlass_dsl import cuda_jit_executor
    from cutlass.utils import hardware_info

    import numpy

    library.folders = [os.path.dirname(os.path.abspath(cutlass.__file__))]
    compiled = cuda_jit_executor.CudaDialectJitCompiledFunction
    load, made = compiled._load_cuda_library, runtime.from_dlpack

    def load_module(self):
        library.loading = self.__ptx__ or ""
        loaded = load(self)
        library.raise_failure()
        return loaded

    def from_dlpack(value, *more, **named):
        if isinstance(value, numpy.ndarray):
            ptx_kernels.pointer(session, value)
        elif hasattr(value, "data_ptr"):
            value.data_ptr()
        tensor = made(value, *more, **named)
        _as_on_device(tensor._dlpack_data)
        return tensor

    def checked(run):
        @functools.wraps(run)
        def called(self, *positional, **named):
            result = run(self, *positional, **named)
            library.raise_failure()
            return result

        return called

    def benchmark(run, *_, workspace_generator=None, kernel_arguments=None, **__):  # once
        given = workspace_generator() if workspace_generator is not None else kernel_arguments
        run(*getattr(given, "args", ()), **getattr(given, "kwargs", {}))
        return 1.0

    executor, hardware = jit_executor.JitExecutor, hardware_info.HardwareInfo
    return [
        (hardware, "__init__", lambda self, device_id=0: None),
        (hardware, "get_max_active_clusters", lambda self, size, stream=None: _MULTIPROCESSORS // size),
        (hardware, "get_device_multiprocessor_count", lambda self: _MULTIPROCESSORS),
        (hardware, "get_l2_cache_size_in_bytes", lambda self: 50 << 20),
        (cuda, "initialize_cuda_context", lambda *_, **__: None),
        (testing, "benchmark", benchmark),
        (compiler.CompileOptions, "enable_tvm_ffi", False),  # its calls end in the driver
        (compiled, "num_devices", 1),
        (compiled, "_load_cuda_library", load_module),
        (runtime, "from_dlpack", from_dlpack),
        (executor, "run_compiled_program", checked(executor.run_compiled_program)),
    ]


@contextlib.contextmanager
def cute(session):
    library, before = _Library(session), dict(os.environ)

    def prepare():
        os.environ.setdefault("CUTE_DSL_ARCH", "sm_90a")
        os.environ.update(
            CUTE_DSL_LINEINFO="1",
            CUTE_DSL_KEEP_PTX="1",
            CUTE_DSL_DUMP_DIR=str(library.folder),
            CUTE_DSL_LIBS=str(library.path),
        )
        library.build()

    try:
        with cuda_bindings.bindings(session), ptx_kernels.when_imported(
            "cutlass", functools.partial(_start, session, library), prepare
        ):
            yield
    finally:
        for name in [n for n in os.environ if n.startswith("CUTE_DSL_")]:
            os.environ.pop(name)
            if name in before:
                os.environ[name] = before[name]
