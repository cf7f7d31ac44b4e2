# SPDX-License-Identifier: Apache-2.0
"""The package cuda.bindings as it is installed: its memory, streams and events are those of the host."""
import contextlib
import ctypes
import functools

from .fakes import _array_type, device_memory
from .ptx_kernels import when_imported

_ATTRIBUTES = {75: 9, 76: 0, 16: 132, 97: 232448}  # capability, multiprocessors, shared memory
_RUNTIME_DONE = """cudaDeviceSynchronize cudaSetDevice cudaStreamSynchronize cudaStreamDestroy cudaStreamWaitEvent
cudaEventRecord cudaEventSynchronize cudaEventDestroy cudaGetLastError cudaPeekAtLastError""".split()
_DRIVER_DONE = """cuInit cuCtxSetCurrent cuCtxSynchronize cuDevicePrimaryCtxRelease cuStreamSynchronize
cuStreamDestroy cuStreamWaitEvent cuEventRecord cuEventSynchronize cuEventDestroy""".split()
_RUNTIME_HANDLES = {
    "cudaStreamCreate": "cudaStream_t",
    "cudaStreamCreateWithFlags": "cudaStream_t",
    "cudaEventCreate": "cudaEvent_t",
    "cudaEventCreateWithFlags": "cudaEvent_t",
}
_DRIVER_HANDLES = {
    "cuStreamCreate": "CUstream",
    "cuEventCreate": "CUevent",
    "cuDeviceGet": "CUdevice",
    "cuCtxGetCurrent": "CUcontext",
    "cuDevicePrimaryCtxRetain": "CUcontext",
}


class _Memories:
    """What functions of memory do; each returns its results."""

    def __init__(self, session):
        import numpy

        self.session, self.kind = session, _array_type(numpy, session)

    def allocate(self, size, *_):
        return (device_memory(self.session, self.kind, size).ctypes.data,)

    def free(self, place, *_):
        self.session.memories.pop(int(place), None)
        return ()

    def _written(self, place, size):
        """The address of bytes that are written now; those of a known allocation are within it."""
        place = int(place)
        for memory in self.session.memories.values():
            if memory.base <= place < memory.base + memory.size:
                if place + size > memory.base + memory.size:
                    self.session.reject(f"{size} bytes are copied to an allocation that ends before")
                memory.take_unwritten()
        return place

    def copy(self, to, source, size, *_):
        ctypes.memmove(self._written(to, int(size)), int(source), int(size))
        return ()

    def fill(self, width, to, value, count, *_):
        data = (int(value) & ((1 << 8 * width) - 1)).to_bytes(width, "little") * int(count)
        ctypes.memmove(self._written(to, len(data)), data, len(data))
        return ()


def _replaced(module, success, named, done, handles):
    def answer(function):
        return lambda *given: (success, *function(*given))

    for name in done:
        named[name] = lambda *_: ()
    for name, kind in handles.items():
        named[name] = lambda *_, kind=kind: (getattr(module, kind)(0),)
    return [(module, name, answer(function)) for name, function in named.items() if hasattr(module, name)]


@contextlib.contextmanager
def bindings(session):
    """Where fakes.cuda_python() does not stand in for the whole package."""
    if session.uses("cuda"):
        yield
        return

    def runtime(module):
        memories = _Memories(session)
        named = {
            "cudaGetDevice": lambda *_: (0,),
            "cudaGetDeviceCount": lambda *_: (1,),
            "cudaDeviceGetAttribute": lambda which, *_: (_ATTRIBUTES.get(int(which), 0),),
            "cudaEventElapsedTime": lambda *_: (1.0,),
        }
        for end in ("", "Async"):
            named |= {f"cudaMalloc{end}": memories.allocate, f"cudaFree{end}": memories.free}
            named |= {f"cudaMemcpy{end}": memories.copy}
            named |= {f"cudaMemset{end}": functools.partial(memories.fill, 1)}
        success = module.cudaError_t.cudaSuccess
        return _replaced(module, success, named, _RUNTIME_DONE, _RUNTIME_HANDLES)

    def driver(module):
        memories = _Memories(session)
        named = {
            "cuDeviceGetCount": lambda *_: (1,),
            "cuDeviceGetAttribute": lambda which, *_: (_ATTRIBUTES.get(int(which), 0),),
            "cuMemAlloc": lambda size: (module.CUdeviceptr(*memories.allocate(size)),),
            "cuMemFree": memories.free,
        }
        for end in ("", "Async"):
            named |= {f"cuMemcpy{way}{end}": memories.copy for way in ("HtoD", "DtoH", "DtoD")}
            for bits in (8, 16, 32):
                named[f"cuMemsetD{bits}{end}"] = functools.partial(memories.fill, bits // 8)
        success = module.CUresult.CUDA_SUCCESS
        return _replaced(module, success, named, _DRIVER_DONE, _DRIVER_HANDLES)

    with when_imported("cuda.bindings.runtime", runtime), when_imported("cuda.bindings.driver", driver):
        yield
