# SPDX-License-Identifier: Apache-2.0
import torch
from torch import Tensor
from torch.distributed import ProcessGroup

def mm(a: Tensor, b: Tensor) -> Tensor: ...
def bmm(a: Tensor, b: Tensor) -> Tensor: ...
def addmm(input: Tensor, a: Tensor, b: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor: ...
def baddbmm(input: Tensor, a: Tensor, b: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor: ...
def matmul(a: Tensor, b: Tensor) -> Tensor: ...
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor: ...
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor: ...
def cumsum(
    input: Tensor,
    dim: int,
    *,
    dtype: torch.dtype | None = None,
    out: Tensor | None = None,
    group: ProcessGroup | None = None,
) -> Tensor: ...
def cumprod(
    input: Tensor,
    dim: int,
    *,
    dtype: torch.dtype | None = None,
    out: Tensor | None = None,
    group: ProcessGroup | None = None,
) -> Tensor: ...
def cummax(
    input: Tensor, dim: int, *, out: tuple[Tensor, Tensor] | None = None, group: ProcessGroup | None = None
) -> torch.return_types.cummax: ...
def cummin(
    input: Tensor, dim: int, *, out: tuple[Tensor, Tensor] | None = None, group: ProcessGroup | None = None
) -> torch.return_types.cummin: ...
def logcumsumexp(
    input: Tensor, dim: int, *, out: Tensor | None = None, group: ProcessGroup | None = None
) -> Tensor: ...

class Linear(torch.nn.Linear):
    def forward(self, input: Tensor) -> Tensor: ...
