#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Linear layers in 16 bits for torch, and batch_invariant(): on the CPU executor, or on ANTIPHASE_TEST_DEVICE."""
import os
import signal
import subprocess
import sys
import tempfile
import time
import types
import unittest
import unittest.mock
import warnings

import support

torch = support.need("torch")
import antiphase
import antiphase.torch as at
from antiphase import _products, _waiting
from antiphase._torch_ops import KIND as _KIND

F = torch.nn.functional
DEVICE = torch.device(os.environ.get("ANTIPHASE_TEST_DEVICE", "cpu"))
if DEVICE.type == "cuda" and not torch.cuda.is_available():
    support.skip("torch finds no GPU")
if DEVICE.type == "cpu" and torch.cuda.is_available():
    support.skip(
        "torch finds a GPU, whose operators the mode overrides: ANTIPHASE_TEST_DEVICE=cuda tests them"
    )
HALVES = (torch.bfloat16, torch.float16)


def R(*shape, dtype=torch.bfloat16, seed=1):
    random = torch.Generator().manual_seed(seed + 1000 * sum(shape))
    return torch.randn(shape, generator=random).to(DEVICE, dtype)


def same(found, expected):
    """The same bits, also of NaN and of zeros with a sign."""
    as_bits = {2: torch.int16, 4: torch.int32, 8: torch.int64}[found.element_size()]
    return found.shape == expected.shape and torch.equal(
        found.contiguous().view(as_bits), expected.contiguous().view(as_bits)
    )


def near(found, expected):
    """Within a rounding to the type of `found`, and what FP32 sums add to it."""
    unit = torch.finfo(found.dtype).eps
    torch.testing.assert_close(found.double(), expected.double(), rtol=unit, atol=2 * unit + 1e-5)


class Linear(support.Case):
    def test_values_and_gradients(self):
        for dtype in HALVES:
            for shape in ((7, 40), (2, 3, 40), (40,)):
                with self.subTest(f"{dtype}, {shape}"):
                    tensors = [
                        R(*shape, dtype=dtype),
                        R(24, 40, dtype=dtype, seed=2),
                        R(24, dtype=dtype, seed=3),
                    ]
                    ours = [t.clone().requires_grad_() for t in tensors]
                    exact = [t.double().requires_grad_() for t in tensors]
                    found, expected = at.linear(*ours), F.linear(*exact)
                    self.assertEqual(found.dtype, dtype)
                    near(found, expected)
                    grad = R(*found.shape, dtype=dtype, seed=4)
                    found.backward(grad)
                    expected.backward(grad.double())
                    for a, b in zip(ours, exact):
                        self.assertEqual(a.grad.dtype, dtype)
                        near(a.grad, b.grad)

    def test_rows_and_their_gradients_have_the_same_bits_in_every_batch(self):
        x, w, bias = R(70, 48), R(24, 48, seed=2), R(24, seed=3)
        grad = R(70, 24, seed=4)

        def both(rows):
            some = x[rows].clone().requires_grad_()
            found = at.linear(some, w, bias)
            found.backward(grad[rows])
            return found.detach(), some.grad

        together = both(slice(0, 70))
        for first, count in ((0, 1), (69, 1), (3, 8), (5, 64)):
            for alone, all_rows in zip(both(slice(first, first + count)), together):
                self.assertTrue(same(alone, all_rows[first : first + count]), f"{count} rows from {first} on")
        x[1::2] = float("nan")
        x[2::4] = float("inf")
        self.assertTrue(same(at.linear(x, w, bias)[::4], together[0][::4]))

    def test_operands_lie_anyhow(self):
        x, w = R(6, 20), R(12, 20, seed=2)
        expected = at.linear(x, w)
        wide = R(6, 40)
        wide[:, ::2] = x
        for name, other in {
            "columns": x.t().contiguous().t(),
            "every second": wide[:, ::2],
            "at an odd place": torch.cat([x.new_zeros(1), x.reshape(-1)])[1:].view(6, 20),
        }.items():
            self.assertTrue(same(at.linear(other, w), expected), name)
        self.assertTrue(same(at.linear(x, w.t().contiguous().t()), expected))
        self.assertTrue(same(at.linear(x[:1].expand(6, 20), w), expected[:1].expand(6, 12)))
        windows = R(300, seed=5).as_strided((12, 64), (8, 1))  # rows that overlap
        for a, b in ((R(6, 64), windows), (windows, R(6, 64))):
            self.assertTrue(same(at.linear(a, b), at.linear(a.clone(), b.clone())))
        one, row, column = w[3, 4], w[3], w[:, 4, None]
        for repeated in (one.expand(12, 20), row.expand(12, 20), column.expand(12, 20), one.expand(3, 20)):
            for found in (at.linear(x, repeated), antiphase.linear(x, repeated, activation=None)):
                self.assertTrue(same(found, at.linear(x, repeated.clone())))
            given = {"residual": x[0, :1], "activation": "relu"}
            self.assertTrue(
                same(antiphase.linear(x, repeated, **given), antiphase.linear(x, repeated.clone(), **given))
            )
        self.assertTrue(same(at.linear(x, w, one.expand(12)), at.linear(x, w, one.expand(12).clone())))
        residual = x[:, :1].clone().requires_grad_()
        antiphase.linear(x, w, residual=residual).float().sum().backward()
        self.assertEqual(residual.grad.tolist(), [[12.0]] * 6)
        self.assertEqual(at.linear(x[:0], w).shape, (0, 12))
        self.assertFalse(at.linear(x[:, :0], w[:, :0]).any())

    def test_residual_and_wide_results_of_the_package(self):
        x, w, residual = R(2, 3, 20), R(12, 20, seed=2), R(2, 3, 12, seed=3)
        for t in (x, w, residual):
            t.requires_grad_()
        found = antiphase.linear(x, w, residual=residual)
        near(found, x.double() @ w.double().t() + residual.double())
        found.sum().backward()
        near(residual.grad, torch.ones_like(residual))
        self.assertEqual(antiphase.linear(x, w, dtype="float32").dtype, torch.float32)
        with self.assertRaisesRegex(NotImplementedError, "no gradients through an activation"):
            antiphase.linear(x, w, activation="relu")

    def test_long_calls_can_be_interrupted(self):
        if DEVICE.type != "cpu":
            self.skipTest("a GPU's calls return at once")
        before = signal.signal(signal.SIGALRM, signal.default_int_handler)  # raises KeyboardInterrupt
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        self.addCleanup(signal.setitimer, signal.ITIMER_REAL, 0)
        rows = R(1, 4096).expand(4096, 4096)
        heads = R(2, 512, 64, dtype=torch.float32).requires_grad_()
        out = at.scaled_dot_product_attention(heads, heads, heads)
        for call in (lambda: at.linear(rows, rows), lambda: out.sum().backward()):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                start = time.monotonic()
                signal.setitimer(signal.ITIMER_REAL, 0.1)
                with self.assertRaises(KeyboardInterrupt):
                    call()
            self.assertLess(time.monotonic() - start, 1.5)
        with warnings.catch_warnings(), unittest.mock.patch.multiple(_waiting, _SLOW=1, _WORTH_A_WORD=0):
            warnings.simplefilter("error", RuntimeWarning)
            with self.assertRaisesRegex(RuntimeWarning, "linear of 9 x 40 and 24 x 40 will take about"):
                at.linear(R(9, 40), R(24, 40))

    def test_transforms(self):
        x, w, bias = R(3, 5, 20), R(12, 20, seed=2), R(12, seed=3)
        expected = at.linear(x, w, bias)
        vmap = torch.func.vmap
        self.assertTrue(same(vmap(lambda rows: at.linear(rows, w, bias))(x), expected))
        self.assertTrue(
            same(vmap(lambda one: at.linear(x[0], w, one))(bias.expand(3, 12)), expected[:1].expand(3, 5, 12))
        )
        self.assertTrue(same(vmap(vmap(lambda row: at.linear(row, w, bias)))(x), expected))
        slope = torch.func.grad(lambda t: at.linear(t, w, bias).float().sum())(x[0])
        near(slope, w.double().sum(0).expand(5, 20))
        net = at.Linear(20, 12, device=DEVICE, dtype=torch.bfloat16)
        with torch.autocast(DEVICE.type, torch.bfloat16):
            self.assertEqual(net(x).dtype, torch.bfloat16)
        made = torch._subclasses.FakeTensorMode()
        with made:
            self.assertEqual(
                at.linear(
                    torch.empty(3, 5, dtype=torch.float16), torch.empty(2, 5, dtype=torch.float16)
                ).shape,
                (3, 2),
            )
        torch.library.opcheck(
            torch.ops.antiphase.linear.default,
            (x[0].requires_grad_(), w, bias),
            test_utils=("test_schema", "test_faketensor", "test_autograd_registration"),
        )

    def test_compiled(self):
        net = at.Linear(20, 12, device=DEVICE, dtype=torch.bfloat16)
        x = R(5, 20)
        compiled = torch.compile(lambda t: net(t).relu() * 2, fullgraph=True)
        a, b = x.clone().requires_grad_(), x.clone().requires_grad_()
        found, expected = compiled(a), net(b).relu() * 2
        self.assertTrue(same(found, expected))
        found.sum().backward()
        expected.sum().backward()
        self.assertTrue(same(a.grad, b.grad))

    def test_refusals(self):
        x, w = R(3, 5), R(4, 5)
        for error, words, call in (
            (ValueError, ("shapes (3, 5) and (4, 6)",), lambda: at.linear(x, R(4, 6))),
            (TypeError, ("bfloat16", "float32"), lambda: at.linear(x, w.float())),
            (ValueError, ("bias has shape (3,)",), lambda: at.linear(x, w, R(3))),
            (TypeError, ("bias is float32", "bfloat16"), lambda: at.linear(x, w, R(4, dtype=torch.float32))),
            (
                TypeError,
                ("residual is bfloat16: expected float32",),
                lambda: antiphase.linear(x, w, residual=R(3, 4), dtype="float32"),
            ),
            (
                TypeError,
                ("bias is int32",),
                lambda: at.linear(x, w, torch.zeros(4, dtype=torch.int32, device=DEVICE)),
            ),
        ):
            self.refused(error, words, call)


# Functions that the mode makes invariant, and their tensors, of which the first has the batch as its first axis.
ROWS = {
    "mm": (torch.mm, lambda d: (R(70, 40, dtype=d), R(40, 24, dtype=d))),
    "addmm, a row": (
        lambda x, w, c: torch.addmm(c, x, w),
        lambda d: (R(70, 40, dtype=d), R(40, 24, dtype=d), R(24, dtype=d)),
    ),
    "addmm, factors": (
        lambda x, w, c: torch.addmm(c, x, w, beta=0.5, alpha=3),
        lambda d: (R(70, 40, dtype=d), R(40, 24, dtype=d), R(24, dtype=d)),
    ),
    "addmm, an addend": (
        lambda x, w: torch.addmm(x[:, :24], x, w),
        lambda d: (R(70, 40, dtype=d), R(40, 24, dtype=d)),
    ),
    "addmm, a column": (
        lambda x, w: torch.addmm(x[:, :1], x, w),
        lambda d: (R(70, 40, dtype=d), R(40, 24, dtype=d)),
    ),
    "addmm, in place": (
        lambda x, w: x[:, :24].clone().addmm_(x, w),
        lambda d: (R(70, 40, dtype=d), R(40, 24, dtype=d)),
    ),
    "mm, out": (
        lambda x, w: torch.mm(x, w, out=x.new_empty(x.shape[0], 24)),
        lambda d: (R(70, 40, dtype=d), R(40, 24, dtype=d)),
    ),
    "bmm": (torch.bmm, lambda d: (R(9, 5, 40, dtype=d), R(1, 40, 24, dtype=d))),
    "baddbmm": (
        lambda x, w: torch.baddbmm(x[:, :, :24], x, w),
        lambda d: (R(9, 5, 40, dtype=d), R(1, 40, 24, dtype=d)),
    ),
    "mv": (torch.mv, lambda d: (R(70, 40, dtype=d), R(40, dtype=d))),
    "addmv": (lambda x, v: torch.addmv(x[:, 0], x, v), lambda d: (R(70, 40, dtype=d), R(40, dtype=d))),
    "linear": (F.linear, lambda d: (R(9, 5, 40, dtype=d), R(24, 40, dtype=d), R(24, dtype=d))),
    "matmul": (torch.matmul, lambda d: (R(9, 1, 5, 40, dtype=d), R(3, 40, 24, dtype=d))),
    "einsum": (
        lambda x, w: torch.einsum("bik,nk->bni", x, w),
        lambda d: (R(9, 5, 40, dtype=d), R(24, 40, dtype=d)),
    ),
    "mean": (lambda x: x.mean(-1), lambda d: (R(70, 4096, dtype=d),)),
    "mean of a prime": (lambda x: x.mean((1, 2), keepdim=True), lambda d: (R(70, 1009, 3, dtype=d),)),
    "mean along columns": (lambda x: x.mean(1), lambda d: (R(9, 513, 4, dtype=d),)),
    "softmax": (lambda x: x.softmax(-1), lambda d: (R(70, 1003, dtype=d),)),
    "softmax of many": (lambda x: x.softmax(-1), lambda d: (R(19, 5003, dtype=d),)),
    "softmax along columns": (lambda x: x.softmax(0).t(), lambda d: (R(1003, 70, dtype=d),)),
    "log_softmax": (lambda x: x.log_softmax(-1), lambda d: (R(19, 50257, dtype=d),)),
    "log_softmax along columns": (lambda x: x.log_softmax(1), lambda d: (R(19, 515, 3, dtype=d),)),
    "layer_norm": (lambda x: F.layer_norm(x, (1027,)), lambda d: (R(70, 1027, dtype=d),)),
    "rms_norm": (lambda x: F.rms_norm(x, (1028,)), lambda d: (R(70, 1028, dtype=d),)),
    "attention": (
        lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True),
        lambda d: (R(9, 2, 70, 32, dtype=d),),
    ),
    "attention of one query": (
        lambda x: F.scaled_dot_product_attention(x[:, :, :1], x, x),
        lambda d: (R(9, 2, 1500 if DEVICE.type == "cuda" else 70, 32, dtype=d),),
    ),
    "attention with groups of heads": (
        lambda x: F.scaled_dot_product_attention(x[:, :, :1], x[:, :2], x[:, 2:4], enable_gqa=True),
        lambda d: (R(9, 4, 1500 if DEVICE.type == "cuda" else 70, 32, dtype=d),),
    ),
    "attention with a mask": (
        lambda x: F.scaled_dot_product_attention(x, x, x, x[:, :1, :, :1].expand(x.shape[0], 2, 70, 70)),
        lambda d: (R(9, 2, 70, 32, dtype=d),),
    ),
}
_ALONG_COLUMNS = "softmax along columns"  # its batch is the second axis


_WITHOUT_SLOPES = ("mm, out", "addmm, in place", _ALONG_COLUMNS)


def operands(name, tensors, rows):
    """These rows of the batch, alone in memory, and shared operands."""
    first, *others = tensors
    some = (first[:, rows] if name == _ALONG_COLUMNS else first[rows]).clone(
        memory_format=torch.contiguous_format
    )
    return [some, *(t.expand(some.shape[0], *t.shape[1:]) if "bmm" in name else t for t in others)]


def rows_of(name, function, tensors, rows):
    """The function of these rows, and the gradient of the first operand; that of attention is torch's in 16 bits."""
    some, *others = operands(name, tensors, rows)
    if name in _WITHOUT_SLOPES or "attention" in name or (DEVICE.type == "cpu" and name == "rms_norm"):
        return function(some, *others), None
    found = function(some.requires_grad_(), *others)
    found.backward(found.detach())
    return found.detach(), some.grad


class Mode(support.Case):
    def test_rows_have_the_same_bits_in_every_batch(self):
        for name, (function, tensors) in ROWS.items():
            for dtype in (*HALVES[:1], torch.float32):
                with self.subTest(f"{name}, {dtype}"), at.batch_invariant():
                    given = tensors(dtype)
                    count = given[0].shape[1 if name == _ALONG_COLUMNS else 0]
                    together, slopes = rows_of(name, function, given, slice(0, count))
                    near(together, function(*(t.double() for t in operands(name, given, slice(0, count)))))
                    for first, some in ((0, 1), (count - 1, 1), (1, 3), (2, count - 2)):
                        rows = slice(first, first + some)
                        alone, slope = rows_of(name, function, given, rows)
                        self.assertTrue(same(alone, together[rows]), f"{some} rows from {first} on")
                        if slope is not None:
                            self.assertTrue(
                                same(slope, slopes[rows]), f"the gradient of {some} rows from {first} on"
                            )

    def test_rows_beside_nan_and_infinities(self):
        with at.batch_invariant():
            for name in (
                "mm",
                "linear",
                "mean",
                "softmax of many",
                "log_softmax",
                "layer_norm",
                "rms_norm",
                "attention",
            ):
                function, tensors = ROWS[name]
                x, *others = tensors(torch.bfloat16)
                expected = function(x, *others)
                x[1::2] = float("nan")
                x[2::4] = float("inf")
                self.assertTrue(same(function(x, *others)[::4], expected[::4]), name)

    def test_products_are_ours(self):
        """The order of k, which torch's own does not have."""
        x, w = R(5, 4096), R(24, 4096, seed=2)
        ours = antiphase.linear(x, w, dtype="float32")
        with at.batch_invariant():
            self.assertTrue(same(F.linear(x, w), ours.bfloat16()))
            if hasattr(torch.ops.aten.mm, "dtype") and DEVICE.type == "cuda":
                self.assertTrue(same(torch.mm(x, w.t(), out_dtype=torch.float32), ours))
            a, b = R(5, 300, dtype=torch.float32), R(300, 24, dtype=torch.float32)
            self.assertTrue(
                same(a @ b, _products.product(_KIND, a, b, None, _products.precision_of(None, True)))
            )

    def test_what_is_torchs(self):
        for make in (
            lambda: torch.mm(R(3, 5, dtype=torch.float64), R(5, 4, dtype=torch.float64)),
            lambda: R(3, 5, dtype=torch.float64).mean(-1),
            lambda: torch.addmm(
                R(4, dtype=torch.float64), R(3, 5, dtype=torch.float64), R(5, 4, dtype=torch.float64)
            ),
            lambda: R(0, 5).mean(-1),
            lambda: R(3, 0).mean(-1).isnan(),
        ):
            expected = make()
            with at.batch_invariant():
                found = make()
            self.assertTrue(torch.equal(found, expected))

    def test_mistakes_are_told_by_torch(self):
        for dtype in (torch.bfloat16, torch.float32):
            a, b = R(3, 5, dtype=dtype), R(5, 4, dtype=dtype)
            for call in (
                lambda: torch.mm(a, b.t()),
                lambda: torch.mm(a[None], b[None]),
                lambda: torch.bmm(a.expand(2, 3, 5), b.expand(3, 5, 4)),
                lambda: torch.mm(a, b.double()),
                lambda: torch.addmm(R(5, dtype=dtype), a, b),
                lambda: torch.addmm(R(4, dtype=torch.float64), a, b),
                lambda: R(1, 4, dtype=dtype).addmm_(a, b),
                lambda: torch.mv(a, b),
                lambda: torch.addmv(a, a, b[:, 0]),
            ):
                with self.assertRaises(RuntimeError) as own:
                    call()
                with at.batch_invariant(), self.assertRaises(RuntimeError) as ours:
                    call()
                self.assertEqual(str(ours.exception).splitlines()[0], str(own.exception).splitlines()[0])
            with at.batch_invariant():
                self.assertTrue(torch.equal(torch.addmm(a[:, :4], a[:, :0], b[:0]), a[:, :4]))
                self.assertFalse(torch.mm(a[:, :0], b[:0]).any())
                self.assertEqual(torch.mm(a[:0], b).shape, (0, 4))

    def test_training_step_under_autocast(self):
        torch.manual_seed(1)
        net = torch.nn.Sequential(torch.nn.Linear(20, 32), torch.nn.GELU(), torch.nn.Linear(32, 5)).to(DEVICE)
        x = R(6, 20, dtype=torch.float32)

        def slopes():
            net.zero_grad()
            with torch.autocast(DEVICE.type, torch.bfloat16):
                loss = F.cross_entropy(net(x).float(), torch.arange(6, device=DEVICE) % 5)
            loss.backward()
            return [p.grad.clone() for p in net.parameters()]

        expected = slopes()
        with at.batch_invariant():
            found = slopes()
            self.assertTrue(all(map(same, found, slopes())))
        for a, b in zip(found, expected):
            torch.testing.assert_close(a, b, rtol=0.05, atol=2e-3)

    def test_switches(self):
        own, ours = torch.mm(R(9, 40), R(40, 24)), None
        with at.batch_invariant():
            ours = torch.mm(R(9, 40), R(40, 24))
            with at.batch_invariant():
                self.assertTrue(at.is_batch_invariant_mode_enabled())
            with at.set_batch_invariant_mode(False):
                self.assertFalse(at.is_batch_invariant_mode_enabled())
                self.assertTrue(same(torch.mm(R(9, 40), R(40, 24)), own))
            self.assertTrue(at.is_batch_invariant_mode_enabled())
        self.assertFalse(at.is_batch_invariant_mode_enabled())
        at.enable_batch_invariant_mode()
        at.enable_batch_invariant_mode()
        self.assertTrue(same(torch.mm(R(9, 40), R(40, 24)), ours))
        with at.set_batch_invariant_mode():
            at.disable_batch_invariant_mode()
            self.assertTrue(at.is_batch_invariant_mode_enabled())
        self.assertFalse(at.is_batch_invariant_mode_enabled())
        self.assertTrue(same(torch.mm(R(9, 40), R(40, 24)), own))

    def test_modules_of_engines_switch_to_it(self):
        """Modules with the functions that vLLM's and SGLang's have, which call each other by name."""

        def made(name, text):
            module = sys.modules[name] = types.ModuleType(name)
            self.addCleanup(sys.modules.pop, name)
            exec(text, module.__dict__)
            return module

        mode = """
on = False
def matmul_persistent(a, b, bias=None): raise NotImplementedError("the engine's own product")
def linear_batch_invariant(input, weight, bias=None): return matmul_persistent(input, weight.t(), bias)
"""
        vllm = made(
            "vllm_batch_invariant",
            mode + "def enable_batch_invariant_mode(): raise NotImplementedError\n"
            "def init_batch_invariance(): enable_batch_invariant_mode()\n",
        )
        made(
            "sglang_ops",
            mode + "def enable_batch_invariant_mode(enable_bmm=True): raise NotImplementedError\n",
        )
        sglang = made("sglang", "from sglang_ops import enable_batch_invariant_mode, linear_batch_invariant")
        x, w, bias = R(9, 40), R(24, 40, seed=2), R(24, seed=3)
        with at.batch_invariant():
            ours, added = torch.mm(x, w.t()), torch.addmm(bias, x, w.t())
        batch = R(2, 5, 300, dtype=torch.float32), R(2, 300, 7, dtype=torch.float32)
        own = torch.bmm(*batch)
        with at.batch_invariant():
            self.assertFalse(same(torch.bmm(*batch), own))
        for engine, switch in (
            (vllm, lambda: vllm.init_batch_invariance()),
            (sglang, lambda: sglang.enable_batch_invariant_mode(enable_bmm=False)),
        ):
            at.replace_batch_invariant_ops(engine)
            self.assertTrue(same(engine.linear_batch_invariant(x, w), ours))
            self.assertTrue(same(engine.linear_batch_invariant(x, w, bias), added))
            self.assertFalse(at.is_batch_invariant_mode_enabled())
            switch()
            self.assertTrue(engine.is_batch_invariant_mode_enabled())
            self.assertTrue(same(torch.mm(x, w.t()), ours))
            if engine is sglang:
                self.assertTrue(same(torch.bmm(*batch), own))
            engine.disable_batch_invariant_mode()
            self.assertFalse(at.is_batch_invariant_mode_enabled())
        with self.assertRaisesRegex(TypeError, "has no function enable_batch_invariant_mode"):
            at.replace_batch_invariant_ops(types)

    def engine(self, name, text):
        """A module of that name, and its parents."""
        module = types.ModuleType(name)
        parts = name.split(".")
        for i in range(1, len(parts)):
            parent = ".".join(parts[:i])
            if parent not in sys.modules:
                sys.modules[parent] = types.ModuleType(parent)
                sys.modules[parent].__path__ = []
                self.addCleanup(sys.modules.pop, parent, None)
        sys.modules[name] = module
        self.addCleanup(sys.modules.pop, name, None)
        exec(compile(text, name, "exec"), module.__dict__)
        return module

    SWITCH = """
_batch_invariant_MODE = False
def enable_batch_invariant_mode():
    global _batch_invariant_MODE
    _batch_invariant_MODE = True
def matmul_persistent(a, b, bias=None): raise NotImplementedError("the engine's own product")
def linear_batch_invariant(input, weight, bias=None): return matmul_persistent(input, weight.t(), bias)
"""

    def test_products_of_engines_are_compiled(self):
        """Without a break, as engines compile their models; the bits are those of the mode, whether it is on or not."""
        engine = self.engine("vllm.model_executor.determinism.batch_invariant", self.SWITCH)
        at.replace_batch_invariant_ops()
        product = engine.matmul_persistent
        for dtype in (*HALVES, torch.float32, torch.float64):
            x, w, bias = R(9, 300, dtype=dtype), R(24, 300, dtype=dtype, seed=2), R(24, dtype=dtype, seed=3)
            for added in ((), (bias,)):
                with self.subTest(f"{dtype}, {len(added)}"):
                    torch._dynamo.reset()
                    expected = product(x, w.t(), *added)
                    compiled = torch.compile(
                        lambda a, b, *bias: engine.linear_batch_invariant(a, b, *bias) * 2,
                        fullgraph=True,
                        backend="aot_eager",
                        dynamic=True,
                    )
                    near(compiled(x, w, *added), expected * 2)
                    if dtype is torch.float64:  # which is torch's
                        continue
                    self.assertTrue(same(compiled(x, w, *added), expected * 2))
                    self.assertTrue(same(compiled(x[4:6], w, *added), expected[4:6] * 2))
                    engine.enable_batch_invariant_mode()
                    try:
                        self.assertTrue(same(compiled(x, w, *added), expected * 2))
                    finally:
                        at.disable_batch_invariant_mode()
        compiled = torch.compile(product, fullgraph=True)  # by inductor
        self.assertTrue(
            same(compiled(x.bfloat16(), w.bfloat16().t()), product(x.bfloat16(), w.bfloat16().t()))
        )

    def test_compiled_products_of_engines_have_gradients_and_batches(self):
        engine = self.engine("batch_invariant_ops", self.SWITCH)
        at.replace_batch_invariant_ops(engine)
        tensors = [R(9, 40, dtype=torch.float32), R(40, 24, dtype=torch.float32, seed=2)]
        tensors.append(R(24, dtype=torch.float32, seed=3))
        compiled = torch.compile(engine.matmul_persistent, fullgraph=True, backend="aot_eager")
        ours, exact = ([t.detach().to(to).requires_grad_() for t in tensors] for to in (None, torch.float64))
        grad = R(9, 24, dtype=torch.float32, seed=4)
        compiled(*ours).backward(grad)
        torch.addmm(exact[2], exact[0], exact[1]).backward(grad.double())
        for a, b in zip(ours, exact):
            near(a.grad, b.grad)
        operator, (x, w, bias) = torch.ops.antiphase.matmul_persistent, tensors
        found = torch.func.vmap(operator, (0, None, None))(torch.stack([x, -x]), w, bias)
        self.assertTrue(same(found, torch.stack([operator(x, w, bias), operator(-x, w, bias)])))
        torch.library.opcheck(
            operator.default,
            (x, w, bias),
            test_utils=("test_schema", "test_faketensor", "test_autograd_registration"),
        )

    def test_names_that_modules_have_imported_before(self):
        """As norms and experts of engines import them when the engine starts."""
        for name in (
            "vllm.model_executor.layers.batch_invariant",
            "vllm.model_executor.determinism.batch_invariant",
            "sglang.srt.batch_invariant_ops.batch_invariant_ops",
        ):
            with self.subTest(name):
                functions = "enable_batch_invariant_mode, matmul_persistent"
                text = self.SWITCH
                if name.startswith("sglang"):
                    functions += ", is_batch_invariant_mode_enabled"
                    text += "def is_batch_invariant_mode_enabled(): return _batch_invariant_MODE\n"
                engine = self.engine(name, text)
                given = engine
                if name.startswith("sglang"):
                    given = self.engine(name.rpartition(".")[0], f"from {name} import {functions}")
                layers = self.engine(
                    "layers_" + name.partition(".")[0],
                    f"from {name} import {functions}\nproduct = matmul_persistent\n"
                    "def norm(): return is_batch_invariant_mode_enabled()\n",
                )
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    at.replace_batch_invariant_ops(given)
                    at.replace_batch_invariant_ops(given)  # changes nothing
                x, w = R(9, 40), R(24, 40, seed=2)
                for product in (layers.product, layers.matmul_persistent, given.matmul_persistent):
                    self.assertTrue(same(product(x, w.t()), engine.linear_batch_invariant(x, w)))
                layers.enable_batch_invariant_mode()
                try:
                    self.assertTrue(at.is_batch_invariant_mode_enabled())
                    if name.startswith("sglang"):
                        self.assertTrue(layers.norm())
                        torch._dynamo.reset()
                        compiled = torch.compile(
                            lambda t: t + layers.norm(), fullgraph=True, backend="aot_eager"
                        )
                        self.assertEqual(compiled(torch.zeros(1)), 1)
                finally:
                    at.disable_batch_invariant_mode()

    def test_what_else_holds_an_engines_functions(self):
        for holder, what in (
            ("class Layer: product = staticmethod(matmul_persistent)", "staticmethod"),
            ("import functools\nproduct = functools.partial(matmul_persistent, bias=None)", "partial"),
            ("products = [matmul_persistent]", "list"),
            ("def made(f): return lambda a, b: f(a, b)\nproduct = made(matmul_persistent)", "cell"),
        ):
            engine = self.engine("batch_invariant_ops", self.SWITCH)
            self.engine("layers_of_engine", "from batch_invariant_ops import matmul_persistent\n" + holder)
            with self.subTest(what), self.assertWarnsRegex(
                RuntimeWarning, f"own matmul_persistent is still held by a {what}: expected replace_batch"
            ):
                at.replace_batch_invariant_ops(engine)

    def test_engines_whose_mode_is_on_and_none(self):
        with self.assertRaisesRegex(
            RuntimeError, "antiphase: no module of an engine was found: expected one of vllm"
        ):
            at.replace_batch_invariant_ops()
        engine = self.engine("batch_invariant_ops", self.SWITCH)
        engine.enable_batch_invariant_mode()
        own = engine.matmul_persistent
        with self.assertRaisesRegex(
            RuntimeError, "mode of batch_invariant_ops is on: expected this call before"
        ):
            at.replace_batch_invariant_ops()
        self.assertIs(engine.matmul_persistent, own)

    def test_settings_of_the_switch(self):
        """Those of vLLM's own, for products that are left to torch; what was set before returns."""
        cublas, prefer = torch.backends.cuda.matmul, torch.backends.cuda.preferred_blas_library
        names = ["allow_bf16_reduced_precision_reduction", "allow_fp16_reduced_precision_reduction"]
        names += [f"{name}_split_k" for name in names if hasattr(cublas, f"{name}_split_k")]
        variables = "CUBLASLT_WORKSPACE_SIZE", "CUBLAS_WORKSPACE_CONFIG"

        def settings():
            return (
                [os.environ.get(name) for name in variables],
                [getattr(cublas, name) for name in names],
                prefer(),
            )

        with unittest.mock.patch.dict(os.environ, {"CUBLAS_WORKSPACE_CONFIG": ":4096:8"}):
            os.environ.pop("CUBLASLT_WORKSPACE_SIZE", None)
            before = settings()
            with at.batch_invariant():
                self.assertEqual(settings(), before)
                at.enable_batch_invariant_mode()
                at.enable_batch_invariant_mode()
                self.assertEqual(settings()[:2], (["1", ":16:8"], [False] * len(names)))
                self.assertIn("lt", str(settings()[2]).lower())
                with at.set_batch_invariant_mode(False):
                    self.assertEqual(settings(), before)
                self.assertNotEqual(settings(), before)
                at.disable_batch_invariant_mode()
                self.assertEqual(settings(), before)

    def test_compiled_programs_call_our_products(self):
        x, w = R(5, 4096), R(4096, 24)
        with at.batch_invariant():
            compiled = torch.compile(lambda a, b: torch.mm(a, b) * 2)
            self.assertTrue(same(compiled(x, w), torch.mm(x, w) * 2))
            self.assertTrue(same(compiled(x[:1].clone(), w), (torch.mm(x, w) * 2)[:1]))

    def test_programs_compiled_without_fusion_are_invariant(self):
        if not hasattr(getattr(torch, "_inductor", None), "lite_mode_options"):
            self.skipTest("torch.compile has no mode 'lite'")
        w = R(24, 4096)

        def step(x):
            y = x.float()
            y = (y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-5)).to(x.dtype)
            return F.linear(F.rms_norm(y, (4096,)), w).float().softmax(-1)

        x = R(70, 4096)
        with torch.no_grad(), at.batch_invariant():
            expected, compiled = step(x), torch.compile(step, mode="lite")
            self.assertTrue(same(compiled(x), expected))
            self.assertTrue(same(compiled(x[3:4].clone()), expected[3:4]))

    def test_captured_into_a_graph(self):
        if DEVICE.type == "cpu":
            self.skipTest("the CPU has no CUDA graphs")
        x, net = R(64, 256), torch.nn.Linear(256, 384, device=DEVICE, dtype=torch.bfloat16)
        step = lambda: F.rms_norm(net(x), (384,)).softmax(-1).float().mean(-1)
        with torch.no_grad(), at.batch_invariant():
            expected = step()
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                found = step()
            x.copy_(x.flip(0))
            graph.replay()
            torch.cuda.synchronize()
            self.assertTrue(same(found, expected.flip(0)))

    def test_program(self):
        """antiphase run --batch-invariant."""
        text = (
            "import torch, sys\n"
            "d = sys.argv[1]\n"
            "torch.manual_seed(1)\n"
            "x, w = torch.randn(5, 4096).to(d, torch.bfloat16), torch.randn(4096, 24).to(d, torch.bfloat16)\n"
            "y = x @ w\n"
            "import antiphase, antiphase.torch as at\n"
            "print(at.is_batch_invariant_mode_enabled(), torch.equal(y, antiphase.linear(x, w.t())))\n"
        )
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "program.py")
            with open(program, "w") as file:
                file.write(text)
            for options, expected in ((["--batch-invariant"], "True True"), ([], "False ")):
                said = subprocess.run(
                    [sys.executable, "-m", "antiphase", "run", *options, program, str(DEVICE)],
                    capture_output=True,
                    text=True,
                    timeout=200,
                )
                self.assertEqual(said.returncode, 0, said.stderr)
                self.assertTrue(said.stdout.startswith(expected), said.stdout + said.stderr)


if __name__ == "__main__":
    support.main()
