# SPDX-License-Identifier: Apache-2.0
"""Products, solvers and models of PyTorch, for time_clients.py."""
import functools


def gpt(torch, vocabulary, width, layers, heads, context):
    """A language model like GPT-2."""
    nn, functional = torch.nn, torch.nn.functional

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.before_attention, self.before_mlp = nn.LayerNorm(width), nn.LayerNorm(width)
            self.projections, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x):
            q, k, v = (
                part.unflatten(-1, (heads, -1)).transpose(1, 2)
                for part in self.projections(self.before_attention(x)).chunk(3, dim=-1)
            )
            x = x + self.out(
                functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
            )
            return x + self.down(functional.gelu(self.up(self.before_mlp(x))))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.token, self.place = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
            self.blocks = nn.Sequential(*(Block() for _ in range(layers)))
            self.norm, self.logits = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

        def forward(self, tokens):
            return self.logits(
                self.norm(self.blocks(self.token(tokens) + self.place.weight[: tokens.shape[1]]))
            )

    return Model().cuda()


def loss_of(torch, model, tokens, following):
    return torch.nn.functional.cross_entropy(model(tokens).flatten(0, 1), following.flatten())


def torch_clients(torch):
    """{name: a function that makes the client}. A client is a function that returns its result or None. Each
    is made, timed and dropped before the next one."""
    generator = torch.Generator("cuda").manual_seed(1)

    def randn(*shape):
        return torch.randn(*shape, device="cuda", generator=generator)

    def product(m, n, k):
        a, b = randn(m, k), randn(n, k)
        return lambda: a @ b.T

    def bmm(count, extent):
        a, b = randn(count, extent, extent), randn(count, extent, extent)
        return lambda: torch.bmm(a, b)

    def added(m, n, k):
        a, b, c = randn(m, k), randn(n, k), randn(m, n)
        return lambda: torch.addmm(c, a, b.T, beta=1)

    def mlp_step():
        layers = [layer for _ in range(4) for layer in (torch.nn.Linear(4096, 4096), torch.nn.ReLU())]
        model, x = torch.nn.Sequential(*layers).cuda(), randn(8192, 4096)
        by = torch.optim.SGD(model.parameters(), lr=1e-6)

        def step():
            by.zero_grad()
            model(x).square().mean().backward()
            by.step()

        return step

    def gpt2(train):
        torch.manual_seed(1)
        model = gpt(torch, 50304, 768, 12, 12, 1024)
        tokens = torch.randint(0, 50304, (8, 1024), device="cuda")
        by = torch.optim.AdamW(model.parameters(), lr=1e-6, fused=True)

        def step():
            by.zero_grad()
            loss_of(torch, model, tokens, tokens).backward()
            by.step()

        def forward():
            with torch.no_grad():
                return model(tokens)

        return step if train else forward

    def encoder_step(layers, *shape, tokens=torch.nn.Identity):
        """Blocks as those of BERT-base and ViT-B, after what makes tokens of inputs of a shape."""
        layer = torch.nn.TransformerEncoderLayer(768, 12, 3072, dropout=0, batch_first=True)
        blocks = torch.nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        model, x = torch.nn.Sequential(tokens(), blocks).cuda(), randn(*shape)
        by = torch.optim.AdamW(model.parameters(), lr=1e-6, fused=True)

        def step():
            by.zero_grad()
            model(x).square().mean().backward()
            by.step()

        return step

    class Patches(torch.nn.Module):
        """196 patches of 16 x 16 pixels and a token of the class."""

        def __init__(self):
            super().__init__()
            self.project = torch.nn.Conv2d(3, 768, 16, 16)
            self.kind = torch.nn.Parameter(torch.zeros(1, 1, 768))

        def forward(self, x):
            patches = self.project(x).flatten(2).transpose(1, 2)
            return torch.cat((self.kind.expand(len(x), -1, -1), patches), 1)

    def muon():
        x0 = randn(4096, 4096) / 64

        def steps():
            x = x0 / x0.norm()
            for _ in range(5):
                a = x @ x.T
                x = 3.4445 * x + (-4.775 * a + 2.0315 * (a @ a)) @ x
            return x

        return steps

    def factors(function, extent, definite=False):
        a = randn(extent, extent)
        if definite:
            a = a @ a.T / extent + torch.eye(extent, device="cuda")

        def run():
            function(a)

        return run

    made = {
        f"torch: product {m} x {n} x {k}": functools.partial(product, m, n, k)
        for m, n, k in (
            (512, 512, 512),
            (1024, 1024, 1024),
            (4096, 4096, 4096),
            (1, 4096, 4096),
            (16, 4096, 4096),
            (7680, 7680, 128),
        )
    }
    made |= {
        f"torch: bmm {count} of {extent}^3": functools.partial(bmm, count, extent)
        for count, extent in ((64, 512), (1000, 128))
    }
    made |= {
        "torch: addmm 6000 x 6000 x 256, beta 1": functools.partial(added, 6000, 6000, 256),
        "torch: addmm 5999 x 5999 x 256, beta 1": functools.partial(added, 5999, 5999, 256),
        "torch: MLP step, 4 layers of 4096, 8192 rows": mlp_step,
        "torch: GPT-2 124M step, 8 x 1024 tokens": functools.partial(gpt2, True),
        "torch: GPT-2 124M forward, 8 x 1024 tokens": functools.partial(gpt2, False),
        "torch: encoder step, 6 layers of 768, 8 x 1024 tokens": functools.partial(
            encoder_step, 6, 8, 1024, 768
        ),
        "torch: BERT-base's blocks, step, 16 x 512 tokens": functools.partial(encoder_step, 12, 16, 512, 768),
        "torch: ViT-B step, 64 x 224 x 224 pixels": functools.partial(
            encoder_step, 12, 64, 3, 224, 224, tokens=Patches
        ),
        "torch: Muon, 4096": muon,
    }
    linear = torch.linalg
    for extent in (8192, 16384):
        made |= {
            f"torch: cholesky {extent}": functools.partial(factors, linear.cholesky, extent, True),
            f"torch: lu_factor {extent}": functools.partial(factors, linear.lu_factor, extent),
            f"torch: qr {extent}": functools.partial(factors, linear.qr, extent),
        }
    made["torch: eigh 4096"] = functools.partial(factors, linear.eigh, 4096, True)
    return made
