# SPDX-License-Identifier: Apache-2.0
"""Reads DLPack capsules, versioned and unversioned, by ctypes. A capsule owns a reference to the array's
memory and releases it when it is destroyed; it is never consumed here."""
import ctypes

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13

_LEGACY_DEFAULT_STREAM = 1  # DLPack's number for CUDA's default stream
_READ_ONLY, _COPIED = 1, 2
_KINDS = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex", 6: "bool"}


class _Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("number", ctypes.c_int32)]


class _Type(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("ndim", ctypes.c_int32),
        ("dtype", _Type),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    ]


_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.argtypes = [ctypes.py_object, ctypes.c_char_p]
_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.argtypes, _pointer_of.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p


def dense_strides(shape):
    """Strides of densely packed rows, in elements. int() is needed: torch's extents may be objects of its
    own while it traces, which arithmetic would change in place."""
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step = step * max(int(extent), 1)
    return tuple(reversed(strides))


def capsule_of(x):
    """x's capsule, safe to use on CUDA's default stream, and its DLPack device (type, number)."""
    kind, number = map(int, x.__dlpack_device__())
    order = {"stream": _LEGACY_DEFAULT_STREAM} if kind in (CUDA, CUDA_MANAGED) else {}
    try:
        return x.__dlpack__(max_version=(1, 0), **order), (kind, number)
    except TypeError:  # __dlpack__ of DLPack before 1.0 has no max_version
        return x.__dlpack__(**order), (kind, number)


def read(capsule):
    """(pointer, shape, strides in elements, dtype's name, is writable) of a capsule. Raises BufferError."""
    if _is_valid(capsule, b"dltensor_versioned"):
        managed = ctypes.cast(
            _pointer_of(capsule, b"dltensor_versioned"), ctypes.POINTER(_Versioned)
        ).contents
        if managed.major != 1:
            raise BufferError(
                f"antiphase: the array speaks DLPack {managed.major}.{managed.minor}: expected 1.x"
            )
        tensor, writable = managed.tensor, not managed.flags & (_READ_ONLY | _COPIED)
    elif _is_valid(capsule, b"dltensor"):
        tensor = ctypes.cast(_pointer_of(capsule, b"dltensor"), ctypes.POINTER(_Tensor)).contents
        writable = True
    else:
        raise BufferError(
            "antiphase: __dlpack__() gave no capsule that is unused: expected 'dltensor' or 'dltensor_versioned'"
        )
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    strides = tuple(tensor.strides[i] for i in range(tensor.ndim)) if tensor.strides else dense_strides(shape)
    kind = _KINDS.get(tensor.dtype.code, f"code {tensor.dtype.code} of ")
    name = "bool" if kind == "bool" else f"{kind}{tensor.dtype.bits}"
    if tensor.dtype.lanes != 1:
        name += f"x{tensor.dtype.lanes}"
    return (tensor.data or 0) + tensor.byte_offset, shape, strides, name, writable
