# SPDX-License-Identifier: Apache-2.0
"""Scans for torch: operators with gradients, functions of torch's names, axes divided over processes."""
import math
import sys

import torch

from . import _arrays, _scans, _torch_ops
from ._torch_ops import KIND as _kind


# ---- Scans of plain tensors ------------------------------------------------------------------------------


def _of_plain(x, axis, op, to, reverse=False, exclusive=False):
    """The scan of a plain tensor, converted first where the library does not read its type."""
    if op == "log_sum_exp" and to in (torch.float16, torch.bfloat16):
        return _of_plain(x.float(), axis, op, torch.float32, reverse).to(to)
    found = _scans.of_tensor(_kind, x, axis, op, to, reverse, exclusive)
    if found is not None:
        return found
    if to is torch.bool:  # minima and maxima
        return _of_plain(x.view(torch.uint8), axis, op, torch.uint8).view(torch.bool)
    request = _scans._Scan(NAMES[op], op, reverse, exclusive)
    return request.of_plain(_kind, x, axis, _kind.dtype_name(to), None)


def of_operator(op, x, axis, dtype):
    """What torch's operator returns for a plain tensor of one axis or more."""
    if op in ("max", "min"):
        return _extremes(x, axis, op == "max")
    return _of_plain(x, axis, op, result_type(x, op, dtype))


def _extremes(x, axis, largest):
    """Running maxima or minima, and the index of each: of equal ones the last, of NaNs too."""
    op = "max" if largest else "min"
    values = _of_plain(x, axis, op, x.dtype)
    new = x == values
    if x.is_floating_point():
        new.logical_or_(x.isnan())
    places = torch.arange(x.shape[axis], device=x.device).view(-1, *(1,) * (x.dim() - 1 - axis % x.dim()))
    indices = torch.where(new, places, 0)
    found = _scans.of_tensor(_kind, indices, axis, "max", torch.int64, in_place=True)
    return values, _of_plain(indices, axis, "max", torch.int64) if found is None else found


# ---- The operators registered with torch -----------------------------------------------------------------
# torch names no gradients of its own for these operators; it has the formulas of all but sums and
# log_sum_exp.


def _moved(axis):
    """The axis of a member of a batch, in the batch."""
    return axis if axis < 0 else axis + 1


# The gradient of sums is the same scan in the other direction.
def _save_how(ctx, inputs, output):
    _, *ctx.how = inputs


def _sum_backward(ctx, grad):
    axis, reverse, exclusive = ctx.how
    return _torch_ops.dispatched(_running_sum, grad)(grad, axis, not reverse, exclusive), None, None, None


_running_sum = _torch_ops.define(
    "running_sum(Tensor x, int axis, bool reverse, bool exclusive) -> Tensor",
    lambda x, axis, reverse, exclusive: _of_plain(x, axis, "sum", x.dtype, reverse, exclusive),
    lambda x, axis, reverse, exclusive: torch.empty_like(x),
    _save_how,
    _sum_backward,
    lambda count, axes, x, axis, *how: _running_sum(_torch_ops.spread(x, axes[0], count), _moved(axis), *how),
)


def _save_all(ctx, inputs, output):
    x, *ctx.how = inputs
    ctx.save_for_backward(x, output)


def _product_backward(ctx, grad):
    x, output = ctx.saved_tensors
    return torch.ops.aten.cumprod_backward(grad, x, *ctx.how, output), None


_running_product = _torch_ops.define(
    "running_product(Tensor x, int axis) -> Tensor",
    lambda x, axis: _of_plain(x, axis, "product", x.dtype),
    lambda x, axis: torch.empty_like(x),
    _save_all,
    _product_backward,
    lambda count, axes, x, axis: _running_product(_torch_ops.spread(x, axes[0], count), _moved(axis)),
)


def _save_indices(ctx, inputs, output):
    x, ctx.axis, _ = inputs
    ctx.save_for_backward(x, output[1])
    ctx.mark_non_differentiable(output[1])


def _extremes_backward(ctx, grad, _):
    x, indices = ctx.saved_tensors
    return torch.ops.aten.cummaxmin_backward(grad, x, indices, ctx.axis), None, None


_running_extremes = _torch_ops.define(
    "running_extremes(Tensor x, int axis, bool largest) -> (Tensor, Tensor)",
    _extremes,
    lambda x, axis, largest: (torch.empty_like(x), torch.empty_like(x, dtype=torch.int64)),
    _save_indices,
    _extremes_backward,
    lambda count, axes, x, axis, largest: _running_extremes(
        _torch_ops.spread(x, axes[0], count), _moved(axis), largest
    ),
    (0, 0),
)


def _log_sum_exp_backward(ctx, grad):
    """exp(x_i) times the sum of grad_j / exp(result_j) from i on: as logarithms, of each sign of grad."""
    x, output = ctx.saved_tensors
    axis, reverse = ctx.how
    logs = grad.abs().log() - output
    total = 0
    for of_sign, factor in ((grad > 0, 1), (grad < 0, -1)):
        part = torch.where(of_sign, logs, -math.inf)
        total = total + factor * (_log_sum_exps(part, axis, not reverse) + x).exp()
    return total, None, None


def _log_sum_exps(x, axis, reverse):
    return _torch_ops.dispatched(_running_log_sum_exp, x)(x, axis, reverse)


_running_log_sum_exp = _torch_ops.define(
    "running_log_sum_exp(Tensor x, int axis, bool reverse) -> Tensor",
    lambda x, axis, reverse: _of_plain(x, axis, "log_sum_exp", x.dtype, reverse),
    lambda x, axis, reverse: torch.empty_like(x),
    _save_all,
    _log_sum_exp_backward,
    lambda count, axes, x, axis, reverse: _running_log_sum_exp(
        _torch_ops.spread(x, axes[0], count), _moved(axis), reverse
    ),
)


def scan(asked, x, axis, dtype, out):
    """antiphase.scan() of tensors that are not plain: they need gradients, tracing or transformations."""
    if asked.op != "sum" or asked.segments is not None or asked.initial is not None:
        raise TypeError(
            f"antiphase: {asked.name} of a tensor that requires a gradient, or is traced: only sums without segments and initial "
            "values have one; detach() it"
        )
    axis = _scans._axis_of(axis, x.shape, asked.name)
    if dtype is not None and x.dtype != getattr(torch, dtype):
        x = x.to(getattr(torch, dtype))
    sums = _torch_ops.dispatched(_running_sum, x)(x, axis, bool(asked.reverse), bool(asked.exclusive))
    return _torch_ops.given(sums, out, (x,))


# ---- The functions ---------------------------------------------------------------------------------------

NAMES = {
    "sum": "cumsum",
    "product": "cumprod",
    "max": "cummax",
    "min": "cummin",
    "log_sum_exp": "logcumsumexp",
}
_OPERATORS = {
    "sum": lambda x, axis: _torch_ops.dispatched(_running_sum, x)(x, axis, False, False),
    "product": lambda x, axis: _torch_ops.dispatched(_running_product, x)(x, axis),
    "max": lambda x, axis: _torch_ops.dispatched(_running_extremes, x)(x, axis, True),
    "min": lambda x, axis: _torch_ops.dispatched(_running_extremes, x)(x, axis, False),
    "log_sum_exp": lambda x, axis: _log_sum_exps(x, axis, False),
}


def result_type(x, op, dtype):
    """The dtype of the result of torch's operator."""
    if dtype is not None or op not in ("sum", "product"):
        return x.dtype if dtype is None else dtype
    if not (x.is_floating_point() or x.is_complex()):
        return torch.int64
    return x.dtype


_sensible = set()  # requests of plain tensors that have passed the checks


def _refuse_type(name, of):
    of = _kind.dtype_name(of)
    raise TypeError(
        f"antiphase: {name} of {of}: expected {', '.join(_scans._TYPES)}; {_arrays.way_out(_kind, of)}"
    )


def _running(op, x, axis, dtype=None):
    """The scan of any tensor: values, for extremes with their indices."""
    plain = _kind.plain(x)
    asked = (op, axis, dtype, x.dtype, x.dim())
    if not (plain and asked in _sensible and x.layout is torch.strided):
        name, to = NAMES[op], result_type(x, op, dtype)
        if _kind.dtype_name(to) not in _scans._TYPES and not (op in ("max", "min") and to is torch.bool):
            _refuse_type(name, to)
        if op == "log_sum_exp" and not x.is_floating_point():
            _refuse_type(name, x.dtype)
        _scans._axis_of(axis, x.shape or (1,), name)
        if plain:
            _kind.number_of(x.device), _kind.view(x)  # they refuse other devices, and sparse tensors
            _sensible.add(asked)
    if x.dim() == 0:  # torch takes a number as one element
        whole = _running(op, x.reshape(1), 0, dtype)
        return tuple(y.reshape(()) for y in whole) if op in ("max", "min") else whole.reshape(())
    if plain:
        return of_operator(op, x, axis, dtype)
    axis %= x.dim()
    if _is_divided(x):
        return _of_divided(op, x, axis, dtype)
    to = result_type(x, op, dtype)
    return _OPERATORS[op](x if x.dtype == to else x.to(to), axis)


def cumsum(input, dim, *, dtype=None, out=None, group=None):
    """torch.cumsum: running sums along dim, of the shape of input. Integers and bools are added up in int64.

    input: float16 to float64, bfloat16, integers or bools, of any strides. dtype: of the result and its sums.
    group: a process group of torch.distributed whose members have the parts of the axis, in the order of
    their ranks; each gets its part of the result. Lengths may differ.
    Raises TypeError for other dtypes, ValueError for other axes.
    """
    return _torch_ops.given(_anywhere("sum", input, dim, dtype, group), out, (input,))


def cumprod(input, dim, *, dtype=None, out=None, group=None):
    """torch.cumprod: running products along dim. Otherwise as cumsum()."""
    return _torch_ops.given(_anywhere("product", input, dim, dtype, group), out, (input,))


def cummax(input, dim, *, out=None, group=None):
    """torch.cummax: (values, indices) of running maxima along dim, each of input's shape; indices are int64,
    of equal maxima the last one's. NaN is larger than all numbers. group: as of cumsum(); indices are those
    of the whole axis."""
    return _pair(torch.return_types.cummax, _anywhere("max", input, dim, None, group), out, input)


def cummin(input, dim, *, out=None, group=None):
    """torch.cummin: as cummax(), of running minima; NaN is smaller than all numbers."""
    return _pair(torch.return_types.cummin, _anywhere("min", input, dim, None, group), out, input)


def logcumsumexp(input, dim, *, out=None, group=None):
    """torch.logcumsumexp: the logarithm of running sums of exponentials along dim, of floats. group: as of
    cumsum()."""
    return _torch_ops.given(_anywhere("log_sum_exp", input, dim, None, group), out, (input,))


def _pair(named, found, out, x):
    if out is not None:
        found = [_torch_ops.given(one, place, (x,)) for one, place in zip(found, out)]
    return named(found)


def _anywhere(op, x, dim, dtype, group):
    if x.is_cuda and dtype is None and op in ("sum", "product") and x.dtype.itemsize == 2:
        if x.is_floating_point() and torch.is_autocast_enabled():
            dtype = torch.float32  # as of torch's
    return _running(op, x, dim, dtype) if group is None else _across(op, x, dim, dtype, group)


# ---- Axes divided over processes -------------------------------------------------------------------------


class _Gathered(torch.autograd.Function):
    """The tensors of all processes of a group, stacked. All must take part in the backward pass, too."""

    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        parts = [torch.empty_like(x) for _ in range(_distributed().get_world_size(group))]
        _distributed().all_gather(parts, x, group=group)
        return torch.stack(parts)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.contiguous()
        _distributed().all_reduce(grad, group=ctx.group)
        return grad[_distributed().get_rank(ctx.group)], None


def _distributed():
    return sys.modules["torch.distributed"]


# By operator: the totals of parts, stacked, to one; that and a part's results to those of the whole axis; and
# the total of nothing.
_COMBINE = {
    "sum": (lambda totals: totals.sum(0, dtype=totals.dtype), torch.add, 0),
    "product": (lambda totals: totals.prod(0, dtype=totals.dtype), torch.mul, 1),
    "log_sum_exp": (lambda totals: totals.logsumexp(0), torch.logaddexp, -math.inf),
}


def _across(op, x, axis, dtype, group):
    """The scan of an axis that is divided over the processes of a group: each scans its part, and combines the
    results with the totals of the parts before. Totals of parts after are left out only after they have been
    gathered, so that all processes have the same collectives in their backward passes."""
    axis = _scans._axis_of(axis, x.shape, NAMES[op])
    rank = _distributed().get_rank(group)
    if op in ("max", "min"):
        return _extremes_across(op, x, axis, group, rank)
    to = result_type(x, op, dtype)
    # Totals of 16 bits would lose what the sums of a part keep.
    wide = torch.float32 if to in (torch.float16, torch.bfloat16) else to
    found = _running(op, x if x.dtype == wide else x.to(wide), axis)
    fold, combine, nothing = _COMBINE[op]
    totals = _gathered_ends(found, axis, nothing, group)
    return combine(fold(_first(rank, totals, nothing)), found).to(to)


def _gathered_ends(x, axis, nothing, group):
    """The last elements along an axis of all processes' tensors; of those without any, `nothing`."""
    if x.shape[axis]:
        end = x.narrow(axis, x.shape[axis] - 1, 1)
    else:  # with a gradient where x has one: all processes take part in the backward pass
        end = (x.sum(axis, keepdim=True) + nothing).to(x.dtype)
    return _Gathered.apply(end.contiguous(), group)


def _first(rank, totals, nothing):
    """The first `rank` of the stacked totals; in place of the others `nothing`."""
    return torch.where(
        (torch.arange(len(totals), device=totals.device) < rank).view(-1, *(1,) * (totals.dim() - 1)),
        totals,
        nothing,
    )


def _extremes_across(op, x, axis, group, rank):
    values, indices = _running(op, x, axis)
    limits = torch.finfo if x.is_floating_point() else torch.iinfo
    least = 0 if x.dtype is torch.bool else limits(x.dtype).min if op == "max" else limits(x.dtype).max
    if x.is_floating_point():
        least = math.copysign(math.inf, least)
    lengths = _Gathered.apply(torch.tensor(x.shape[axis], device=x.device), group).tolist()
    ends = _first(rank, _gathered_ends(values, axis, least, group), least)
    places = _gathered_ends(indices, axis, 0, group)
    # of two parts, the later one's where it is as good, or NaN
    at_least = torch.ge if op == "max" else torch.le
    later = lambda a, b: at_least(b, a) | (b != b)
    before, place = ends[-1], torch.zeros_like(places[0])  # the last is never before this one
    for i in range(rank):
        if lengths[i]:
            take = later(before, ends[i])
            before = torch.where(take, ends[i], before)
            place = torch.where(take, places[i] + sum(lengths[:i]), place)
    take = later(before, values)
    return torch.where(take, values, before), torch.where(take, indices + sum(lengths[:rank]), place)


def _is_divided(x):
    """Whether x is a DTensor."""
    module = sys.modules.get("torch.distributed.tensor")
    return module is not None and isinstance(x, module.DTensor)


def _of_divided(op, x, axis, dtype):
    """The scan of a DTensor, divided as that is: along the axis, totals are carried from part to part."""
    from torch.distributed.tensor import DTensor, Replicate, Shard

    along = [i for i, how in enumerate(x.placements) if how == Shard(axis)]
    # Parts of parts do not lie in the order of ranks of one group; sums of parts have to be added up first.
    kept = [
        how
        if how.is_replicate() or isinstance(how, Shard) and (how.dim != axis or i in along[:1])
        else Replicate()
        for i, how in enumerate(x.placements)
    ]
    if kept != list(x.placements):
        x = x.redistribute(placements=kept)
    part = x.to_local()
    group = x.device_mesh.get_group(along[0]) if along else None
    found = _anywhere(op, part, axis, dtype, group)
    whole = lambda y: DTensor.from_local(
        y, x.device_mesh, x.placements, run_check=False, shape=x.shape, stride=x.stride()
    )
    return tuple(map(whole, found)) if op in ("max", "min") else whole(found)
