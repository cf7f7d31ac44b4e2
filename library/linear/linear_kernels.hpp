// SPDX-License-Identifier: Apache-2.0
// The table of the tiles of linear layers.
#pragma once
#include "library/linear/linear_arguments.hpp"

namespace antiphase::linears {

struct tile_row {
  const char* name;
  tile_policy policy;
};
// Last those of operands across k, whose letters say along what X and W are contiguous, and those by pairs of
// blocks.
constexpr tile_row tiles[] = {{"linear.bf16-64x8", {true, 1, 8}},
                              {"linear.bf16-64x16", {true, 1, 16}},
                              {"linear.bf16-64x32", {true, 1, 32}},
                              {"linear.bf16-64x48", {true, 1, 48}},
                              {"linear.bf16-64x64", {true, 1, 64}},
                              {"linear.bf16-64x96", {true, 1, 96}},
                              {"linear.bf16-64x128", {true, 1, 128}},
                              {"linear.bf16-64x224", {true, 1, 224}},
                              {"linear.bf16-64x256", {true, 1, 256}},
                              {"linear.bf16-128x48", {true, 2, 48}},
                              {"linear.bf16-128x64", {true, 2, 64}},
                              {"linear.bf16-128x96", {true, 2, 96}},
                              {"linear.bf16-128x128", {true, 2, 128}},
                              {"linear.bf16-128x192", {true, 2, 192}},
                              {"linear.bf16-128x224", {true, 2, 224}},
                              {"linear.bf16-128x256", {true, 2, 256}},
                              {"linear.f16-64x8", {false, 1, 8}},
                              {"linear.f16-64x16", {false, 1, 16}},
                              {"linear.f16-64x32", {false, 1, 32}},
                              {"linear.f16-64x48", {false, 1, 48}},
                              {"linear.f16-64x64", {false, 1, 64}},
                              {"linear.f16-64x96", {false, 1, 96}},
                              {"linear.f16-64x128", {false, 1, 128}},
                              {"linear.f16-64x224", {false, 1, 224}},
                              {"linear.f16-64x256", {false, 1, 256}},
                              {"linear.f16-128x48", {false, 2, 48}},
                              {"linear.f16-128x64", {false, 2, 64}},
                              {"linear.f16-128x96", {false, 2, 96}},
                              {"linear.f16-128x128", {false, 2, 128}},
                              {"linear.f16-128x192", {false, 2, 192}},
                              {"linear.f16-128x224", {false, 2, 224}},
                              {"linear.f16-128x256", {false, 2, 256}},
                              {"linear.bf16-64x64-kn", {true, 1, 64, false, true}},
                              {"linear.bf16-64x128-kn", {true, 1, 128, false, true}},
                              {"linear.bf16-128x128-kn", {true, 2, 128, false, true}},
                              {"linear.bf16-128x256-kn", {true, 2, 256, false, true}},
                              {"linear.bf16-64x64-mk", {true, 1, 64, true, false}},
                              {"linear.bf16-64x128-mk", {true, 1, 128, true, false}},
                              {"linear.bf16-128x128-mk", {true, 2, 128, true, false}},
                              {"linear.bf16-128x256-mk", {true, 2, 256, true, false}},
                              {"linear.bf16-64x64-mn", {true, 1, 64, true, true}},
                              {"linear.bf16-64x128-mn", {true, 1, 128, true, true}},
                              {"linear.bf16-128x128-mn", {true, 2, 128, true, true}},
                              {"linear.bf16-128x256-mn", {true, 2, 256, true, true}},
                              {"linear.f16-64x64-kn", {false, 1, 64, false, true}},
                              {"linear.f16-64x128-kn", {false, 1, 128, false, true}},
                              {"linear.f16-128x128-kn", {false, 2, 128, false, true}},
                              {"linear.f16-128x256-kn", {false, 2, 256, false, true}},
                              {"linear.f16-64x64-mk", {false, 1, 64, true, false}},
                              {"linear.f16-64x128-mk", {false, 1, 128, true, false}},
                              {"linear.f16-128x128-mk", {false, 2, 128, true, false}},
                              {"linear.f16-128x256-mk", {false, 2, 256, true, false}},
                              {"linear.f16-64x64-mn", {false, 1, 64, true, true}},
                              {"linear.f16-64x128-mn", {false, 1, 128, true, true}},
                              {"linear.f16-128x128-mn", {false, 2, 128, true, true}},
                              {"linear.f16-128x256-mn", {false, 2, 256, true, true}},
                              {"linear.bf16-64x64-pair", {true, 1, 64, false, false, 0, 2}},
                              {"linear.bf16-64x128-pair", {true, 1, 128, false, false, 0, 2}},
                              {"linear.bf16-128x128-pair", {true, 2, 128, false, false, 0, 2}},
                              {"linear.f16-64x64-pair", {false, 1, 64, false, false, 0, 2}},
                              {"linear.f16-64x128-pair", {false, 1, 128, false, false, 0, 2}},
                              {"linear.f16-128x128-pair", {false, 2, 128, false, false, 0, 2}}};

}  // namespace antiphase::linears
