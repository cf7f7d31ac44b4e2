// SPDX-License-Identifier: Apache-2.0
// From a linear layer to the launch of a kernel.
#pragma once
#include <antiphase/linear.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "library/choice/plan.hpp"
#include "library/linear/linear_arguments.hpp"

namespace antiphase::linears {

// The kernel, as linear_options name it.
std::string_view name_in_options(const kernel& k);

// Throws bad_request, which names the first argument that is wrong.
void require_sensible(const linear_problem& p, const linear_options& options);
// Throws bad_request if group_ends that the host can read do not rise from 0 to at most m. Called before
// launches only, of sensible problems.
void require_groups(target where, const linear_problem& p);

// A launch. No grid: nothing is to be done.
struct linear_plan {
  kernel code;
  extent3 grid{0, 0, 0};
  linears::arguments arguments;
  double seconds = 0;  // predicted; 0: unknown
};
// Of a sensible problem. Throws bad_request for an unknown kernel, not_supported if the kernel, or none,
// takes the problem or the device.
linear_plan plan_of(const executor& on, const linear_problem& p, const linear_options& options);

// Parts that may begin while the grid before it in the stream runs: none; the launch, which then waits for
// it; or loads of W, too, which no kernel that still runs may write (w_complete).
enum class early_start { none, launch, loads };
// The one that is predicted to be the fastest.
early_start early_start_of(const linear_problem& p, const tile_policy& how, bool w_complete);

// By a kernel that does not stand in the table: for tests.
linear_plan plan_of(const executor& on, const linear_problem& p, const tile_policy& how, const kernel& code);
linear_plan plan_of(const executor& on, const linear_problem& p, const mma_policy& how, const kernel& code);

const std::vector<tile_instance>& tile_instances(target where);
const std::vector<mma_instance>& mma_instances(target where);
// Kernels for operands of a type, by their names in linear_options::kernel.
std::vector<std::string> kernel_names(target where, element in);

}  // namespace antiphase::linears
