// SPDX-License-Identifier: Apache-2.0
// Types of PTX that are parts of a register: f16, bf16, and pairs.
#pragma once
#include "checker/plain/ptx/instructions/ptx_instruction.hpp"

namespace antiphase::plain::ptx_code {

// How numbers smaller than their registers are held.
struct small_type {
  view name;
  const char *number, *word, *value = "float";
};
inline const small_type* small_of(view type) {  // null: the type is another
  static constexpr small_type all[] = {
      {"f16", "half_number", "unsigned short"},
      {"bf16", "bfloat_number", "unsigned short"},
      {"f16x2", "half_number", "unsigned"},
      {"bf16x2", "bfloat_number", "unsigned"},
      {"f32x2", "float_number", "unsigned long"},
      {"s16x2", "integer_number<short>", "unsigned", "short"},
      {"u16x2", "integer_number<unsigned short>", "unsigned", "unsigned short"}};
  const auto* const found = std::ranges::find(all, type, &small_type::name);
  return found == std::end(all) ? nullptr : found;
}

}  // namespace antiphase::plain::ptx_code
