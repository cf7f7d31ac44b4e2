# SPDX-License-Identifier: Apache-2.0
"""As much of torch as the models next to it use, on NumPy's arrays: for machines without torch."""
import contextlib
import types

import numpy as np

from . import nn  # noqa: F401

ops = types.SimpleNamespace()


class dtype:
    def __init__(self, name):
        self.name = name

    def __str__(self):
        return f"torch.{self.name}"


float16, float32, float64 = dtype("float16"), dtype("float32"), dtype("float64")
int32, int64, bool = dtype("int32"), dtype("int64"), dtype("bool")
uint8 = dtype("uint8")


class device:
    pass


class Tensor:
    is_meta = False

    def __init__(self, array):
        self.array = array

    shape = property(lambda self: self.array.shape)
    dtype = property(lambda self: globals()[self.array.dtype.name])

    def stride(self):
        return tuple(s // self.array.itemsize for s in self.array.strides)

    def storage_offset(self):
        return 0

    def data_ptr(self):
        return self.array.ctypes.data

    def untyped_storage(self):
        array = self.array
        while isinstance(array.base, np.ndarray):
            array = array.base
        array = array.reshape(-1).view(np.uint8)
        return types.SimpleNamespace(data_ptr=lambda: array.ctypes.data, nbytes=lambda: array.nbytes)

    def detach(self):
        return self

    cuda = contiguous = detach

    def clone(self):
        return Tensor(self.array.copy())

    def double(self):
        return Tensor(self.array.astype(np.float64))

    def __sub__(self, other):
        return Tensor(self.array - other.array)

    def abs(self):
        return Tensor(abs(self.array))

    def max(self):
        return Tensor(self.array.max())

    def item(self):
        return self.array.item()

    def as_strided(self, sizes, strides, offset=0):
        by = tuple(s * self.array.itemsize for s in strides)
        return Tensor(np.lib.stride_tricks.as_strided(self.array, sizes, by))

    def copy_(self, other):
        self.array[...] = other.array

    def reshape(self, *sizes):
        return Tensor(self.array.reshape(*sizes))

    def t(self):
        return Tensor(self.array.T)

    def half(self):
        return Tensor(self.array.astype(np.float16))

    def numpy(self):
        return self.array


def frombuffer(data, dtype):
    return Tensor(np.frombuffer(data, dtype.name))


def empty(sizes, dtype=float32):
    return Tensor(np.empty(sizes, dtype.name))


def randn(*sizes):
    return Tensor(np.random.default_rng(1).standard_normal(sizes).astype(np.float32))


def randint(low, high, sizes, dtype=int64):
    return Tensor(np.random.default_rng(1).integers(low, high, sizes).astype(dtype.name))


def tensor(values):
    return Tensor(np.array(values, np.float32))


def allclose(a, b, **tolerances):
    return np.allclose(a.array, b.array, **tolerances)


def no_grad():
    return contextlib.nullcontext()


def manual_seed(_):
    pass
