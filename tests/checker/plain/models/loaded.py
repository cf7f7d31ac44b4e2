# SPDX-License-Identifier: Apache-2.0
"""An extension in files, which changes an argument; broken: a sum without an atomic operation."""
import os

import torch
from torch.utils.cpp_extension import load

BROKEN = 0

ext = load(
    name="loaded",
    sources=[os.path.join(os.path.dirname(__file__), "loaded.cu")],
    extra_cuda_cflags=["-DBROKEN"] if BROKEN else [],
)
x, b = torch.tensor([[1, 2, 3], [4, 5, 6]]), torch.tensor([10, 20, 30])
sums, n = ext.add_rows_(x, b=b)
assert n == 6
assert x.numpy().tolist() == [[11, 22, 33], [14, 25, 36]]
assert BROKEN or sums.numpy().tolist() == [25, 47, 69]
try:
    ext.add_rows_(b, b)
except RuntimeError as error:
    assert "expected a matrix, not [3]" in str(error)
else:
    raise AssertionError("a vector was taken")
