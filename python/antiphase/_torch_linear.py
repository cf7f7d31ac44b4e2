# SPDX-License-Identifier: Apache-2.0
"""Linear layers in 16 bits for torch, as an operator with gradients: batch.md says what their bits depend on."""
import ctypes

import torch

from . import _library, _linear, _torch_ops, _waiting
from ._torch_ops import KIND as _kind

SIXTEEN_BITS = (torch.float16, torch.bfloat16)

# ---- Calls of plain tensors ------------------------------------------------------------------------------
# x: (m, k) or (members, m, k). w: (n, k) or (members, n, k), like x. bias: (n,) or (members, n). residual: like
# the result.

_plans = _library.Remembered()


def _strides(x):
    """Strides of rows, of k and of members, or None if x has to be copied: two that are 0 mean packed rows."""
    *members, rows, along = x.stride()
    *_, m, k = x.shape
    rows, along = rows if m > 1 else max(rows, 1), along if k > 1 else 1
    return (rows, along, *members) if rows and along else None


def _plan(x, w, bias, residual, result, out):
    """Arguments without addresses, and the result's shape; None if an operand has to be copied."""
    x_strides, w_strides = _strides(x), _strides(w)
    if x_strides is None or w_strides is None:
        return None
    shape = (*x.shape[:-1], w.shape[-2])
    for t in (bias, residual, out):
        if t is not None and t.shape[-1] > 1 and t.stride(-1) != 1:
            return None
    args = _library.LinearArgs(
        size=ctypes.sizeof(_library.LinearArgs),
        device=_kind.number_of(x.device),
        type=_linear._TYPES[_kind.dtype_name(x.dtype)],
        result_type=_linear._TYPES[_kind.dtype_name(result)],
        m=shape[-2],
        n=shape[-1],
        k=x.shape[-1],
        members=shape[0] if len(shape) == 3 else 1,
    )
    for operand, strides in ((args.x, x_strides), (args.w, w_strides)):
        operand.row_stride, operand.k_stride, *member = strides
        operand.member_stride = member[0] if member else 0
    if bias is not None and bias.dim() == 2:
        args.bias_member_stride = bias.stride(0)
    for name, t in (("residual", residual), ("y", out)):
        if t is None or 0 in t.shape:
            continue
        *member, rows, _ = t.stride()
        if (rows == 0 and shape[-2] > 1) or (member and member[0] == 0 and shape[0] > 1):
            return None
        setattr(args, f"{name}_row_stride", rows)
        setattr(args, f"{name}_member_stride", member[0] if member else 0)
    return args, shape


def _layout(x):
    return x is not None and (x.shape, x.stride(), x.dtype, x.get_device())


def compute(x, w, bias, residual, result, out=None):
    """x w^T + bias + residual in type `result`. out: where the result goes, of its shape and type; it may be
    residual."""
    key = _layout(x), _layout(w), result, _layout(bias), _layout(residual), _layout(out)
    known = _plans.get(key)
    if known is None:
        require_shapes(x, w, bias, residual, result)
        known = _plan(x, w, bias, residual, result, out)
        if known is None:
            x, w = (t if _strides(t) else t.contiguous() for t in (x, w))
            bias, residual = (None if t is None else t.contiguous() for t in (bias, residual))
            if out is not None:
                return out.copy_(compute(x, w, bias, residual, result))
            return compute(x, w, bias, residual, result)
        _plans.keep(key, known)
    filled, shape = known
    if out is None:
        out = x.new_empty(shape, dtype=result)
    if 0 in shape:
        return out
    args = _library.LinearArgs.from_buffer_copy(filled)
    args.x.data, args.w.data, args.y = x.data_ptr(), w.data_ptr(), out.data_ptr()
    if bias is not None:
        args.bias = bias.data_ptr()
    if residual is not None:
        args.residual = residual.data_ptr()
    _waiting.call(_library.linear, args, _kind.stream(x.device))
    return out


def require_shapes(x, w, bias, residual, result):
    """Raises TypeError or ValueError for tensors that make no linear layer."""
    given = [t for t in (x, w, bias, residual) if t is not None]
    if x.dtype not in SIXTEEN_BITS or w.dtype != x.dtype:
        raise TypeError(
            f"antiphase: linear of {' and '.join(_kind.dtype_name(t.dtype) for t in (x, w))}: expected both float16, "
            "both bfloat16, or both float32"
        )
    for t in given:
        if t.device != x.device:
            raise ValueError(
                f"antiphase: linear of tensors on {' and '.join(str(u.device) for u in given)}: expected one device"
            )
    n = w.shape[-2]
    for name, t, shapes in (
        ("bias", bias, ((n,), (*x.shape[:-2], n))),
        ("residual", residual, ((*x.shape[:-1], n),)),
    ):
        if t is None:
            continue
        if t.dtype is not result:
            raise TypeError(
                f"antiphase: linear, {name} is {_kind.dtype_name(t.dtype)}: expected {_kind.dtype_name(result)}"
            )
        if tuple(t.shape) not in shapes:
            raise ValueError(
                f"antiphase: linear, {name} has shape {tuple(t.shape)}: expected {' or '.join(map(str, shapes))}"
            )


# ---- The operator registered with torch ------------------------------------------------------------------


def _result(x, widen):
    return torch.float32 if widen else x.dtype


def _fake(x, w, bias=None, residual=None, widen=False):
    require_shapes(x, w, bias, residual, _result(x, widen))
    return x.new_empty((*x.shape[:-1], w.shape[-2]), dtype=_result(x, widen))


def _compute(x, w, bias=None, residual=None, widen=False):
    return compute(x, w, bias, residual, _result(x, widen))


def _save(ctx, inputs, output):
    x, w, bias = (*inputs, None)[:3]
    ctx.bias_axes = None if bias is None else bias.dim()
    ctx.save_for_backward(x, w)


def _gradients(ctx, grad):
    """Linear layers, too: along n for x (NN), along m for w (TN)."""
    x, w = ctx.saved_tensors
    needed = (*ctx.needs_input_grad, False, False, False)
    narrow = grad.to(x.dtype)
    multiply = lambda a, b: _torch_ops.dispatched(operator, a, b)(a, b)
    bias_gradient = None
    if needed[2]:
        bias_gradient = grad.sum(-2) if ctx.bias_axes == grad.dim() - 1 else grad.flatten(0, -2).sum(0)
    return (
        multiply(narrow, w.mT) if needed[0] else None,
        multiply(narrow.mT, x.mT) if needed[1] else None,
        bias_gradient,
        grad if needed[3] else None,
        None,
    )[: len(ctx.needs_input_grad)]


def _mapped(count, axes, x, w, bias=None, residual=None, widen=False):
    """Under vmap: members of a batch, or more rows where only rows are mapped."""
    axes = (*axes, None, None)
    batch = x.dim() - (axes[0] is not None) == 3
    x, w = _torch_ops.spread(x, axes[0], count), _torch_ops.spread(w, axes[1], count)
    members = x.shape[1] if batch else 1
    if bias is not None:
        one_for_all = bias.dim() - (axes[2] is not None) == 1
        bias = _torch_ops.spread(bias, axes[2], count)
        if batch:
            bias = bias.unsqueeze(1).expand(count, members, bias.shape[-1]) if one_for_all else bias
            bias = bias.flatten(0, 1)
    if residual is not None:
        residual = _torch_ops.spread(residual, axes[3], count)
    if batch:
        x, w = x.flatten(0, 1), w.flatten(0, 1)
        residual = None if residual is None else residual.flatten(0, 1)
    result = operator(x, w, bias, residual, widen)
    return result.unflatten(0, (count, members)) if batch else result


operator = _torch_ops.define(
    "linear(Tensor x, Tensor w, Tensor? bias=None, Tensor? residual=None, bool widen=False) -> Tensor",
    _compute,
    _fake,
    _save,
    _gradients,
    _mapped,
)


class _Recorded(torch.autograd.Function):
    """The operator for plain tensors: torch's dispatcher takes several times as long to record it."""

    @staticmethod
    def forward(ctx, *inputs):
        _save(ctx, inputs, None)
        return _compute(*inputs)

    backward = staticmethod(_gradients)


def linear(x, w, bias=None, residual=None, widen=False):
    """The linear layer of x (..., k) and w (n, k), with gradients. widen: the result is float32."""
    if w.dim() != 2 or x.dim() == 0 or x.shape[-1] != w.shape[1]:
        raise ValueError(
            f"antiphase: linear of shapes {tuple(x.shape)} and {tuple(w.shape)}: expected (..., in) and (out, in)"
        )
    rows = x if x.dim() == 2 else x.reshape(-1, x.shape[-1])
    if residual is not None:
        residual = residual.reshape(-1, residual.shape[-1])
    given = [t for t in (rows, w, bias, residual) if t is not None]
    if _kind.plain(*given, gradients=True):
        is_recorded = torch.is_grad_enabled() and any(t.requires_grad for t in given)
        run = _Recorded.apply if is_recorded else _compute
    else:
        run = _torch_ops.dispatched(operator, *given)
    result = run(rows, w, bias, residual, widen)
    return result if x.dim() == 2 else result.reshape(*x.shape[:-1], w.shape[0])


def _register_shardings():
    """DTensor's sharding rules: by rows and by columns. A sum over k is never divided: its bits are those of one
    device."""
    from torch.distributed.tensor import Replicate, Shard
    from torch.distributed.tensor.experimental import register_sharding

    @register_sharding(operator)
    def _(x, w, bias=None, residual=None, widen=False):
        whole, rows, columns = Replicate(), Shard(x.ndim - 2), Shard(x.ndim - 1)
        given = lambda t, place: None if t is None else place
        bias_columns = Shard(0 if bias is None else bias.ndim - 1)
        return [
            ([whole], [whole, whole, given(bias, whole), given(residual, whole), None]),
            ([rows], [rows, whole, given(bias, whole), given(residual, rows), None]),
            (
                [columns],
                [whole, Shard(x.ndim - 2), given(bias, bias_columns), given(residual, columns), None],
            ),
        ]


_torch_ops.sharding_rules.append(_register_shardings)
