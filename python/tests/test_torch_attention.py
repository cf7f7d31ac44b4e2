#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attention of torch tensors: on the CPU executor, or on ANTIPHASE_TEST_DEVICE, such as cuda."""
import concurrent.futures
import gc
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import support

numpy, torch = support.need("numpy"), support.need("torch")
import antiphase
import antiphase.torch as at
from antiphase import _torch_lead_attention as lead
from torch.nn.functional import scaled_dot_product_attention as theirs

DEVICE = torch.device(os.environ.get("ANTIPHASE_TEST_DEVICE", "cpu"))
if DEVICE.type == "cuda" and not torch.cuda.is_available():
    print("skipped: torch finds no GPU")
    sys.exit(support.SKIPPED)
if DEVICE.type == "cuda":
    DEVICE = torch.device("cuda", DEVICE.index or 0)  # as tensors say it

torch.set_num_threads(1)  # tensors are small
ours = at.scaled_dot_product_attention


def R(*shape, seed=1):
    return torch.from_numpy(support.pattern(numpy, *shape, seed=seed)).to(DEVICE)


def B(*shape):
    """Bools, of which the first key of every row is True."""
    mask = R(*shape, seed=9) > -0.3
    mask[..., 0] = True
    return mask


def operands(q=(2, 4, 5, 8), k=(2, 4, 7, 8), v=None):
    return R(*q), R(*k, seed=2), R(*(v or k), seed=3)


def with_gradients(function, tensors):
    tensors = [t.detach().requires_grad_() for t in tensors]
    out = function(*tensors)
    weights = torch.arange(out.numel(), dtype=out.dtype, device=DEVICE).reshape(out.shape) % 7 / 4
    return out.detach(), *torch.autograd.grad(out, tensors, weights)


def in_double(q, k, v, attn_mask=None, **how):
    """torch's own, in FP64 on the host."""
    if attn_mask is not None:
        attn_mask = attn_mask.cpu() if attn_mask.dtype is torch.bool else attn_mask.cpu().double()
    return theirs(*(t.double() for t in (q, k, v)), attn_mask, **how)


SHAPES = (
    ((2, 4, 5, 8), (2, 4, 7, 8), {}),
    ((2, 4, 33, 64), (2, 4, 70, 64), {}),
    ((5, 8), (7, 8), {}),
    ((3, 5, 8), (3, 7, 8), {}),
    ((2, 3, 4, 5, 8), (2, 3, 4, 7, 8), {}),
    ((2, 1, 4, 5, 8), (1, 3, 4, 7, 8), {}),
    ((2, 4, 5, 8), (2, 2, 7, 8), {"enable_gqa": True}),
    ((2, 4, 5, 8), (2, 1, 7, 8), {}),
    ((2, 1, 5, 8), (2, 4, 7, 8), {}),
    ((1, 4, 1, 8), (3, 4, 7, 8), {}),
    ((2, 4, 0, 8), (2, 4, 7, 8), {}),
    ((0, 4, 5, 8), (0, 4, 7, 8), {}),
)


class Values(support.Case):
    def same(self, found, expected):
        for x, y in zip(found, expected):
            self.assertEqual(x.shape, y.shape)
            torch.testing.assert_close(x.cpu().double(), y, rtol=1e-6, atol=3e-6)

    def check(self, tensors, **how):
        host = [t.cpu().double() for t in tensors]
        expected = with_gradients(lambda *t: in_double(*t, **how), host) if DEVICE.type == "cpu" else None
        if expected is None:
            out = [t.requires_grad_() for t in host]
            result = in_double(*out, **how)
            weights = torch.arange(result.numel(), dtype=torch.float64).reshape(result.shape) % 7 / 4
            expected = result.detach(), *torch.autograd.grad(result, out, weights)
        found = with_gradients(lambda *t: ours(*t, **how), tensors)
        self.same(found, expected)
        with torch.no_grad():  # without torch's dispatcher
            self.assertTrue(torch.equal(ours(*tensors, **how), found[0]))

    def test_shapes(self):
        for q, k, how in SHAPES:
            for causal in (False, True):
                with self.subTest(q=q, k=k, causal=causal, **how):
                    self.check(operands(q, k), is_causal=causal, **how)

    def test_depths_and_scales(self):
        for q, k, v, scale in (
            ((2, 4, 5, 8), (2, 4, 7, 8), (2, 4, 7, 3), None),
            ((2, 4, 5, 8), (2, 4, 7, 8), (2, 4, 7, 12), 0.3),
            ((2, 4, 5, 8), (2, 4, 7, 8), None, 0.0),
            ((2, 4, 5, 8), (2, 4, 7, 8), None, 1e-50),
            ((2, 4, 5, 8), (2, 4, 7, 8), None, -0.5),
            ((1, 1, 5, 200), (1, 1, 7, 200), None, None),
            ((1, 1, 5, 1), (1, 1, 7, 1), None, None),
        ):
            with self.subTest(q=q, v=v, scale=scale):
                self.check(operands(q, k, v), scale=scale)

    def test_masks(self):
        for shape in ((5, 7), (2, 1, 5, 7), (4, 5, 7), (2, 4, 5, 7), (1, 7)):
            with self.subTest(shape):
                self.check(operands(), attn_mask=B(*shape))
                self.check(operands(), attn_mask=R(*shape, seed=5))
                self.check(operands(), attn_mask=R(*shape, seed=5).masked_fill(~B(*shape), -torch.inf))
        self.check(operands((3, 2, 4, 5, 8), (3, 2, 4, 7, 8)), attn_mask=B(2, 1, 5, 7))
        nobody = torch.zeros(5, 7, dtype=torch.bool, device=DEVICE)
        for x in with_gradients(lambda *t: ours(*t, attn_mask=nobody), operands()):
            self.assertFalse(x.any())

    def test_views(self):
        wide = R(2, 9, 3, 4, 8)  # of one layer's product, as models cut it
        q, k, v = (wide[:, :, i].transpose(1, 2) for i in range(3))
        expected = ours(*(x.contiguous() for x in (q, k, v)))
        self.assertTrue(torch.equal(ours(q, k, v), expected))
        self.assertTrue(
            ours(q, k, v).transpose(1, 2).is_contiguous()
        )  # rows of all heads, for the next product
        for x in (
            q.flip(2),
            q.mT.contiguous().mT,
            q[:1].expand(2, -1, -1, -1),
            q[..., ::2].repeat(1, 1, 1, 2),
        ):
            self.assertTrue(torch.equal(ours(x, k, v), ours(x.contiguous(), k, v)))
        mask = R(1, 1, 9, 9, seed=4)
        for x in (
            mask.expand(2, 4, -1, -1),
            mask.mT,
            mask[:, :, :1].expand(-1, -1, 9, -1),
            mask[..., :1, :1].expand(2, 4, 9, 9),
        ):
            self.assertTrue(torch.equal(ours(q, k, v, x), ours(q, k, v, x.contiguous())))
        q = q.detach().requires_grad_()
        ours(q, k, v).sum().backward()  # its gradient is one number, expanded

    def test_antiphases_own_function(self):
        q, k, v = operands()
        found = with_gradients(
            lambda *t: antiphase.attention(*t, window=(1, 0), causal="bottom_right"), (q, k, v)
        )
        near = torch.ones(5, 7, dtype=torch.bool).tril(2).triu(1).to(DEVICE)
        for x, y in zip(found, with_gradients(lambda *t: ours(*t, near), (q, k, v))):
            torch.testing.assert_close(x, y, rtol=1e-6, atol=1e-6)
        both = antiphase.attention(q, k, v, mask=B(5, 7), bias=R(4, 1, 7, seed=4))
        hidden = R(4, 1, 7, seed=4).masked_fill(~B(5, 7), -torch.inf)
        torch.testing.assert_close(both, ours(q, k, v, hidden), rtol=1e-6, atol=1e-6)

    def test_the_same_bits_in_every_run(self):
        q, k, v = operands((2, 4, 90, 64), (2, 4, 130, 64))
        once = with_gradients(lambda *t: ours(*t, is_causal=True), (q, k, v))
        for x, y in zip(with_gradients(lambda *t: ours(*t, is_causal=True), (q, k, v)), once):
            self.assertTrue(torch.equal(x, y))

    def test_what_makes_no_sense(self):
        q, k, v = operands()
        for error, words, call in (
            (ValueError, ["dropout_p is 0.5"], lambda: ours(q, k, v, dropout_p=0.5)),
            (ValueError, ["is_causal"], lambda: ours(q, k, v, B(5, 7), is_causal=True)),
            (ValueError, ["(3, 7)", "(2, 4, 5, 7)"], lambda: ours(q, k, v, B(3, 7))),
            (ValueError, ["4 heads", "2 of keys", "enable_gqa"], lambda: ours(q, k[:, :2], v[:, :2])),
            (ValueError, ["4 heads", "3 of keys"], lambda: ours(q, k[:, :3], v[:, :3], enable_gqa=True)),
            (ValueError, ["7 keys and 6 values"], lambda: ours(q, k, v[:, :, :6])),
            (ValueError, ["(2, 4, 5, 8) and (3, 4, 7, 8)"], lambda: ours(q, *operands(k=(3, 4, 7, 8))[1:])),
            (ValueError, ["at least two axes"], lambda: ours(q[0, 0, 0], k, v)),
            (ValueError, ["scale is inf"], lambda: ours(q, k, v, scale=float("inf"))),
            (ValueError, ["scale is 1e+300", "float32"], lambda: ours(q, k, v, scale=1e300)),
            (ValueError, ["depth is 300"], lambda: ours(R(5, 300), R(7, 300), R(7, 300))),
            (TypeError, ["q is float16", ".float()"], lambda: ours(q.half(), k, v)),
            (TypeError, ["bias is float64"], lambda: ours(q, k, v, R(5, 7).double())),
            (TypeError, ["mask is float32"], lambda: antiphase.attention(q, k, v, mask=R(5, 7))),
            (ValueError, ["causal is 'left'"], lambda: antiphase.attention(q, k, v, causal="left")),
            (ValueError, ["window is (1, 2, 3)"], lambda: antiphase.attention(q, k, v, window=(1, 2, 3))),
            (
                NotImplementedError,
                ["bias requires a gradient"],
                lambda: antiphase.attention(q, k, v, bias=R(5, 7).requires_grad_()),
            ),
        ):
            with self.subTest(words):
                self.refused(error, words, call)


class Integration(support.Case):
    def near(self, found, expected):
        torch.testing.assert_close(found, expected, rtol=2e-6, atol=3e-6)

    def test_opcheck(self):
        q, k, v = operands(k=(2, 2, 7, 8))
        for bias, visible, how in (
            (None, None, (0, 0.3, -1, -1)),
            (None, B(2, 1, 5, 7), (1, 0.3, -1, -1)),
            (R(1, 4, 5, 1), None, (0, 0.3, 1, 2)),
        ):
            call = torch.ops.antiphase.attention.default
            torch.library.opcheck(
                call, (*(x.detach().requires_grad_() for x in (q, k, v)), bias, visible, *how)
            )
            out, softmax = call(q, k, v, bias, visible, *how)
            torch.library.opcheck(
                torch.ops.antiphase.attention_backward.default,
                (R(2, 4, 5, 8, seed=4), q, k, v, bias, visible, out, softmax, *how),
            )

    def test_compiled(self):
        def block(x, mask):
            q, k, v = x.reshape(2, 9, 3, 4, 8).permute(2, 0, 3, 1, 4)
            return ours(q * 2, k, v, mask).transpose(1, 2).reshape(2, 9, 32).tanh()

        for mask in (None, B(9, 9), R(9, 9, seed=4)):
            torch._dynamo.reset()
            compiled = torch.compile(block, fullgraph=True, backend="aot_eager")
            for x, y in zip(
                with_gradients(lambda x: compiled(x, mask), (R(2, 9, 96),)),
                with_gradients(lambda x: block(x, mask), (R(2, 9, 96),)),
            ):
                self.near(x, y)

    def test_fake_tensors(self):
        from torch._subclasses import FakeTensorMode

        with FakeTensorMode():
            q = torch.empty(2, 4, 5, 8, device=DEVICE, requires_grad=True)
            out = ours(q, q, q)
            self.assertEqual((out.shape, out.stride()), ((2, 4, 5, 8), (160, 8, 32, 1)))
            out.sum().backward()
            self.assertEqual(q.grad.shape, q.shape)

    def test_mapped(self):
        q, k, v = operands((3, 2, 4, 5, 8), (3, 2, 4, 7, 8))
        for axes, tensors in (
            ((0, 0, 0), (q, k, v)),
            ((1, None, 2), (q.movedim(0, 1), k[0], v.movedim(0, 2))),
            ((None, 0, None), (q[0], k, v[0])),
        ):
            whole = [
                x.movedim(a, 0) if a is not None else x.expand(3, *x.shape) for a, x in zip(axes, tensors)
            ]
            with self.subTest(axes):
                self.near(torch.func.vmap(ours, axes)(*tensors), ours(*whole))
                loss = lambda *t: ours(*t).square().sum()
                found = torch.func.vmap(torch.func.grad(loss, (0, 1, 2)), axes)(*tensors)
                for x, *t in zip(range(3), *whole):
                    expected = torch.func.grad(loss, (0, 1, 2))(*t)
                    for f, e in zip(found, expected):
                        self.near(f[x], e)
        for mask, axis in ((B(3, 5, 7), 0), (B(5, 7), None), (B(2, 1, 5, 7), None), (R(3, 1, 7, seed=6), 0)):
            found = torch.func.vmap(ours, (0, 0, 0, axis))(q, k, v, mask)
            for i in range(3):
                self.near(found[i], ours(q[i], k[i], v[i], mask if axis is None else mask[i]))

    def test_func(self):
        q, k, v = operands()
        for module in (ours,):
            loss = lambda q, k, v: (module(q, k, v) * R(2, 4, 5, 8, seed=7)).sum()
            found = torch.func.grad(loss, (0, 1, 2))(q, k, v)
            expected = torch.func.grad(lambda *t: (theirs(*t) * R(2, 4, 5, 8, seed=7)).sum(), (0, 1, 2))(
                q, k, v
            )
            for x, y in zip(found, expected):
                self.near(x, y)
        with self.assertRaisesRegex(NotImplementedError, "antiphase: a tensor has a tangent"):
            torch.func.jvp(lambda q: ours(q, k, v), (q,), (q,))

    def test_second_gradients_are_refused(self):
        q, k, v = (x.requires_grad_() for x in operands())
        (grad,) = torch.autograd.grad(ours(q, k, v).square().sum(), q, create_graph=True)
        with self.assertRaisesRegex(NotImplementedError, "antiphase: .*second derivatives.*MATH"):
            grad.sum().backward()

    def test_masks_with_gradients_are_torchs(self):
        q, k, v = operands()
        mask = R(5, 7, seed=4).requires_grad_()
        gradient = lambda call: torch.autograd.grad(call(q, k, v, mask).square().sum(), mask)[0]
        try:
            expected = gradient(theirs)
        except RuntimeError as error:  # torch 2.11 on GPUs: "LSE is not correctly aligned"
            with self.assertRaisesRegex(RuntimeError, re.escape(str(error).splitlines()[0])):
                gradient(ours)
        else:
            self.near(gradient(ours), expected)
        with torch.no_grad():
            self.near(ours(q, k, v, mask), theirs(q, k, v, mask))

    def test_autocast(self):
        q, k, v = operands()
        with torch.autocast(DEVICE.type, torch.bfloat16):
            self.assertTrue(torch.equal(ours(q, k, v), ours(q.requires_grad_(), k, v)))
            self.assertEqual(ours(q, k, v).dtype, torch.float32)

    def test_saved_tensors_that_have_moved(self):
        class Copied:
            pack, unpack = (lambda x: x.clone(memory_format=torch.contiguous_format)), (lambda x: x)

        q, k, v = operands()
        once = with_gradients(ours, (q, k, v))
        with torch.autograd.graph.saved_tensors_hooks(Copied.pack, Copied.unpack):
            again = with_gradients(ours, (q, k, v))
        for x, y in zip(once, again):
            self.assertTrue(torch.equal(x, y))


# torch has its operators for CUDA alone. For the CPU this stands in for them, as they are: strides, padding.
STAND_IN = """
import math, torch

def scores(q, k, bias, is_causal, scale):
    s = q.double() @ k.double().mT * (q.shape[-1] ** -0.5 if scale is None else scale) + (0 if bias is None else bias.double())
    return s.masked_fill(torch.ones(s.shape[-2:]).tril().logical_not(), -math.inf) if is_causal else s

def rows(x):
    return x.float().transpose(1, 2).contiguous().transpose(1, 2)

def forward(q, k, v, bias, compute, dropout_p=0.0, is_causal=False, *, scale=None):
    s = scores(q, k, bias, is_causal, scale)
    padding = -q.shape[2] % 32
    lse = torch.nn.functional.pad(s.logsumexp(-1).float(), (0, padding), value=math.inf)
    seed, offset = torch.empty((), dtype=torch.int64), torch.empty((), dtype=torch.int64)
    return rows(s.softmax(-1) @ v.double()), lse if compute else lse[..., :0], seed, offset

def backward(grad, q, k, v, bias, out, lse, seed, offset, dropout_p, mask, is_causal=False, *, scale=None):
    assert lse.shape[-1] % 32 == 0 and (lse[..., q.shape[2] :] == math.inf).all()
    p = (scores(q, k, bias, is_causal, scale) - lse[..., : q.shape[2], None]).exp()
    dv, dp = p.mT @ grad.double(), grad.double() @ v.double().mT
    ds = p * (dp - (grad * out).double().sum(-1, keepdim=True)) * (q.shape[-1] ** -0.5 if scale is None else scale)
    return rows(ds @ k.double()), rows(ds.mT @ q.double()), rows(dv), None

stand_in = torch.library.Library("aten", "IMPL")
stand_in.impl("_scaled_dot_product_efficient_attention", forward, "CPU")
stand_in.impl("_scaled_dot_product_efficient_attention_backward", backward, "CPU")
"""


class Led(support.Case):
    """torch's own attention. On the CPU it is computed by the executor, as if that were fast."""

    def setUp(self):
        compare = lead._compare
        self.least_queries = self.least_keys = 1
        self.most = math.inf  # of torch's time, that ours may take

        def compared(*call):
            (queries, keys, depth), ours, theirs = call[4:7], call[-1], compare(*call)[1]
            fits = queries >= self.least_queries and keys >= self.least_keys and depth <= 128
            return ours, theirs, fits and ours < self.most * theirs

        for name, value in (("_compare", compared), ("_LEAST_WORK", 0)):
            patched = unittest.mock.patch.object(lead, name, value)
            patched.start()
            self.addCleanup(patched.stop)
        self.addCleanup(lead.attention.decided.clear)
        self.addCleanup(lead.attention.end)
        lead.attention.decided.clear()
        lead.attention.computed = lead.attention.passed = 0
        if DEVICE.type == "cpu":
            names = {}
            exec(STAND_IN, names)
            self.addCleanup(names["stand_in"]._destroy)

    def begin(self):
        lead.attention.begin("CUDA" if DEVICE.type == "cuda" else "CPU", in_python=True)

    def efficient(self, q, k, v, bias=None, is_causal=False, scale=None):
        """What torch's function does for float32 on a GPU."""
        if DEVICE.type == "cuda":
            return theirs(q, k, v, bias, is_causal=is_causal, scale=scale)
        compute = torch.is_grad_enabled() and q.requires_grad
        call = torch.ops.aten._scaled_dot_product_efficient_attention
        return call(q, k, v, bias, compute, 0.0, is_causal, scale=scale)[0]

    def counted(self, call):
        before = lead.attention.computed, lead.attention.passed
        found = call()
        return found, (lead.attention.computed - before[0], lead.attention.passed - before[1])

    def near(self, found, expected):
        for x, y in zip(found, expected):
            self.assertEqual(x.stride(), y.stride())
            torch.testing.assert_close(x, y, rtol=3e-6, atol=1e-5)

    CASES = (
        ((2, 4, 33, 8), (2, 4, 70, 8), {}),
        ((2, 4, 64, 8), (2, 4, 64, 8), {"is_causal": True}),
        ((2, 4, 33, 8), (2, 4, 48, 8), {"is_causal": True, "scale": 0.3}),
        ((2, 4, 33, 8), (2, 4, 48, 8), {"scale": 1e-50}),
        ((2, 4, 33, 8), (2, 4, 48, 8), {"bias": (33, 48)}),
    )

    def test_forward_and_backward(self):
        for q, k, how in self.CASES:
            if "bias" in how:
                how = {"bias": R(*how["bias"], seed=5).expand(2, 4, 33, 48)}
            tensors, run = operands(q, k), lambda *t: self.efficient(*t, **how)
            expected = with_gradients(run, tensors)
            self.begin()
            with self.subTest(q=q, k=k, how=list(how)):
                found, counts = self.counted(lambda: with_gradients(run, tensors))
                self.assertEqual(counts, (2, 0))
                self.near(found, expected)
                with torch.no_grad():
                    found, counts = self.counted(lambda: run(*tensors))
                self.assertEqual(counts, (1, 0))
                self.near([found], expected)
            lead.attention.end()
        _, counts = self.counted(lambda: run(*tensors))
        self.assertEqual(counts, (0, 0))

    def test_halves_may_be_torchs(self):
        """Each half reads what the other one's has left."""
        tensors = operands((2, 4, 33, 8), (2, 4, 48, 8))
        expected = with_gradients(self.efficient, tensors)
        # a backward that no forward predicts to be overridden stays torch's kernel
        for ours, expected_counts in (("forward", (1, 0)), ("backward", (1, 1))):
            was = lead._decide
            lead._decide = lambda part, *more: was(part, *more) if part == ours else (False, 0, None)
            try:
                self.begin()
                found, counts = self.counted(lambda: with_gradients(self.efficient, tensors))
            finally:
                lead._decide = was
                lead.attention.decided.clear()
                lead.attention.end()
            with self.subTest(ours):
                self.assertEqual(counts, expected_counts)
                self.near(found, expected)

    def test_queries_that_see_nothing(self):
        bias = torch.zeros(33, 48, device=DEVICE)
        bias[4] = -math.inf
        tensors, run = operands((2, 4, 33, 8), (2, 4, 48, 8)), lambda *t: self.efficient(
            *t, bias.expand(2, 4, 33, 48)
        )
        self.begin()
        out, *gradients = with_gradients(run, tensors)
        self.assertFalse(out[:, :, 4].any() or gradients[0][:, :, 4].any())
        rest = lambda q, k, v: self.efficient(torch.cat([q[:, :, :4], q[:, :, 5:]], 2), k, v)
        others = torch.cat([out[:, :, :4], out[:, :, 5:]], 2)
        torch.testing.assert_close(others, rest(*tensors), rtol=3e-6, atol=1e-5)
        self.assertTrue(all(x.isfinite().all() for x in gradients))

    @unittest.skipUnless(DEVICE.type == "cuda", "torch's function calls these operators on GPUs alone")
    def test_compiled(self):
        tensors, run = (operands((2, 4, 33, 8), (2, 4, 48, 8)), lambda *t: theirs(*t).tanh())
        expected = with_gradients(run, tensors)
        self.begin()
        for backend in ("aot_eager", "inductor"):
            compiled = torch.compile(run, fullgraph=True, backend=backend)
            found, counts = self.counted(lambda: with_gradients(compiled, tensors))
            self.assertEqual(counts, (2, 0))
            for x, y in zip(found, expected):
                torch.testing.assert_close(x, y, rtol=3e-6, atol=1e-5)
        graph, (q, k, v) = torch.cuda.CUDAGraph(), tensors
        with torch.no_grad(), torch.cuda.graph(graph):
            found, counts = self.counted(lambda: theirs(q, k, v))
        self.assertEqual(counts, (1, 0))
        q.copy_(R(*q.shape, seed=8))
        graph.replay()
        torch.testing.assert_close(found, ours(q, k, v), rtol=3e-6, atol=1e-5)

    def test_what_is_not_taken(self):
        q, k, v = operands((2, 4, 33, 8), (2, 4, 48, 8))
        self.begin()
        call = torch.ops.aten._scaled_dot_product_efficient_attention
        run = lambda q, k, v, dropout_p=0.0, scale=None: call(q, k, v, None, False, dropout_p, scale=scale)
        for what, tensors, how in (
            ("depth", (R(1, 1, 33, 192), R(1, 1, 48, 192), R(1, 1, 48, 192)), {}),
            *([("dropout", (q, k, v), {"dropout_p": 0.5})]),
            *([("types", (q.half(), k.half(), v.half()), {})]),
        ):
            with self.subTest(what):
                self.assertEqual(self.counted(lambda: run(*tensors, **how))[1], (0, 1))
        self.assertEqual(self.counted(lambda: run(q, k, v))[1], (1, 0))
        before = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("high")  # TF32 is allowed
        try:
            self.assertEqual(self.counted(lambda: run(q, k, v))[1], (0, 1))
        finally:
            torch.set_float32_matmul_precision(before)
        self.least_queries = 34
        lead.attention.decided.clear()
        self.assertEqual(self.counted(lambda: run(q, k, v))[1], (0, 1))
        self.least_queries, self.least_keys = 1, 49
        lead.attention.decided.clear()
        self.assertEqual(self.counted(lambda: run(q, k, v))[1], (0, 1))
        self.least_keys, lead._LEAST_WORK = 1, q.numel() * 48 + 1
        self.assertEqual(self.counted(lambda: run(q, k, v))[1], (0, 1))
        lead._LEAST_WORK, self.most = 0, 0
        lead.attention.decided.clear()
        self.assertEqual(self.counted(lambda: run(q, k, v))[1], (0, 1))

    def test_calls_in_vain(self):
        """After many of them torch has its operator back, at once and for good."""
        small, large = operands((2, 4, 33, 8), (2, 4, 48, 8)), operands((2, 4, 64, 8), (2, 4, 64, 8))
        self.least_queries = 34
        expected = with_gradients(self.efficient, small)
        run = lambda tensors: self.counted(lambda: self.efficient(*tensors))[1]
        with unittest.mock.patch("antiphase._torch_lead._PATIENCE", 4):
            self.begin()
            self.assertEqual([run(small) for _ in range(6)], [(0, 1)] * 4 + [(0, 0)] * 2)
            gc.collect()
            self.near(with_gradients(self.efficient, small), expected)
            self.assertEqual(run(large), (0, 0))
            self.begin()  # enabled again
            self.assertEqual([run(small) for _ in range(3)] + [run(large)], [(0, 1)] * 3 + [(1, 0)])
            self.assertEqual([run(small) for _ in range(9)], [(0, 1)] * 9)  # one was overridden
            lead.attention.end()
            self.begin()
            self.assertEqual([run(small) for _ in range(3)], [(0, 1)] * 3)
            with concurrent.futures.ThreadPoolExecutor(1) as another:
                self.assertEqual(another.submit(run, small).result(), (0, 1))
            self.assertEqual([run(small) for _ in range(3)], [(0, 1)] * 3)

    def test_predictions(self):
        """TFLOP/s of torch that have been measured on an H100: never faster than predicted by more than what ours may take
        less. 0: not measured."""
        for shape, causal, full in (
            ((8, 12, 1024, 64), (24.3, 24.4), (31.9, 30.9)),
            ((4, 16, 1024, 128), (34.4, 25.1), (42.8, 33.1)),
            ((2, 16, 4096, 64), (30.0, 30.0), (33.5, 34.7)),
            ((2, 16, 4096, 128), (43.1, 34.1), (46.9, 35.9)),
            ((1, 16, 16384, 128), (47.5, 37.7), (45.5, 36.8)),
            ((16, 12, 512, 64), (21.8, 0), (29.3, 0)),
            ((64, 12, 197, 64), (12.4, 3.9), (16.2, 7.6)),
        ):
            members, heads, rows, depth = shape
            for is_causal, measured in ((True, causal), (False, full)):
                for part, work, rate in (("forward", 4, measured[0]), ("backward", 10, measured[1])):
                    if rate:
                        work *= members * heads * rows * rows * depth / (2 if is_causal else 1)
                        call = -1, part == "backward", *shape[:3], *shape[2:], is_causal, False, 0, 0
                        found = 1e6 * lead._library.compare_torch_attention(*call)[1]
                        most = 1 / 0.85 if part == "forward" else 1 / 0.8
                        self.assertLess(found / (work / rate * 1e-6), most, (shape, part, is_causal))
                        self.assertGreater(found / (work / rate * 1e-6), 0.3, (shape, part, is_causal))

    def test_enable(self):
        if not torch.backends.cuda.is_built():
            self.skipTest("this torch has no operators for CUDA")
        with antiphase.enabled():
            self.assertIsNotNone(lead.attention.library)
            with antiphase.enabled():
                pass
            self.assertIsNotNone(lead.attention.library)
        self.assertIsNone(lead.attention.library)
        antiphase.enable()
        self.assertIsNotNone(lead.attention.library)
        antiphase.disable()
        self.assertIsNone(lead.attention.library)
        lead.attention.computed, lead.attention.passed = 1, 3
        self.assertIn("; 1 of 4 calls of attention computed (25 %), ", antiphase.report())


PROGRAM = """
import sys, os
assert "torch" not in sys.modules and "antiphase" not in sys.modules
import torch
from antiphase import _torch_lead_attention as lead
assert (lead.attention.library is not None) == (os.environ.get("ANTIPHASE_ATTENTION") != "0")
on = "cuda" if torch.cuda.is_available() else "cpu"
q = torch.ones(2, 3, 128, 8, device=on)
if on == "cpu":
    lead.attention.end()
    exec(STAND_IN)
    if os.environ.get("ANTIPHASE_ATTENTION") != "0":
        lead.attention.begin("CPU", in_python=True)
elif lead.attention.library is not None and not lead.attention.profiles:
    lead.attention.end()
    lead.attention.takes_all = True
    lead.attention.begin()
decide = lead._compare
lead._compare, lead._LEAST_WORK = lambda *call: (*decide(*call)[:2], True), 0
call = lambda: torch.ops.aten._scaled_dot_product_efficient_attention(q, q, q, None, False)[0]
assert (call() - 1).abs().max() < 1e-6
if lead.attention.profiles:
    lead._LEAST_WORK = q.numel() * 128 + 1
    alone = lambda: torch.ops.aten._scaled_dot_product_efficient_attention(q[:, :, :1], q, q, None, False)
    alone(), alone()
"""


class Programs(support.Case):
    def ran(self, *options, **environment):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "program.py"
            program.write_text(f"STAND_IN = {STAND_IN!r}\n{PROGRAM}")
            done = subprocess.run(
                [sys.executable, "-m", "antiphase", "run", *options, str(program)],
                env={**os.environ, **environment},
                capture_output=True,
                text=True,
            )
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr

    def test_attention_is_led_from_the_start(self):
        said = self.ran()
        self.assertRegex(
            said, r"antiphase\[\d+\]: 1 of 1 calls of attention computed \(100 %\), -?[\d.e-]+ s saved"
        )
        self.assertNotIn("attention", self.ran(ANTIPHASE_REPORT="0"))
        self.assertNotIn("attention", self.ran(ANTIPHASE_ATTENTION="0"))

    def test_profile(self):
        said = self.ran("--profile")
        self.assertRegex(
            said, r" 1 +[\de.-]+~ +\d+\.\d+  attention forward of 2 x 3 x 128 x 128 x 8 +would be computed"
        )
        self.assertRegex(said, r"\n +1 +[\de.-]+ +[\de.-]+ +attention\n")
        self.assertRegex(said, r"\n +2 +others +passed on: too small, or of another kind\n")
        self.assertIn(" s (predicted), of 3 calls\n", said)


def divided(rank, file, world):
    """One of two processes: each holds half of the batch, or of the heads."""
    import torch.distributed as distributed
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor, init_device_mesh

    if DEVICE.type == "cuda":
        torch.cuda.set_device(rank)
    distributed.init_process_group(
        "nccl" if DEVICE.type == "cuda" else "gloo", init_method=f"file://{file}", rank=rank, world_size=world
    )
    mesh = init_device_mesh(DEVICE.type, (world,))
    cases = 0
    for k_heads in (4, 2, 1):
        tensors = operands(k=(2, k_heads, 7, 8))
        for mask in (None, B(5, 7), R(2, 4, 5, 7, seed=4)):
            expected = with_gradients(lambda *t: ours(*t, mask, enable_gqa=True), tensors)
            for place in (Replicate(), Shard(0), Shard(1)):
                if place == Shard(1) and k_heads == 1:
                    continue
                q, k, v = (distribute_tensor(t, mesh, [place]).requires_grad_() for t in tensors)
                spread = mask if mask is None else distribute_tensor(mask, mesh, [Replicate()])
                out = ours(q, k, v, spread, enable_gqa=True)
                assert out.placements == (place,), (out.placements, place)
                weights = torch.arange(out.numel(), device=DEVICE).reshape(out.shape) % 7 / 4
                weights = distribute_tensor(weights, mesh, [place])
                found = out, *torch.autograd.grad((out * weights).sum(), (q, k, v))
                for f, e in zip(found, expected):
                    torch.testing.assert_close(f.full_tensor(), e, rtol=2e-6, atol=2e-6)
                cases += 1
    distributed.destroy_process_group()
    assert cases == 24, cases


class Distributed(support.Case):
    def test_two_processes(self):
        self.in_two_processes(torch, DEVICE, divided)


if __name__ == "__main__":
    support.main()
