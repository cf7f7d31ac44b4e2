#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""antiphase on torch tensors, and antiphase.torch: on the CPU executor, or on ANTIPHASE_TEST_DEVICE, such as
cuda."""
import copy
import os
import signal
import sys
import unittest
import unittest.mock
import warnings

import support

numpy, torch = support.need("numpy"), support.need("torch")
from torch import library as operators
import antiphase
import antiphase.torch as at
from antiphase import _arrays, _products

DEVICE = torch.device(os.environ.get("ANTIPHASE_TEST_DEVICE", "cpu"))
if DEVICE.type == "cuda" and not torch.cuda.is_available():
    print("skipped: torch finds no GPU")
    sys.exit(support.SKIPPED)


def R(*shape, seed=1, **how):
    return (
        torch.from_numpy(support.pattern(numpy, *shape, seed=seed))
        .to(DEVICE)
        .requires_grad_(how.get("requires_grad", False))
    )


def near(found, expected, rtol=3e-6):
    torch.testing.assert_close(found, expected, rtol=rtol, atol=3e-5)


# (antiphase's function, torch's function, a function that makes the tensors).
CALLS = {
    "mm": (at.mm, torch.mm, lambda: (R(3, 5), R(5, 4, seed=2))),
    "mm, transposed": (
        lambda a, b: at.mm(a.t(), b.t()),
        lambda a, b: torch.mm(a.t(), b.t()),
        lambda: (R(5, 3), R(4, 5, seed=2)),
    ),
    "bmm": (at.bmm, torch.bmm, lambda: (R(2, 3, 5), R(2, 5, 4, seed=2))),
    "addmm, a bias": (at.addmm, torch.addmm, lambda: (R(4, seed=3), R(3, 5), R(5, 4, seed=2))),
    "addmm, a column": (at.addmm, torch.addmm, lambda: (R(3, 1, seed=3), R(3, 5), R(5, 4, seed=2))),
    "addmm, a number": (at.addmm, torch.addmm, lambda: (R(1, seed=3)[0], R(3, 5), R(5, 4, seed=2))),
    "addmm, factors": (
        lambda *t: at.addmm(*t, beta=0.5, alpha=3),
        lambda *t: torch.addmm(*t, beta=0.5, alpha=3),
        lambda: (R(3, 4, seed=3), R(3, 5), R(5, 4, seed=2)),
    ),
    "addmm, a bias and factors": (
        lambda *t: at.addmm(*t, beta=2),
        lambda *t: torch.addmm(*t, beta=2),
        lambda: (R(4, seed=3), R(3, 5), R(5, 4, seed=2)),
    ),
    "addmm, beta 0": (
        lambda *t: at.addmm(*t, beta=0, alpha=2),
        lambda *t: torch.addmm(*t, beta=0, alpha=2),
        lambda: (R(3, 4, seed=3), R(3, 5), R(5, 4, seed=2)),
    ),
    "baddbmm": (at.baddbmm, torch.baddbmm, lambda: (R(2, 3, 4, seed=3), R(2, 3, 5), R(2, 5, 4, seed=2))),
    "baddbmm, a bias": (
        at.baddbmm,
        torch.baddbmm,
        lambda: (R(4, seed=3), R(2, 1, 5), R(1, 5, 4, seed=2).expand(2, 5, 4)),
    ),
    "baddbmm, columns side by side": (
        at.baddbmm,
        torch.baddbmm,
        lambda: (R(4, seed=3), R(1, 1, 5).expand(2, 1, 5), R(5, 8, seed=2).reshape(5, 2, 4).permute(1, 0, 2)),
    ),
    "baddbmm, shared": (
        lambda *t: at.baddbmm(*t, beta=-1, alpha=0.25),
        lambda *t: torch.baddbmm(*t, beta=-1, alpha=0.25),
        lambda: (R(2, 1, 4, seed=3), R(2, 3, 5), R(2, 5, 4, seed=2)),
    ),
    "linear": (at.linear, torch.nn.functional.linear, lambda: (R(2, 3, 5), R(6, 5, seed=2), R(6, seed=3))),
    "linear without bias": (at.linear, torch.nn.functional.linear, lambda: (R(3, 5), R(6, 5, seed=2))),
    "linear of one": (at.linear, torch.nn.functional.linear, lambda: (R(5), R(6, 5, seed=2), R(6, seed=3))),
    "linear, a column": (at.linear, torch.nn.functional.linear, lambda: (R(3, 5), R(5, seed=2))),
    "matmul, vectors": (antiphase.matmul, torch.matmul, lambda: (R(5), R(5, seed=2))),
    "matmul, a row": (antiphase.matmul, torch.matmul, lambda: (R(5), R(2, 1, 5, 4, seed=2))),
    "matmul, a column": (antiphase.matmul, torch.matmul, lambda: (R(3, 2, 5), R(5, seed=2))),
    "matmul, batches": (antiphase.matmul, torch.matmul, lambda: (R(3, 1, 2, 5), R(4, 5, 3, seed=2))),
    "matmul, empty": (at.matmul, torch.matmul, lambda: (R(3, 0), R(0, 2, seed=2))),
    "sums": (
        lambda x: antiphase.cumulative_sum(x, axis=1),
        lambda x: torch.cumsum(x, 1),
        lambda: (R(3, 4, 5),),
    ),
    "sums from the end": (
        lambda x: antiphase.scan(x, axis=0, reverse=True, exclusive=True),
        lambda x: x.flip(0).cumsum(0).flip(0) - x,
        lambda: (R(7, 2),),
    ),
}


def with_gradients(function, tensors):
    tensors = [t.detach().clone().requires_grad_() for t in tensors]
    result = function(*tensors)
    weights = (
        torch.arange(1, result.numel() + 1, dtype=torch.float32, device=DEVICE).reshape(result.shape) / 8
    )
    (result * weights).sum().backward()
    return [result.detach(), *(torch.zeros(1) if t.grad is None else t.grad for t in tensors)]


class Products(support.Case):
    def test_values_and_gradients(self):
        for name, (ours, theirs, tensors) in CALLS.items():
            with self.subTest(name):
                near(ours(*tensors()), theirs(*tensors()))
                for found, expected in zip(
                    with_gradients(ours, tensors()), with_gradients(theirs, tensors())
                ):
                    if expected.numel() and expected.any():
                        near(found, expected)
                    else:
                        self.assertFalse(found.any())

    def test_torchs_own_samples(self):
        """Results and gradients for the samples by which torch tests its own operators: shapes, broadcasts,
        factors, views, empty tensors."""
        try:
            from torch.testing._internal.common_methods_invocations import op_db
        except ImportError as missing:
            self.skipTest(f"torch's samples need a package: {missing}")
        tried = dict.fromkeys(("mm", "addmm", "bmm", "baddbmm"), 0)
        for op in op_db:
            if op.name not in tried or op.variant_test_name:
                continue
            for sample in op.sample_inputs(DEVICE, torch.float32, requires_grad=True):
                results = []
                for function in (getattr(at, op.name), getattr(torch, op.name)):
                    tensors = [t.detach().requires_grad_() for t in (sample.input, *sample.args)]
                    result = function(*tensors, **sample.kwargs)
                    weights = torch.linspace(-1, 2, result.numel(), device=DEVICE).reshape(result.shape)
                    results.append(
                        [
                            result.detach(),
                            *torch.autograd.grad(
                                (result * weights).sum(), tensors, allow_unused=True, materialize_grads=True
                            ),
                        ]
                    )
                for found, expected in zip(*results):  # the samples' values reach to 9
                    with self.subTest(op.name, sample=sample.summary()):
                        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-3)
                tried[op.name] += 1
        self.assertTrue(all(tried.values()), tried)

    def test_second_derivatives(self):
        a, b = (R(3, 4).double(), R(4, 2, seed=2).double())
        for ours, theirs in (
            (at.mm, torch.mm),
            (
                lambda p, q: at.addmm(R(2, seed=3), p, q, alpha=2),
                lambda p, q: torch.addmm(R(2, seed=3), p, q, alpha=2),
            ),
        ):
            found = [
                torch.autograd.functional.hessian(
                    lambda p, q, f=f: (f(p, q) ** 2).sum(), (a.float(), b.float())
                )
                for f in (ours, theirs)
            ]
            torch.testing.assert_close(*found, rtol=1e-4, atol=1e-4)

    def test_what_is_added_is_not_read_or_changed(self):
        added = torch.full((3, 4), float("nan"), device=DEVICE)
        self.assertFalse(at.addmm(added, R(3, 5), R(5, 4), beta=0).isnan().any())
        added = R(3, 4)
        before = added.clone()
        at.addmm(added, R(3, 5), R(5, 4), beta=2)
        self.assertTrue(torch.equal(added, before))

    def test_nothing_is_lost_silently(self):
        a, b = R(3, 5, requires_grad=True), R(5, 4, seed=2)
        self.assertTrue(antiphase.matmul(a, b).requires_grad and antiphase.matmul(b.t(), a.t()).requires_grad)
        self.assertTrue(at.linear(b.t(), b.t().detach(), R(4, requires_grad=True)).requires_grad)
        parameter = torch.nn.Parameter(R(5, 4))
        self.assertTrue(
            antiphase.matmul(a.detach(), parameter).requires_grad
            and antiphase.cumulative_sum(parameter, axis=0).requires_grad
        )
        with torch.no_grad():
            self.assertFalse(antiphase.matmul(a, b).requires_grad)
        with torch.inference_mode():
            near(antiphase.matmul(a, b), a @ b)
        with self.assertRaisesRegex(ValueError, "out is given, and a tensor requires a gradient"):
            antiphase.matmul(a, b, out=torch.zeros(3, 4, device=DEVICE))
        for call in (
            lambda: antiphase.scan(a, op="max"),
            lambda: antiphase.scan(a[0], by_key=torch.arange(5, device=DEVICE)),
            lambda: antiphase.scan(a, exclusive=True, initial=1),
        ):
            with self.assertRaisesRegex(TypeError, "requires a gradient"):
                call()
        with self.assertRaisesRegex(ValueError, "'fp32'"):
            antiphase.matmul(a, b, precision="strict")
        import torch.autograd.forward_ad as forward

        with forward.dual_level():
            dual = forward.make_dual(a.detach(), a.detach())
            for call in (
                lambda: antiphase.matmul(dual, b),
                lambda: at.mm(dual, b),
                lambda: at.addmm(R(4), dual, b),
                lambda: at.linear(dual, b.t()),
                lambda: antiphase.cumsum(dual, 0),
            ):
                with self.assertRaisesRegex(NotImplementedError, "tangent"):
                    call()
            near(antiphase.matmul(a.detach(), b), a.detach() @ b)

    def test_signs_that_are_not_stored_yet(self):
        x = torch.complex(R(3, 5), R(3, 5, seed=2)).conj().imag
        self.assertTrue(x.is_neg())
        near(antiphase.matmul(x, R(5, 4)), x.resolve_neg() @ R(5, 4))
        near(at.mm(x, R(5, 4)), x.resolve_neg() @ R(5, 4))
        near(antiphase.cumsum(x, 1), x.resolve_neg().cumsum(1))

    def test_views_and_out(self):
        whole = R(6, 22, 26)
        for a in (
            whole[0, :5, :7],
            whole[1, :7, :5].t(),
            whole[2, ::4, 1:15:2],
            whole[3, 0, :7].expand(6, 7),
            whole[4, 1, 1].expand(5, 7),
        ):
            near(antiphase.matmul(a, whole[5, :7, :3]), a @ whole[5, :7, :3])
        out = torch.full((8, 9), 77.0, device=DEVICE)
        part = out[::2, 1::3].t()
        self.assertIs(antiphase.matmul(R(3, 5), R(5, 4), out=part), part)
        near(part, R(3, 5) @ R(5, 4))
        self.assertEqual(int((out == 77).sum()), 72 - 12)

    def test_types_of_scans(self):
        for name in ("float64", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8"):
            x = (torch.arange(24, device=DEVICE).reshape(4, 6) % 5).to(getattr(torch, name))
            found, expected = antiphase.cumulative_sum(x, axis=0), torch.cumsum(x, 0)
            self.assertEqual(found.dtype, expected.dtype)
            self.assertTrue(torch.equal(found, expected), name)
        mask = R(3, 40) > 0
        self.assertTrue(
            torch.equal(antiphase.cumsum(mask, 1), mask.cumsum(1))
            and torch.equal(antiphase.scan(mask, axis=0), mask.cumsum(0))
        )
        out = torch.zeros(3, 40, dtype=torch.int32, device=DEVICE)
        self.assertTrue(torch.equal(antiphase.cumsum(mask, 1, out=out), mask.cumsum(1, dtype=torch.int32)))
        self.refused(
            TypeError,
            ["complex64", "real and the imaginary parts"],
            lambda: antiphase.cumsum(torch.complex(R(3), R(3)), 0),
        )
        self.refused(
            TypeError,
            ["complex64", "real and the imaginary parts"],
            lambda: at.mm(torch.complex(R(3, 3), R(3, 3)), R(3, 3)),
        )
        x = R(3, 40).bfloat16()
        torch.testing.assert_close(antiphase.cumsum(x, 1, dtype=torch.float32), x.float().cumsum(1))
        whole = antiphase.cumulative_sum(R(5), include_initial=True)
        self.assertEqual(whole.shape, (6,))
        self.assertEqual(float(whole[0]), 0)

    def test_what_makes_no_sense(self):
        self.refused(
            TypeError,
            ["layout torch.sparse_coo", ".to_dense()"],
            lambda: antiphase.matmul(R(3, 4).to_sparse(), R(4, 2)),
        )
        a, b = R(3, 5), R(5, 4)
        before = a.clone(), b.clone()
        for error, words, call in (
            (
                TypeError,
                "float64 and float32: expected float32; convert with .float\\(\\)",
                lambda: antiphase.matmul(a.double(), b),
            ),
            (
                TypeError,
                "mm of float16 and float32: expected float32; convert with .float\\(\\)",
                lambda: at.mm(a.half(), b),
            ),
            (TypeError, "float64 and float32 and float32", lambda: at.addmm(R(4).double(), a, b)),
            (
                ValueError,
                r"mm of shapes \(3, 5\) and \(3, 5\): the last extent of the first is 5",
                lambda: at.mm(a, a),
            ),
            (
                ValueError,
                r"mm of shapes \(3, 5\) and \(1, 5, 4\): expected 2 axes",
                lambda: at.mm(a, b[None]),
            ),
            (ValueError, r"batches of 2 and 3", lambda: at.bmm(R(2, 3, 5), R(3, 5, 4))),
            (ValueError, r"adds shape \(3,\) to \(3, 4\)", lambda: at.addmm(R(3), a, b)),
            (ValueError, r"linear of shapes \(3, 5\) and \(5, 4\)", lambda: at.linear(a, b)),
            (ValueError, r"matmul of shapes \(3, 5\) and \(3, 5\)", lambda: antiphase.matmul(a, a)),
            (
                ValueError,
                r"matmul of shapes \(2, 3, 5\) and \(3, 5, 4\): batches",
                lambda: antiphase.matmul(R(2, 3, 5, requires_grad=True), R(3, 5, 4)),
            ),
            (
                ValueError,
                r"matmul of shapes \(\) and \(5, 4\)",
                lambda: at.matmul(R(1)[0].requires_grad_(), b),
            ),
            (ValueError, r"out has shape \(3, 5\)", lambda: antiphase.matmul(a, b, out=a)),
            (TypeError, "numpy.ndarray", lambda: antiphase.matmul(a, b.cpu().numpy())),
            (ValueError, "overlap", lambda: antiphase.matmul(R(4, 4), whole := R(4, 4), out=whole)),
        ):
            with self.subTest(words):
                with self.assertRaisesRegex(error, words):
                    call()
        self.assertTrue(torch.equal(a, before[0]) and torch.equal(b, before[1]))


class Integration(support.Case):
    def test_opcheck(self):
        ops = torch.ops.antiphase
        for grad in (False, True):
            r = lambda *shape: R(*shape, requires_grad=grad)
            for op, given in (
                (ops.mm, (r(3, 5), r(4, 5).t())),
                (ops.mm, (r(3, 0), r(0, 4))),
                (ops.bmm, (r(2, 3, 5), r(2, 5, 4))),
                (ops.addmm, (r(4), r(3, 5), r(5, 4))),
                (ops.addmm, (r(3, 1), r(3, 5), r(5, 4), 2.0, 0.5)),
                (ops.baddbmm, (r(1, 3, 4), r(2, 3, 5), r(2, 5, 4), 0.5, 1.0)),
                (ops.running_sum, (r(2, 3, 5), 1, True, False)),
            ):
                operators.opcheck(op.default, given)

    def test_compile(self):
        try:
            torch.compile(lambda x: x + 1)(torch.zeros(2))
        except Exception as error:
            self.skipTest(f"torch.compile does not work here: {error}")
        net = torch.nn.Sequential(at.Linear(5, 7), torch.nn.GELU(), at.Linear(7, 2)).to(DEVICE)
        compiled = torch.compile(copy.deepcopy(net), fullgraph=True)
        x = R(3, 5)
        near(compiled(x), net(x))
        net(x).square().sum().backward()
        compiled(x).square().sum().backward()
        for ours, theirs in zip(compiled.parameters(), net.parameters()):
            near(ours.grad, theirs.grad)
        whole = torch.compile(lambda a, b: antiphase.matmul(a.relu(), b) + 1, fullgraph=True)
        near(whole(R(2, 3, 5), R(5, 4)), R(2, 3, 5).relu() @ R(5, 4) + 1)
        sums = torch.compile(lambda x: antiphase.cumulative_sum(x * 2, axis=1), fullgraph=True)
        near(sums(R(3, 5)), (R(3, 5) * 2).cumsum(1))

    def test_fake_tensors_and_meta(self):
        from torch._subclasses.fake_tensor import FakeTensorMode

        with FakeTensorMode():
            self.assertEqual(
                antiphase.matmul(torch.empty(10**6, 10**6), torch.empty(10**6, 3)).shape, (10**6, 3)
            )
        self.assertEqual(
            at.mm(torch.empty(10**6, 5, device="meta"), torch.empty(5, 7, device="meta")).shape,
            (10**6, 7),
        )

    def test_autocast(self):
        with torch.autocast(DEVICE.type, torch.bfloat16):
            found = at.mm(R(3, 5).bfloat16(), R(5, 4))
            self.assertEqual(at.Linear(5, 2, device=DEVICE)(R(3, 5)).dtype, torch.float32)
        self.assertEqual(found.dtype, torch.float32)
        near(found, R(3, 5).bfloat16().float() @ R(5, 4))

    def test_vmap_is_one_batch(self):
        import warnings

        vmap = torch.func.vmap
        a, b, bias, c = R(2, 3, 5), R(2, 5, 4), R(4), R(2, 3, 4)
        deep_a, deep_b = R(6, 2, 3, 5), R(2, 5, 4)
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # torch warns if it falls back to a loop over the batch
            near(vmap(antiphase.matmul)(a, b), a @ b)
            near(vmap(at.mm, (2, None), 1)(a.permute(1, 2, 0), b[0]), (a @ b[0]).movedim(0, 1))
            near(vmap(at.mm, (None, 0))(a[0], b), a[0] @ b)
            near(vmap(lambda x: at.linear(x, b[0].t(), bias))(a), a @ b[0] + bias)
            near(vmap(lambda x, y, z: at.addmm(x, y, z, beta=2, alpha=-1))(c, a, b), 2 * c - a @ b)
            near(vmap(lambda x, z: at.addmm(x, a[0], z))(R(2, 4) * 0 + bias, b), a[0] @ b + bias)
            near(vmap(lambda x: at.addmm(x, a[0], b[0]))(c), c + a[0] @ b[0])
            near(vmap(lambda x: at.bmm(x, deep_b))(deep_a), deep_a @ deep_b)
            near(vmap(lambda x: at.baddbmm(c, x, deep_b))(deep_a), c + deep_a @ deep_b)
            near(vmap(lambda x: at.baddbmm(bias, x, deep_b), 1)(deep_a.movedim(0, 1)), bias + deep_a @ deep_b)
            near(vmap(vmap(at.mm, (0, 0)), (0, None))(deep_a, deep_b), deep_a @ deep_b)
            near(vmap(lambda x: antiphase.cumulative_sum(x, axis=1))(a), a.cumsum(2))
            near(vmap(lambda x: antiphase.cumulative_sum(x, axis=-2), 2)(a), a.movedim(2, 0).cumsum(1))
            ours = R(5, 4).requires_grad_()
            vmap(lambda x: at.mm(x, ours))(a).square().sum().backward()
            near(ours.grad, (2 * a.mT @ (a @ ours)).sum(0).detach())
            with self.assertRaisesRegex(ValueError, "must agree"):
                vmap(at.mm)(a, R(2, 4, 4))

    def test_linear_is_torchs_module(self):
        net = at.Linear(5, 3)
        self.assertIsInstance(net, torch.nn.Linear)
        theirs = torch.nn.Linear(5, 3)
        net.load_state_dict(theirs.state_dict())
        near(net.to(DEVICE)(R(2, 5)), theirs.to(DEVICE)(R(2, 5)))


class Tracing(support.Case):
    """Programs traced by torch.jit, which the old ONNX exporter and TensorBoard use too, and by torch.fx."""

    def traced(self, function, example):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch warns that tracing is deprecated
            return torch.jit.trace(function, (example,), check_trace=False)

    def test_traced_programs_are_right_for_other_inputs(self):
        b, deep, net = (R(6, 4, seed=2), R(2, 6, 4, seed=2), at.Linear(6, 4, device=DEVICE))
        # Programs are called with another extent, too.
        programs = {
            "matmul": (lambda x: antiphase.matmul(x, b), lambda x: x @ b),
            "mm": (lambda x: at.mm(x, b), lambda x: x @ b),
            "transposed": (lambda x: antiphase.matmul(b.t(), x.t()), lambda x: b.t() @ x.t()),
            "row": (lambda x: antiphase.matmul(x[0], b), lambda x: x[0] @ b),
            "column": (lambda x: at.matmul(x, b[:, 0]), lambda x: x @ b[:, 0]),
            "vectors": (lambda x: antiphase.matmul(x[0], x[1]), lambda x: x[0] @ x[1]),
            "square": (lambda x: antiphase.matmul(x, x.mT), lambda x: x @ x.mT),
            "addmm": (
                lambda x: at.addmm(b[0], x, b, beta=2, alpha=3),
                lambda x: torch.addmm(b[0], x, b, beta=2, alpha=3),
            ),
            "addmm, a bias": (lambda x: at.addmm(b[0], x, b), lambda x: torch.addmm(b[0], x, b)),
            "linear": (net, lambda x: torch.nn.functional.linear(x, net.weight, net.bias)),
            "linear of one": (lambda x: at.linear(x[0], b.t(), b[0]), lambda x: x[0] @ b + b[0]),
            "batches": (
                lambda x: antiphase.matmul(x.reshape(2, -1, 6), deep),
                lambda x: x.reshape(2, -1, 6) @ deep,
            ),
            "broadcast": (
                lambda x: antiphase.matmul(x.reshape(2, 1, -1, 6), deep),
                lambda x: x.reshape(2, 1, -1, 6) @ deep,
            ),
            "bmm": (lambda x: at.bmm(x.reshape(2, -1, 6), deep), lambda x: x.reshape(2, -1, 6) @ deep),
            "baddbmm": (
                lambda x: at.baddbmm(b[0], x.reshape(2, -1, 6), deep),
                lambda x: x.reshape(2, -1, 6) @ deep + b[0],
            ),
            "rows of batches": (
                lambda x: antiphase.matmul(x.reshape(2, -1, 6), b),
                lambda x: x.reshape(2, -1, 6) @ b,
            ),
            "cumsum": (lambda x: antiphase.cumsum(x, 1), lambda x: x.cumsum(1)),
            "of all": (antiphase.cumsum, lambda x: x.flatten().cumsum(0)),
            "cumulative_sum": (
                lambda x: antiphase.cumulative_sum(x, axis=0, include_initial=True),
                lambda x: torch.cat([torch.zeros_like(x[:1]), x.cumsum(0)]),
            ),
            "in batches": (
                lambda x: antiphase.cumsum(x.reshape(2, -1, 6), 1),
                lambda x: x.reshape(2, -1, 6).cumsum(1),
            ),
            "a mask": (lambda x: antiphase.cumsum(x > 0, 1), lambda x: (x > 0).cumsum(1)),
            "scan": (
                lambda x: antiphase.scan(x, axis=0, reverse=True),
                lambda x: x.flip(0).cumsum(0).flip(0),
            ),
        }
        for name, (ours, theirs) in programs.items():
            for mode in (torch.no_grad, torch.enable_grad):
                with self.subTest(name, mode=mode.__name__), mode():
                    traced = self.traced(ours, R(4, 6))
                    for x in (R(4, 6), R(4, 6, seed=3), R(8, 6, seed=4)):
                        near(traced(x), theirs(x))

    def test_traces_have_gradients(self):
        b = R(6, 4)
        traced, x = self.traced(lambda x: antiphase.cumsum(antiphase.matmul(x, b), 0), R(3, 6)), R(
            5, 6, seed=2, requires_grad=True
        )
        (found,), (expected,) = (
            torch.autograd.grad(f.square().sum(), x) for f in (traced(x), (x @ b).cumsum(0))
        )
        near(found, expected)

    def test_what_cannot_be_traced_is_refused(self):
        for call in (
            lambda x: antiphase.scan(x, op="max"),
            lambda x: antiphase.scan(x[0], by_key=x[1] > 0),
            lambda x: antiphase.scan(x, exclusive=True, initial=1.0),
            lambda x: antiphase.matmul(x, x.t(), precision="strict"),
        ):
            with self.assertRaisesRegex((TypeError, ValueError), "antiphase: .* is traced"):
                self.traced(call, R(3, 4))

    def test_what_is_told_while_tracing(self):
        told = []
        self.traced(lambda x: told.append(antiphase.explain(x, x)) or x, R(5, 5))
        self.assertEqual(told, [antiphase.explain(R(5, 5), R(5, 5))])

    def test_fx(self):
        net = torch.nn.Sequential(
            at.Linear(6, 4), torch.nn.ReLU(), torch.nn.Sequential(at.Linear(4, 2, bias=False))
        ).to(DEVICE)
        graph = torch.fx.symbolic_trace(net)
        self.assertEqual(
            [(node.op, node.target) for node in graph.graph.nodes if node.op.startswith("call")],
            [("call_module", "0"), ("call_module", "1"), ("call_module", "2.0")],
        )
        near(graph(R(3, 6)), net(R(3, 6)))
        b = R(6, 4)
        for ours, theirs in (
            (lambda x: at.matmul(x, b), lambda x: x @ b),
            (lambda x: at.linear(x, b.t()), lambda x: x @ b),
            (lambda x: at.mm(x, b), lambda x: x @ b),
        ):
            near(torch.fx.symbolic_trace(ours)(R(3, 6)), theirs(R(3, 6)))

    def test_torch_func(self):
        grad, vmap = torch.func.grad, torch.func.vmap
        a, b, bias = R(3, 5), R(5, 4, seed=2), R(4, seed=3)
        for ours, theirs in (
            (lambda x: antiphase.matmul(x, b), lambda x: x @ b),
            (lambda x: at.linear(x, b.t(), bias), lambda x: x @ b + bias),
            (
                lambda x: at.addmm(bias, x, b, beta=2, alpha=3),
                lambda x: torch.addmm(bias, x, b, beta=2, alpha=3),
            ),
            (
                lambda x: antiphase.matmul(torch.stack([x, x]), torch.stack([b, b])),
                lambda x: torch.stack([x, x]) @ b,
            ),
            (lambda x: antiphase.cumsum(x, 1), lambda x: x.cumsum(1)),
        ):
            of = lambda f: lambda x: (f(x) ** 3).sum()
            near(grad(of(ours))(a), grad(of(theirs))(a), rtol=1e-5)  # a cube triples the errors of both
            near(
                grad(lambda x: grad(of(ours))(x).sum())(a) / 100,
                grad(lambda x: grad(of(theirs))(x).sum())(a) / 100,
            )
            many = R(2, 3, 5, seed=4)
            near(vmap(grad(of(ours)))(many), vmap(grad(of(theirs)))(many))
        near(torch.func.jacrev(lambda x: antiphase.matmul(x, b))(a), torch.func.jacrev(lambda x: x @ b)(a))
        for forward in (
            torch.func.jacfwd(lambda x: antiphase.matmul(x, b)),
            torch.func.hessian(lambda x: antiphase.matmul(x, x.t()).sum()),
        ):
            self.refused(NotImplementedError, ["tangent"], lambda: forward(a))


@unittest.skipUnless(DEVICE.type == "cpu", "products of the CPU executor take minutes")
class Interruption(support.Case):
    def test_within_torchs_operators(self):
        self.addCleanup(
            signal.signal, signal.SIGALRM, signal.signal(signal.SIGALRM, signal.default_int_handler)
        )
        x = torch.ones(4096, 1).expand(4096, 4096).requires_grad_()
        for call in (lambda: at.mm(x, x), lambda: antiphase.matmul(x.detach(), x.detach())):
            signal.setitimer(signal.ITIMER_REAL, 0.15)
            with self.assertRaises(KeyboardInterrupt), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                call()
            near(at.mm(R(70, 80), R(80, 90)), R(70, 80) @ R(80, 90))


class Again(support.Case):
    """The fastest path, for tensors that torch's TensorGuards find to be like those of earlier calls. On the
    CPU it is redirected to the CPU executor."""

    def setUp(self):
        self.kind = kind = _arrays.kind_of(R(1), "a tensor")
        other = dict(quick=None)  # start without what other tests have made it remember
        if DEVICE.type == "cpu":
            other.update(
                current_device=lambda: -1,
                raw_stream=lambda device: 0,
                is_capturing=lambda: False,
                quick_empty=lambda shape, strides, dtype: torch.empty_strided(shape, strides, dtype=dtype),
            )
        for patch in (
            unittest.mock.patch.multiple(kind, **other),
            unittest.mock.patch.dict(_products._quick_plans),
        ):
            patch.start()
            self.addCleanup(patch.stop)

    def known(self, a, b):
        """Multiplies the tensors several times, so that they are remembered."""
        for _ in range(3):
            antiphase.matmul(a, b)
        if DEVICE.type == "cpu":
            self.kind.quick = self.kind.quick or _products.Quick(self.kind)
            key = (a.shape, a.stride(), b.shape, b.stride(), a.get_device())
            _products._remember_quick(self.kind, a, b, key)
            self.kind.quick.remember(a, b, _products._quick_plans[key])
        if not self.kind.has_guards:
            self.skipTest("torch's guards do not tell apart what matters here")

    def again(self, a, b):
        return self.kind.quick.again(a, b)

    def test_tensors_that_are_alike(self):
        self.known(R(30, 50), R(50, 20, seed=2))
        a, b = R(30, 50, seed=3), R(50, 20, seed=4)
        near(self.again(a, b), a @ b)
        near(antiphase.matmul(a, b), a @ b)
        self.known(R(30, 50), R(20, 50, seed=2).t())
        near(self.again(a, R(20, 50, seed=5).t()), a @ R(20, 50, seed=5).t())
        near(self.again(a, b), a @ b)
        with torch.no_grad():
            near(self.again(a, b), a @ b)

    def test_tensors_that_are_not(self):
        a, b = R(30, 50), R(50, 20, seed=2)
        self.known(a, b)
        others = {
            "extents": R(50, 21),
            "strides": R(20, 50).t(),
            "padding": R(50, 24)[:, :20],
            "type": b.double(),
            "gradients": R(50, 20, requires_grad=True),
            "a sign that waits": torch._neg_view(b),
            "a class": torch.nn.Parameter(b, requires_grad=False),
            "no memory": b.to("meta"),
            "another class": torch.nn.Buffer(b).as_subclass(type("Mine", (torch.Tensor,), {})),
            "not dense": b.to_sparse(),
        }
        for name, other in others.items():
            with self.subTest(name):
                self.assertIsNone(self.again(a, other))

    def test_what_is_under_way(self):
        import torch.autograd.forward_ad as forward
        from torch._subclasses.fake_tensor import FakeTensorMode
        from torch.utils._python_dispatch import TorchDispatchMode

        class Sees(TorchDispatchMode):
            def __torch_dispatch__(self, function, types, arguments=(), more=None):
                return function(*arguments, **(more or {}))

        a, b = R(30, 50), R(50, 20, seed=2)
        self.known(a, b)
        for mode in (FakeTensorMode(), Sees(), forward.dual_level()):
            with mode:
                self.assertIsNone(self.again(a, b))
        found = []
        torch.func.vmap(lambda x: found.append(self.again(x, b)) or x)(R(2, 30, 50))
        torch.func.grad(lambda x: found.append(self.again(x, b)) or x.sum())(a)
        self.assertEqual(found, [None, None])
        self.assertIsNotNone(self.again(a, b))

    def test_weights_without_gradients(self):
        x, weight = R(30, 50), torch.nn.Parameter(R(20, 50, seed=2))
        with torch.no_grad():
            self.known(x, weight.t())
            near(self.again(x, weight.t()), x @ weight.t())
        self.assertIsNone(self.again(x, weight.t()))
        antiphase.matmul(x, weight.t()).sum().backward()
        near(weight.grad, x.sum(0).expand(20, 50))


@unittest.skipUnless(DEVICE.type == "cuda", "on the CPU there are no streams")
class Streams(support.Case):
    def test_graphs(self):
        a, b, c = R(300, 200), R(200, 100, seed=2), R(100, seed=3)
        calls = [
            lambda: antiphase.matmul(a, b),
            lambda: at.addmm(c, a, b),
            lambda: at.addmm(c, a, b, beta=2),
            lambda: at.linear(a.view(3, 100, 200), b.t()),
            lambda: antiphase.matmul(a.view(10, 1, 30, 200), b.view(1, 200, 100).expand(4, 200, 100)),
        ]
        for call in calls:
            call()
            graph, kept = torch.cuda.CUDAGraph(), (a.clone(), b.clone())
            with torch.cuda.graph(graph):
                found = call()
            for scale in (2, -3):
                a.copy_(kept[0] * scale), b.copy_(kept[1] + scale)
                graph.replay()
                self.assertTrue(torch.equal(found, call()))
            a.copy_(kept[0]), b.copy_(kept[1])

    def test_work_is_on_the_current_stream(self):
        side = torch.cuda.Stream()
        big = R(4096, 4096)
        for _ in range(5):
            with torch.cuda.stream(side):
                x = big @ big / 64  # long enough that a wrong stream would read it too early
                found = antiphase.matmul(x, x)
                scanned = antiphase.cumsum(found, 1)
            side.synchronize()
            torch.testing.assert_close(found.double(), x.double() @ x.double(), rtol=1e-5, atol=1e-2)
            torch.testing.assert_close(scanned.double(), found.double().cumsum(1), rtol=1e-4, atol=1e-1)

    def test_the_same_bits_in_every_run(self):
        a, b = R(777, 1001), R(1001, 555, seed=2)
        first = antiphase.matmul(a, b)
        for _ in range(10):
            self.assertTrue(torch.equal(antiphase.matmul(a, b), first))

    def test_memory_is_torchs(self):
        a = R(4096, 4096)
        antiphase.matmul(a, a)
        torch.cuda.synchronize()
        before = torch.cuda.memory_allocated()
        free = torch.cuda.mem_get_info()[0]
        for _ in range(4):
            antiphase.matmul(a, a)
        torch.cuda.synchronize()
        self.assertEqual(torch.cuda.memory_allocated(), before)
        self.assertEqual(torch.cuda.mem_get_info()[0], free)

    def test_the_current_device_stays(self):
        if torch.cuda.device_count() < 2:
            self.skipTest("there is one GPU")
        a = R(300, 200).to("cuda:1")
        near(antiphase.matmul(a, a.t()), a @ a.t())
        self.assertEqual(torch.cuda.current_device(), 0)
        self.refused(ValueError, ["cuda:1", "cuda:0"], lambda: antiphase.matmul(a, R(200, 3).to("cuda:0")))


def divided(rank, file, world):
    """One of two processes, with DTensors: each holds a part."""
    import torch.distributed as distributed
    from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor, init_device_mesh
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    if DEVICE.type == "cuda":
        torch.cuda.set_device(rank)
    distributed.init_process_group(
        "nccl" if DEVICE.type == "cuda" else "gloo", init_method=f"file://{file}", rank=rank, world_size=world
    )
    mesh = init_device_mesh(DEVICE.type, (world,))
    ways = [Replicate(), Shard(0), Shard(1)]
    a, b, added = R(6, 8), R(8, 4, seed=2), R(4, seed=3)
    cases = 0
    for of_a in ways:
        for of_b in ways:
            x, y = (distribute_tensor(t, mesh, [way]).requires_grad_() for t, way in ((a, of_a), (b, of_b)))
            for of_added in (Replicate(), Shard(0)):
                z = distribute_tensor(added, mesh, [of_added]).requires_grad_()
                found = at.addmm(z, x, y)
                assert isinstance(found, DTensor)
                near(found.full_tensor(), torch.addmm(added, a, b))
                expected = with_gradients(torch.addmm, (added, a, b))
                weights = distribute_tensor(
                    torch.arange(1, 25, dtype=torch.float32, device=DEVICE).reshape(6, 4) / 8,
                    mesh,
                    [Replicate()],
                )
                gradients = torch.autograd.grad((found * weights).sum(), (z, x, y))
                for g, e in zip(gradients, expected[1:]):
                    near(g.full_tensor(), e)
            near(antiphase.matmul(x, y).full_tensor(), a @ b)
            cases += 1
    # Results sharded by rows or columns: no communication is needed.
    assert at.mm(
        distribute_tensor(a, mesh, [Shard(0)]), distribute_tensor(b, mesh, [Replicate()])
    ).placements == (Shard(0),)
    assert at.mm(
        distribute_tensor(a, mesh, [Replicate()]), distribute_tensor(b, mesh, [Shard(1)])
    ).placements == (Shard(1),)
    assert (
        at.mm(distribute_tensor(a, mesh, [Shard(1)]), distribute_tensor(b, mesh, [Shard(0)]))
        .placements[0]
        .is_partial()
    )
    members = at.bmm(
        distribute_tensor(R(4, 3, 5), mesh, [Shard(0)]), distribute_tensor(R(4, 5, 2), mesh, [Shard(0)])
    )
    assert members.placements == (Shard(0),)
    near(members.full_tensor(), R(4, 3, 5) @ R(4, 5, 2))

    # A tensor-parallel network and one under FSDP, compared with the whole one.
    from torch.distributed.fsdp import fully_shard

    torch.manual_seed(1)
    whole = torch.nn.Sequential(at.Linear(8, 12), torch.nn.ReLU(), at.Linear(12, 4)).to(DEVICE)
    x = R(2, 3, 8)
    expected = whole(x)
    expected.square().sum().backward()
    parallel = parallelize_module(
        copy.deepcopy(whole), mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()}
    )
    sharded = copy.deepcopy(whole)
    fully_shard(sharded, mesh=mesh)
    for net in (parallel, sharded):
        net.zero_grad()
        found = net(x)
        near(found, expected)
        found.square().sum().backward()
        for ours, theirs in zip(net.parameters(), whole.parameters()):
            near(ours.grad.full_tensor(), theirs.grad)
    distributed.destroy_process_group()
    assert cases == 9


class Distributed(support.Case):
    def test_two_processes(self):
        self.in_two_processes(torch, DEVICE, divided)


if __name__ == "__main__":
    support.main()
