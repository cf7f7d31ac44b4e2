# SPDX-License-Identifier: Apache-2.0
"""Products and scans for torch, under torch's names: differentiable, under torch.compile too, and for DTensors.

    import antiphase.torch
    y = antiphase.torch.linear(x, weight, bias)

Factors are float32, those of linear() and Linear also float16 or bfloat16, on CUDA devices or, computed slowly by the
CPU executor, on the CPU; any strides are read in place. Work is queued on the current stream, in memory of torch's
allocator, so that it may be captured into a CUDA graph. Results have the same bits in every run. Errors are those of
antiphase.matmul.
"""
import torch
import torch.fx
from torch import library as _ops_of_torch

from . import _arrays, _products, _torch_linear, _torch_ops
from ._torch_attention import scaled_dot_product_attention
from ._torch_engines import replace_batch_invariant_ops
from ._torch_invariant import (
    batch_invariant,
    disable_batch_invariant_mode,
    enable_batch_invariant_mode,
    is_batch_invariant_mode_enabled,
    set_batch_invariant_mode,
)
from ._torch_ops import KIND as _kind
from ._torch_scans import cummax, cummin, cumprod, cumsum, logcumsumexp

__all__ = [
    "Linear",
    "addmm",
    "baddbmm",
    "batch_invariant",
    "bmm",
    "cummax",
    "cummin",
    "cumprod",
    "cumsum",
    "disable_batch_invariant_mode",
    "enable_batch_invariant_mode",
    "is_batch_invariant_mode_enabled",
    "linear",
    "logcumsumexp",
    "matmul",
    "mm",
    "replace_batch_invariant_ops",
    "scaled_dot_product_attention",
    "set_batch_invariant_mode",
]


# ---- The operators registered with torch -----------------------------------------------------------------


def _refuse(name, tensors, why):
    shapes = " and ".join(str(tuple(t.shape)) for t in tensors)
    raise ValueError(f"antiphase: {name} of shapes {shapes}: {why}")


def _require_shapes(name, dimensions, *tensors):
    """Checks the dtypes and devices of all tensors, and the shapes of the last two, the factors. Returns the
    shape of the product."""
    a, b = tensors[-2:]
    for t in tensors:
        if t.dtype != torch.float32:
            raise TypeError(
                f"antiphase: {name} of {' and '.join(_kind.dtype_name(u.dtype) for u in tensors)}: expected float32; "
                + _arrays.way_out(_kind, _kind.dtype_name(t.dtype))
            )
        if t.device != a.device:
            raise ValueError(
                f"antiphase: {name} of tensors on {' and '.join(str(u.device) for u in tensors)}: expected one device"
            )
    if a.dim() != dimensions or b.dim() != dimensions:
        _refuse(name, (a, b), f"expected {dimensions} axes each")
    if a.shape[-1] != b.shape[-2]:
        _refuse(
            name,
            (a, b),
            f"the last extent of the first is {a.shape[-1]}, the second to last of the second {b.shape[-2]}: they must agree",
        )
    if dimensions == 3 and a.shape[0] != b.shape[0]:
        _refuse(name, (a, b), f"batches of {a.shape[0]} and {b.shape[0]}: they must agree")
    return (*a.shape[:-1], b.shape[-1])


def _require_addend(name, added, shape):
    if added.dim() > len(shape) or any(x not in (1, y) for x, y in zip(added.shape[::-1], shape[::-1])):
        raise ValueError(
            f"antiphase: {name} adds shape {tuple(added.shape)} to {tuple(shape)}: expected one that can be broadcast to it"
        )


def _product(a, b):
    return _products.quick_product(_kind, a, b, keep=False)


def _added(added, a, b, beta, alpha):
    """beta added + alpha ab in one call: a row added to all rows is passed as a bias, anything else as the
    initial C."""
    shape = (*a.shape[:-1], b.shape[-1])
    if beta == 0:
        return _products.product(_kind, a, b, None, None, alpha=alpha)
    if alpha == 1 and beta == 1 and added.shape == shape[-1:]:
        return _products.product(_kind, a, b, None, None, bias=added.contiguous())
    before = added.expand(shape).clone(memory_format=torch.contiguous_format)
    return _products.product(_kind, a, b, before, None, alpha=alpha, beta=beta)


def _save_factors(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


def _factors_gradients(grad, a, b, multiply, needed_a, needed_b):
    return multiply(grad, b.mT) if needed_a else None, multiply(a.mT, grad) if needed_b else None


def _product_backward(multiply):
    def backward(ctx, grad):
        return _factors_gradients(grad, *ctx.saved_tensors, multiply, *ctx.needs_input_grad)

    return backward


def _save_added(ctx, inputs, output):
    added, a, b, ctx.beta, ctx.alpha = inputs if len(inputs) == 5 else (*inputs, 1.0, 1.0)
    ctx.shape = added.shape
    ctx.save_for_backward(a, b)


def _added_backward(multiply):
    def backward(ctx, grad):
        needed, needed_a, needed_b = ctx.needs_input_grad[:3]
        of_added = None
        if needed:
            of_added = grad.sum_to_size(ctx.shape)
            of_added = of_added if ctx.beta == 1 else of_added * ctx.beta
        scaled = grad if ctx.alpha == 1 or not (needed_a or needed_b) else grad * ctx.alpha
        return (
            of_added,
            *_factors_gradients(scaled, *ctx.saved_tensors, multiply, needed_a, needed_b),
            None,
            None,
        )

    return backward


def _fake_product(name, dimensions):
    def fake(a, b):
        return a.new_empty(_require_shapes(name, dimensions, a, b))

    return fake


def _fake_added(name, dimensions):
    def fake(added, a, b, beta=1.0, alpha=1.0):
        shape = _require_shapes(name, dimensions, added, a, b)
        _require_addend(name, added, shape)
        return a.new_empty(shape)

    return fake


def _compute_product(name, dimensions):
    def compute(a, b):
        _require_shapes(name, dimensions, a, b)
        return _product(a, b)

    return compute


def _compute_added(name, dimensions):
    def compute(added, a, b, beta=1.0, alpha=1.0):
        _require_addend(name, added, _require_shapes(name, dimensions, added, a, b))
        return _added(added, a, b, beta, alpha)

    return compute


def _spread_addend(added, axis, count, shape):
    """The addend for a batch of `count` products of that shape: unchanged if it broadcasts to the batch."""
    if axis is None and added.dim() <= 2:
        return added
    members = _torch_ops.spread(added, axis, count)
    return members.reshape(count, *(1,) * (len(shape) - added.dim() + (axis is not None)), *members.shape[1:])


def _mapped_product(count, axes, a, b):
    if a.dim() - (axes[0] is not None) == 3:
        return _bmm(
            _torch_ops.spread(a, axes[0], count).flatten(0, 1),
            _torch_ops.spread(b, axes[1], count).flatten(0, 1),
        ).unflatten(0, (count, -1))
    if axes[1] is None:  # all rows of all members times the same matrix
        rows = a.movedim(axes[0], 0)
        return _mm(rows.flatten(0, 1), b).reshape(*rows.shape[:2], b.shape[1])
    return _bmm(_torch_ops.spread(a, axes[0], count), _torch_ops.spread(b, axes[1], count))


def _mapped_added(count, axes, added, a, b, beta=1.0, alpha=1.0):
    a, b = _torch_ops.spread(a, axes[1], count), _torch_ops.spread(b, axes[2], count)
    shape = (*a.shape[1:-1], b.shape[-1])
    added = _spread_addend(added, axes[0], count, shape)
    if len(shape) == 2:
        return _baddbmm(added, a, b, beta, alpha)
    if added.dim() > 2:
        added = added.expand(count, *shape).flatten(0, 1)
    return _baddbmm(added, a.flatten(0, 1), b.flatten(0, 1), beta, alpha).unflatten(0, (count, -1))


def _define_pair(product, added, dimensions):
    multiply = lambda a, b: _torch_ops.dispatched(getattr(torch.ops.antiphase, product).default, a, b)(a, b)
    return (
        _torch_ops.define(
            f"{product}(Tensor a, Tensor b) -> Tensor",
            _compute_product(product, dimensions),
            _fake_product(product, dimensions),
            _save_factors,
            _product_backward(multiply),
            _mapped_product,
        ),
        _torch_ops.define(
            f"{added}(Tensor added, Tensor a, Tensor b, float beta=1.0, float alpha=1.0) -> Tensor",
            _compute_added(added, dimensions),
            _fake_added(added, dimensions),
            _save_added,
            _added_backward(multiply),
            _mapped_added,
        ),
    )


_mm, _addmm = _define_pair("mm", "addmm", 2)
_bmm, _baddbmm = _define_pair("bmm", "baddbmm", 3)
_add_mm, _add_bmm = _compute_added("addmm", 2), _compute_added("baddbmm", 3)


# ---- The functions ---------------------------------------------------------------------------------------


def _is_direct(*tensors):
    """Whether the library may be called without torch's dispatcher: plain tensors that autocast leaves
    alone."""
    return _kind.plain(*tensors) and all(t.dtype is torch.float32 for t in tensors)


def mm(a, b):
    """torch.mm: a of shape (m, k) times b of shape (k, n), giving (m, n)."""
    if _is_direct(a, b):
        _require_shapes("mm", 2, a, b)
        return _product(a, b)
    return _torch_ops.dispatched(_mm, a, b)(a, b)


def bmm(a, b):
    """torch.bmm: a of shape (batch, m, k) times b of shape (batch, k, n), giving (batch, m, n)."""
    if _is_direct(a, b):
        _require_shapes("bmm", 3, a, b)
        return _product(a, b)
    return _torch_ops.dispatched(_bmm, a, b)(a, b)


def addmm(input, a, b, *, beta=1, alpha=1):
    """torch.addmm: beta input + alpha ab, with a of shape (m, k) and b of shape (k, n). input must broadcast
    to (m, n); it is not read if beta is 0."""
    how = _add_mm if _is_direct(input, a, b) else _torch_ops.dispatched(_addmm, input, a, b)
    return how(input, a, b, float(beta), float(alpha))


def baddbmm(input, a, b, *, beta=1, alpha=1):
    """torch.baddbmm: beta input + alpha ab, with a of shape (batch, m, k) and b of shape (batch, k, n). input
    must broadcast to (batch, m, n); it is not read if beta is 0."""
    how = _add_bmm if _is_direct(input, a, b) else _torch_ops.dispatched(_baddbmm, input, a, b)
    return how(input, a, b, float(beta), float(alpha))


def matmul(a, b):
    """torch.matmul: (..., m, k) times (..., k, n) with batches broadcast. A tensor of one axis is a row as
    the first operand, a column as the second."""
    return _matmul(a, b, None, None)


def linear(input, weight, bias=None):
    """torch.nn.functional.linear: input of shape (..., in) times weight^T, with weight of shape (out, in),
    plus bias of shape (out,). A weight of shape (in,) is a column; the result then has shape (...,).

    Both float32, float16 or bfloat16, as is the result. In 16 bits sums are FP32 in the order of k, rounded once with the
    bias: a row has the same bits whatever other rows there are; so does its gradient."""
    if input.dtype in _torch_linear.SIXTEEN_BITS and weight.dtype is input.dtype and weight.dim() == 2:
        return _torch_linear.linear(input, weight, bias)
    if weight.dim() == 1:
        result = matmul(input, weight)
        return result if bias is None else result + bias
    if weight.dim() != 2 or input.dim() == 0 or input.shape[-1] != weight.shape[1]:
        _refuse("linear", (input, weight), "expected (..., in) and (out, in)")
    rows = input.unsqueeze(0) if input.dim() == 1 else input.flatten(0, -2)
    result = mm(rows, weight.t()) if bias is None else addmm(bias, rows, weight.t())
    return result if input.dim() == 2 else result.reshape(*input.shape[:-1], weight.shape[0])


torch.fx.wrap("linear")
torch.fx.wrap("matmul")
torch.fx.wrap("scaled_dot_product_attention")


class Linear(torch.nn.Linear):
    """A drop-in torch.nn.Linear whose forward and backward products are computed by antiphase."""

    def forward(self, input):
        # a leaf for torch.fx, as torch's own modules are
        if not isinstance(input, torch.Tensor) and isinstance(input, torch.fx.Proxy):
            return input.tracer.create_proxy("call_module", input.tracer.path_of_module(self), (input,), {})
        return linear(input, self.weight, self.bias)


def _matmul(a, b, out, precision):
    """matmul of any tensors; plain ones are passed directly to the library."""
    if _is_direct(a, b) if out is None else _is_direct(a, b, out):
        return (
            _products.product(_kind, a, b, out, precision) if out is not None or precision else _product(a, b)
        )
    if precision not in (None, "fp32"):
        raise ValueError(
            f"antiphase: precision is {precision!r}, and a tensor requires a gradient or is traced: expected 'fp32'"
        )
    if a.dim() == 0 or b.dim() == 0:
        _refuse("matmul", (a, b), "expected at least one axis each; numbers are multiplied by *")
    if a.shape[-1] != b.shape[max(b.dim() - 2, 0)]:
        _refuse(
            "matmul",
            (a, b),
            f"the last extent of the first is {a.shape[-1]}, the {'second to last' if b.dim() > 1 else 'last'} of the "
            f"second {b.shape[max(b.dim() - 2, 0)]}: they must agree",
        )
    left = a if a.dim() > 1 else a.unsqueeze(0)
    right = b if b.dim() > 1 else b.unsqueeze(1)
    if right.dim() == 2:  # all members share b: one product with the rows of all
        result = mm(left.flatten(0, -2), right).reshape(*left.shape[:-1], right.shape[-1])
    else:
        try:
            batch = torch.broadcast_shapes(left.shape[:-2], right.shape[:-2])
        except RuntimeError:
            _refuse(
                "matmul",
                (a, b),
                f"batches of {tuple(left.shape[:-2])} and {tuple(right.shape[:-2])} do not fit: expected extents that "
                "are the same, or 1",
            )
        members = [t.expand(*batch, *t.shape[-2:]).flatten(0, -3) for t in (left, right)]
        result = bmm(*members).reshape(*batch, left.shape[-2], right.shape[-1])
    if b.dim() == 1:
        result = result.squeeze(-1)
    if a.dim() == 1:
        result = result.squeeze(-1 if b.dim() == 1 else -2)
    return _torch_ops.given(result, out, (a, b))


# ---- Autocast and DTensor --------------------------------------------------------------------------------

if hasattr(_ops_of_torch, "register_autocast"):  # products remain float32 under autocast
    for _name in ("mm", "addmm", "bmm", "baddbmm"):
        for _device in ("cuda", "cpu"):
            _ops_of_torch.register_autocast(
                f"antiphase::{_name}", _device, torch.float32, lib=_torch_ops.operators
            )


def _register_shardings():
    """DTensor's sharding rules of the products: by rows, by columns, by members of a batch, and along k,
    which gives partial sums."""
    from torch.distributed.tensor import Partial, Replicate, Shard
    from torch.distributed.tensor.experimental import register_sharding

    def of_product(batched):
        rows, inner = (1, 2) if batched else (0, 1)
        whole = Replicate()
        ways = [
            (whole, whole, whole),
            (Shard(rows), Shard(rows), whole),
            (Shard(inner), whole, Shard(inner)),
            (Partial(), Shard(inner), Shard(rows)),
            (Partial(), Partial(), whole),
            (Partial(), whole, Partial()),
        ]
        return [*ways, (Shard(0), Shard(0), Shard(0))] if batched else ways

    def of_added(way, added, dimensions):
        """The addend's placement: that of the result, but replicated along axes where it is broadcast."""
        result = way[0]
        if isinstance(result, Shard):
            axis = result.dim - (dimensions - added.ndim)
            return Shard(axis) if axis >= 0 and added.shape[axis] != 1 else Replicate()
        return result

    for product, added, batched in ((_mm, _addmm, False), (_bmm, _baddbmm, True)):

        @register_sharding(product)
        def _(a, b, batched=batched):
            return [([result], [of_a, of_b]) for result, of_a, of_b in of_product(batched)]

        @register_sharding(added)
        def _(input, a, b, beta=1.0, alpha=1.0, batched=batched):
            return [
                ([way[0]], [of_added(way, input, 3 if batched else 2), *way[1:], None, None])
                for way in of_product(batched)
            ]


_torch_ops.sharding_rules.append(_register_shardings)
_torch_ops.learn_shardings()
