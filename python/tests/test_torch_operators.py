#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""torch's operators overridden in C++: on the CPU, where the executor computes what is taken, or on
ANTIPHASE_TEST_DEVICE, such as cuda."""
import concurrent.futures
import math
import os
import subprocess
import sys

import support

numpy, torch = support.need("numpy"), support.need("torch")
import antiphase
from antiphase import _torch_lead, _torch_lead_attention, _torch_lead_scans

DEVICE = torch.device(os.environ.get("ANTIPHASE_TEST_DEVICE", "cpu"))
if DEVICE.type == "cuda" and not torch.cuda.is_available():
    print("skipped: torch finds no GPU")
    sys.exit(support.SKIPPED)
if tuple(map(int, torch.__version__.split(".")[:2])) < (2, 10):
    support.skip(f"torch is {torch.__version__}: its operators are overridden in C++ from 2.10 on")
ON_GPU = DEVICE.type == "cuda"
# The CPU has none of torch's kernels for what is passed on, but a torch with CUDA has that for GPUs.
HAS_ATTENTION = torch.backends.cuda.is_built()
torch.set_num_threads(1)  # tensors are small


def R(*shape, seed=1):
    return torch.from_numpy(support.pattern(numpy, *shape, seed=seed)).to(DEVICE)


def parts(found):
    return [found] if isinstance(found, torch.Tensor) else list(found)


class Family(support.Case):
    def begin(self, takes_all):
        self.family.takes_all = takes_all
        self.family.begin("CUDA" if ON_GPU else "CPU")
        self.assertIsNone(self.family.why_python)
        self.addCleanup(self.family.end)

    def counted(self, call):
        before = self.family.counts()
        found = call()
        computed, passed = (now - then for now, then in zip(self.family.counts()[:2], before))
        return found, (computed, passed)


class Scans(Family):
    family = _torch_lead_scans.scans

    def cases(self, device=DEVICE):
        x = R(100, 33).to(device)
        integers = (1000 * x).long()
        yield from {
            "rows": lambda: x.cumsum(1),
            "columns": lambda: x.cumsum(0),
            "a negative axis": lambda: x.view(10, 10, 33).cumsum(-2),
            "transposed": lambda: x.t().cumsum(0),
            "every other element": lambda: x[:, ::2].cumsum(0),
            "one row for all": lambda: x[:1].expand(100, 33).cumsum(0),
            "another axis outermost": lambda: x.view(4, 25, 33).permute(1, 2, 0).cumsum(1),
            "to FP64": lambda: x.cumsum(0, dtype=torch.float64),
            "a line to FP64": lambda: x.flatten().cumsum(0, dtype=torch.float64),
            "float16": lambda: x.half().cumsum(1),
            "bfloat16": lambda: x.bfloat16().cumsum(1),
            "integers": lambda: integers.cumsum(1),
            "small integers": lambda: integers.to(torch.int16).cumsum(1),
            "a line of small integers": lambda: integers.to(torch.int32).flatten().cumsum(0),
            "integers to floats": lambda: integers.cumsum(0, dtype=torch.float32),
            "bools": lambda: (x > 0).cumsum(0),
            "products": lambda: x.cumprod(1),
            "out": lambda: torch.cumsum(x, 0, out=torch.empty_like(x)),
            "out of other strides": lambda: torch.cumsum(x, 0, out=x.new_empty(33, 100).t()),
            "out with gaps": lambda: torch.cumprod(x, 1, out=x.new_empty(100, 66)[:, ::2]),
            "in place": lambda: x.clone().cumsum_(-1),
            "in place, transposed": lambda: x.t().clone().t().cumprod_(0),
            "maxima": lambda: x.cummax(0),
            "minima of bools": lambda: (x > 0).cummin(1),
            "logarithms": lambda: x.logcumsumexp(1),
            "logarithms in bfloat16": lambda: x.bfloat16().logcumsumexp(0),
        }.items()

    def test_taken(self):
        # On GPUs torch's own sums of 16-bit types are of 16 bits.
        expected = {name: parts(call()) for name, call in self.cases("cpu")}
        self.begin(takes_all=True)
        for name, call in self.cases():
            with self.subTest(name):
                found, counts = self.counted(call)
                self.assertEqual(counts, (1, 0))
                for f, e in zip(parts(found), expected[name]):
                    f = f.cpu()
                    half = f.dtype.itemsize == 2 and f.is_floating_point()
                    tolerance = 2e-2 if half else 1e-5
                    torch.testing.assert_close(f, e, rtol=tolerance, atol=tolerance)
        self.family.end()
        x = R(100, 33)
        self.assertEqual(self.counted(lambda: x.cumsum(0))[1], (0, 0))

    def test_passed_on(self):
        """Bits, layouts and errors are torch's own. On the CPU nothing is measured, so nothing is predicted."""
        small = lambda: R(3, 5)
        more = (
            *self.cases(),
            ("too few", lambda: small().cumsum(0)),
            ("a number", lambda: R(1).reshape(()).cumsum(0)),
            ("complex", lambda: R(100, 33).to(torch.complex64).cumsum(0)),
            ("empty", lambda: R(0, 600).cumsum(1)),
        )
        expected = {name: parts(call()) for name, call in more}
        self.begin(takes_all=False)
        for name, call in more:
            with self.subTest(name):
                found, counts = self.counted(call)
                if not ON_GPU or name in ("too few", "a number", "complex", "empty"):
                    self.assertEqual(counts, (0, 1))
                    for f, e in zip(parts(found), expected[name]):
                        self.assertEqual((f.dtype, f.shape, f.stride()), (e.dtype, e.shape, e.stride()))
                        self.assertTrue(torch.equal(f, e))

    def test_errors_are_torchs(self):
        x = R(100, 33)
        for takes_all in (True, False):
            self.begin(takes_all)
            users = x._use_count()
            for _ in range(3):
                with self.assertRaisesRegex(IndexError, "Dimension out of range"):
                    x.cumsum(2)
            self.assertEqual(x._use_count(), users)  # the operator has let go of it
            self.family.end()

    def test_memory_is_released(self):
        x = R(100, 33)
        for takes_all in (True, False):
            self.begin(takes_all)
            users = x._use_count()
            for call in (lambda: x.cumsum(0), lambda: x.cumsum(0, dtype=torch.float64), lambda: x.cummax(1)):
                found = parts(call())
                self.assertEqual((x._use_count(), found[0]._use_count()), (users, 1))
            self.family.end()

    def test_gradients(self):
        x = R(100, 33).double().requires_grad_()
        expected = torch.autograd.grad((x.cumsum(0) ** 2).sum(), x)
        self.begin(takes_all=True)
        found, counts = self.counted(lambda: torch.autograd.grad((x.cumsum(0) ** 2).sum(), x))
        self.assertEqual(counts, (2, 0))  # the formula is a sum, too
        torch.testing.assert_close(found, expected)
        y = x.detach().clone()
        version = y._version
        y.cumsum_(0)
        self.assertGreater(y._version, version)

    def test_compiled_mapped_and_cast(self):
        x = R(4, 50, 33)
        run = lambda x: x.cumsum(1).tanh()
        expected, mapped = run(x), torch.func.vmap(lambda x: x.cumsum(0))(x)
        self.begin(takes_all=True)
        compiled = torch.compile(run, fullgraph=True, backend="aot_eager")
        found, counts = self.counted(lambda: compiled(x))
        self.assertEqual(counts, (1, 0))
        torch.testing.assert_close(found, expected)
        found, counts = self.counted(lambda: torch.func.vmap(lambda x: x.cumsum(0))(x))
        self.assertEqual(counts, (1, 0))
        torch.testing.assert_close(found, mapped)
        with torch.autocast(DEVICE.type, dtype=torch.bfloat16):
            self.assertEqual(x.cumsum(0).dtype, torch.float32)
        self.assertEqual(x.to("meta").cumsum(0).shape, x.shape)

    def test_threads(self):
        x = R(100, 33)
        expected = x.cumsum(0)
        self.begin(takes_all=True)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda _: x.cumsum(0), range(32)))
        for f in found:
            torch.testing.assert_close(f, expected)

    @support.unittest.skipUnless(ON_GPU, "graphs are of GPUs")
    def test_captured(self):
        """The working memory of scans cannot be made in a graph: torch's own are captured."""
        x = R(100, 33)
        expected = x.cumsum(0)
        self.begin(takes_all=True)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            found, counts = self.counted(lambda: x.cumsum(0))
        self.assertEqual(counts, (0, 1))
        graph.replay()
        self.assertTrue(torch.equal(found, expected))

    def test_unmeasured(self):
        if ON_GPU and _torch_lead.is_measured(DEVICE):
            self.skipTest("this GPU was measured")
        self.begin(takes_all=False)
        before = self.family.counts()[2]
        R(3000, 3).cumsum(0)
        self.assertEqual(self.family.counts()[2], before + 1)
        self.assertIn("passed on: not measured on this GPU", antiphase.report())


def formula(q, k, v, bias=None, is_causal=False, scale=None):
    """Attention in FP64, with the logarithm of the sum of exponentials."""
    s = q.double() @ k.double().mT * (q.shape[-1] ** -0.5 if scale is None else scale)
    if bias is not None:
        s = s + bias.double()
    if is_causal:
        s = s.masked_fill(torch.ones(s.shape[-2:], device=s.device).tril().logical_not(), -math.inf)
    return (s.softmax(-1) @ v.double()).float(), s.logsumexp(-1).float()


FORWARD = torch.ops.aten._scaled_dot_product_efficient_attention.default


@support.unittest.skipUnless(HAS_ATTENTION, "this torch has no operators for CUDA")
class Attention(Family):
    family = _torch_lead_attention.attention

    def operands(self):
        a = lambda *shape: [R(*shape, seed=seed) for seed in (1, 2, 3)]
        q, k, v = a(2, 4, 33, 8)
        keys = a(2, 4, 48, 8)[1:]
        rows = [x.view(2, 33, 4, 8).transpose(1, 2) for x in a(2, 33, 32)]
        whole = R(2, 33, 3, 4, 8).permute(2, 0, 3, 1, 4)
        yield "dense", (q, k, v), {}
        yield "a multiple of 32", a(2, 4, 64, 16), {}
        yield "other keys", (q, *keys), {}
        yield "rows of all heads", rows, {}
        yield "one tensor of all", whole, {"is_causal": True}
        yield "shared keys", (q, k[:, :1].expand(2, 4, 33, 8), v[:, :1].expand(2, 4, 33, 8)), {}
        yield "causal", (q, *keys), {"is_causal": True}
        yield "a scale", (q, k, v), {"scale": 0.3}
        yield "a scale that is tiny", (q, k, v), {"scale": 1e-50}
        yield "a bias", (q, *keys), {"bias": R(2, 4, 33, 48, seed=5)}
        yield "a bias for all", (q, *keys), {"bias": R(33, 48, seed=5).expand(2, 4, 33, 48)}
        yield "a bias of extents of 1", (q, *keys), {"bias": R(2, 1, 1, 48, seed=5)}
        yield "depth", a(1, 2, 40, 72), {}
        yield "one query", (q[:, :, :1], k, v), {}

    def test_taken(self):
        self.begin(takes_all=True)
        for name, (q, k, v), how in self.operands():
            bias = how.get("bias")
            rest = {key: value for key, value in how.items() if key != "bias"}
            out, sums = formula(q, k, v, **how)
            for compute in (True, False):
                with self.subTest(name, compute=compute):
                    call = lambda: FORWARD(
                        q, k, v, bias, compute, 0.0, rest.get("is_causal", False), scale=rest.get("scale")
                    )
                    (found, logsumexp, seed, offset), counts = self.counted(call)
                    self.assertEqual(counts, (1, 0))
                    torch.testing.assert_close(found, out, rtol=3e-6, atol=1e-5)
                    b, h, n, d = q.shape
                    self.assertEqual(found.stride(), (n * h * d, d, h * d, 1))
                    self.assertEqual(logsumexp.shape, (b, h, -(-n // 32) * 32 if compute else 0))
                    self.assertEqual((seed.dtype, seed.shape, offset.shape), (torch.int64, (), ()))
                    if compute:
                        torch.testing.assert_close(logsumexp[..., :n], sums, rtol=3e-6, atol=1e-5)
                        self.assertTrue((logsumexp[..., n:] == math.inf).all())
                    self.assertEqual({x._use_count() for x in (found, logsumexp, seed, offset)}, {1})

    def test_gradients(self):
        self.begin(takes_all=True)
        for name, tensors, how in self.operands():
            with self.subTest(name):
                q, k, v = of = [x.detach().requires_grad_() for x in tensors]
                if "bias" in how and how["bias"].shape == (2, 4, 33, 48):
                    how["bias"] = how["bias"].detach().requires_grad_()
                    of.append(how["bias"])
                weights = R(*q.shape, seed=7)

                def run():
                    causal, scale = how.get("is_causal", False), how.get("scale")
                    return FORWARD(q, k, v, how.get("bias"), True, 0.0, causal, scale=scale)[0]

                # the gradient of a sum is one number with strides of 0
                for loss in (lambda out: (out * weights).sum(), torch.sum):
                    expected = torch.autograd.grad(loss(formula(q, k, v, **how)[0]), of)
                    found, counts = self.counted(lambda: torch.autograd.grad(loss(run()), of))
                    self.assertEqual(counts, (2, 0))
                    for f, e in zip(found, expected):
                        torch.testing.assert_close(f, e, rtol=1e-5, atol=2e-5)

    def test_no_other_operator_computes(self):
        """A training step of queries that are no multiple of 32: all memory is there before the call."""
        q, k, v = of = [R(2, 4, 37, 8, seed=seed).requires_grad_() for seed in (1, 2, 3)]
        grad = R(2, 4, 37, 8, seed=7)
        self.begin(takes_all=True)
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
            torch.autograd.grad(FORWARD(q, k, v, None, True)[0], of, grad)
        names = {event.name for event in profile.events() if event.name.startswith("aten::")}
        forward = "aten::_scaled_dot_product_efficient_attention"
        self.assertEqual(names - {"aten::empty_strided"}, {forward, f"{forward}_backward"})

    def passed_on(self, call):
        """Passes a call on to torch's kernel for GPUs: what it returns there, and nothing for tensors of the CPU, which
        it refuses."""
        if ON_GPU:
            found, counts = self.counted(call)
        else:
            users = self.q._use_count()

            def refused():
                with self.assertRaises(RuntimeError):
                    call()

            found, counts = self.counted(refused)
            self.assertEqual(self.q._use_count(), users)
        self.assertEqual(counts, (0, 1))
        return found

    def test_passed_on(self):
        q, k, v = self.q, k, v = [R(2, 4, 64, 8, seed=seed) for seed in (1, 2, 3)]
        for what, call in {
            "dropout": lambda: FORWARD(q, k, v, None, True, 0.5),
            "types": lambda: FORWARD(q.half(), k.half(), v.half(), None, False),
        }.items():
            with self.subTest(what):
                self.begin(takes_all=True)
                torch.manual_seed(5)
                found = self.passed_on(call)
                self.family.end()
                if ON_GPU:
                    torch.manual_seed(5)
                    for f, e in zip(found, call()):
                        self.assertEqual((f.shape, f.stride()), (e.shape, e.stride()))
                        if f.dtype.is_floating_point:
                            self.assertTrue(torch.equal(f, e))
        self.begin(takes_all=True)
        with self.assertRaisesRegex(RuntimeError, "must be contiguous" if ON_GPU else ""):  # torch's
            FORWARD(*(x.mT.contiguous().mT for x in (q, k, v)), None, False)
        before = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("high")  # TF32 is allowed
        try:
            self.passed_on(lambda: FORWARD(q, k, v, None, False))
        finally:
            torch.set_float32_matmul_precision(before)
        self.assertEqual(self.counted(lambda: FORWARD(q, k, v, None, False))[1], (1, 0))
        self.family.end()
        self.begin(takes_all=False)
        self.passed_on(lambda: FORWARD(q[:, :, :1], k, v, None, False))  # one query: too small to ask about

    @support.unittest.skipUnless(ON_GPU, "torch's function calls these operators on GPUs alone")
    def test_torchs_function(self):
        theirs = torch.nn.functional.scaled_dot_product_attention
        q, k, v = [R(2, 4, 64, 16, seed=seed) for seed in (1, 2, 3)]
        mask = R(64, 64) > -1
        run = lambda f: [
            f(theirs, q, k, v),
            f(theirs, q, k, v, is_causal=True),
            f(theirs, q, k, v, attn_mask=mask),
            f(torch.compile(theirs, fullgraph=True), q, k, v),
            f(torch.func.vmap(theirs), q[:, None], k[:, None], v[:, None]),
        ]
        expected = run(lambda f, *x, **how: f(*x, **how))
        self.begin(takes_all=True)

        def counted(f, *x, **how):
            found, counts = self.counted(lambda: f(*x, **how))
            self.assertEqual(counts, (1, 0))
            return found

        for f, e in zip(run(counted), expected):
            torch.testing.assert_close(f, e, rtol=3e-6, atol=1e-5)
        graph = torch.cuda.CUDAGraph()
        with torch.no_grad(), torch.cuda.graph(graph):
            found, counts = self.counted(lambda: theirs(q, k, v))
        self.assertEqual(counts, (1, 0))
        graph.replay()
        torch.testing.assert_close(found, expected[0], rtol=3e-6, atol=1e-5)
        with torch.autocast("cuda", dtype=torch.bfloat16):  # other kernels
            self.assertEqual(self.counted(lambda: theirs(q, k, v))[1], (0, 0))


class Fallback(support.Case):
    """Where the operators cannot be overridden in C++, they are in Python, and the report says why."""

    def setUp(self):
        self.family = _torch_lead_scans.scans
        self.addCleanup(self.family.end)

    def test_another_programs_kernel(self):
        other = torch.library.Library("aten", "IMPL")
        key = "CUDA" if ON_GPU else "CPU"
        other.impl("cumsum", lambda x, dim, dtype=None: x + 1, key, **_torch_lead._allowing(other))
        try:
            self.family.begin(key)
            self.assertIn("has taken the place of torch's cumsum", self.family.why_python)
            self.assertTrue(torch.equal(R(2, 2).cumsum(0), R(2, 2) + 1))
            self.assertIn("by operators in Python: another kernel has taken", antiphase.report())
        finally:
            self.family.end()
            other._destroy()
        self.family.begin(key)
        self.assertIsNone(self.family.why_python)

    def test_no_library(self):
        program = (
            "import torch, antiphase\n"
            "from antiphase._torch_lead_scans import scans\n"
            "scans.begin('CPU')\n"
            "torch.ones(2, 2).cumsum(0)\n"
            "print(antiphase.report())\n"
        )
        for place, reason in (
            ("/nowhere/else.so", "cannot open shared object file"),
            (antiphase._library.PLACE, "undefined symbol"),
        ):
            done = subprocess.run(
                [sys.executable, "-c", program],
                env={**os.environ, "ANTIPHASE_TORCH_LIBRARY": place},
                capture_output=True,
                text=True,
            )
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("by operators in Python: ", done.stdout)
            self.assertIn(reason, done.stdout)

    def test_enable(self):
        with antiphase.enabled(attention=False, scans=True):
            self.assertIsNotNone(self.family.library)
            self.assertIsNone(_torch_lead_attention.attention.library)
        self.assertIsNone(self.family.library)


if __name__ == "__main__":
    support.main()
