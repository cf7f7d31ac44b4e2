#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Scans of antiphase.torch, and torch's own, overridden: on the CPU executor, or on
ANTIPHASE_TEST_DEVICE, such as cuda."""
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest.mock

import support

torch = support.need("torch")
import antiphase
import antiphase.torch as at
from antiphase import _torch_lead_scans as lead

DEVICE = torch.device(os.environ.get("ANTIPHASE_TEST_DEVICE", "cpu"))
if DEVICE.type == "cuda" and not torch.cuda.is_available():
    print("skipped: torch finds no GPU")
    sys.exit(support.SKIPPED)
if DEVICE.type == "cuda":
    DEVICE = torch.device("cuda", DEVICE.index or 0)  # as tensors say it

FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
WHOLE = (torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.bool)
SHAPES = ((), (1,), (0,), (70,), (3, 0, 2), (4, 5), (2, 40, 3))
VIEWS = (
    lambda x: x,
    lambda x: x.transpose(0, -1) if x.dim() > 1 else x,
    lambda x: x[::2] if x.dim() else x,
    lambda x: x.expand(3, *x.shape),
)
NAMES = ("cumsum", "cumprod", "cummax", "cummin", "logcumsumexp")


def data(shape, dtype, extremes=False, seed=1):
    """Numbers of small steps, many of them equal. extremes: NaN, infinities and both zeros too."""
    random = torch.Generator().manual_seed(seed)
    if dtype is torch.bool:
        return (torch.rand(shape, generator=random) < 0.5).to(DEVICE)
    if not dtype.is_floating_point:
        low = 0 if dtype is torch.uint8 else -9
        return torch.randint(low, 9, shape, generator=random).to(DEVICE, dtype)
    x = (torch.randn(shape, generator=random, dtype=torch.float64) * 4).round() / 8
    if extremes:
        for value, part in ((math.nan, 0.03), (-math.inf, 0.05), (math.inf, 0.02), (-0.0, 0.1), (0.0, 0.1)):
            x[torch.rand(shape, generator=random) < part] = value
    return x.to(DEVICE, dtype)


def first(name, found):
    return found[0] if name in ("cummax", "cummin") else found


class Scans(support.Case):
    def same(self, found, expected, what, exact=False):
        if isinstance(expected, tuple):
            self.assertIs(type(found), type(expected))
            for one, other in zip(found, expected):
                self.same(one, other, what, exact=True)
            return
        close = dict(rtol=0, atol=0) if exact or not expected.is_floating_point() else {}
        if not close:
            close = dict(rtol=2e-2, atol=5e-2) if expected.dtype.itemsize == 2 else dict(rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(found, expected, equal_nan=True, msg=lambda m: f"{what}: {m}", **close)

    def each(self, dtypes):
        for dtype in dtypes:
            for shape in SHAPES:
                for view in VIEWS if dtype in (torch.float32, torch.int32) else VIEWS[1:2]:
                    for extremes in (False, True) if dtype.is_floating_point else (False,):
                        x = view(data(shape, dtype, extremes))
                        for dim in range(-1, max(1, x.dim())):
                            yield x, dim, f"{dtype} {tuple(x.shape)}, strides {x.stride()}, along {dim}"

    def test_values_and_indices_are_torchs(self):
        for x, dim, what in self.each(FLOATS + WHOLE):
            for name in NAMES:
                if name == "logcumsumexp" and not x.is_floating_point():
                    continue
                self.same(getattr(at, name)(x, dim), getattr(torch, name)(x, dim), f"{name} {what}")

    def test_dtypes_and_out(self):
        for of in FLOATS + WHOLE:
            x = data((4, 50), of)
            for to in (torch.float32, torch.float64, torch.int32, torch.int16):
                for name in ("cumsum", "cumprod"):
                    ours, theirs = (getattr(module, name)(x, 1, dtype=to) for module in (at, torch))
                    self.same(ours, theirs, f"{name} of {of} in {to}")
        x = data((4, 50), torch.float32)
        out, indices = torch.empty_like(x), torch.empty_like(x, dtype=torch.int64)
        self.assertIs(at.cumsum(x, 0, out=out), out)
        self.same(out, x.cumsum(0), "out")
        self.assertIs(at.cummax(x, 0, out=(out, indices)).indices, indices)
        self.same((out, indices), tuple(x.cummax(0)), "out of cummax")

    def test_gradients(self):
        x = data((2, 4, 2), torch.float64)
        x = x.add(
            torch.linspace(0, 1 / 9, 16, dtype=torch.float64, device=DEVICE).view_as(x)
        )  # none are equal
        x.requires_grad_()
        for name in NAMES:
            for dim in range(2):
                function = lambda x: first(name, getattr(at, name)(x, dim))
                with self.subTest(name, dim=dim):
                    self.assertTrue(torch.autograd.gradcheck(function, (x,)))
                    self.assertTrue(torch.autograd.gradgradcheck(function, (x,)))
                    ours, theirs = (
                        torch.func.grad(lambda x: (first(name, getattr(module, name)(x, dim)) ** 2).sum())(
                            x.detach()
                        )
                        for module in (at, torch)
                    )
                    self.same(ours, theirs, name)

    def test_compiled_and_mapped(self):
        x = data((3, 5, 4), torch.float32)
        for name in NAMES:
            ours, theirs = (lambda x, module=module: getattr(module, name)(x, 1) for module in (at, torch))
            compiled = torch.compile(lambda x: first(name, ours(x * 2)), fullgraph=True, backend="aot_eager")
            self.same(compiled(x), first(name, theirs(x * 2)), name)
            for axis in range(3):
                mapped = [
                    torch.func.vmap(lambda x: tuple(f(x)) if first(name, (0, 1)) == 0 else f(x), axis)(x)
                    for f in (ours, theirs)
                ]
                self.same(*mapped, f"{name} mapped over {axis}")

    def test_opcheck(self):
        x = data((3, 5), torch.float32).requires_grad_()
        operators = torch.ops.antiphase
        for call, more in (
            (operators.running_sum, (1, True, False)),
            (operators.running_product, (1,)),
            (operators.running_extremes, (0, True)),
            (operators.running_log_sum_exp, (-1, False)),
        ):
            torch.library.opcheck(call, (x, *more))

    def test_autocast(self):
        x = data((3, 5), torch.float16)
        with torch.autocast(DEVICE.type):
            self.assertEqual(at.cumsum(x, 0).dtype, torch.float32 if DEVICE.type == "cuda" else torch.float16)
            if DEVICE.type == "cuda":
                self.assertEqual(torch.cumsum(x, 0).dtype, torch.float32)

    def test_what_makes_no_sense(self):
        x = data((3, 5), torch.float32)
        for error, words, call in (
            (TypeError, ["cumsum of complex64", "real"], lambda: at.cumsum(torch.complex(x, x), 0)),
            (TypeError, ["logcumsumexp of int64"], lambda: at.logcumsumexp(x.long(), 0)),
            (TypeError, ["cumsum of bool"], lambda: at.cumsum(x, 0, dtype=torch.bool)),
            (ValueError, ["axis is 2", "(3, 5)"], lambda: at.cummax(x, 2)),
            (ValueError, ["axis is 1", "(1,)"], lambda: at.cumprod(x[0, 0], 1)),
            (TypeError, ["layout"], lambda: at.cumsum(x.to_sparse(), 0)),
            (ValueError, ["out is", "(3, 4)"], lambda: at.cumsum(x, 0, out=x[:, :4].clone())),
            (ValueError, ["requires a gradient"], lambda: at.cumsum(x.clone().requires_grad_(), 0, out=x)),
        ):
            with self.subTest(words):
                self.refused(error, words, call)


def with_most(compared, most):
    """A decision, as if ours might take so much of torch's time, and the device had been measured."""
    ours, theirs, _ = compared
    return ours, theirs, ours < most * theirs


class Led(support.Case):
    """torch's own operators. On the CPU they are computed by the executor, as if that were fast."""

    def setUp(self):
        self.addCleanup(lead.scans.decided.clear)
        compare = lead._compare
        self.most = 1  # of torch's time, that ours may take
        self.patch(lead, "_compare", lambda *call: with_most(compare(*call), self.most))
        self.patch(lead._torch_lead, "_measured", {DEVICE: True})
        lead.scans.decided.clear()
        lead.scans.computed = lead.scans.passed = 0
        self.addCleanup(lead.scans.end)

    def patch(self, module, name, value):
        patched = unittest.mock.patch.object(module, name, value)
        patched.start()
        self.addCleanup(patched.stop)

    def begin(self):
        lead.scans.begin("CUDA" if DEVICE.type == "cuda" else "CPU", in_python=True)

    def counted(self, call):
        before = lead.scans.counts()
        call()
        return tuple(now - then for now, then in zip(lead.scans.counts()[:2], before))

    def test_a_long_axis_is_led_in_all_forms(self):
        x = data((3000, 3), torch.float32)
        calls = {
            "cumsum": lambda: torch.cumsum(x, 0),
            "cumsum of integers": lambda: x.long().cumsum(0),
            "cumsum to another type": lambda: torch.cumsum(x, 0, dtype=torch.float64),
            "cumsum, out": lambda: torch.cumsum(x, 0, out=torch.empty_like(x)),
            "cumsum_": lambda: x.clone().cumsum_(0),
            "cumprod": lambda: torch.cumprod(x, 0),
            "cumprod, out": lambda: torch.cumprod(x, 0, out=torch.empty_like(x)),
            "cumprod_": lambda: x.clone().cumprod_(-2),
            "cummax": lambda: torch.cummax(x, 0),
            "cummin": lambda: x.cummin(0),
            "logcumsumexp": lambda: x.logcumsumexp(0),
        }
        theirs = {name: call() for name, call in calls.items()}
        self.begin()
        for name, call in calls.items():
            with self.subTest(name):
                found = []
                self.assertEqual(self.counted(lambda: found.append(call())), (1, 0))
                Scans.same(self, found[0], theirs[name], name)
        lead.scans.end()
        self.assertEqual(self.counted(calls["cumsum"]), (0, 0))

    same = Scans.same

    def test_gradients_are_torchs(self):
        x = data((3000, 3), torch.float64)
        expected = torch.autograd.grad((x.requires_grad_().cumsum(0) ** 2).sum(), x)
        self.begin()
        found = []
        # forwards and, of the formula, backwards
        self.assertEqual(
            self.counted(lambda: found.extend(torch.autograd.grad((x.cumsum(0) ** 2).sum(), x))), (2, 0)
        )
        self.same(found[0], expected[0], "gradient")

    def test_what_is_not_predicted_to_be_faster_is_torchs(self):
        self.begin()
        for call in (
            lambda: data((100, 3), torch.float32).cumsum(0),  # too small
            lambda: data((3000,), torch.float32).cumsum(0),
            lambda: data((64, 100), torch.float32).cumsum(1),
            lambda: data((3000, 3), torch.float32).to(torch.complex64).cumsum(0),
            lambda: data((), torch.float32).cumsum(0),
        ):
            self.assertEqual(self.counted(call)[0], 0)
        with self.assertRaisesRegex(IndexError, "Dimension out of range"):
            data((3000, 3), torch.float32).cumsum(2)
        other = torch.empty(3000, 3, dtype=torch.float64, device=DEVICE)
        self.assertEqual(self.counted(lambda: torch.cumsum(other.float(), 0, out=other)), (0, 0))
        self.most = 0
        lead._torch_lead._measured[DEVICE] = False
        lead.scans.decided.clear()
        x = data((3000, 3), torch.float32)
        before = lead.scans.unmeasured
        self.assertEqual(self.counted(lambda: x.cumsum(0)), (0, 1))
        self.assertEqual(lead.scans.unmeasured, before + 1)
        self.assertIn("passed on: not measured on this GPU", lead.scans.report())

    def test_predictions(self):
        """Times of torch that have been measured on an H100, in us, within a factor of 1.6."""
        for shape, axis, measured in (
            ((1 << 28,), 0, 1031),
            ((1 << 24,), 0, 91),
            ((1 << 20,), 0, 23),
            ((10**6, 32), 0, 360600),
            ((10**6, 2), 0, 52800),
            ((4096, 65536), 1, 1322),
            ((4096, 65536), 0, 2012),
            ((65536, 4096), 1, 1283),
            ((10**6, 128), 1, 5646),
            ((64, 1024, 1024), 1, 548),
            ((32, 50257), 1, 76),
            ((256, 10**6), 1, 2052),
        ):
            outer, inner = math.prod(shape[:axis]), math.prod(shape[axis + 1 :])
            ours, theirs, _ = lead._library.compare_torch_scan(-1, 0, outer, shape[axis], inner, 4, 4)
            ours, theirs = 1e6 * ours, 1e6 * theirs
            self.assertLess(abs(math.log(theirs / measured)), math.log(1.6), (shape, axis, theirs, measured))
            self.assertLess(ours, 1.3 * theirs)

    def test_enable(self):
        x = data((3000, 3), torch.float32)
        with antiphase.enabled(scans=True):
            self.assertIsNotNone(lead.scans.library)
            with antiphase.enabled(scans=True):
                pass
            self.assertIsNotNone(lead.scans.library)
            led = self.counted(lambda: x.cumsum(0))
            self.assertEqual(led, (1, 0) if DEVICE.type == "cuda" else (0, 0))  # CUDA's operators alone
        self.assertIsNone(lead.scans.library)
        antiphase.enable()
        self.assertIsNone(lead.scans.library)
        antiphase.enable(scans=True)
        self.assertIsNotNone(lead.scans.library)
        antiphase.disable()
        self.assertIsNone(lead.scans.library)
        lead.scans.computed, lead.scans.passed = 1, 3
        computed, passed = lead.scans.counts()[:2]  # those in C++, too
        self.assertGreaterEqual((computed, passed), (1, 3))
        share = 100 * computed // (computed + passed)
        self.assertIn(f"; {computed} of {computed + passed} scans computed ({share} %), ", antiphase.report())


PROGRAM = """
import sys
assert "torch" not in sys.modules and "antiphase" not in sys.modules
print(FROM_SITE)
import torch
from antiphase import _torch_lead_scans as lead
assert lead.scans.library is not None
assert lead.scans.why_python is None or torch.__version__ < "2.10", lead.scans.why_python
if not lead.scans.profiles:
    lead.scans.end()
    lead.scans.takes_all = True
    lead.scans.begin("CUDA" if torch.cuda.is_available() else "CPU")
elif not torch.cuda.is_available():
    lead.scans.end()
    decide = lead._compare
    lead._compare = lambda *call: (*decide(*call)[:2], True)
    lead.scans.begin("CPU")
x = torch.ones(3000, 3, device="cuda" if torch.cuda.is_available() else "cpu")
assert x.cumsum(0)[-1].tolist() == [3000] * 3
"""


class Programs(support.Case):
    def ran(self, *options, **environment):
        with tempfile.TemporaryDirectory() as folder:
            place = pathlib.Path(folder)
            (place / "program.py").write_text(PROGRAM)
            (place / "sitecustomize.py").write_text("import builtins\nbuiltins.FROM_SITE = 'theirs'\n")
            path = os.pathsep.join([folder, os.environ.get("PYTHONPATH", "")])
            done = subprocess.run(
                [sys.executable, "-m", "antiphase", "run", "--scans", *options, str(place / "program.py")],
                env={**os.environ, "PYTHONPATH": path, **environment},
                capture_output=True,
                text=True,
            )
        self.assertEqual((done.returncode, done.stdout), (0, "theirs\n"), done.stderr)
        return done.stderr

    def test_scans_are_led_from_the_start(self):
        said = self.ran()
        self.assertRegex(
            said, r"antiphase\[\d+\]: 1 of 1 scans computed \(100 %\), [\d.e-]+ s saved as predicted"
        )
        self.assertNotIn("scans", self.ran(ANTIPHASE_REPORT="0"))

    def test_profile(self):
        said = self.ran("--profile")
        self.assertRegex(
            said, r" 1 +0.000\d+~ +\d+\.\d+  cumsum of 3000 x 3 along 0, float32 +would be computed"
        )
        self.assertRegex(said, r"would compute scans of [\d.e-]+ s in [\d.e-]+ s \(predicted\), of 1 calls")


def divided(rank, file, world):
    """One of several processes, each of which has a part of the axis."""
    import torch.distributed as distributed
    from torch.distributed.tensor import (
        DTensor,
        Partial,
        Replicate,
        Shard,
        distribute_tensor,
        init_device_mesh,
    )

    if DEVICE.type == "cuda":
        torch.cuda.set_device(rank)
    distributed.init_process_group(
        "nccl" if DEVICE.type == "cuda" else "gloo", init_method=f"file://{file}", rank=rank, world_size=world
    )
    group = distributed.group.WORLD
    close = lambda found, expected: torch.testing.assert_close(
        found, expected, equal_nan=True, rtol=1e-2 if expected.dtype.itemsize == 2 else 1e-6, atol=1e-6
    )
    cases = 0
    for dtype in (torch.float64, torch.float32, torch.bfloat16, torch.int32):
        for at_most in (7, 4, 0):  # the first part has so many rows: none, too
            whole = data((7, 6), dtype, extremes=dtype.is_floating_point and at_most == 4)
            mine = whole[:at_most] if rank == 0 else whole[at_most:]
            place = slice(0, at_most) if rank == 0 else slice(at_most, 7)
            for name in NAMES:
                if name == "logcumsumexp" and not dtype.is_floating_point:
                    continue
                found, expected = getattr(at, name)(mine, 0, group=group), getattr(torch, name)(whole, 0)
                for one, other in zip(
                    *((found, expected) if name in ("cummax", "cummin") else ((found,), (expected,)))
                ):
                    close(one, other[place])
                if dtype is torch.float64 and at_most != 4:
                    x, y = mine.clone().requires_grad_(), whole.clone().requires_grad_()
                    weights = torch.arange(42, dtype=dtype, device=DEVICE).view(7, 6) / 8
                    (first(name, getattr(at, name)(x, 0, group=group)) * weights[place]).sum().backward()
                    (first(name, getattr(torch, name)(y, 0)) * weights).sum().backward()
                    close(x.grad, y.grad[place])
                cases += 1
    assert cases == 3 * (3 * 5 + 4), cases
    mesh = init_device_mesh(DEVICE.type, (world,))
    whole = data((7, 6), torch.float32)
    for way in (Shard(0), Shard(1), Replicate(), Partial()):
        if way.is_partial():  # the sum of what both have
            x = DTensor.from_local(whole if rank == 0 else torch.zeros_like(whole), mesh, [way])
        else:
            x = distribute_tensor(whole, mesh, [way])
        for name in NAMES:
            for dim in (0, 1, -1):
                found, expected = getattr(at, name)(x, dim), getattr(torch, name)(whole, dim)
                for one, other in zip(
                    *((found, expected) if name in ("cummax", "cummin") else ((found,), (expected,)))
                ):
                    assert one.placements == ((Replicate(),) if way.is_partial() else (way,))
                    close(one.full_tensor(), other)
    distributed.destroy_process_group()


class Distributed(support.Case):
    def test_two_processes(self):
        self.in_two_processes(torch, DEVICE, divided)


if __name__ == "__main__":
    support.main()
