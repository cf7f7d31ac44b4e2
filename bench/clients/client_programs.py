# SPDX-License-Identifier: Apache-2.0
"""Programs of many fields in FP32, for time_clients.py: a step of each, as users of PyTorch write it, returns what it
computed, so that errors can be compared against FP64."""
import torch
from torch import nn


def adding_to(programs):
    """A decorator that takes a program's name: of a function that gets what the program is made of, and returns its step."""
    return lambda name: lambda make: programs.setdefault(name, make)


def parts_of(computed):
    """The tensors that a step has computed, if there is one or more."""
    return [x.detach() for x in ([computed] if torch.is_tensor(computed) else computed)]


class Made:
    """Data, modules and training steps of a program, the same for every type of numbers."""

    def __init__(self, real=torch.float32, device="cuda"):
        self.real, self.device = real, device
        torch.manual_seed(1)
        self.generator = torch.Generator("cuda" if device == "cuda" else "cpu").manual_seed(1)

    def randn(self, *shape):
        return torch.randn(*shape, generator=self.generator, device=self.generator.device).to(
            self.device, self.real
        )

    def integers(self, most, *shape):
        return torch.randint(most, shape, generator=self.generator, device=self.generator.device).to(
            self.device
        )

    def eye(self, n):
        return torch.eye(n, device=self.device, dtype=self.real)

    def module(self, module):
        return module.to(self.device, self.real)

    def mlp(self, *widths, act=nn.GELU):
        layers = [x for m, n in zip(widths, widths[1:]) for x in (nn.Linear(m, n), act())]
        return self.module(nn.Sequential(*layers[:-1]))

    def parameter(self, *shape):
        return nn.Parameter(self.randn(*shape) / shape[-1] ** 0.5)

    def training(self, parameters, loss):
        """A step of AdamW. It computes the gradients."""
        parameters = [x for x in parameters if x.requires_grad]
        by = torch.optim.AdamW(parameters, lr=1e-4, fused=self.device == "cuda")

        def step():
            by.zero_grad()
            loss().backward()
            by.step()
            return [x.grad for x in parameters if x.grad is not None]

        return step
