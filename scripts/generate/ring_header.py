#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes include/antiphase/ring.cuh: the ring and the device functions it needs as one header for nvcc alone.

The parts are taken from core, channel and device: the GPU bodies, in one namespace, in C++17. So a fix of
theirs is one of the header's.

    ring_header.py           writes the header
    ring_header.py --check   exit status 1 if the header is not what would be written
"""
import argparse
import pathlib
import re
import sys

import wgmma_instructions

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADER = ROOT / "include/antiphase/ring.cuh"

# Headers in the order of their use, and what of them is left out, by name.
PARTS = (
    ("core/cursor.hpp", ()),
    ("core/channel.hpp", ("phase_barrier",)),
    ("core/pipeline.hpp", ("pipelined",)),
    ("device/architecture.cuh", ("has_async_copies", "has_small_instruction_cache", "compiled_for")),
    ("device/index.cuh", ("block_index", "grid_extent")),
    ("device/shared.cuh", ("fixed_shared_limit", "shared", "shared_place")),
    ("device/warp.cuh", ("ballot", "shuffle_words", "shuffle", "shuffle_up", "shuffle_down", "T")),
    ("device/elect.cuh", ()),
    ("device/barrier.cuh", ()),
    ("device/copy_async.cuh", ("copy_async_or_zero",)),
    ("channel/staged_copies.cuh", ()),
    ("channel/async_copies.cuh", ()),
    ("device/mbarrier.cuh", ()),
    ("device/mbarrier_arrivals.cuh", ()),
    ("device/fences.cuh", ("fence_acquire_release",)),
    ("device/bulk.cuh", ()),
    ("core/tensor_map.hpp", ()),
    ("device/tensor_copy.cuh", ()),
    ("device/tensor_store.cuh", ()),
    ("device/multicast.cuh", ()),
    ("device/cluster.cuh", ()),
    ("device/launch.cuh", ()),
    ("device/registers.cuh", ("rematerialise",)),
    ("device/vector.cuh", ()),
    ("device/line_store.cuh", ()),
    ("device/wgmma.cuh", ("wgmma",)),
)

# Edits of comments and bodies that speak of other parts.
EDITS = {
    "// Barrier: init(parties), arrive(how...), wait(parity, who...). As a parameter, so that the same channel\n"
    "// serves mbarriers, stream events, the CPU executor's barriers, a recorder and the tests' model. `how` says\n"
    "// how a party arrives (bytes in flight, a whole warp, a stream); `who` says who waits, for barriers that need\n"
    "// it.\n": "// Barrier: mbarrier, or anything with init(parties), arrive(how...), wait(parity, who...). `how` says how a\n"
    "// party arrives: bytes in flight, a whole warp, when copies have landed.\n",
    "AP_FN constexpr int streams(int count) { return count; }\n": "",
    "AP_DEV std::uint32_t shared_address(": "// The 32-bit address in the block's shared memory, as TMA and mbarriers take it.\n"
    "AP_DEV std::uint32_t shared_address(",
    "return shuffle(value, 0);": "return __shfl_sync(all_lanes, value, 0);",
    " No effect on the CPU executor; the checker verifies which warps call.": " The checker verifies which warps\n// call.",
    "N / 2\n// registers: those of mma() for each 8 columns, warp w holding rows 16 w to 16 w + 15. A in registers is held\n// as for mma(). All threads": "N / 2\n// registers: four of each 8 columns, as mma.m16n8k16 holds them, warp w having rows 16 w to 16 w + 15. All\n// threads",
    "  AP_DEV void wait(unsigned parity) const {\n": "  AP_DEV void wait(unsigned parity) const {\n"
    "#if defined(AP_CHECKED) && !defined(AP_WAIT_BY_PTX)  // which checks the loop below, too\n"
    "    return machine::mbarrier_wait(const_cast<std::uint64_t*>(&word), parity, machine::place::current());\n"
    "#endif\n",
    "executor::encode() makes a tensor_map of it.": "encode() makes a tensor_map of it.",
    "  const void* data = nullptr;                    // memory of the executor, aligned to 16 bytes": "  const void* data = nullptr;                    // of the device, aligned to 16 bytes",
    "A tensor_layout as encoded by an executor. Passed to a kernel in its params.": "A tensor_layout as encoded by the driver. Passed to a kernel as its __grid_constant__ parameter.",
}

HEAD = """\
// SPDX-License-Identifier: Apache-2.0
// The ring in a single header for nvcc (C++17, no library): N buffers between loads and computation.
// Written by scripts/generate/ring_header.py from the headers named below; change those.
//
// Copy it next to your .cu file. Where every thread loads and computes, `pipeline` runs the loop over
// staged_copies (registers, sm_75) or async_copies (cp.async, sm_80). Where warps have roles, `channel`
// passes slots from one to the next: mbarriers (sm_80), bulk and tensor copies (sm_90).
//
//   using namespace antiphase::ring;
//
//   nvcc -arch=sm_80 my.cu                                 or -gencode arch=compute_90a,code=sm_90a
//   antiphase check my.cu                                  its races and missing waits, without a GPU
#if !defined(ANTIPHASE_RING)  // of any copy of it
#define ANTIPHASE_RING
#if defined(AP_FN) && !defined(AP_CHECKED)
#error "antiphase/ring.cuh stands alone: include it or the other headers of antiphase's kernels, not both"
#endif
// clang-format off
#include <cuda.h>  // the types of tensor maps: no library
#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>

#define AP_FN __host__ __device__ __forceinline__
#define AP_DEV __device__ __forceinline__
#define AP_UNROLL _Pragma("unroll")
// 1 for compute-sanitizer's racecheck, which does not understand that one lane's arrival orders its warp
#if !defined(AP_EVERY_LANE_ARRIVES)
#define AP_EVERY_LANE_ARRIVES 0
#endif

#if defined(AP_CHECKED)  // by antiphase check, which names the line that calls a device function
#line LINE "/include/antiphase/ring.cuh"
#endif

namespace antiphase::ring {
struct mbarrier;
"""

# The host's part: the kit's executors do this (core/executor/cuda).
ENCODE = """
// encode(): the tensor_map of a layout, for a kernel's __grid_constant__ parameter. Asks the driver; throws
// std::runtime_error.
inline tensor_map encode(const tensor_layout& t) {
  static void* const encoder = [] {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result{};
#if CUDART_VERSION >= 12050
    const cudaError_t failed = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000,
                                                                cudaEnableDefault, &result);
#else
    const cudaError_t failed =
        cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &found, cudaEnableDefault, &result);
#endif
    if (failed != cudaSuccess || result != cudaDriverEntryPointSuccess)
      throw std::runtime_error("the driver has no cuTensorMapEncodeTiled: expected one for CUDA 12 or newer");
    return found;
  }();
  const CUtensorMapDataType type = t.element_bytes == 1   ? CU_TENSOR_MAP_DATA_TYPE_UINT8
                                   : t.element_bytes == 2 ? CU_TENSOR_MAP_DATA_TYPE_UINT16
                                   : t.element_bytes == 4 ? CU_TENSOR_MAP_DATA_TYPE_UINT32
                                                          : CU_TENSOR_MAP_DATA_TYPE_UINT64;
  const cuuint32_t steps[tensor_dimensions] = {1, 1, 1, 1};
  cuuint64_t extents[tensor_dimensions], strides[tensor_dimensions];
  for (int i = 0; i < t.dimensions; ++i) extents[i] = t.extent[i], strides[i] = t.stride[i];
  CUtensorMap map;
  const CUresult result = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(encoder)(
      &map, type, static_cast<cuuint32_t>(t.dimensions), const_cast<void*>(t.data), extents, strides + 1,
      t.box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, static_cast<CUtensorMapSwizzle>(t.pattern),
      CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS)
    throw std::runtime_error("cuTensorMapEncodeTiled refuses the tensor, error " + std::to_string(result) +
                             ": expected data and strides of multiples of 16 bytes, boxes of at most 256 "
                             "elements a side and one row of the swizzle");
  tensor_map encoded;
  static_assert(sizeof encoded == sizeof map);
  std::memcpy(&encoded, &map, sizeof map);
  return encoded;
}
"""

# The checker names slot and event of an mbarrier that waits for ever.
STANDS_FOR = r"""\1for (Barrier& b : barrier[event]) {
\1  b.init(parties);
#if defined(AP_CHECKED)
\1  if constexpr (std::is_same_v<Barrier, mbarrier>)
\1    machine::mbarrier_stands_for(&b.word, {static_cast<int>(&b - barrier[event]), event, events});
#endif
\1}"""

NAME = re.compile(
    r"(?:(?:concept|struct|class|enum|using|namespace)\s+(?:class\s+|alignas\(\d+\)\s+)?(\w+))"
    r"|(\w+)\s*(?:\(|=|\{|;)"
)


def conditions(text):
    """The text as nvcc sees it: AP_ON_GPU is 1, nothing is checked. Conditions of the architecture stay."""
    known = {
        "AP_ON_GPU": True,
        "!AP_ON_GPU": False,
        "defined(AP_CHECKED)": False,
        "defined(__CUDACC__)": True,
    }
    kept, stack = [], []  # of the stack: whether known, and whether its branch is kept
    for line in text.split("\n"):
        word = line.split()[0] if line.startswith("#") else ""
        if word == "#if":
            condition = line.removeprefix("#if ").strip()
            stack.append([condition in known, known.get(condition, True)])
        elif word in ("#else", "#elif") and stack[-1][0]:
            stack[-1][1] = not stack[-1][1]
        elif word == "#endif" and stack[-1][0]:
            stack.pop()
            continue
        if word and (not stack or stack[-1][0]) and word in ("#if", "#else", "#elif"):
            continue
        if all(keep for _, keep in stack):
            kept.append(line)
        if word == "#endif":
            stack.pop()
    return "\n".join(kept)


def declarations(text):
    """Pieces of a namespace's text: a comment or an empty line, or a declaration with its lines."""
    piece, depth = [], 0
    for line in text.split("\n"):
        code = re.sub(r'"(?:[^"\\]|\\.)*"', '""', line.split("//")[0])
        if code.startswith("#if") or (piece and piece[0].startswith("#if")):
            piece.append(line)
            if code.startswith("#endif"):
                yield "\n".join(piece)
                piece = []
            continue
        if not piece and not code.strip():
            yield line
            continue
        piece.append(line)
        depth += code.count("{") + code.count("(") - code.count("}") - code.count(")")
        if depth == 0 and code.rstrip().endswith((";", "}")):
            yield "\n".join(piece)
            piece = []
    assert not piece, piece


def name_of(declaration):
    text = re.sub(r"template <[^{;]*?>\s(?=AP_|struct|concept|class|using|inline|pipeline)", "", declaration)
    text = re.sub(r"^#.*\n", "", text)
    found = NAME.search(text)
    return (found[1] or found[2]) if found else ""


def without_rows(comment, names):
    """A comment without the rows of a table that explain these names."""
    kept, leaving, indent = [], False, 0
    for line in comment:
        row = re.match(r"//( +)(\w+)(?:<\w+>)?(?:\(\w*\))?(  +|$)", line) or re.match(r"//( )(\w+)(: )", line)
        if row and row[2] in names:
            leaving, indent = True, len(row[1])
            continue
        following = re.match(r"//( +)", line)
        if leaving and following and len(following[1]) > indent:
            continue
        leaving = False
        kept.append(line)
    return kept


def part(path, left_out):
    """The declarations of one header, without those left out and the comments that belong to them alone."""
    text = (ROOT / "include/antiphase" / path).read_text()
    text = conditions(text)
    text = re.sub(r"^#(include|pragma once).*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"^(inline )?namespace .*\{\n|^\}  // namespace.*\n", "", text, flags=re.MULTILINE)
    lines = text.split("\n")
    assert lines[0].startswith("// SPDX"), path
    at = 2
    while lines[at].startswith("//"):  # the rest of the header's subject
        at += 1
    result, comment, alone = [], [], True
    for piece in declarations("\n".join(lines[at:])):
        if piece.startswith("//"):
            comment.append(piece)
            continue
        if not piece.strip():
            result += comment if alone else []
            comment, alone = [], True
            result.append("")
            continue
        alone = False
        if name_of(piece) not in left_out:
            result += without_rows(comment, left_out) + [piece]
            comment = []
    title = f"// {path}"
    body = re.sub(r"\n{3,}", "\n\n", "\n".join(result)).strip("\n")
    return f"\n{title}\n// {'-' * 107}\n{body}\n"


def in_cpp17(text):
    """Concepts and abbreviated templates spelled out; functions that call others of the device are for it."""
    text = text.replace("template <phase_barrier Barrier,", "template <class Barrier,")
    text = text.replace("template <pipelined C>", "template <class C>")
    text = re.sub(
        r"AP_RELAY void (\w+)\(([^)]*?)auto\.\.\. (\w+)\)",
        r"template <class... How> AP_RELAY void \1(\2How... \3)",
        text,
    )
    text = re.sub(
        r"AP_RELAY void (\w+)\(([^)]*?)auto load, auto compute\)",
        r"template <class Load, class Compute> AP_RELAY void \1(\2Load load, Compute compute)",
        text,
    )
    text = re.sub(  # for messages of the CPU executor
        r"( *)for \(Barrier& b : barrier\[event\]\) \{.*?\n\1\}", STANDS_FOR, text, flags=re.DOTALL
    )
    text = text.replace("AP_RELAY", "AP_DEV")
    for word in ("requires", "concept ", "auto..."):
        assert word not in re.sub(r"//.*", "", text), re.findall(r".*" + re.escape(word) + ".*", text)
    return text


def products():
    """wgmma with both operands in shared memory, of f16 and bf16: 64 x N, a form for each N."""
    columns = wgmma_instructions.COLUMNS
    lines = [
        "",
        "// wgmma, wgmma_bf16: start sum += A B, or sum = A B if not `accumulate`; A and B of f16 or bf16 in shared",
        "// memory. Until wgmma_wait the sum's registers must not be read, nor written but by another of its shape.",
        *wgmma_instructions.lists(columns),
        "#define AP_WGMMA(name, type, n, a_at, b_at, if_at, ta_at, tb_at) \\",
        "  template <major A = major::k, major B = major::k> \\",
        "  AP_DEV void name(float (&sum)[n / 2], matrix_descriptor a, matrix_descriptor b, bool accumulate) { \\",
        '    asm volatile("{ .reg .pred p; setp.ne.b32 p, " if_at ", 0; " \\',
        '                 "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." type "." type " {" AP_TEXT_##n \\',
        '                 "}, " a_at ", " b_at ", p, 1, 1, " ta_at ", " tb_at "; }" \\',
        "                 : AP_SUM_##n \\",
        '                 : "l"(a.bits), "l"(b.bits), "r"(static_cast<int>(accumulate)), \\',
        '                   "n"(static_cast<int>(A)), "n"(static_cast<int>(B))); \\',
        "  }",
    ]
    lines += [
        "#define AP_WGMMA_ROW(n, p0, p1, p2, p3, p4) \\",
        '  AP_WGMMA(wgmma, "f16", n, p0, p1, p2, p3, p4) AP_WGMMA(wgmma_bf16, "bf16", n, p0, p1, p2, p3, p4)',
    ]
    lines += [f"AP_WGMMA_ROW({n}, {wgmma_instructions.places(n, 5)})" for n in columns]
    lines += ["#undef AP_WGMMA", "#undef AP_WGMMA_ROW"]
    return "\n".join(lines) + "\n"


LAUNCH = """
// The way in which launch() starts a kernel: with clusters of blocks, neighbours along x, or so that it may
// begin while the kernel before it in the stream ends (wait_for_previous_grid).
struct launch_shape {
  dim3 grid, block;
  std::size_t shared_bytes = 0;  // dynamic
  int cluster = 1;
  bool overlaps_previous = false;
};
// Throws std::runtime_error.
template <class... Params, class... Args>
void launch(void (*kernel)(Params...), const launch_shape& shape, cudaStream_t stream, Args&&... args) {
  cudaLaunchAttribute attribute[2] = {};
  cudaLaunchConfig_t config = {};
  config.gridDim = shape.grid, config.blockDim = shape.block;
  config.dynamicSmemBytes = shape.shared_bytes, config.stream = stream, config.attrs = attribute;
  if (shape.cluster > 1) {
    attribute[config.numAttrs].id = cudaLaunchAttributeClusterDimension;
    attribute[config.numAttrs].val.clusterDim.x = static_cast<unsigned>(shape.cluster);
    attribute[config.numAttrs].val.clusterDim.y = 1;
    attribute[config.numAttrs++].val.clusterDim.z = 1;
  }
  if (shape.overlaps_previous) {
    attribute[config.numAttrs].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute[config.numAttrs++].val.programmaticStreamSerializationAllowed = 1;
  }
  cudaError_t failed = cudaSuccess;
  if (shape.shared_bytes > 48 * 1024)
    failed = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(shape.shared_bytes));
  if (failed == cudaSuccess)
    failed = cudaLaunchKernelEx(&config, kernel, static_cast<Args&&>(args)...);
  if (failed != cudaSuccess)
    throw std::runtime_error(std::string("launching a kernel failed: ") + cudaGetErrorString(failed));
}
"""


def header():
    text = HEAD
    for path, left_out in PARTS:
        text += part(path, left_out)
        if path == "core/tensor_map.hpp":
            text += ENCODE
        if path == "device/launch.cuh":
            text += LAUNCH
    text += products() + "\n}  // namespace antiphase::ring\n#endif\n"
    for old, new in EDITS.items():
        assert text.count(old) == 1, f"expected once: {old}"
        text = text.replace(old, new)
    text = in_cpp17(text)
    return text.replace("#line LINE", f"#line {text[: text.index('#line LINE')].count(chr(10)) + 2}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true")
    if parser.parse_args().check:
        if HEADER.read_text() != header():
            sys.exit("include/antiphase/ring.cuh is not what scripts/generate/ring_header.py writes: run it")
    else:
        HEADER.write_text(header())


if __name__ == "__main__":
    main()
