// SPDX-License-Identifier: Apache-2.0
// The numbers of a warp's product, from and to the registers of its lanes.
#pragma once
#include <antiphase/executor/cpu/machine_plain.hpp>

namespace antiphase::cpu_detail {

struct lane_registers {
  void* d;
  const void *a, *b, *c;
};
void multiply_warp(const machine::warp_product& what, const lane_registers (&lanes)[32]);

}  // namespace antiphase::cpu_detail
