# SPDX-License-Identifier: Apache-2.0
"""torch's own FP32 attention on GPUs, overridden where ours is predicted to be faster.

torch.nn.functional.scaled_dot_product_attention calls the operators below for float32; both agree with torch's on
what they take and return, so that either half may be torch's."""
import math

import torch

from . import _attention, _library, _torch_attention, _torch_lead
from ._torch_ops import KIND as _kind

# Products of queries and keys, times depth: with fewer, torch takes less than 25 us, and no prediction is made.
# Operators in C++, which a profile is about, pass on without a prediction only where there is one query.
_LEAST_WORK = 1 << 25
_SEVERAL = 4  # launches of a call with a workspace
_HOST = {"forward": 110e-6, "backward": 400e-6}  # s: what a call of ours takes the host, in Python


def _host(part):
    """Least predicted time of a call of ours. A profile is about operators in C++, whose time the cost model has."""
    in_cpp = attention.profiles and torch.__version__ >= "2.10" and not _torch_lead.asked_in_python()
    return 0 if in_cpp else _HOST[part]


_compare = _library.compare_torch_attention

try:
    _tf32 = torch._C._get_fp32_precision_getter
    _tf32("cuda", "matmul")
    _allows_tf32 = lambda: _tf32("cuda", "matmul") == "tf32"
except Exception:  # a private function
    _allows_tf32 = lambda: torch.backends.cuda.matmul.allow_tf32


# ---- What is overridden ---------------------------------------------------------------------------------


_NO = False, 0, None


def _decide(part, q, k, v, bias, grad, how, is_causal):
    """(whether to lead the call, the predicted gain in us, its row of the profile)."""
    if q.dim() != 4 or k.shape != v.shape or q.shape[:2] != k.shape[:2] or q.shape[3] != k.shape[3]:
        return _NO
    (members, heads, queries, depth), keys = q.shape, k.shape[2]
    if 0 in q.shape or keys == 0:
        return _NO
    most = members, heads, queries, keys
    if bias is not None and (bias.dim() != 4 or any(x not in (1, y) for x, y in zip(bias.shape, most))):
        return _NO
    predicted, launches = math.inf, _SEVERAL
    if not _allows_tf32():
        try:
            # The gradient of a sum, for example: it is copied, and laid out like q.
            if grad is not None and grad.stride(-1) != 1:
                grad = q
            known = _torch_attention.plan(q, k, v, bias, None, how, grad)
            if known is not None:
                args = (known[0], bias is not None, False, grad is not None)
                asked = _torch_attention.with_made_up_addresses(*args)
                predicted = _library.attention_seconds(asked)
                launches = _SEVERAL if known[1] else 1
        except (NotImplementedError, ValueError):
            pass
    number, backward = _torch_lead.number_of(q.device), part == "backward"
    predicted = max(predicted, _host(part))
    call = number, backward, *most, depth, is_causal, bias is not None, launches, predicted
    ours, theirs, wins = _compare(*call)
    ours, theirs = 1e6 * ours, 1e6 * theirs
    text = f"attention {part} of {members} x {heads} x {queries} x {keys} x {depth}"
    text += ", causal" * is_causal + ", with a mask" * (bias is not None)
    return wins, theirs - ours, _torch_lead.Row(text, ours, theirs, wins, _torch_lead.is_measured(q.device))


def _asked(part, q, k, v, bias, grad, is_causal, scale, has_backward=False):
    """The decision, and causal, scale, before, after. has_backward: of a forward, that one will follow."""
    layouts = [x is not None and (x.shape, x.stride()) for x in (q, k, v, bias, grad)]
    key = part, *layouts, q.device, is_causal, scale, has_backward, _allows_tf32()
    decision = attention.decided.get(key)
    how = int(is_causal), scale, -1, -1
    if decision is None:
        decision = attention.decided.keep(key, _decide(part, q, k, v, bias, grad, how, is_causal))
        # The gradient's layout is not known yet: it is taken to be that of q.
        if has_backward and _decide("backward", q, k, v, bias, q, how, is_causal)[0]:
            attention.take(_BACKWARD)
    return decision, how


def _may_win(q, k, v, bias):
    """What is asked first of every call, as it takes the host a fraction of a microsecond."""
    float32 = torch.float32
    return (
        q.dtype is k.dtype is v.dtype is float32
        and (q.numel() * k.shape[-2] >= _LEAST_WORK or attention.profiles and q.shape[-2] > 1)
        and (bias is None or bias.dtype is float32)
    )


def _forward(original):
    def kernel(keys, q, k, v, bias, compute, dropout_p=0.0, is_causal=False, *, scale=None):
        found = None
        if dropout_p == 0 and _may_win(q, k, v, bias):
            decision, how = _asked("forward", q, k, v, bias, None, is_causal, scale, compute)
            found = attention.led(decision, lambda: _led_forward(q, k, v, bias, compute, how))
        else:
            attention.passes()
        if found is None:
            return original.call_boxed(keys, q, k, v, bias, compute, dropout_p, is_causal, scale=scale)
        return found

    return kernel


def _led_forward(q, k, v, bias, compute, how):
    members, heads, queries = q.shape[:3]
    # torch's own have rows of a multiple of 32, and infinity after the last query.
    logsumexp = q.new_empty(members, heads, -(-queries // 32) * 32 if compute else 0)
    out, _ = _torch_attention.forward(
        q, k, v, bias, None, how, keep=False, logsumexp=logsumexp if compute else None
    )
    # of dropout, which there is none of: on the device where torch has them
    place = q.device if q.is_cuda and _kind.is_capturing() else None
    seed, offset = (torch.empty((), dtype=torch.int64, device=place) for _ in range(2))
    return out, logsumexp, seed, offset


def _backward(original):
    def kernel(keys, grad, q, k, v, bias, out, logsumexp, *rest, scale=None):
        _, _, dropout_p, mask, *is_causal = rest
        takes = grad is not None and dropout_p == 0 and not mask[3]
        found = None
        if takes and grad.dtype is q.dtype and _may_win(q, k, v, bias):
            decision, how = _asked("backward", q, k, v, bias, grad, any(is_causal), scale)
            found = attention.led(decision, lambda: _led_backward(grad, q, k, v, bias, out, logsumexp, how))
        else:
            attention.passes()
        if found is None:
            return original.call_boxed(keys, grad, q, k, v, bias, out, logsumexp, *rest, scale=scale)
        return found

    return kernel


def _led_backward(grad, q, k, v, bias, out, logsumexp, how):
    return *_torch_attention.backward(grad, q, k, v, bias, None, out, None, how, logsumexp), None


_BACKWARD = "_scaled_dot_product_efficient_attention_backward"
attention = _torch_lead.Led(
    "calls of attention",
    0,
    {"_scaled_dot_product_efficient_attention": _forward, _BACKWARD: _backward},
    later=(_BACKWARD,),
)
