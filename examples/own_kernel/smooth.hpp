// SPDX-License-Identifier: Apache-2.0
// Sums of three neighbours: the parameters of the kernel in smooth.cuh, for kernel and host.
#pragma once

namespace example {

constexpr int tile = 64;  // elements, one per thread

struct smooth_params {
  const int* source;
  int* target;
  int size;  // to[i] = from[i - 1] + from[i] + from[i + 1]; elements outside of the array count as 0
};

enum class last_barrier { kept, forgotten };

}  // namespace example
