// SPDX-License-Identifier: Apache-2.0
// The steps of attention's ladder: each adds one idea to the one before.
#pragma once
#include <antiphase/attention/problem.hpp>
#include <antiphase/executor/executor.hpp>
#include <antiphase/executor/kernel.hpp>
#include <string_view>
#include <vector>

namespace antiphase::attentions {

enum class method {
  naive,  // all scores in memory, three kernels
  tiled,  // one kernel, FP32 multiply-adds
  roles,  // a warp loads, warpgroups compute on Tensor Cores: FP16 parts, three products for each
};

struct step {
  const char* name;
  const char* adds;  // what it adds to the previous step
  attentions::method method;
  int buffers = 0;     // of tiles of K and V, which take turns; roles: those of the ring
  int warpgroups = 0;  // that compute
};

inline constexpr step steps[] = {
    {"naive", "all scores in memory, one output per thread: three kernels", method::naive},
    {"tiled", "tiles in shared memory and a running softmax: one kernel, no scores in memory", method::tiled,
     1},
    {"double-buffered", "2 buffers: V is loaded while Q K is computed, the next K while P V is",
     method::tiled, 2},
    {"roles", "a thread loads into a ring of 5 slots, a warpgroup computes, on Tensor Cores", method::roles,
     5, 1},
    {"antiphase", "a second computing warpgroup: one multiplies while the other takes exponentials",
     method::roles, 5, 2},
};

// The step of that name; throws bad_request, with the known names.
const step& find_step(std::string_view name);

// The kernels that a step launches for a problem, in order, those that prepare its operands among them.
// Throws as attention() does.
std::vector<kernel> kernels_of(const executor& on, const step& s, const problem& p);

}  // namespace antiphase::attentions
