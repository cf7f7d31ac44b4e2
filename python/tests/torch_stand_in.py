# SPDX-License-Identifier: Apache-2.0
"""What antiphase asks of torch for a plain product on GPUs, over NumPy: for machines without torch and a GPU. It counts what is allocated."""
import collections
import types

import numpy


class dtype:
    def __repr__(self):
        return "torch.float32"


Device = collections.namedtuple("Device", "type index")
float32 = dtype()
now = types.SimpleNamespace(device=0, stream=0, capturing=False, results=0, workspaces=[])


class Tensor:
    is_cuda, is_meta, requires_grad, dtype = True, False, False, float32

    def __init__(self, array, device=0):
        self.array, self.number = array, device
        self.shape, self.device = array.shape, Device("cuda", device)

    def stride(self):
        return tuple(step // 4 for step in self.array.strides)

    def data_ptr(self):
        return self.array.__array_interface__["data"][0]

    def get_device(self):
        return self.number

    def is_neg(self):
        return False

    def new_empty(self, shape, dtype=None):
        if isinstance(shape, int):
            now.workspaces.append((self.number, shape))
        return Tensor(aligned(shape), self.number)


def aligned(shape):
    """At a multiple of 256 bytes, and no zeros."""
    count = int(numpy.prod(shape))
    memory = numpy.full(count + 64, 77, "float32")
    first = -memory.__array_interface__["data"][0] % 256 // 4
    return memory[first : first + count].reshape(shape)


def tensor(array, device=0):
    here = aligned(array.shape)
    here[...] = array
    return Tensor(here, device)


def empty_strided(shape, strides, dtype):
    now.results += 1
    result = Tensor(aligned(shape), now.device)
    assert result.stride() == tuple(strides) and dtype is float32
    return result


def module():
    answer = lambda value: lambda *_: value
    return types.SimpleNamespace(
        Tensor=Tensor, nn=types.SimpleNamespace(Parameter=type("Parameter", (Tensor,), {})), float32=float32, is_grad_enabled=answer(True),
        compiler=types.SimpleNamespace(is_compiling=answer(False)), autograd=types.SimpleNamespace(forward_ad=types.SimpleNamespace(_current_level=-1)),
        _C=types.SimpleNamespace(
            _len_torch_dispatch_stack=answer(0), _functorch=types.SimpleNamespace(peek_interpreter_stack=answer(None)),
            _cuda_getCurrentRawStream=lambda device: now.stream, _cuda_getDevice=lambda: now.device, _cuda_isCurrentStreamCapturing=lambda: now.capturing,
            _dynamo=types.SimpleNamespace(guards=types.SimpleNamespace(_empty_strided_cuda=empty_strided))))
