# SPDX-License-Identifier: Apache-2.0
"""Calls of public Triton kernels at small shapes: ENTRY is the stem of the file in list.json."""
import os
import sys
import types

import torch
import triton
import triton.language

import sources

ENTRY = None
TUTORIALS = ("byoshimi-gmail/triton", "python/tutorials")
GEMS = "FlagOpen/FlagGems"
UNSLOTH = "unslothai/unsloth"

torch.manual_seed(1)
normal = torch.randn


def close(result, expected, tolerance=1e-2):
    torch.testing.assert_close(result.float(), expected.float(), rtol=tolerance, atol=tolerance)


def tutorial(name, *left_out):
    return sources.definitions(TUTORIALS[0], f"{TUTORIALS[1]}/{name}.py", left_out)


def gradients(function, *arguments):
    """Runs a function forward and backward."""
    leaves = [
        a.requires_grad_() if isinstance(a, torch.Tensor) and a.is_floating_point() else a for a in arguments
    ]
    result = function(*leaves)
    results = [r for r in (result if isinstance(result, tuple) else (result,)) if isinstance(r, torch.Tensor)]
    sum((r.float() * torch.randn_like(r.float())).sum() for r in results if r.requires_grad).backward()
    return result


# tutorials


def programmatic_dependent_launch():
    made, x, y = tutorial("11-programmatic-dependent-launch"), normal(3000), normal(3000)
    close(made.add(x, y, True), x + y)
    close(made.add(x, y, False), x + y)


def extern_functions():
    made = tutorial(
        "07-extern-functions", "x", "output_triton", "output_torch", "current_dir", "current_file"
    )
    x, y = torch.rand(1500), torch.zeros(1500)
    made.asin_kernel[(2,)](x, y, 1500, BLOCK_SIZE=1024)
    close(y, torch.asin(x))


def fused_softmax():
    made = tutorial("02-fused-softmax", "x", "y_triton", "y_torch")
    made.warmup = None
    x = normal(7, 781)
    blocks = 1024
    y = torch.empty_like(x)
    for stages in (2, 4):
        made.softmax_kernel[(3,)](y, x, 781, 781, 7, 781, BLOCK_SIZE=blocks, num_stages=stages, num_warps=8)
        close(y, torch.softmax(x, 1))


def persistent_matmul():
    sources.empty("triton.profiler")
    sys.modules["triton.profiler"] = types.ModuleType("triton.profiler")
    triton.profiler = sys.modules["triton.profiler"]
    made = tutorial("09-persistent-matmul", "cublas_workspace", "cublas")
    made.cublas = None
    a, b = normal(256, 192).half(), normal(256, 192).half()  # b: transposed
    expected = a.float() @ b.T.float()
    for call in (
        lambda: made.matmul(a, b.T),
        lambda: made.matmul_persistent(a, b.T),
        lambda: made.matmul_tma(a, b, False),
        lambda: made.matmul_tma_persistent(a, b, False),
    ):
        close(call(), expected, 0.05)


def vector_add():
    made, x, y = (
        tutorial("01-vector-add", "x", "y", "output_torch", "output_triton"),
        normal(3000),
        normal(3000),
    )
    close(made.add(x, y), x + y)


def layer_norm():
    made = tutorial("05-layer-norm")
    # 256 locks: rows 256 apart share one
    x, w, b = normal(260, 40).half(), normal(40).half(), normal(40).half()
    y = gradients(lambda x, w, b: made.LayerNorm.apply(x, (40,), w, b, 1e-5), x, w, b)
    close(y, torch.nn.functional.layer_norm(x.float(), (40,), w.float(), b.float()), 0.05)


def low_memory_dropout():
    made = tutorial("04-low-memory-dropout", "x", "x_keep", "output", "output2", "output3", "p")
    x, keep = normal(1500), (torch.rand(1500) > 0.5).int()
    close(made.dropout(x, keep, 0.5), x * keep * 2)
    made.seeded_dropout(x, 0.5, 123)


# FlagGems


def gems(module):
    os.environ["GEMS_VENDOR"] = "nvidia"
    sources.folder(GEMS, "src")
    return __import__(f"flag_gems.{module}", fromlist=["x"])


def diag():
    made = gems("ops.diag")
    x, m = normal(70), normal(40, 50)
    for k in (0, 3, -2):
        close(made.diag(x, k), torch.diag(x, k))
        close(made.diag(m, k), torch.diag(m, k))


def multinomial():
    made = gems("ops.multinomial")
    made.multinomial(torch.rand(3, 70), 200, True)


def reshape_and_cache_flash():
    made = gems("fused.reshape_and_cache_flash")
    key, value = normal(6, 2, 32), normal(6, 2, 32)
    keys, values = torch.zeros(3, 4, 2, 32), torch.zeros(3, 4, 2, 32)
    slots, scale = torch.tensor([0, 5, -1, 7, 11, 2]), torch.ones(1)
    made.reshape_and_cache_flash(key, value, keys, values, slots, "auto", scale, scale)
    close(keys.view(12, 2, 32)[5], key[1])


def moe_align_block_size():
    made = gems("fused.moe_align_block_size")
    made.moe_align_block_size(torch.randint(0, 8, (40, 2), dtype=torch.int32), 16, 8)


def sum_():
    made, x = gems("ops.sum"), normal(6, 70, 5)
    close(made.sum(x), x.sum())
    for axes in ([1], [2], [0, 2]):
        close(made.sum_dim(x, axes), x.sum(axes))


def bmm():
    made, a, b = gems("ops.bmm"), normal(2, 70, 40).half(), normal(2, 40, 90).half()
    close(made.bmm(a, b), torch.bmm(a.float(), b.float()), 0.05)


def addmm():
    made, c, a, b = gems("ops.addmm"), normal(90).half(), normal(70, 40).half(), normal(40, 90).half()
    close(made.addmm(c, a, b), c.float() + a.float() @ b.float(), 0.05)


# Liger


def liger(module):
    sources.folder("linkedin/Liger-Kernel", "src")
    return __import__(f"liger_kernel.ops.{module}", fromlist=["x"])


def dyt():
    gradients(liger("dyt").LigerDyTFunction.apply, normal(5, 300), torch.ones(1), normal(300), normal(300))


def sparsemax():
    y = gradients(liger("sparsemax").LigerSparsemaxFunction.apply, normal(5, 300), -1)
    close(y.sum(-1), torch.ones(5))


def llama4_rope():
    made = liger("llama4_rope").LigerLlama4RopeFunction
    turns = torch.polar(torch.ones(6, 16), normal(6, 16))
    gradients(lambda q, k: made.apply(q, k, turns), normal(2, 6, 4, 32), normal(2, 6, 2, 32))


def cross_entropy():
    made = liger("cross_entropy").LigerCrossEntropyFunction
    target = torch.tensor([3, 299, -100, 0, 17])
    x = normal(5, 300)
    expected = torch.nn.functional.cross_entropy(x, target)
    close(gradients(lambda x: made.apply(x, target, None, -100), x.clone())[0], expected)
    gradients(
        lambda x: made.apply(x, target, torch.rand(300), -100, 1e-4, 0.1, "mean", 30.0, True), x.clone()
    )


def qwen2vl_mrope():
    made = liger("qwen2vl_mrope").LigerQwen2VLMRopeFunction
    c, s = normal(3, 2, 6, 32), normal(3, 2, 6, 32)
    gradients(lambda q, k: made.apply(q, k, c, s, [4, 6, 6]), normal(2, 4, 6, 32), normal(2, 2, 6, 32))


def swiglu():
    made = liger("swiglu")
    gradients(made.LigerSiLUMulFunction.apply, normal(5, 300), normal(5, 300))
    gradients(made.LigerFusedGateUpSiLUMulFunction.apply, normal(5, 600))


# flash-linear-attention


def fla(module):
    sources.folder("fla-org/flash-linear-attention")
    return __import__(f"fla.ops.{module}", fromlist=["x"])


def wy_fast_fwd():
    made = fla("generalized_delta_rule.dplr.wy_fast_fwd")
    for size in (32, 64):
        ag, v = normal(1, 70, 1, 32), normal(1, 70, 1, 32)
        parts = [torch.rand(1, 70, 1, size) * 0.1 for _ in range(2)]
        made.prepare_wy_repr_fwd(ag, v, *parts, None, size)


def chunk_bwd():
    made = fla("gdn2.chunk")
    shape = (1, 70, 2, 32)
    inputs = [torch.nn.functional.normalize(normal(*shape), dim=-1) for _ in range(2)]
    gates = [-torch.rand(shape), torch.rand(shape), torch.rand(shape)]
    gradients(lambda *a: made.chunk_gdn2(*a), *inputs, normal(*shape), *gates)


def fused_k_update():
    made = fla("rwkv7.fused_k_update")
    for rows in (40, 600):
        k, a, ka = normal(1, rows, 96), normal(1, rows, 96), normal(96)
        result = gradients(made.fused_k_rwkv7, k, a, ka)
        close(result, made.k_update_ref(k, a, ka))


def fused_recurrent_hgrn():
    made = fla("hgrn.fused_recurrent")
    x, g, h = normal(2, 20, 96), -torch.rand(2, 20, 96), normal(2, 96)
    gradients(lambda x, g, h: made.fused_recurrent_hgrn(x, g, h, True), x, g, h)


def fused_recurrent_gdn2():
    made = fla("gdn2.fused_recurrent")
    shape = (1, 20, 2, 32)
    made.fused_recurrent_gdn2(
        *(normal(*shape) for _ in range(3)),
        -torch.rand(shape),
        torch.rand(shape),
        torch.rand(shape),
        scale=0.2,
    )


def parallel_simple_gla():
    made = fla("simple_gla.parallel")
    q, k, v, g = *(normal(1, 130, 1, 32) for _ in range(3)), -torch.rand(1, 130, 1)
    gradients(lambda *a: made.parallel_simple_gla(*a)[0], q, k, v, g)


# unsloth


def unsloth(path, *packages):
    sources.empty("unsloth")
    package = types.ModuleType("unsloth_kernels")
    package.__path__ = [sources.folder(UNSLOTH, "unsloth/kernels")]
    sys.modules["unsloth_kernels"] = package
    return __import__(f"unsloth_kernels.{path}", fromlist=["x"])


def rms_layernorm():
    sources.empty("transformers", "bitsandbytes", "peft", "unsloth_zoo", "device_type", "unsloth")
    package = types.ModuleType("kernels")
    package.__path__ = []
    utils = types.ModuleType("kernels.utils")
    utils.calculate_settings = lambda n: (triton.next_power_of_2(n), 4)
    utils.torch_gpu_device = torch.cuda.device
    sys.modules |= {"kernels": package, "kernels.utils": utils}
    left_out = ("LlamaRMSNorm", "MllamaTextRMSNorm", "Unsloth_LlamaRMSNorm", "Unsloth_MllamaTextRMSNorm")
    made = sources.definitions(UNSLOTH, "unsloth/kernels/rms_layernorm.py", left_out, "kernels.rms_layernorm")
    x, w = normal(3, 5, 300), normal(300)
    for gemma in (False, True):
        y = gradients(lambda x: made.Fast_RMS_Layernorm.apply(x, w, 1e-6, gemma), x.clone())
        close(y, torch.nn.functional.rms_norm(x, (300,), w + gemma, 1e-6))


def forward():
    made = unsloth("moe.grouped_gemm.interface")
    x, w = normal(40, 64).half(), normal(3, 96, 64).half()
    sizes = torch.tensor([13, 0, 27], dtype=torch.int32)
    expected = torch.cat([x[:13].float() @ w[0].T.float(), x[13:].float() @ w[2].T.float()])
    y = made.grouped_gemm_forward(x, w, 1, sizes)
    close(y, expected, 0.05)
    order = torch.randperm(40).int()
    y = made.grouped_gemm_forward(x, w, 1, sizes, order, permute_x=True)
    close(y[:13], x[order[:13].long()].float() @ w[0].T.float(), 0.05)
    made.grouped_gemm_forward(x, w, 1, sizes, order, permute_y=True)


# vLLM


def vllm(path, *left_out):
    sources.empty("vllm")
    import vllm.triton_utils

    vllm.triton_utils.tl, vllm.triton_utils.triton = triton.language, triton
    return sources.definitions("1CatAI/1Cat-vLLM", f"vllm/{path}.py", left_out)


def mxfp4_sm70_moe():
    made = vllm("model_executor/layers/quantization/mxfp4_sm70_moe", "Mxfp4MoEMethod")
    experts = torch.sort(torch.randint(0, 9, (36,), dtype=torch.int32))[0]
    offsets, active = torch.empty(37, dtype=torch.int32), torch.empty(36, dtype=torch.int32)
    made._compact_mxfp4_active_experts(experts, offsets, active)
    distinct = experts.unique()
    assert (active[: len(distinct)] == distinct).all()


def buffer_utils():
    made = vllm("v1/worker/gpu/buffer_utils")
    rows, first = torch.tensor([4, 0, 2], dtype=torch.int32), torch.tensor([0, 10, 3], dtype=torch.int32)
    ends, data, out = torch.tensor([1500, 1510, 1511], dtype=torch.int32), normal(1511), torch.zeros(5, 2000)
    made._apply_write_kernel[(3,)](out, out.stride(0), rows, first, data, ends, BLOCK_SIZE=1024)
    close(out[4, :1500], data[:1500])


ENTRIES = {
    "11-programmatic-dependent-launch": programmatic_dependent_launch,
    "07-extern-functions": extern_functions,
    "02-fused-softmax": fused_softmax,
    "09-persistent-matmul": persistent_matmul,
    "01-vector-add": vector_add,
    "05-layer-norm": layer_norm,
    "04-low-memory-dropout": low_memory_dropout,
    "sum": sum_,
    "hgrn/fused_recurrent": fused_recurrent_hgrn,
    "gdn2/fused_recurrent": fused_recurrent_gdn2,
    "parallel": parallel_simple_gla,
}
if ENTRY:
    (ENTRIES.get(ENTRY) or globals()[ENTRY])()
