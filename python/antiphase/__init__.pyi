# SPDX-License-Identifier: Apache-2.0
from contextlib import AbstractContextManager
from typing import Any, Literal, TypeVar

from ._attention import Causal
from .checking import check as check
from .checking import unwritten as unwritten

_Array = TypeVar("_Array")
_Operation = Literal[
    "sum",
    "product",
    "min",
    "max",
    "log_sum_exp",
    "add",
    "cumsum",
    "prod",
    "multiply",
    "cumprod",
    "minimum",
    "maximum",
]

__version__: str

def matmul(
    a: _Array,
    b: _Array,
    /,
    *,
    out: _Array | None = None,
    precision: Literal["fp32", "strict"] | None = None,
    reproducible: bool = False,
) -> _Array: ...
def explain(
    a: _Array, b: _Array, /, *, precision: Literal["fp32", "strict"] | None = None, reproducible: bool = False
) -> str: ...
def attention(
    q: _Array,
    k: _Array,
    v: _Array,
    /,
    *,
    causal: Causal = False,
    scale: float | None = None,
    mask: _Array | None = None,
    bias: _Array | None = None,
    window: int | tuple[int | None, int | None] | None = None,
    out: _Array | None = None,
) -> _Array: ...
def explain_attention(
    q: _Array,
    k: _Array,
    v: _Array,
    /,
    *,
    causal: Causal = False,
    scale: float | None = None,
    mask: _Array | None = None,
    bias: _Array | None = None,
    window: int | tuple[int | None, int | None] | None = None,
) -> str: ...
def linear(
    x: _Array,
    w: _Array,
    /,
    bias: _Array | None = None,
    *,
    residual: _Array | None = None,
    activation: Literal["relu", "gelu", "gelu_tanh"] | None = None,
    dtype: Any = None,
) -> _Array: ...
def explain_scan(
    x: _Array,
    /,
    *,
    op: _Operation = "sum",
    axis: int = -1,
    reverse: bool = False,
    exclusive: bool = False,
    by_key: _Array | None = None,
    heads: _Array | None = None,
    initial: float | None = None,
    dtype: Any = None,
) -> str: ...
def cumulative_sum(
    x: _Array, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> _Array: ...
def cumsum(x: _Array, /, axis: int | None = None, dtype: Any = None, out: _Array | None = None) -> _Array: ...
def scan(
    x: _Array,
    /,
    *,
    op: _Operation = "sum",
    axis: int = -1,
    reverse: bool = False,
    exclusive: bool = False,
    by_key: _Array | None = None,
    heads: _Array | None = None,
    initial: float | None = None,
    dtype: Any = None,
    out: _Array | None = None,
) -> _Array: ...
def advise(about: Literal["gemm", "scan", "kernel"], **question: Any) -> dict[str, Any]: ...
def device_count() -> int: ...
def enable(*, attention: bool = True, scans: bool = False) -> int: ...
def disable() -> int: ...
def enabled(*, attention: bool = True, scans: bool = False) -> AbstractContextManager[None]: ...
def report() -> str: ...
