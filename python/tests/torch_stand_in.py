# SPDX-License-Identifier: Apache-2.0
"""A stand-in for torch on NumPy arrays, for machines without torch and a GPU: what a plain product on a GPU
needs. It counts allocations."""
import collections
import types

import numpy


class dtype:
    def __repr__(self):
        return "torch.float32"


Device = collections.namedtuple("Device", "type index")
float32 = dtype()
now = types.SimpleNamespace(
    device=0,
    stream=0,
    capturing=False,
    grad=True,
    compiling=False,
    tracing=False,
    modes=0,
    results=0,
    workspaces=[],
    guarded=0,
)


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
    """An array aligned to 256 bytes, filled with 77, so that elements left unwritten are noticed."""
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


class TensorGuards:
    """torch's class that compares tensors with those it was made from. It counts the matches."""

    def __init__(self, a, b, *, dynamic_dims_sizes, dynamic_dims_strides):
        assert [a.shape, b.shape] == [tuple(x) for x in dynamic_dims_sizes] and [a.stride(), b.stride()] == [
            tuple(x) for x in dynamic_dims_strides
        ]
        self.like = self.of(a, b)

    @staticmethod
    def of(*tensors):
        return [(type(x), x.shape, x.stride(), x.number, x.requires_grad) for x in tensors]

    def check(self, a, b):
        alike = self.like == self.of(a, b)
        now.guarded += alike
        return alike


def module(guards=False):
    """The module. guards: whether it has TensorGuards."""
    answer = lambda value: lambda *_: value
    return types.SimpleNamespace(
        Tensor=Tensor,
        nn=types.SimpleNamespace(Parameter=type("Parameter", (Tensor,), {})),
        float32=float32,
        is_grad_enabled=lambda: now.grad,
        compiler=types.SimpleNamespace(is_compiling=lambda: now.compiling),
        autograd=types.SimpleNamespace(forward_ad=types.SimpleNamespace(_current_level=-1)),
        _C=types.SimpleNamespace(
            _is_tracing=lambda: now.tracing,
            _len_torch_dispatch_stack=lambda: now.modes,
            _functorch=types.SimpleNamespace(peek_interpreter_stack=answer(None)),
            _cuda_getCurrentRawStream=lambda device: now.stream,
            _cuda_getDevice=lambda: now.device,
            _cuda_isCurrentStreamCapturing=lambda: now.capturing,
            _dynamo=types.SimpleNamespace(
                guards=types.SimpleNamespace(
                    _empty_strided_cuda=empty_strided, **({"TensorGuards": TensorGuards} if guards else {})
                )
            ),
        ),
    )
