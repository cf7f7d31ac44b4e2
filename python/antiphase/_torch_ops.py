# SPDX-License-Identifier: Apache-2.0
"""What all operators registered with torch share: definition, gradients under torch.func, tangents, out=."""
import sys

import torch
import torch.autograd.forward_ad as _forward
from torch import library as _ops_of_torch

from . import _arrays

KIND = _arrays.kind_of(torch.empty(0), "a tensor")

_functorch = torch._C._functorch
_functions = {}  # operator: its torch.autograd.Function
operators = _ops_of_torch.Library("antiphase", "DEF")
# flexible_layout: operands may have any strides, so that torch.compile makes no copies for them.
_TAGS = tuple(
    tag
    for tag in (getattr(torch.Tag, name, None) for name in ("pt2_compliant_tag", "flexible_layout"))
    if tag is not None
)


def define(schema, compute, fake, setup, backward, mapped, outputs=0):
    """Registers an operator and its rules. mapped: what computes it under vmap; outputs: where its results have
    the mapped axis."""
    name = schema.partition("(")[0]
    operators.define(schema, tags=_TAGS)
    for key in ("CPU", "CUDA"):
        operators.impl(name, compute, key)
    _ops_of_torch.register_fake(f"antiphase::{name}", fake, lib=operators)
    _ops_of_torch.register_autograd(f"antiphase::{name}", backward, setup_context=setup, lib=operators)
    if hasattr(_ops_of_torch, "register_vmap"):  # torch 2.5
        _ops_of_torch.register_vmap(
            f"antiphase::{name}",
            lambda how, axes, *args: (mapped(how.batch_size, axes, *args), outputs),
            lib=operators,
        )
    operator = getattr(torch.ops.antiphase, name).default
    # For torch.func.grad, which ignores the registered formulas.
    _functions[operator] = type(
        name,
        (torch.autograd.Function,),
        {
            "forward": staticmethod(operator),
            "setup_context": staticmethod(setup),
            "backward": staticmethod(backward),
            "jvp": refuse_tangents,
            "generate_vmap_rule": True,
        },
    )
    return operator


def refuse_tangents(*_):
    raise NotImplementedError(
        "antiphase: a tensor has a tangent, of forward-mode differentiation: only backward is known here"
    )


def dispatched(operator, *tensors):
    """The function to call for an operator: handles torch.func.grad, DTensor and tangents, which torch's
    dispatcher does not."""
    if not torch.compiler.is_compiling():
        if torch.is_grad_enabled() and any(
            way.key() == _functorch.TransformType.Grad for way in _functorch.get_interpreter_stack() or ()
        ):
            return _functions[operator].apply
        learn_shardings()
        # A tensor that requires no gradient would lose its tangent silently.
        if _forward._current_level >= 0 and any(_forward.unpack_dual(t).tangent is not None for t in tensors):
            refuse_tangents()
    return operator


sharding_rules = []  # functions that register rules of DTensor


def learn_shardings():
    """Registers the sharding rules once torch.distributed.tensor has been imported."""
    if sharding_rules and "torch.distributed.tensor" in sys.modules:
        while sharding_rules:
            sharding_rules.pop()()


def given(result, out, tensors):
    """The result, copied to `out` unless that is None, by torch's rules for out=."""
    if out is None:
        return result
    if torch.is_grad_enabled() and any(t.requires_grad for t in (*tensors, out)):
        raise ValueError(
            "antiphase: out is given, and a tensor requires a gradient: expected one or the other"
        )
    if out.shape != result.shape or out.dtype != result.dtype or out.device != result.device:
        raise ValueError(
            f"antiphase: out is {KIND.dtype_name(out.dtype)} of shape {tuple(out.shape)} on {out.device}: expected "
            f"{KIND.dtype_name(result.dtype)} of shape {tuple(result.shape)} on {result.device}"
        )
    return out.copy_(result)


# torch.func.vmap: everything that is mapped becomes one batch. Results have the mapped axis first.
def spread(x, axis, count):
    """x with the mapped axis first; expanded along it, without memory, where x is not mapped."""
    return x.movedim(axis, 0) if axis is not None else x.expand(count, *x.shape)
