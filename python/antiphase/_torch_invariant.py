# SPDX-License-Identifier: Apache-2.0
"""batch_invariant(): torch's own operators with the same bits for a row whatever the batch. Products and means are
computed here; softmax, norms and attention stay torch's, called so that their order of summation depends on a row's
length alone (docs/use/batch.md says what torch's source shows)."""
import contextlib
import functools
import inspect
import math
import os
import warnings

import torch

from . import _library, _products, _torch_lead_attention, _torch_linear
from ._torch_ops import KIND as _kind

_SIXTEEN = _torch_linear.SIXTEEN_BITS
_FLOATS = (torch.float32, *_SIXTEEN)

# ---- Products --------------------------------------------------------------------------------------------
# Each function returns the result, or None for what is torch's: FP64, complex numbers, integers.


def _lies_apart(out, *read):
    """True if a kernel may write to out while it reads the tensors."""
    place = out.untyped_storage().data_ptr()
    return all(t.untyped_storage().data_ptr() != place for t in read)


def _is_valid(axes, added, a, b, result):
    """True if torch would compute it, too; if not, torch is called, and says why."""
    if a.dtype is not b.dtype or a.device != b.device or not a.dim() == b.dim() == axes:
        return False
    if a.shape[-1] != b.shape[-2] or a.shape[:-2] != b.shape[:-2]:
        return False
    return added is None or (added.dtype in (a.dtype, result) and added.device == a.device)


def _product(axes, a, b, out=None, out_dtype=None):
    return _added(axes, None, a, b, 0, 1, out, out_dtype)


def _added(axes, added, a, b, beta=1, alpha=1, out=None, out_dtype=None):
    result = out_dtype or a.dtype
    if a.dtype not in _FLOATS or not _is_valid(axes, added, a, b, result):
        return None
    added = None if beta == 0 else added
    if a.dtype is torch.float32:
        return _added_fp32(added, a, b, beta, alpha) if result is torch.float32 else None
    if result not in (a.dtype, torch.float32):
        return None
    if alpha != 1 or (added is not None and beta != 1):
        total = _torch_linear.compute(a, b.mT, None, None, torch.float32) * alpha
        return (total if added is None else total + beta * added.float()).to(result)
    bias = residual = None
    shape = (*a.shape[:-1], b.shape[-1])
    if added is not None:
        added = added.to(result)
        if added.dim() and added.numel() == added.shape[-1] == shape[-1]:
            bias = added.reshape(-1).contiguous()
        else:
            residual = added.expand(shape).contiguous()
    if out is not None and (out.shape != shape or out.dtype is not result or not _lies_apart(out, a, b)):
        out = None
    if out is not None and added is not None and not _lies_apart(out, added):
        out = None
    return _torch_linear.compute(a, b.mT, bias, residual, result, out)


def _added_fp32(added, a, b, beta, alpha):
    shape = (*a.shape[:-1], b.shape[-1])
    precision = _products.precision_of(None, True)
    if added is None:
        return _products.product(_kind, a, b, None, precision, alpha=alpha)
    if alpha == 1 and beta == 1 and added.dtype is torch.float32 and added.shape == shape[-1:]:
        return _products.product(_kind, a, b, None, precision, bias=added.contiguous())
    before = added.expand(shape).to(torch.float32, memory_format=torch.contiguous_format, copy=True)
    return _products.product(_kind, a, b, before, precision, alpha=alpha, beta=beta)


def _mv(a, x, out=None):
    found = _product(2, a, x.unsqueeze(-1))
    return None if found is None else found.squeeze(1)


def _addmv(added, a, x, beta=1, alpha=1, out=None):
    if a.dim() != 2 or added.dim() > 1:
        return None
    found = _added(2, added.expand(a.shape[0]).unsqueeze(1), a, x.unsqueeze(-1), beta, alpha)
    return None if found is None else found.squeeze(1)


def _typed(function):
    """The overload whose last tensor is followed by the result's type."""

    def overload(*args, out=None, **factors):
        *tensors, out_dtype = args
        return function(*tensors, out=out, out_dtype=out_dtype, **factors)

    return overload


# ---- Means -----------------------------------------------------------------------------------------------

_WIDEST, _NARROWEST = 32, 8  # how many numbers a step adds


def _row_sums(x):
    """Sums of the rows of an FP32 matrix, in an order that follows from the length of a row. On a GPU a row is a channel
    of a batch norm, whose gradient adds up each channel in a block of its own. Elsewhere every step divides a row into
    `width` parts and adds these one after the other, in a thread for each element of a part."""
    if x.is_cuda and x.shape[1] > 1:
        x = x.contiguous()
        channels = x[None]
        some = x.view(-1)[: x.shape[0]]  # means and deviations, which no sum depends on
        return torch.ops.aten.batch_norm_backward_reduce(
            channels, channels, some, some, None, True, False, False
        )[0]
    while x.shape[1] > 1:
        rows, length = x.shape
        width = max(w for w in range(1, _WIDEST + 1) if length % w == 0)
        if width < min(_NARROWEST, length):
            width = _WIDEST
            x = torch.nn.functional.pad(x, (0, -length % width))
        parts = x.reshape(1, rows, width, -1)
        x = torch.nn.functional.avg_pool2d(parts, (width, 1), divisor_override=1).view(rows, -1)
    return x[:, 0]


def _mean(x, dim=None, keepdim=False, dtype=None, out=None):
    result = dtype or x.dtype
    if x.dtype not in _FLOATS or result not in _FLOATS or x.numel() == 0:
        return None
    axes = sorted({d % max(x.dim(), 1) for d in dim}) if dim else list(range(x.dim()))
    kept = [d for d in range(x.dim()) if d not in axes]
    shape = [x.shape[d] for d in kept]
    length = math.prod(x.shape[d] for d in axes)
    rows = x.float().permute(*kept, *axes).reshape(-1, length)
    sums = [_row_sums(some) for some in rows.split(max(1, (1 << 30) // length))]
    sums = sums[0] if len(sums) == 1 else torch.cat(sums)
    found = (sums / length).to(result).reshape(shape)
    return found.reshape([1 if d in axes else x.shape[d] for d in range(x.dim())]) if keepdim else found


# ---- Softmax and norms: torch's kernels, on rows that begin at multiples of 16 bytes ----------------------------


def _spare(length):
    """Elements to append to rows of torch's softmax. Up to 1024, a warp adds up a row; beyond, a block does, from the
    row's first multiple of 16 bytes on, so that the order of summation follows from where the row begins."""
    return 0 if length <= 1024 else -length % 16


def _by_rows(places, fills):
    """Makes a kernel of torch's along an axis one of aligned rows: along another axis than the last, the order of
    summation follows from the number of columns. places: of the tensors among the arguments; fills: what is appended
    to their rows."""

    def make(original):
        def kernel(keys, *args, **named):
            tensors, dim = args[:places], args[places]
            x = tensors[0]
            if x.dtype not in _FLOATS or not x.dim() or x.numel() == 0:
                return original.call_boxed(keys, *args, **named)
            axis, length = dim % x.dim(), x.shape[dim]
            last, spare = axis == x.dim() - 1, _spare(length)
            if last and not spare and all(t.data_ptr() % 16 == 0 for t in tensors):
                return original.call_boxed(keys, *args, **named)
            rows = [t.movedim(axis, -1) for t in tensors]
            rows = [torch.nn.functional.pad(t, (0, spare), value=fill) for t, fill in zip(rows, fills)]
            rows = [t.clone(memory_format=torch.contiguous_format) if t.data_ptr() % 16 else t for t in rows]
            found = original.call_boxed(keys, *rows, x.dim() - 1, *args[places + 1 :], **named)
            return found[..., :length].movedim(-1, axis).contiguous()

        return kernel

    return make


def _normalized(original):
    """A row's sums are in an order of its length, but torch takes other kernels for addresses that are not multiples
    of four elements."""

    def kernel(keys, x, *args, **named):
        if x.data_ptr() % 16:
            x = x.clone(memory_format=torch.contiguous_format)
        return original.call_boxed(keys, x, *args, **named)

    return kernel


# ---- Attention -------------------------------------------------------------------------------------------


def _step(t):
    """How many rows a sequence of (members, heads, length, depth) begins after the one before, as in a cache that
    holds more than it is asked for; None if the strides have no such number."""
    members, _, length, _ = t.shape
    member, _, row, last = t.stride()
    if last != 1 or length == 1 or row == 0 or (members > 1 and member % row):
        return None
    return member // row if members > 1 else length


def _rows(t, step):
    """Rows (any, heads, depth) of such sequences: a view, or, without a step, one after the other."""
    members, heads, length, depth = t.shape
    if step is None:
        return t.transpose(1, 2).reshape(-1, heads, depth)
    return t.as_strided(((members - 1) * step + length, heads, depth), (t.stride(2), t.stride(1), 1))


def _flash(original):
    """torch's 16-bit attention, called as for packed sequences of different lengths: the kernel then divides no keys
    among blocks, which it otherwise does where the batch is small."""

    def kernel(keys, q, k, v, dropout_p=0.0, is_causal=False, return_debug_mask=False, *, scale=None):
        shape, length = q.shape, k.shape[2]
        if dropout_p or return_debug_mask or 0 in (q.numel(), k.numel()):  # no keys are divided with dropout
            return original.call_boxed(keys, q, k, v, dropout_p, is_causal, return_debug_mask, scale=scale)
        if shape[2] == 1 and shape[1] > k.shape[1]:  # queries that share keys, as rows of one block
            q, is_causal = q.reshape(shape[0], k.shape[1], -1, shape[3]), False
        members, heads, queries, depth = q.shape
        step = _step(k)
        if step != _step(v):
            step = None
        starts = lambda n: torch.arange(0, (members + 1) * n, n, dtype=torch.int32, device=q.device)
        used = None
        if step not in (None, length):
            used = torch.full((members,), length, dtype=torch.int32, device=q.device)
        # At least 2 queries: with one the kernel would exchange heads for queries where these share keys, and divide
        # the keys.
        out, logsumexp, state, unused, mask = torch.ops.aten._flash_attention_forward(
            _rows(q, None),
            _rows(k, step),
            _rows(v, step),
            starts(queries),
            starts(step or length),
            max(queries, 2),
            length,
            0.0,
            is_causal and queries > 1,
            False,
            scale=scale,
            seqused_k=used,
        )
        out = out.view(members, queries, heads, depth).transpose(1, 2).reshape(shape)
        logsumexp = logsumexp.view(heads, members, queries).transpose(0, 1).reshape(shape[:3]).contiguous()
        return out, logsumexp, None, None, shape[2], length, state, unused, mask

    return kernel


def _takes_attention(q, k, v, bias):
    if any(t.dtype is not torch.float32 for t in (q, k, v)) or 0 in (q.numel(), k.numel()):
        return False
    return bias is None or (bias.dtype is torch.float32 and bias.dim() == 4)


# One policy for all batches: the fastest one follows from the whole call, and each has bits of its own.
_FP32 = b"fp32"


def _attention(original):
    """FP32 is computed here, 16 bits with a mask by torch's kernel, which divides no keys."""

    def kernel(keys, q, k, v, bias, compute, dropout_p=0.0, is_causal=False, *, scale=None):
        if dropout_p == 0 and _takes_attention(q, k, v, bias):
            try:
                form = int(is_causal), scale, -1, -1, _FP32
                return _torch_lead_attention._led_forward(q, k, v, bias, compute, form)
            except (NotImplementedError, ValueError):  # by shape: the same in every batch
                pass
        return original.call_boxed(keys, q, k, v, bias, compute, dropout_p, is_causal, scale=scale)

    return kernel


def _attention_backward(original):
    def kernel(keys, grad, q, k, v, bias, out, logsumexp, *rest, scale=None):
        _, _, dropout_p, mask, *is_causal = rest
        takes = grad is not None and dropout_p == 0 and not mask[3] and grad.dtype is torch.float32
        if takes and _takes_attention(q, k, v, bias):
            try:
                form = int(any(is_causal)), scale, -1, -1, _FP32
                return _torch_lead_attention._led_backward(grad, q, k, v, bias, out, logsumexp, form)
            except (NotImplementedError, ValueError):
                pass
        return original.call_boxed(keys, grad, q, k, v, bias, out, logsumexp, *rest, scale=scale)

    return kernel


# ---- The switch ------------------------------------------------------------------------------------------


def _computed(function, name):
    """A kernel of torch's operator that calls a function, and torch's own kernel where that returns None. Some
    overloads write into out=, others in place."""
    in_place, writes = name.partition(".")[0].endswith("_"), name.partition(".")[2].endswith("out")

    def make(original):
        def kernel(keys, *args, **named):
            result = function(*args, **named)
            if result is None:
                return original.call_boxed(keys, *args, **named)
            out = args[0] if in_place else named["out"] if writes else result
            if in_place and out.shape != result.shape:
                return original.call_boxed(keys, *args, **named)  # which raises torch's error
            if out is not result:
                if out.shape != result.shape:
                    out.resize_(result.shape)
                out.copy_(result)
            return out

        return kernel

    return make


def _operators():
    known = {}
    mm, bmm = (functools.partial(_product, axes) for axes in (2, 3))
    addmm, baddbmm = (functools.partial(_added, axes) for axes in (2, 3))
    for name, function in (("mm", mm), ("bmm", bmm), ("addmm", addmm), ("baddbmm", baddbmm)):
        for overload in ("", ".out"):
            known[name + overload] = _computed(function, name + overload)
        for overload in (".dtype", ".dtype_out"):
            known[name + overload] = _computed(_typed(function), name + overload)
    for name, function in (
        *(("addmm_", addmm), ("baddbmm_", baddbmm), ("mv", _mv), ("addmv", _addmv), ("addmv.out", _addmv)),
        *(("addmv_", _addmv), ("mean.dim", _mean), ("mean.out", _mean)),
    ):
        known[name] = _computed(function, name)
    known |= dict.fromkeys(("_softmax", "_log_softmax"), _by_rows(1, (-math.inf,)))
    known |= dict.fromkeys(("_softmax_backward_data", "_log_softmax_backward_data"), _by_rows(2, (0.0, 0.0)))
    known |= dict.fromkeys(("native_layer_norm", "_fused_rms_norm"), _normalized)
    known["_scaled_dot_product_flash_attention"] = _flash
    known["_scaled_dot_product_efficient_attention"] = _attention
    known["_scaled_dot_product_efficient_attention_backward"] = _attention_backward
    return known


_ON_CUDA_ALONE = "_scaled_dot_product_"  # torch has no such kernels for CPU tensors
_WORKSPACES = {
    "CUBLASLT_WORKSPACE_SIZE": "1",
    "CUBLAS_WORKSPACE_CONFIG": ":16:8",
}  # none that a split sum fits


def _set_variable(name, value):
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


def _protected():
    """Settings under which the products that are left to torch, such as those in FP8, split no sum: vLLM's mode has
    the same. Until the result is closed."""
    cublas, prefer = torch.backends.cuda.matmul, torch.backends.cuda.preferred_blas_library
    with contextlib.ExitStack() as before:
        for name, value in _WORKSPACES.items():
            before.callback(_set_variable, name, os.environ.get(name))
            os.environ[name] = value
        for name in ("allow_bf16_reduced_precision_reduction", "allow_fp16_reduced_precision_reduction"):
            reduced, split = getattr(cublas, name), getattr(cublas, f"{name}_split_k", None)
            before.callback(setattr, cublas, name, reduced if split is None else (reduced, split))
            setattr(cublas, name, False if split is None else (False, False))  # split: from torch 2.10 on
        before.callback(prefer, prefer())
        prefer("cublaslt")
        return before.pop_all()


class _Mode:
    """Our kernels of torch's operators of CUDA tensors, while any block or switch asks for them; of CPU tensors where
    torch finds no GPU."""

    def __init__(self):
        self.library, self.is_enabled, self.blocks = None, False, 0
        self.has_bmm, self.settings = True, None
        self.change = _library.lock()

    def update(self):
        wanted = self.is_enabled or self.blocks > 0
        if wanted and self.library is None:
            self.begin()
        elif not wanted and self.library is not None:
            self.end()
        # Not for a block: torch reads the workspaces' sizes once.
        if self.is_enabled and self.settings is None:
            self.settings = _protected()
        elif not self.is_enabled and self.settings is not None:
            self.settings = self.settings.close()

    def begin(self):
        find = getattr(torch.library, "get_kernel", None)
        if find is None:
            raise RuntimeError(
                f"antiphase: torch is {torch.__version__}: its operators can be overridden from 2.9 on, where torch.library "
                "has get_kernel"
            )
        key = "CUDA" if torch.cuda.is_available() else "CPU"
        library = torch.library.Library("aten", "IMPL")
        options = {"with_keyset": True}
        if "allow_override" in inspect.signature(library.impl).parameters:
            options["allow_override"] = True
        with warnings.catch_warnings():  # torch warns of each kernel that is overridden
            warnings.simplefilter("ignore")
            for name, make in _operators().items():
                if key == "CPU" and name.startswith(_ON_CUDA_ALONE):
                    continue
                if self.is_enabled and not self.has_bmm and name.startswith(("bmm", "baddbmm")):
                    continue
                try:
                    original = find(f"aten::{name}", key)
                except (RuntimeError, ValueError):
                    continue  # not in this torch
                library.impl(name, make(original), key, **options)
        self.library = library
        # cuDNN does not say how it divides keys.
        self.cudnn = torch.backends.cuda.cudnn_sdp_enabled()
        torch.backends.cuda.enable_cudnn_sdp(False)

    def end(self):
        self.library._destroy()
        self.library = None
        torch.backends.cuda.enable_cudnn_sdp(self.cudnn)


_mode = _Mode()


@contextlib.contextmanager
def batch_invariant():
    """Within the block, in all threads, a row's bits depend neither on the other rows nor on their number:

        with antiphase.torch.batch_invariant():
            logits = model(tokens).logits

    for torch's mm, bmm, addmm, baddbmm, mv, addmv, and so matmul, linear and einsum, of float16, bfloat16 and float32;
    softmax, log_softmax, mean, layer_norm, rms_norm, and scaled_dot_product_attention; their gradients too. Under
    autocast and CUDA graphs; programs compiled by torch.compile call these products, but fuse softmax, means and norms
    in an order of their own, except with mode="lite". Blocks may be nested. docs/use/batch.md has what else is torch's own.

    Raises RuntimeError for a torch before 2.9. Within it, a product that the device cannot compute raises
    NotImplementedError."""
    with _mode.change:
        _mode.blocks += 1
        try:
            _mode.update()
        except BaseException:
            _mode.blocks -= 1
            raise
    try:
        yield
    finally:
        with _mode.change:
            _mode.blocks -= 1
            _mode.update()


def enable_batch_invariant_mode(enable_bmm=True):
    """batch_invariant() until disable_batch_invariant_mode(). Names and arguments of these four functions are those of
    the package batch_invariant_ops. enable_bmm=False, which SGLang has, leaves bmm and baddbmm to torch, unless the
    mode is on already.

    Until then cuBLAS has no workspace for split sums (CUBLASLT_WORKSPACE_SIZE, CUBLAS_WORKSPACE_CONFIG), torch prefers
    cuBLASLt and allows no reductions in 16 bits, for products that are left to torch."""
    with _mode.change:
        _mode.is_enabled, _mode.has_bmm = True, enable_bmm
        try:
            _mode.update()
        except BaseException:
            _mode.is_enabled = False
            raise


def disable_batch_invariant_mode():
    """Undoes enable_batch_invariant_mode(); blocks in progress go on."""
    with _mode.change:
        _mode.is_enabled = False
        _mode.update()


def is_batch_invariant_mode_enabled():
    """True while the mode is on, by enable_batch_invariant_mode() or a block."""
    return _mode.library is not None


@contextlib.contextmanager
def set_batch_invariant_mode(enabled=True):
    """Within the block the mode is on, or off if enabled is False; then as it was."""
    if enabled:
        with batch_invariant():
            yield
        return
    with _mode.change:
        before = _mode.is_enabled, _mode.blocks
        _mode.is_enabled, _mode.blocks = False, 0
        _mode.update()
    try:
        yield
    finally:
        with _mode.change:
            _mode.is_enabled, _mode.blocks = before[0] or _mode.is_enabled, before[1] + _mode.blocks
            _mode.update()
