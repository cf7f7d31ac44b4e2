# SPDX-License-Identifier: Apache-2.0
"""TileLang: its host code runs on the host, and its kernels, compiled to PTX by nvcc, under the checker."""
import contextlib
import ctypes
import functools
import os
import shutil
import struct
import sys
import threading

from . import fakes, ptx_kernels
from .session import Unsupported

FIRST = (0, 1, 15)  # the version that was tried
_HOST, _CUDA = 1, 2  # device types of DLPack
_DEVICE_TYPE = 10  # the field of tvm_struct_get
_PLACES = ("blockIdx.x", "blockIdx.y", "blockIdx.z", "threadIdx.x", "threadIdx.y", "threadIdx.z")


class _Value(ctypes.Structure):  # TVMFFIAny
    _fields_ = [("type", ctypes.c_int32), ("more", ctypes.c_uint32), ("bits", ctypes.c_int64)]

    def number(self):
        """An int, a float, or an address."""
        if self.type == 3:
            return ctypes.c_double.from_buffer(ctypes.c_int64(self.bits)).value
        return self.bits if self.type in (1, 2) else _Address(self.bits)


_FUNCTION = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(_Value), ctypes.c_int32, ctypes.POINTER(_Value)
)


class _Address(int):
    pass


class _Module:
    """The kernels of one compiled function, and what its host code calls by name."""

    def __init__(self, session, artifact, library):
        self.session, self.library = session, library
        self.source, self.target = artifact.kernel_source, artifact.target
        self.kernels, self.maps, self.failed, self.text = {}, {}, None, None
        self.functions = {
            "__tvm_set_device": self._guarded(lambda *_: None),
            "__tvm_tensormap_create_tiled": self._guarded(self.make_map),
        }
        for name, function in artifact.device_mod.functions.items():
            attributes, entry = function.attrs, name.name_hint
            given = next((attributes[k] for k in attributes.keys() if "kernel_launch_params" in k), [])
            cluster = list(map(int, attributes["cluster_dims"])) if "cluster_dims" in attributes else []
            self.functions[entry] = self._guarded(
                functools.partial(self.launch, entry, list(map(str, given)), cluster)
            )

    def _guarded(self, function):
        """The function in C: one of Python's would be deleted by the host code after Python has ended."""

        def called(_, values, count, result):
            result[0].type = 0
            try:
                if self.failed is None:
                    function(*(values[k].number() for k in range(count)))
            except BaseException as error:  # must not pass through the host code
                self.failed = error
            return 0

        return _FUNCTION(called)

    def run(self, executable, tvm_ffi, *values):
        for value in values:
            if hasattr(value, "data_ptr"):
                value.data_ptr()  # makes its memory known to the session
        for name, function in self.functions.items():
            address = ctypes.cast(function, ctypes.c_void_p).value
            made = tvm_ffi.Function.__from_extern_c__(address)
            tvm_ffi.register_global_func(name, made, override=True)
        result = executable(*values)
        failed, self.failed = self.failed, None
        if failed is not None:
            raise failed
        return result

    def make_map(self, to, kind, rank, address, *rest):
        sizes, strides, box, steps = (rest[at : at + rank] for at in range(0, 4 * rank, rank))
        interleave, swizzle, _, fill = rest[4 * rank : 4 * rank + 4]
        if any(step != 1 for step in steps) or interleave or fill:
            self.session.refuse("a tensor map of TileLang with steps, interleaved or filled", "plain tiles")
        pointer = ptx_kernels.pointer_of(self.session, address, "a tensor map's memory")
        self.maps[to] = ptx_kernels.tensor_map(pointer, kind, swizzle, sizes, strides[1:], box)

    def launch(self, entry, tags, cluster, *values):
        values, sizes = values[: len(values) - len(tags)], values[len(values) - len(tags) :]
        places = dict(zip(tags, sizes))
        shared = next((int(n) for tag, n in places.items() if "dyn_shared_memory" in tag), 0)
        cooperative = any("cooperative" in tag for tag in tags)
        cluster = [*cluster, 1, 1][:3] if cluster else [0, 0, 0]
        kernel = self.kernels.get(entry) or self.compiled(entry)
        packed = [self.packed(v, p) for v, p in zip(values, kernel.parameters)]
        grid = [int(places.get(p, 1)) for p in _PLACES]
        kernel.launch(grid[:3], grid[3:], shared, packed, cluster, cooperative)

    def packed(self, value, parameter):
        if isinstance(value, _Address):
            return self.maps.get(value) or ptx_kernels.pointer_of(self.session, value, "an argument")
        if isinstance(value, float):
            return struct.pack({2: "<e", 4: "<f", 8: "<d"}[parameter.bytes], value)
        return (value & ((1 << 8 * parameter.bytes) - 1)).to_bytes(parameter.bytes, "little")

    def compiled(self, entry):
        from tilelang.contrib import nvcc

        if self.text is None:
            named = f'#line 1 "{entry}.cu"\n{self.source}'  # as kernel.get_kernel_source() has it
            with self.target:
                self.text = nvcc.get_ptx_from_source(named)
        self.kernels[entry] = ptx_kernels.Kernel(
            self.session, self.text, entry, entry, self.library, "TileLang"
        )
        return self.kernels[entry]


def _on_host(module, tvm):
    """Host code that takes tensors of the host for those of the device."""

    def changed(node):
        is_read = "tvm_struct_get" in str(getattr(node.op, "name", ""))
        return node + (_CUDA - _HOST) if is_read and int(node.args[2]) == _DEVICE_TYPE else None

    transform = tvm.tirx.stmt_functor.ir_transform
    functions = {
        name: function.with_body(transform(function.body, None, changed, ["tirx.Call"]))
        for name, function in module.functions.items()
    }
    return tvm.IRModule(functions)


def _start(session, tilelang):
    version = tuple(int(n) for n in tilelang.__version__.split("+")[0].split(".")[:3] if n.isdigit())
    tried = ".".join(map(str, FIRST))
    if version < FIRST:
        raise Unsupported(f"TileLang {tilelang.__version__} is not supported here: expected {tried} or newer")
    if shutil.which("nvcc") is None and not os.environ.get("CUDA_HOME"):
        raise Unsupported("TileLang's kernels are compiled to PTX by nvcc: expected it in PATH")
    try:
        return _places(session, tilelang)
    except (ImportError, AttributeError) as error:
        raise Unsupported(
            f"TileLang {tilelang.__version__} is not supported here: {error}; expected {tried}"
        ) from error


def _places(session, tilelang):
    import tvm_ffi
    from tilelang import profiler, tvm
    from tilelang.autotuner.tuner import AutoTuner
    from tilelang.jit import kernel as kernels
    from tilelang.jit.adapter.tvm_ffi import TVMFFIKernelAdapter as Adapter

    lower = sys.modules["tilelang.engine.lower"]
    library = [os.path.dirname(os.path.abspath(tilelang.__file__))]
    lowered, executable, tuned = lower._lower_with_context_impl, Adapter._make_executable, AutoTuner.run
    allocate = kernels.prepare_tvm_ffi_callee_allocated_outputs

    def split(function, context, **named):
        artifact = lowered(
            function, context, **{**named, "enable_host_codegen": False, "enable_device_compile": False}
        )
        if named.get("enable_host_codegen"):
            artifact.host_mod = _on_host(artifact.host_mod, tvm)
            artifact.rt_mod = lower.host_codegen(artifact.host_mod, context)
            modules[id(artifact.rt_mod)] = _Module(session, artifact, library)
        return artifact

    def make_executable(adapter):
        return functools.partial(modules[id(adapter.rt_mod)].run, executable(adapter), tvm_ffi)

    def caller_allocates(*positional, **named):
        return allocate(*positional, **{**named, "supports_callee_allocated_outputs": False})

    def once(function, *_, quantiles=None, **__):
        function()
        return [1.0] * len(quantiles) if quantiles else 1.0

    def bench(self, func=None, input_tensors=None, quantiles=None, **_):
        given = self._get_inputs() if input_tensors is None else input_tensors
        return once(functools.partial(func or self.adapter, *given), quantiles=quantiles)

    def run(self, *positional, **named):
        if os.environ.get("ANTIPHASE_AUTOTUNE") != "all":
            self.configs = self.configs[:1]
        return tuned(self, *positional, **{**named, "enable_grouped_compile": False})

    def run_on_host(thread):
        with fakes.on_host(sys.modules["torch"], session):  # a mode of torch is one thread's
            run_thread(thread)

    modules, run_thread = {}, threading.Thread.run
    return [
        (threading.Thread, "run", run_on_host),
        (lower, "_lower_with_context_impl", split),
        (kernels, "prepare_tvm_ffi_callee_allocated_outputs", caller_allocates),
        (Adapter, "_make_executable", make_executable),
        (Adapter, "_prepare_torch_device", lambda self, device: None),
        (profiler, "do_bench", once),
        (profiler.Profiler, "do_bench", bench),
        (AutoTuner, "run", run),
    ]


@contextlib.contextmanager
def tilelang(session):
    before = dict(os.environ)

    def prepare():
        os.environ["TILELANG_DISABLE_CACHE"] = os.environ["TILELANG_AUTO_TUNING_DISABLE_CACHE"] = "1"
        os.environ.setdefault("TILELANG_DEFAULT_TARGET", '{"kind": "cuda", "arch": "sm_90a"}')

    try:
        with ptx_kernels.when_imported("tilelang", functools.partial(_start, session), prepare):
            yield
    finally:
        for name in [n for n in os.environ if n.startswith("TILELANG_") and n not in before]:
            os.environ.pop(name)
