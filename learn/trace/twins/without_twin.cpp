// SPDX-License-Identifier: Apache-2.0
#include "learn/trace/twins/without_twin.hpp"

#include "learn/trace/twins/twin.hpp"
#include "library/gemm/fp64/fp64_kernels.hpp"

namespace antiphase {
namespace {

constexpr const char
    *gradients = "its ring is that of antiphase, and its products are more: record that",
    *in_registers =
        "its operands go straight into registers, so there is no ring whose device "
        "functions could be recorded",
    *biased = "it is the kernel without bias except for what it adds to the scores: record that",
    *narrow = "it is the kernel of 64 or 128 columns, except that it multiplies fewer: record that",
    *ordered = "it is the kernel without order except for outputs that it computes again: record that",
    *passes = "it reads and writes once, block by block, without a ring";

constexpr kernels_without_twin list[] = {
    {"gemm.naive", "it has no pipeline: every thread reads global memory as it goes"},
    {"gemm.fp64-short", in_registers},
    {"gemm.fp64-dots-", in_registers},
    {"gemm.fp64-kept-", in_registers},
    {"gemm.fp64-block-", in_registers},
    {"gemm.fp64-warp-", in_registers},
    {"gemm.fp64-finish-",
     "it is the fp64-async kernel of that tile with an epilogue: record the product without"},
    {"gemm.tf32-kept-",
     "it is tf32, except for what it keeps from tile to tile: record a product of more k, which tf32 "
     "prepares tile by tile"},
    {"gemm.tf32-pieces-", "it is tf32, except that it adds up K in pieces: record a product by shape"},
    {"gemm.fp16-ordered", ordered},
    {"gemm.fp16-mma-ordered", ordered},
    {"gemm.fp16-split-brief", passes},
    {"gemm.fp16-split-thirds", passes},
    {"gemm.fp16-split-short", passes},
    {"gemm.fp16-split-medium", passes},
    {"gemm.fp16-split-long", passes},
    {"gemm.fp16-split-alone", passes},
    {"gemm.finish", passes},
    {"attention.naive.", "it has no pipeline: every thread reads global memory as it goes"},
    {"attention.few-keys", "it has no pipeline: its few keys are loaded at once"},
    {"attention.fp16-short-", "it has no ring: all threads of a block load, split and multiply"},
    {"attention.fp16-32", narrow},
    {"attention.fp16-48", narrow},
    {"attention.fp16-96", narrow},
    {"attention.fp16-", biased, "-biased"},
    {"attention.fp16-", biased, "-hidden"},
    {"attention.split-", passes},
    {"attention.contract", passes},
    {"attention.dots", passes},
    {"attention.softmax-of-rows", passes},
    {"attention.gradient-",
     "it has one buffer, and loads and computes alternately, as tiled does: record that"},
    {"attention.fp16-", gradients, "-keys"},
    {"attention.fp16-", gradients, "-queries"},
    {"scan.two-barriers", passes},
    {"scan.double-buffer",
     "its two buffers are those of the sums within a block: nothing is loaded while others compute"},
    {"scan.warp-shuffle", passes},
    {"scan.items", passes},
    {"scan.columns", passes},
};

}  // namespace

std::span<const kernels_without_twin> without_twin() { return list; }

const char* why_no_twin(std::string_view kernel) {
  if (!every_twin)
    for (const std::span<const gemms::fp64_kernel> table :
         {std::span<const gemms::fp64_kernel>(gemms::fp64::kernels_by_tma),
          std::span<const gemms::fp64_kernel>(gemms::fp64::kernels_by_cp_async)})
      for (const gemms::fp64_kernel& one : table)
        if (one.name == kernel && !one.drawn)
          return "its recording twin is compiled where CMake gets ANTIPHASE_TWINS=all";
  for (const kernels_without_twin& some : list)
    if (some.covers(kernel)) return some.why;
  return nullptr;
}

}  // namespace antiphase
