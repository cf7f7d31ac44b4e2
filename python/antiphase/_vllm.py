# SPDX-License-Identifier: Apache-2.0
"""vLLM's plugin: its batch-invariant mode takes our products, in every process that it starts (docs/use/batch.md)."""
import os


def _is_on(variable):
    return os.environ.get(variable, "") not in ("", "0")


def register():
    """The entry point of group vllm.general_plugins, which vLLM calls in each process before it makes a model. Does
    nothing unless ANTIPHASE_BATCH_INVARIANT is set; what it raises ends vLLM, which would run without the guarantee.
    """
    if not _is_on("ANTIPHASE_BATCH_INVARIANT"):
        return
    if not _is_on("VLLM_BATCH_INVARIANT"):
        raise RuntimeError(
            "antiphase: ANTIPHASE_BATCH_INVARIANT is set and VLLM_BATCH_INVARIANT is not, without which vLLM has no "
            "batch-invariant mode: expected both to be 1"
        )
    from . import torch as of_torch

    of_torch.replace_batch_invariant_ops()
