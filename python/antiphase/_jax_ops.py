# SPDX-License-Identifier: Apache-2.0
"""What all primitives for JAX share: the library's handlers of XLA's foreign functions."""
import ctypes

import jax
from jax.interpreters import mlir

from . import _library

_DEVICES = {"cpu": ("cpu", _library.CPU), "cuda": ("CUDA", _library.CURRENT_DEVICE)}


def register(primitive, target, handler, lowering):
    """Makes the library's handler XLA's function `target`, and lowering(device) a primitive's lowering to it."""
    place = jax.ffi.pycapsule(ctypes.cast(getattr(_library.LIBRARY, handler), ctypes.c_void_p))
    for platform, (name, device) in _DEVICES.items():
        jax.ffi.register_ffi_target(target, place, platform=name)
        mlir.register_lowering(primitive, lowering(device), platform=platform)
