# SPDX-License-Identifier: Apache-2.0
from jax import Array
from jax.typing import ArrayLike, DTypeLike

def cumsum(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array: ...
def cumprod(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array: ...
def cummax(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array: ...
def cummin(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array: ...
def cumlogsumexp(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array: ...
def dot_product_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    bias: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
    local_window_size: int | tuple[int, int] | None = None,
) -> Array: ...
def linear(
    x: ArrayLike,
    w: ArrayLike,
    bias: ArrayLike | None = None,
    *,
    transposed: bool = False,
    preferred_element_type: DTypeLike | None = None,
) -> Array: ...
