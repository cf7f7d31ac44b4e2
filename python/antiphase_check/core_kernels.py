# SPDX-License-Identifier: Apache-2.0
"""Kernels of cuda.core: programs in CUDA C++, their launches, buffers and streams, with the host as the device."""
import contextlib
import ctypes
import sys
import types

from .fakes import _array_type, _Kernel, _modules, _nothing, device_memory


@contextlib.contextmanager
def cuda_core(session):
    """Within fakes.cuda_python(), whose package it adds to."""
    if not session.uses("cuda"):
        yield
        return
    made = modules(session)
    sys.modules["cuda"].core = made["cuda.core"]
    with _modules(made):
        yield


def modules(session):
    """The modules of the package cuda.core, by name."""
    import numpy

    ndarray = _array_type(numpy, session)

    class Buffer:
        """Memory of the device."""

        def __init__(self, size):
            self.array = device_memory(session, ndarray, size)
            self.size, self.handle = size, self.array.ctypes.data

        def __int__(self):
            return self.handle

        def copy_to(self, to=None, *, stream=None):
            to = Buffer(self.size) if to is None else to
            to.copy_from(self)
            return to

        def copy_from(self, source, *, stream=None):
            ctypes.memmove(self.handle, int(source), self.size)
            self.array.unwritten = getattr(source, "array", self.array[:0]).unwritten

        def __dlpack__(self, **named):  # whoever asks may write there
            self.array.unwritten = False
            return self.array.view(numpy.ndarray).__dlpack__(**named)

        def __dlpack_device__(self):
            return (1, 0)

        close = _nothing

    class Stream:
        sync = close = record = wait = _nothing
        handle = 0

        def __cuda_stream__(self):
            return (0, 0)

    class Device:
        compute_capability = types.SimpleNamespace(major=9, minor=0)
        arch, name, device_id = "90", "antiphase's simulated device", 0
        set_current = sync = _nothing
        default_stream = Stream()

        def __init__(self, *_):
            pass

        def create_stream(self, *_, **__):
            return Stream()

        def allocate(self, size, **_):
            return Buffer(int(size))

    class Options(types.SimpleNamespace):
        """What the package has data classes for."""

    class LaunchConfig(Options):
        def __init__(self, grid=1, block=1, cluster=None, shmem_size=0, cooperative_launch=False):
            if cluster is not None or cooperative_launch:
                session.refuse("a launch of cuda.core in clusters or of cooperating blocks", "a .cu file")
            super().__init__(grid=grid, block=block, shmem_size=shmem_size or 0)

    class ObjectCode:
        def __init__(self, code, options):
            self.code, self.options = code, options

        def get_kernel(self, name):
            name = name.decode() if isinstance(name, bytes) else name
            return _Kernel(session, self.code, name, self.options)

    class Program:
        def __init__(self, code, code_type, options=None):
            if code_type != "c++":
                session.refuse(f"a program of cuda.core in {code_type}", "c++, or antiphase check kernel.ptx")
            given = vars(options) if options is not None else {}
            macros = given.get("define_macro") or ()
            macros = [macros] if isinstance(macros, (str, tuple)) else macros
            self.options = [f"-D{m}" if isinstance(m, str) else f"-D{m[0]}={m[1]}" for m in macros]
            includes = given.get("include_path") or ()
            self.options += [f"-I{i}" for i in ([includes] if isinstance(includes, str) else includes)]
            self.code = code.decode() if isinstance(code, bytes) else code

        def compile(self, target_type="cubin", *, name_expressions=(), **_):
            return ObjectCode(self.code, self.options)

        close = _nothing

    def launch(stream, config, kernel, *arguments):
        given = [int(a) if isinstance(a, Buffer) else a for a in arguments]
        kernel.launch(config.grid, config.block, config.shmem_size, given)

    core, named = types.ModuleType("cuda.core"), types.ModuleType("cuda.core.experimental")
    core.__path__, core.experimental = [], named
    for one in (Device, Stream, Buffer, Program, ObjectCode, LaunchConfig, launch):
        setattr(core, one.__name__, one)
        setattr(named, one.__name__, one)
    for kind in ("ProgramOptions", "StreamOptions", "EventOptions"):
        setattr(core, kind, Options)
        setattr(named, kind, Options)
    return {"cuda.core": core, "cuda.core.experimental": named}
