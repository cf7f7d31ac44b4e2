# SPDX-License-Identifier: Apache-2.0
"""Steps of statistics, physics, chemistry, finance and control, for time_clients.py."""
import torch
from torch import nn
from torch.nn import functional

from client_programs import adding_to

PROGRAMS = {}
program = adding_to(PROGRAMS)


# ---- Statistics and kernels ------------------------------------------------------------------------------


@program("kernel ridge regression, 8000 x 64")
def kernel_ridge(made):
    x, y = made.randn(8000, 64), made.randn(8000, 16)

    def step():
        squares = x.square().sum(1)
        gram = torch.exp((2 * x @ x.T - squares[:, None] - squares) / 128) + 0.1 * made.eye(8000)
        return gram @ torch.cholesky_solve(y, torch.linalg.cholesky(gram))

    return step


@program("randomized SVD, 16384 x 4096, rank 64")
def randomized_svd(made):
    a, omega = made.randn(16384, 64) @ made.randn(64, 4096) + made.randn(16384, 4096), made.randn(4096, 80)

    def step():
        q = torch.linalg.qr(a @ omega).Q
        for _ in range(2):
            q = torch.linalg.qr(a @ torch.linalg.qr(a.T @ q).Q).Q
        u, s, v = torch.linalg.svd(q.T @ a, full_matrices=False)
        return s[:60]

    return step


@program("PCA by subspace iteration, 60000 x 784")
def pca(made):
    x, start = made.randn(60000, 784) * torch.linspace(
        3, 0.1, 784, device=made.device, dtype=made.real
    ), made.randn(784, 32)

    def step():
        centered = x - x.mean(0)
        covariance, q = centered.T @ centered / 60000, start
        for _ in range(8):
            q = torch.linalg.qr(covariance @ q).Q
        return covariance, centered @ q @ q.T

    return step


@program("Gaussian mixture, EM, 100000 x 32, 64 full covariances")
def mixture(made):
    x, means = made.randn(100000, 32), made.randn(64, 32)

    def step():
        weights = torch.softmax(x @ means.T - means.square().sum(1) / 2, 1)
        count = weights.sum(0)
        center = weights.T @ x / count[:, None]
        moved = x[None] - center[:, None]
        covariance = torch.bmm((moved * weights.T[:, :, None]).transpose(1, 2), moved) / count[:, None, None]
        whitened = torch.linalg.solve_triangular(
            torch.linalg.cholesky(covariance), moved.transpose(1, 2), upper=False
        )
        return center, covariance, whitened.square().sum(1)

    return step


@program("optimal transport by Sinkhorn, 4096 x 4096, 32 measures")
def sinkhorn(made):
    x, y = made.randn(4096, 3), made.randn(4096, 3)
    a, b = (torch.softmax(made.randn(4096, 32), 0) for _ in range(2))
    kernel = torch.exp(-torch.cdist(x, y) ** 2)

    def step():
        v = torch.ones_like(b)
        for _ in range(20):
            u = a / (kernel @ v)
            v = b / (kernel.T @ u)
        return u * (kernel @ v)

    return step


@program("sparse variational Gaussian process, 1024 of 8192")
def svgp(made):
    x, y = made.randn(8192, 16), made.randn(8192, 1)
    z, mean, root = made.parameter(1024, 16), made.parameter(1024, 1), nn.Parameter(made.eye(1024))
    scale = nn.Parameter(torch.full((16,), 2.0, device=made.device, dtype=made.real))

    def kernel(a, b):
        a, b = a / scale, b / scale
        return torch.exp(a @ b.T - a.square().sum(1)[:, None] / 2 - b.square().sum(1) / 2)

    def loss():
        factor = torch.linalg.cholesky(kernel(z, z) + 1e-2 * made.eye(1024))
        solved = torch.linalg.solve_triangular(factor, kernel(z, x), upper=False)
        spread = solved.T @ root.tril()
        fit = (y - solved.T @ mean).square().sum() + (
            1 - solved.square().sum(0) + spread.square().sum(1)
        ).sum()
        return fit + root.tril().square().sum() + mean.square().sum() - 2 * root.diagonal().abs().log().sum()

    return made.training([z, mean, root, scale], loss)


@program("random Fourier features, 50000 x 64 to 2048")
def fourier_features(made):
    x, w, y = made.randn(50000, 64), made.randn(64, 2048) / 8, made.randn(50000, 8)

    def step():
        features = torch.cos(x @ w)
        return torch.linalg.solve(features.T @ features + 100 * made.eye(2048), features.T @ y)

    return step


@program("nonnegative matrix factorization, 8192 x 4096, rank 64")
def nmf(made):
    x, w0, h0 = made.randn(8192, 4096).abs(), made.randn(8192, 64).abs(), made.randn(64, 4096).abs()

    def step():
        w, h = w0, h0
        for _ in range(5):
            h = h * (w.T @ x) / (w.T @ w @ h + 1e-6)
            w = w * (x @ h.T) / (w @ (h @ h.T) + 1e-6)
        return w, h

    return step


@program("t-SNE gradient, 6000 points")
def tsne(made):
    p, y = torch.softmax(made.randn(6000, 6000), 1), made.randn(6000, 2)

    def step():
        squares = y.square().sum(1)
        q = 1 / (1 + squares[:, None] + squares - 2 * y @ y.T)
        force = (p - q / q.sum()) * q
        return force.sum(1, keepdim=True) * y - force @ y

    return step


@program("hidden Markov model, 512 states, 64 sequences of 100")
def hmm(made):
    moves, emits = torch.softmax(made.randn(512, 512), 1), torch.softmax(made.randn(512, 256), 1)
    seen = made.integers(256, 100, 64)

    def step():
        state, total = torch.full((64, 512), 1 / 512, device=made.device, dtype=made.real), 0
        for t in range(100):
            state = state @ moves * emits[:, seen[t]].T
            norm = state.sum(1, keepdim=True)
            state, total = state / norm, total + norm.log()
        return total

    return step


# ---- Physics, chemistry, finance, control ----------------------------------------------------------------


@program("Kalman filters, 2048 of 16 states")
def kalman(made):
    moves, sees = made.eye(16) + 0.1 * made.randn(2048, 16, 16) / 4, made.randn(2048, 8, 16) / 4
    measured = made.randn(10, 2048, 8, 1)

    def step():
        x, p = made.randn(1).new_zeros(2048, 16, 1), made.eye(16).expand(2048, 16, 16)
        for y in measured:
            x, p = moves @ x, moves @ p @ moves.mT + 0.1 * made.eye(16)
            cross = p @ sees.mT
            gain = torch.cholesky_solve(cross.mT, torch.linalg.cholesky(sees @ cross + made.eye(8))).mT
            x, p = x + gain @ (y - sees @ x), p - gain @ cross.mT
        return x, p

    return step


@program("Lyapunov equation by doubling, 1024")
def lyapunov(made):
    a, q = made.randn(1024, 1024) / 40, made.eye(1024)

    def step():
        x, power = q, a
        for _ in range(6):
            x, power = x + power @ x @ power.T, power @ power
        return x

    return step


@program("coupled clusters, ladder of 20 occupied, 80 virtual; density fitting")
def coupled_clusters(made):
    b, t = made.randn(300, 20, 80), made.randn(20, 20, 80, 80)
    integrals = made.randn(80, 80, 80, 80)

    def step():
        pairs = torch.einsum("Pia,Pjb->ijab", b, b)
        return (
            pairs + torch.einsum("abcd,ijcd->ijab", integrals, t) + torch.einsum("kiac,kjcb->ijab", t, pairs)
        )

    return step


@program("matrix product state, DMRG, bond 512")
def dmrg(made):
    left, right = made.randn(512, 5, 512) / 22, made.randn(512, 5, 512) / 22
    w1, w2, theta = made.randn(5, 5, 2, 2), made.randn(5, 5, 2, 2), made.randn(512, 2, 2, 512)

    def step():
        x = theta
        for _ in range(4):  # Lanczos applies the effective operator
            y = torch.einsum("awb,bstc->awstc", left, x)
            y = torch.einsum("awstc,wvrs->avrtc", y, w1)
            y = torch.einsum("avrtc,vuqt->aurqc", y, w2)
            y = torch.einsum("aurqc,duc->arqd", y, right)
            x = y / y.norm()
        return x

    return step


@program("quantum circuit of 20 qubits, real gates on 5")
def circuit(made):
    gates = [torch.linalg.qr(made.randn(32, 32)).Q for _ in range(4)]
    start = made.randn(2**20)

    def step():
        x = start / start.norm()
        for _ in range(4):
            for gate in gates:
                x = (gate @ x.view(32, -1)).t().reshape(-1)
        return x

    return step


@program("Monte Carlo of 256 correlated assets, 131072 paths")
def monte_carlo(made):
    root = torch.linalg.cholesky(made.eye(256) + 0.3)
    noise = made.randn(4, 32768, 256)

    def step():
        log = sum(0.01 * (x @ root.T) - 5e-5 for x in noise)
        return torch.relu(log.exp().mean(1) - 1).mean()

    return step


@program("codon likelihoods, expm of 256 x 61 x 61 and pruning")
def codons(made):
    rates = made.randn(256, 61, 61).abs()
    rates = rates - torch.diag_embed(rates.sum(2))
    leaves = torch.softmax(made.randn(256, 61, 512), 1)

    def step():
        here = torch.linalg.matrix_exp(rates / 61) @ leaves
        while len(here) > 1:
            here = here[::2] * here[1::2]
            here = here / here.sum(1, keepdim=True)
        return here

    return step


@program("echo state network, 2000 units, 64 series of 50")
def echo_state(made):
    w, inputs, series = 0.9 * made.randn(2000, 2000) / 45, made.randn(2000, 8), made.randn(50, 8, 64)

    def step():
        h, kept = torch.zeros(2000, 64, device=made.device, dtype=made.real), []
        for u in series:
            h = torch.tanh(w @ h + inputs @ u)
            kept.append(h)
        states = torch.cat(kept, 1)
        gram = states @ states.T + 10 * made.eye(2000)
        return torch.cholesky_solve(states @ torch.cat(list(series), 1).T, torch.linalg.cholesky(gram))

    return step
