# SPDX-License-Identifier: Apache-2.0
"""batch_invariant() for engines, which have modules that switch operators to ones that do not depend on the batch."""
import contextlib
import gc
import importlib
import sys
import types
import warnings

import torch

from . import _torch_ops
from ._torch_invariant import (
    _added,
    batch_invariant,
    disable_batch_invariant_mode,
    enable_batch_invariant_mode,
    is_batch_invariant_mode_enabled,
    set_batch_invariant_mode,
)

# ---- matmul_persistent(), as an operator of torch -----------------------------------------------------------


def _product(a, b, bias=None):
    return torch.mm(a, b) if bias is None else torch.addmm(bias, a, b)


def _compute_persistent(a, b, bias=None):
    found = _added(2, bias, a, b)
    return _product(a, b, bias) if found is None else found


def _save_persistent(ctx, inputs, output):
    a, b, bias = (*inputs, None)[:3]
    ctx.bias_shape = None if bias is None else bias.shape
    ctx.save_for_backward(a, b)


def _persistent_backward(ctx, grad):
    a, b = ctx.saved_tensors
    of_a, of_b, of_bias = (*ctx.needs_input_grad, False)[:3]
    return (
        _persistent(grad, b.mT) if of_a else None,
        _persistent(a.mT, grad) if of_b else None,
        grad.sum_to_size(ctx.bias_shape) if of_bias else None,
    )[: len(ctx.needs_input_grad)]


def _mapped_persistent(count, axes, *tensors):
    members = zip(*(_torch_ops.spread(t, axis, count) for t, axis in zip(tensors, axes) if t is not None))
    return torch.stack([_persistent(*member) for member in members])


# The operator that a compiled program calls: right whether the mode is on or not.
_persistent = _torch_ops.define(
    "matmul_persistent(Tensor a, Tensor b, Tensor? bias=None) -> Tensor",
    _compute_persistent,
    _product,
    _save_persistent,
    _persistent_backward,
    _mapped_persistent,
)


def _matmul_persistent(a, b, bias=None):
    """a b + bias of matrices, as batch_invariant_ops names it."""
    if torch.compiler.is_compiling():  # a block cannot be traced
        return _persistent(a, b, bias)
    with batch_invariant():
        return _product(a, b, bias)


# ---- Modules of engines ----------------------------------------------------------------------------------

_ENGINES = (
    "vllm.model_executor.determinism.batch_invariant",
    "vllm.model_executor.layers.batch_invariant",  # older
    "sglang.srt.batch_invariant_ops",
    "batch_invariant_ops",
)


def _module_of_engine():
    for name in _ENGINES:
        if name.partition(".")[0] in sys.modules:
            with contextlib.suppress(ModuleNotFoundError):
                return importlib.import_module(name)
    raise RuntimeError(
        f"antiphase: no module of an engine was found: expected one of {', '.join(_ENGINES)} in a package that has "
        "been imported"
    )


def _warn_of_holders(functions, known):
    """Warns if a class, a closure or an object still holds one of an engine's functions."""
    for function in functions:
        holders = {
            type(holder).__name__
            for holder in gc.get_referrers(function)
            if holder is not functions
            and not isinstance(holder, types.FrameType)
            and not any(holder is pair for pair in known)
        }
        if holders:
            warnings.warn(
                f"antiphase: the engine's own {function.__name__} is still held by a {' and a '.join(sorted(holders))}: "
                "expected replace_batch_invariant_ops() before the engine's modules are imported",
                RuntimeWarning,
                stacklevel=3,
            )


def replace_batch_invariant_ops(theirs=None):
    """Makes a module that switches operators to ones that do not depend on the batch switch to these: the package
    batch_invariant_ops, or the copy that an engine has. By default that of vLLM, SGLang or batch_invariant_ops, which
    the program has imported.

        import sglang.srt.batch_invariant_ops as theirs
        antiphase.torch.replace_batch_invariant_ops(theirs)

    Its four functions of the mode become those of this module, and matmul_persistent, which it and vLLM's layers call
    without torch, one of these products, which torch.compile traces. So do the names that modules imported before have
    for them; a RuntimeWarning says if a class, a closure or an object holds one. Call it in each process before the switch. Raises
    TypeError if the module has no function enable_batch_invariant_mode, RuntimeError if its mode is on already, or
    without an argument if there is no such module."""
    if theirs is None:
        theirs = _module_of_engine()
    enable = getattr(theirs, "enable_batch_invariant_mode", None)
    if not callable(enable):
        raise TypeError(f"antiphase: {theirs!r} has no function enable_batch_invariant_mode")
    ours = {
        function.__name__.removeprefix("_"): function
        for function in (
            enable_batch_invariant_mode,
            disable_batch_invariant_mode,
            is_batch_invariant_mode_enabled,
            set_batch_invariant_mode,
            _matmul_persistent,
        )
    }
    if enable is enable_batch_invariant_mode:
        return  # they have been replaced
    owners = theirs, sys.modules.get(enable.__module__, theirs)
    is_on = getattr(theirs, "is_batch_invariant_mode_enabled", lambda: False)
    if is_on() or any(getattr(owner, "_batch_invariant_MODE", False) for owner in owners):
        raise RuntimeError(
            f"antiphase: the batch-invariant mode of {theirs.__name__} is on: expected this call before it is enabled"
        )
    replaced = {}
    for name, function in ours.items():
        for owner in owners:
            before = getattr(owner, name, None)
            if before is not None and before is not function:
                replaced[id(before)] = before, function
            setattr(owner, name, function)
    for module in list(sys.modules.values()):
        for name, value in list(getattr(module, "__dict__", {}).items()):
            if id(value) in replaced:
                setattr(module, name, replaced[id(value)][1])
    _warn_of_holders([before for before, _ in replaced.values()], list(replaced.values()))
