# SPDX-License-Identifier: Apache-2.0
"""Attention for torch: an operator with gradients, and torch's scaled_dot_product_attention."""
import math

import torch

from . import _arrays, _attention, _library, _torch_ops, _waiting
from ._torch_ops import KIND as _kind

# ---- Calls of plain tensors ------------------------------------------------------------------------------

_plans = _library.Remembered()


def _layout(x):
    return None if x is None else (x.shape, x.stride())


def by_rows(like, members, heads, rows, depth):
    """A new tensor of that shape, which lies in memory as torch's own kernels lay theirs: all heads of a row
    side by side."""
    return like.new_empty((members, rows, heads, depth)).transpose(1, 2)


def plan(q, k, v, bias, visible, how, grad=None, from_logsumexp=False):
    """What is known of a call: (arguments without addresses, bytes of workspace, strides of the output), or None
    if an operand has to be copied first. how: causal, scale, before, after, and if need be a policy. grad: that of the output, for the
    backward; from_logsumexp: that has no softmax."""
    key = (
        q.shape,
        q.stride(),
        k.shape,
        k.stride(),
        v.stride(),
        _layout(bias),
        _layout(visible),
        how,
        grad is not None and grad.stride(),
        from_logsumexp,
        q.device,
    )
    try:
        return _plans[key]
    except KeyError:
        pass
    return _plans.keep(key, _plan(q, k, v, bias, visible, how, grad, from_logsumexp))


def _plan(q, k, v, bias, visible, how, grad, from_logsumexp):
    if not all(_attention.readable(*_layout(x)) for x in (q, k, v, grad) if x is not None):
        return None
    members, heads, queries, depth = q.shape
    dense = lambda shape: (shape, (shape[1] * shape[2] * shape[3], shape[3], shape[1] * shape[3], 1))
    args = _attention.arguments(
        _kind.number_of(q.device),
        *map(_layout, (q, k, v)),
        dense(q.shape),
        _layout(bias),
        _layout(visible),
        *how,
    )
    if grad is not None:
        _attention.set_strides(args, "out_gradient", _layout(grad))
        for name, x in (("q_gradient", q), ("k_gradient", k), ("v_gradient", v)):
            _attention.set_strides(args, name, dense(x.shape))
    if args.device == _library.CPU or 0 in q.shape:
        return args, 0, dense(q.shape)[1]
    asked = with_made_up_addresses(args, bias is not None, visible is not None, grad is not None)
    if from_logsumexp:
        asked.logsumexp, asked.softmax = asked.softmax, None
    return args, _library.attention_workspace(asked), dense(q.shape)[1]


def with_made_up_addresses(args, biased, masked, backward):
    """Arguments to ask about: nothing can run with them."""
    asked = _library.AttentionArgs.from_buffer_copy(args)
    names = ["q", "k", "v", "out"] + ["bias"] * biased + ["visible"] * masked
    names += ["out_gradient", "q_gradient", "k_gradient", "v_gradient"] * backward
    for i, name in enumerate(names):
        getattr(asked, name).data = 1 << 40 + i
    asked.softmax = 1 << 56
    return asked


def run(known, q, addresses, softmax, logsumexp=None):
    """Makes a planned call. addresses: by name, tensors of which any may be None."""
    ready, size, _ = known
    args = _library.AttentionArgs.from_buffer_copy(ready)
    for name, x in addresses:
        if x is not None:
            getattr(args, name).data = x.data_ptr()
    args.softmax = None if softmax is None else softmax.data_ptr()
    if logsumexp is not None:
        args.logsumexp, args.logsumexp_stride = logsumexp.data_ptr(), logsumexp.shape[2]
    memory = None
    if size:
        memory = q.new_empty(size, dtype=torch.uint8)
        args.workspace, args.workspace_size = memory.data_ptr(), size
    _waiting.call(
        _library.attention_backward if args.out_gradient.data else _library.attention,
        args,
        _kind.stream(q.device),
    )
    del memory  # only now: the work is queued


def _readable(x):
    return x if _attention.readable(x.shape, x.stride()) else x.contiguous()


def forward(q, k, v, bias, visible, how, keep=True, logsumexp=None):
    """The output, and what the backward takes of the softmax: (top, sum) of each query."""
    known = plan(q, k, v, bias, visible, how)
    if known is None:
        return forward(*map(_readable, (q, k, v)), bias, visible, how, keep, logsumexp)
    out = by_rows(q, *q.shape)
    softmax = q.new_empty((*q.shape[:3], 2)) if keep else None
    if q.numel():
        addresses = (("q", q), ("k", k), ("v", v), ("out", out), ("bias", bias), ("visible", visible))
        run(known, q, addresses, softmax, logsumexp)
    return out, softmax


def backward(grad, q, k, v, bias, visible, out, softmax, how, logsumexp=None):
    """The gradients of q, k and v, from the softmax or, if that is None, from the logsumexp."""
    known = plan(q, k, v, bias, visible, how, grad, softmax is None)
    if known is None:
        grad, q, k, v = map(_readable, (grad, q, k, v))
        return backward(grad, q, k, v, bias, visible, out, softmax, how, logsumexp)
    if out.stride() != known[2]:  # a hook of saved tensors has moved it
        out = by_rows(q, *q.shape).copy_(out)
    found = tuple(by_rows(x, *x.shape) for x in (q, k, v))
    if q.numel() == 0:
        return tuple(x.zero_() for x in found)
    addresses = (
        *(("q", q), ("k", k), ("v", v), ("out", out), ("bias", bias), ("visible", visible)),
        *(("out_gradient", grad), ("q_gradient", found[0]), ("k_gradient", found[1])),
        ("v_gradient", found[2]),
    )
    kept = [None if x is None else x.contiguous() for x in (softmax, logsumexp)]
    run(known, q, addresses, *kept)
    return found


# ---- The operators registered with torch -----------------------------------------------------------------
# Operands have four axes: members, heads, rows, elements. Masks have extents of 1 where they are shared.


def _fake(q, k, v, bias, visible, *how):
    return by_rows(q, *q.shape), q.new_empty((*q.shape[:3], 2))


def _fake_backward(grad, q, k, v, *rest):
    return tuple(by_rows(x, *x.shape) for x in (q, k, v))


def _save(ctx, inputs, output):
    *tensors, ctx.causal, ctx.scale, ctx.before, ctx.behind = inputs
    ctx.save_for_backward(*tensors, *output)
    ctx.mark_non_differentiable(output[1])


def _gradients(ctx, grad, _):
    of = torch.ops.antiphase.attention_backward.default
    tensors = ctx.saved_tensors
    found = _torch_ops.dispatched(of, grad, *(x for x in tensors if x is not None))(
        grad, *tensors, ctx.causal, ctx.scale, ctx.before, ctx.behind
    )
    return *found, None, None, None, None, None, None


def _no_second_gradients(*_):
    raise NotImplementedError(
        "antiphase: attention has gradients, and these have none: for second derivatives take "
        "torch.nn.functional.scaled_dot_product_attention within torch.nn.attention.sdpa_kernel(SDPBackend.MATH)"
    )


def _joined(count, axes, tensors, members):
    """Under vmap: the mapped axis becomes a part of that of the members."""
    joined = []
    for axis, x in zip(axes, tensors):
        if x is not None and not (axis is None and x.shape[0] == 1 != members):
            x = _torch_ops.spread(x, axis, count)
            x = x.expand(count, members, *x.shape[2:]).flatten(0, 1)
        joined.append(x)
    return joined


def _mapped(operator, tensors):
    def mapped(count, axes, *args):
        first = args[0]
        members = first.shape[0] if axes[0] is None else first.movedim(axes[0], 0).shape[1]
        joined = _joined(count, axes, args[:tensors], members)
        found = operator()(*joined, *args[tensors:])
        return tuple(x.unflatten(0, (count, members)) for x in found)

    return mapped


_attention_op = _torch_ops.define(
    "attention(Tensor q, Tensor k, Tensor v, Tensor? bias, Tensor? visible, int causal, float? scale, int before, "
    "int behind) -> (Tensor, Tensor)",
    lambda q, k, v, bias, visible, *how: forward(q, k, v, bias, visible, how),
    _fake,
    _save,
    _gradients,
    _mapped(lambda: _attention_op, 5),
    (0, 0),
)
_torch_ops.define(
    "attention_backward(Tensor grad, Tensor q, Tensor k, Tensor v, Tensor? bias, Tensor? visible, Tensor out, "
    "Tensor softmax, int causal, float? scale, int before, int behind) -> (Tensor, Tensor, Tensor)",
    lambda grad, q, k, v, bias, visible, out, softmax, *how: backward(
        grad, q, k, v, bias, visible, out, softmax, how
    ),
    _fake_backward,
    lambda ctx, inputs, output: None,
    _no_second_gradients,
    _mapped(lambda: torch.ops.antiphase.attention_backward.default, 8),
    (0, 0, 0),
)

if hasattr(torch.library, "register_autocast"):  # it remains float32 under autocast
    for _device in ("cuda", "cpu"):
        torch.library.register_autocast(
            "antiphase::attention", _device, torch.float32, lib=_torch_ops.operators
        )


def _run(q, k, v, bias, visible, *how):
    given = [x for x in (q, k, v, bias, visible) if x is not None]
    for x in given:
        if x.device != q.device:
            raise ValueError(
                f"antiphase: attention of tensors on {' and '.join(str(y.device) for y in given)}: expected one device"
            )
    if _kind.plain(*given):
        return forward(q, k, v, bias, visible, how, keep=False)[0]
    return _torch_ops.dispatched(_attention_op, *given)(q, k, v, bias, visible, *how)[0]


# ---- The functions ---------------------------------------------------------------------------------------


def attention(q, k, v, causal, scale, mask, bias, window, grouped=True, out=None):
    """antiphase.attention() of tensors."""
    if bias is not None and bias.requires_grad and torch.is_grad_enabled():
        raise NotImplementedError(
            "antiphase: attention, bias requires a gradient, which is not computed here: "
            "torch.nn.functional.scaled_dot_product_attention has it"
        )
    found = _attention.attend(_kind, q, k, v, causal, scale, mask, bias, window, grouped, _run)
    return _torch_ops.given(found, out, [x for x in (q, k, v, mask, bias) if x is not None])


def scaled_dot_product_attention(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False
):
    """torch.nn.functional.scaled_dot_product_attention, in FP32: softmax(scale query key^T + attn_mask) value.

    query: (..., heads, L, E). key: (..., heads, S, E). value: (..., heads, S, Ev). Batches and heads are
    broadcast; enable_gqa: key and value may have fewer heads, a divisor of query's. E and Ev are at most 256.
    attn_mask: can be broadcast to (..., heads, L, S): bools, of which True takes part, or float32, which is added.
    One that requires a gradient is left to torch's own function. is_causal: query i sees keys 0 to i.

    Returns float32 of shape (..., heads, L, Ev), with gradients, but not gradients of these. Raises TypeError
    for other dtypes; ValueError for shapes that do not fit, dropout, and a mask next to is_causal.
    """
    if dropout_p:
        raise ValueError(f"antiphase: dropout_p is {dropout_p}: expected 0, attention drops nothing out here")
    if attn_mask is not None and is_causal:
        raise ValueError("antiphase: attn_mask is given and is_causal is set: expected one of them")
    if attn_mask is not None and attn_mask.requires_grad and torch.is_grad_enabled():
        return torch.nn.functional.scaled_dot_product_attention(
            query, key, value, attn_mask, 0.0, is_causal, scale=scale, enable_gqa=enable_gqa
        )
    if min(query.dim(), key.dim(), value.dim()) >= 2 and query.shape[-1] != value.shape[-1]:
        return _of_two_depths(query, key, value, attn_mask, is_causal, scale, enable_gqa)
    mask, bias = (attn_mask, None) if _is_boolean(attn_mask) else (None, attn_mask)
    return _attention.attend(
        _kind, query, key, value, bool(is_causal), scale, mask, bias, None, enable_gqa, _run
    )


def _is_boolean(mask):
    return mask is not None and mask.dtype is torch.bool


def _of_two_depths(query, key, value, mask, is_causal, scale, enable_gqa):
    """Rows of zeros make the depths one."""
    depth, of_values = query.shape[-1], value.shape[-1]
    most = max(depth, of_values)
    wider = lambda x: torch.nn.functional.pad(x, (0, most - x.shape[-1]))
    scale = scale if scale is not None else 1 / math.sqrt(depth) if depth else 1.0
    out = scaled_dot_product_attention(
        wider(query), wider(key), wider(value), mask, 0.0, is_causal, scale, enable_gqa
    )
    return out[..., :of_values]


# ---- DTensor ---------------------------------------------------------------------------------------------


def _register_shardings():
    """DTensor's sharding rules: by members of the batch, and by heads."""
    from torch.distributed.tensor import Replicate, Shard
    from torch.distributed.tensor.experimental import register_sharding

    def rules_of(q, k, pairs):
        """For each way to divide: the placement of rows, and those of the masks."""
        whole = Replicate()
        for axis in (None, 0, 1):
            # of grouped heads only whole groups
            if axis == 1 and q.shape[1] != k.shape[1] and k.shape[1] % k.mesh.size():
                continue
            place = whole if axis is None else Shard(axis)
            yield place, [
                None if x is None else whole if axis is None or x.shape[axis] == 1 else place for x in pairs
            ]

    @register_sharding(_attention_op)
    def _(q, k, v, bias, visible, causal, scale, before, behind):
        return [
            ([place] * 2, [place] * 3 + pairs + [None] * 4)
            for place, pairs in rules_of(q, k, (bias, visible))
        ]

    @register_sharding(torch.ops.antiphase.attention_backward.default)
    def _(grad, q, k, v, bias, visible, out, softmax, causal, scale, before, behind):
        return [
            ([place] * 3, [place] * 4 + pairs + [place] * 2 + [None] * 4)
            for place, pairs in rules_of(q, k, (bias, visible))
        ]


_torch_ops.sharding_rules.append(_register_shardings)
