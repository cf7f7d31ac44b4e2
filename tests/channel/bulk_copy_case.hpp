// SPDX-License-Identifier: Apache-2.0
// Host-side description of one instance of the bulk copy kernel.
#pragma once
#include <antiphase/executor/kernel.hpp>
#include <vector>
#include "examples/bulk_copy.hpp"

namespace antiphase::test {

struct bulk_copy_case {
  examples::bulk_copy_policy policy;
  antiphase::kernel kernel;
};

}  // namespace antiphase::test
