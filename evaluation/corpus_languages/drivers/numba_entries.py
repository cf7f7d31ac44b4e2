# SPDX-License-Identifier: Apache-2.0
"""The examples of Numba's documentation, with fewer elements: ENTRY is the stem of the file in list.json."""
import contextlib

import numpy

with contextlib.suppress(ImportError):  # where it is not in a folder of site-packages
    import _numba_cuda_redirector  # noqa: F401
from numba import cuda, float32

import sources

ENTRY = None
FOLDER = "numba_cuda/numba/cuda/tests/doc_examples"
CASES = {
    "test_reduction": ("test_ex_reduction", {}),
    "test_vecadd": ("test_ex_vecadd", {"N": "1000"}),
    "test_matmul": ("test_matmul", {}),
    "test_cg": (
        "test_ex_grid_sync",
        {"A": "np.zeros((64, 64), np.int32)", "reference": "np.tile(np.arange(64), (64, 1)).T"},
    ),
    "test_ufunc": ("test_ex_cuda_ufunc_call", {}),
    "test_laplace": ("test_ex_laplace", {"niter": "20"}),
    "test_globals": ("test_ex_globals_constant_capture", {}),
    "test_cpu_gpu_compat": ("test_ex_cpu_gpu_compat", {}),
    "test_sessionize": ("test_ex_sessionize", {}),
    "test_montecarlo": ("test_ex_montecarlo", {"nsamps": "1000"}),
}

if ENTRY:
    name, constants = CASES[ENTRY]
    function = sources.body("NVIDIA/numba-cuda", f"{FOLDER}/{ENTRY}.py", name, **constants)
    function.__globals__.update(captured_stdout=contextlib.nullcontext, np=numpy, cuda=cuda, float32=float32)
    function()
