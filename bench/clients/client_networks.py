# SPDX-License-Identifier: Apache-2.0
"""Steps of operators, graphs, learning and optimizers, for time_clients.py."""
import math

import torch
from torch import nn
from torch.nn import functional

from client_programs import adding_to

PROGRAMS = {}
program = adding_to(PROGRAMS)


# ---- Operators, fields and graphs ------------------------------------------------------------------------


@program("DeepONet, 512 functions x 2048 points")
def deeponet(made):
    branch, trunk = made.mlp(128, 512, 512, 512, 256), made.mlp(2, 512, 512, 512, 256)
    sensed, places, truth = made.randn(512, 128), made.randn(2048, 2), made.randn(512, 2048)
    return made.training(
        [*branch.parameters(), *trunk.parameters()],
        lambda: (branch(sensed) @ trunk(places).T - truth).square().mean(),
    )


@program("Fourier neural operator, 16 x 64 x 128 x 128")
def fno(made):
    x = made.randn(16, 128, 128, 64)
    lift, mixes = made.mlp(64, 128, 64), [made.parameter(2, 16, 16, 64, 64) for _ in range(2)]

    def loss():
        y = x
        for w in mixes:
            modes = torch.fft.rfft2(y, dim=(1, 2))[:, :16, :16]
            mixed = torch.einsum("bxyi,xyio->bxyo", modes, torch.complex(w[0], w[1]))
            y = torch.fft.irfft2(
                functional.pad(mixed, (0, 0, 0, 49, 0, 112)), s=(128, 128), dim=(1, 2)
            ) + lift(y)
        return y.square().mean()

    return made.training([*lift.parameters(), *mixes], loss)


@program("NeRF, 65536 samples, 8 layers of 256")
def nerf(made):
    net, x = made.mlp(*[63] + [256] * 8 + [4], act=nn.ReLU), made.randn(65536, 63)
    return made.training(net.parameters(), lambda: net(x).square().mean())


@program("dense graph network, 256 graphs of 64 nodes")
def dense_graph(made):
    near = torch.softmax(made.randn(256, 64, 64), 2)
    x, layers = made.randn(256, 64, 128), [made.parameter(128, 128) for _ in range(6)]

    def loss():
        h = x
        for w in layers:
            h = h + functional.gelu(near @ (h @ w))
        return h.mean(1).square().sum()

    return made.training(layers, loss)


@program("Hopfield retrieval, 4096 of 32768 patterns of 256")
def hopfield(made):
    patterns, state = made.randn(32768, 256), made.randn(4096, 256)

    def step():
        x = state
        for _ in range(3):
            x = torch.softmax(x @ patterns.T / 16, 1) @ patterns
        return x

    return step


@program("recommendations (DLRM), 8192 x 27 x 64")
def dlrm(made):
    table, bottom, top = (
        made.parameter(100000, 64),
        made.mlp(13, 512, 256, 64),
        made.mlp(64 + 27 * 27, 512, 256, 1),
    )
    dense, sparse = made.randn(8192, 13), made.integers(100000, 8192, 26)

    def loss():
        x = bottom(dense)
        both = torch.cat((x[:, None], functional.embedding(sparse, table)), 1)
        crossed = torch.bmm(both, both.transpose(1, 2)).flatten(1)
        return functional.softplus(top(torch.cat((x, crossed), 1))).mean()

    return made.training([table, *bottom.parameters(), *top.parameters()], loss)


# ---- Learning --------------------------------------------------------------------------------------------


@program("GRU by hand, 256 x 64 steps, width 512")
def gru(made):
    cell, x = made.module(nn.GRUCell(256, 512)), made.randn(64, 256, 256)

    def loss():
        h = x.new_zeros(256, 512)
        for one in x:
            h = cell(one, h)
        return h.square().mean()

    return made.training(cell.parameters(), loss)


@program("normalizing flow, 8 couplings of 512, 4096 rows")
def flow(made):
    nets, x = nn.ModuleList(made.mlp(32, 512, 512, 64, act=nn.ReLU) for _ in range(8)), made.randn(4096, 64)

    def loss():
        a, b, volume = x[:, :32], x[:, 32:], 0
        for net in nets:
            scale, shift = net(a).chunk(2, 1)
            a, b, volume = b * torch.tanh(scale).exp() + shift, a, volume + torch.tanh(scale).sum(1)
        return (a.square().sum(1) / 2 + b.square().sum(1) / 2 - volume).mean()

    return made.training(nets.parameters(), loss)


@program("contrastive loss, 8192 pairs of 256")
def contrastive(made):
    net, x, y = made.mlp(512, 1024, 256), made.randn(8192, 512), made.randn(8192, 512)

    def loss():
        a, b = (functional.normalize(net(z), dim=1) for z in (x, y))
        return functional.cross_entropy(10 * a @ b.T, torch.arange(8192, device=made.device))

    return made.training(net.parameters(), loss)


@program("margin loss of 50000 classes (ArcFace), 1024 x 512")
def arcface(made):
    classes, x, truth = made.parameter(50000, 512), made.parameter(1024, 512), made.integers(50000, 1024)

    def loss():
        cosines = functional.normalize(x, dim=1) @ functional.normalize(classes, dim=1).T
        return functional.cross_entropy(16 * (cosines - 0.3 * functional.one_hot(truth, 50000)), truth)

    return made.training([classes, x], loss)


class Block(nn.Module):
    """Attention with rotary positions, perhaps fewer heads of keys, and an MLP."""

    def __init__(self, width, heads, groups=None, causal=True):
        super().__init__()
        self.heads, self.groups, self.causal = heads, groups or heads, causal
        self.depth = width // heads
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.q, self.out = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.kv = nn.Linear(width, 2 * self.groups * self.depth, bias=False)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def rotated(self, x):
        s, d = x.shape[2], self.depth // 2
        angle = torch.outer(
            torch.arange(s, device=x.device), 1e4 ** (-torch.arange(d, device=x.device) / d)
        ).to(x.dtype)
        a, b = x.chunk(2, -1)
        return torch.cat((a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()), -1)

    def forward(self, x, bias=None):
        y = self.norm1(x)
        q = self.q(y).unflatten(2, (self.heads, -1)).transpose(1, 2)
        k, v = self.kv(y).unflatten(2, (2 * self.groups, -1)).transpose(1, 2).chunk(2, 1)
        q, k = self.rotated(q), self.rotated(k)
        same = self.groups == self.heads
        y = functional.scaled_dot_product_attention(
            q, k, v, bias, is_causal=self.causal and bias is None, enable_gqa=not same
        )
        x = x + self.out(y.transpose(1, 2).flatten(2))
        return x + self.down(functional.gelu(self.up(self.norm2(x))))


def transformer(made, shape, layers, heads, bias=None, **kinds):
    blocks, x = made.module(
        nn.ModuleList(Block(shape[2], heads, **kinds) for _ in range(layers))
    ), made.randn(*shape)

    def loss():
        y = x
        for block in blocks:
            y = block(y, bias)
        return y.square().mean()

    return made.training(blocks.parameters(), loss)


@program("rotary, 16 heads and 4 of keys, 4 x 1024 x 1024, 4 layers")
def grouped_heads(made):
    return transformer(made, (4, 1024, 1024), 4, 16, groups=4)


@program("sliding window of 256, 2 x 2048 x 512, 4 layers")
def sliding(made):
    i = torch.arange(2048, device=made.device)
    far = (i[:, None] - i < 0) | (i[:, None] - i >= 256)
    return transformer(made, (2, 2048, 512), 4, 8, bias=~far)


@program("slopes for distances (ALiBi), 4 x 1024 x 768, 4 layers")
def alibi(made):
    i = torch.arange(1024, device=made.device)
    distance = (i[:, None] - i).to(made.real)
    slope = 2.0 ** -torch.arange(1, 13, device=made.device, dtype=made.real)
    bias = (-slope[:, None, None] * distance).masked_fill(distance < 0, -math.inf)
    return transformer(made, (4, 1024, 768), 4, 12, bias=bias.expand(4, 12, 1024, 1024))


@program("small image transformer (DiT), 64 x 256 x 384, 6 layers")
def image(made):
    return transformer(made, (64, 256, 384), 6, 6, causal=False)


@program("preferences (DPO), 8 pairs of 256 tokens, 4 layers of 512")
def dpo(made):
    def model():
        parts = nn.ModuleList(
            [nn.Embedding(32000, 512), *(Block(512, 8) for _ in range(4)), nn.Linear(512, 32000)]
        )
        return made.module(parts)

    policy, reference, tokens = model(), model(), made.integers(32000, 16, 256)

    def likelihood(parts):
        x = parts[0](tokens)
        for part in parts[1:]:
            x = part(x)
        return -functional.cross_entropy(x[:, :-1].transpose(1, 2), tokens[:, 1:], reduction="none").sum(1)

    def loss():
        with torch.no_grad():
            base = likelihood(reference)
        better, worse = (likelihood(policy) - base).chunk(2)
        return -functional.logsigmoid(0.01 * (better - worse)).mean()

    return made.training(policy.parameters(), loss)


@program("latents and inputs (Perceiver), 8 x 256 of 4096 x 512")
def perceiver(made):
    attends = [made.module(nn.MultiheadAttention(512, 8, batch_first=True)) for _ in range(3)]
    net, latent, x = made.mlp(512, 2048, 512), made.parameter(8, 256, 512), made.randn(8, 4096, 512)

    def loss():
        y = latent + attends[0](latent, x, x, need_weights=False)[0]
        for attend in attends[1:]:
            y = y + attend(y, y, y, need_weights=False)[0]
        return (y + net(y)).square().mean()

    return made.training([latent, *net.parameters(), *(p for a in attends for p in a.parameters())], loss)


@program("soft mixture of 16 experts, 4096 x 512")
def soft_experts(made):
    x, slots = made.randn(4096, 512), made.parameter(512, 16 * 64)
    up, down = made.parameter(16, 512, 1024), made.parameter(16, 1024, 512)

    def loss():
        scores = x @ slots
        inside = (torch.softmax(scores, 0).T @ x).view(16, 64, 512)
        outside = functional.gelu(inside @ up) @ down
        return (torch.softmax(scores, 1) @ outside.view(-1, 512)).square().mean()

    return made.training([slots, up, down], loss)


@program("state space by chunks (SSD), 4 x 2048 x 8 x 64")
def state_space(made):
    x, b, c = (made.parameter(4, 8, 32, 64, 64) for _ in range(3))
    rate = nn.Parameter(made.randn(4, 8, 32, 64).abs() / 64)

    def loss():
        decay = -rate.cumsum(-1)
        inside = (decay[..., :, None] - decay[..., None, :]).tril().exp().tril()
        y = (c @ b.mT * inside) @ x
        states = (b * (decay[..., -1:] - decay).exp()[..., None]).mT @ x
        whole, kept = torch.zeros_like(states[:, :, 0]), []
        for i in range(32):
            kept.append(whole)
            whole = whole * decay[:, :, i, -1:, None].exp() + states[:, :, i]
        return (y + (c * decay.exp()[..., None]) @ torch.stack(kept, 2)).square().mean()

    return made.training([x, b, c, rate], loss)


# ---- Optimizers ------------------------------------------------------------------------------------------


@program("Shampoo roots by coupled Newton, 8 of 1024")
def shampoo(made):
    gradients = made.randn(8, 1024, 1024) / 32

    def step():
        a = gradients @ gradients.mT + 0.1 * made.eye(1024)
        scale = a.diagonal(dim1=1, dim2=2).sum(1)[:, None, None] / 256
        m, root = a / scale, made.eye(1024).expand(8, 1024, 1024)
        for _ in range(6):
            t = (5 * made.eye(1024) - m) / 4
            root, square = root @ t, t @ t
            m = square @ square @ m
        return root @ gradients

    return step


@program("natural gradients (K-FAC), 4 layers of 1024, 4096 rows")
def kfac(made):
    inputs, outputs, gradients = (
        made.randn(4, 4096, 1024),
        made.randn(4, 4096, 1024),
        made.randn(4, 1024, 1024),
    )

    def step():
        found = []
        for a, g, w in zip(inputs, outputs, gradients):
            left, right = (x.T @ x / 4096 + 0.1 * made.eye(1024) for x in (g, a))
            solved = torch.cholesky_solve(w, torch.linalg.cholesky(left))
            found.append(torch.cholesky_solve(solved.T, torch.linalg.cholesky(right)).T)
        return found

    return step
