# SPDX-License-Identifier: Apache-2.0
"""Calls of TileLang's public examples at small shapes: ENTRY is the stem of the file in list.json."""
import os

import tilelang
import tilelang.profiler
import torch

import sources

ENTRY = None

# References on the host round in another way than those on a GPU.
compared = tilelang.profiler.Profiler.assert_allclose
tilelang.profiler.Profiler.assert_allclose = lambda self, reference, **_: compared(
    self, reference, rtol=1e-2, atol=1e-2
)
REPOSITORY, FOLDER = "tile-ai/tilelang", "examples"
# Calls of main(), or of another function of the file
CASES = {
    "example_mla_decode": ("deepseek_mla", "main", (1, 64, 1, 128, 64, 64)),
    "example_mha_bwd_bshd": ("flash_attention", "main", (1, 1, 128, 64, True)),
    "example_mla_decode_ws": ("deepseek_mla", "main", (1, 64, 1, 128, 512, 64)),
    "example_tilelang_block_sparse_attn": ("blocksparse_attention", "main", ()),
    "example_gqa_sink_fwd_varlen": ("attention_sink", "main", (1, 2, 128, 128, 64, 2, True)),
    "example_mha_fwd_bhsd": ("flash_attention", "main", (1, 1, 128, 128, 64, True)),
    "example_cumsum": ("gdn", "cumsum", ()),
    "example_gqa_fwd_bshd": ("flash_attention", "main", (1, 2, 128, 64, True, 2)),
    "example_mha_bwd_bhsd": ("flash_attention", "main", (1, 1, 128, 64, True)),
    "example_gemm_autotune_pass_configs": ("gemm", "main", (128, 128, 128)),
}


def cumsum(made):
    """The file's own test needs another library for the expected result."""
    kernel = made.tilelang_chunk_local_cumsum_scalar(
        B=1, S=128, H=4, chunk_size=64, reverse=True, head_first=False, input_dtype="float32",
        output_dtype="float32", block_S=64, threads=256, use_fragment=False,
    )  # fmt: skip
    given = torch.randn(1, 128, 4, device="cuda")
    expected = given.reshape(1, 2, 64, 4).flip(2).cumsum(2).flip(2).reshape(1, 128, 4)
    torch.testing.assert_close(kernel(given), expected, rtol=1e-3, atol=1e-3)


if ENTRY:
    os.environ["TILELANG_DEFAULT_TARGET"] = '{"kind": "cuda", "arch": "sm_90a"}'
    torch.manual_seed(1)
    folder, function, arguments = CASES[ENTRY]
    sources.folder(REPOSITORY, FOLDER, "flash_attention")
    made = sources.definitions(REPOSITORY, f"{FOLDER}/{folder}/{ENTRY}.py")
    if function == "cumsum":
        cumsum(made)
    else:
        getattr(made, function)(*arguments)
