// SPDX-License-Identifier: Apache-2.0
// Twins by target: the lists of kernels_twins_*.cuh, and all of a family.
#pragma once
#include <antiphase/gemm/ladder.hpp>
#include <vector>

#include "src/trace/twin.hpp"

namespace antiphase {
namespace gemms {
namespace cpu {
std::vector<twin> twins_by_threads();
std::vector<twin> twins_by_tma();
std::vector<twin> twins_of_fp16();
std::vector<twin> twins_of_tf32();
std::vector<twin> twins_of_fp64();
std::vector<twin> twins_of_fp64_async();
}  // namespace cpu
namespace cuda {
std::vector<twin> twins_by_threads();
std::vector<twin> twins_by_tma();
std::vector<twin> twins_of_fp16();
std::vector<twin> twins_of_tf32();
std::vector<twin> twins_of_fp64();
std::vector<twin> twins_of_fp64_async();
}  // namespace cuda

const std::vector<twin>& all_twins(target where);
// of the ladder: its steps, with their twins' policies
const std::vector<instance>& traced_instances(target where);
}  // namespace gemms

namespace attentions {
namespace cpu {
std::vector<twin> twins_by_multiply_adds();
std::vector<twin> twins_on_tensor_cores();
}  // namespace cpu
namespace cuda {
std::vector<twin> twins_by_multiply_adds();
std::vector<twin> twins_on_tensor_cores();
}  // namespace cuda

const std::vector<twin>& all_twins(target where);
}  // namespace attentions

namespace scans {
namespace cpu {
std::vector<twin> scan_twins();
std::vector<twin> scan_twins_by_threads();
std::vector<twin> wave_twins();
}  // namespace cpu
namespace cuda {
std::vector<twin> scan_twins();
std::vector<twin> scan_twins_by_threads();
std::vector<twin> wave_twins();
}  // namespace cuda

const std::vector<twin>& all_twins(target where);
}  // namespace scans

}  // namespace antiphase
