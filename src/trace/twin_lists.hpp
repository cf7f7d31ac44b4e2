// SPDX-License-Identifier: Apache-2.0
// The twins of each target, as the lists kernels_twins_*.cuh give them.
#pragma once
#include <vector>

#include "src/trace/twin.hpp"

namespace antiphase {
namespace gemms {
namespace cpu {
std::vector<twin> twins_by_threads();
std::vector<twin> twins_by_engine();
std::vector<twin> twins_of_split();
std::vector<twin> twins_of_streams();
}  // namespace cpu
namespace cuda {
std::vector<twin> twins_by_threads();
std::vector<twin> twins_by_engine();
std::vector<twin> twins_of_split();
std::vector<twin> twins_of_streams();
}  // namespace cuda
}  // namespace gemms

namespace scans {
namespace cpu {
std::vector<twin> scan_twins();
}
namespace cuda {
std::vector<twin> scan_twins();
}
}  // namespace scans

}  // namespace antiphase
