// SPDX-License-Identifier: Apache-2.0
// What auto takes today for products that were measured before.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tool/program/text/console.hpp"

namespace antiphase::tool {

// One way in which a record's product was computed.
struct stored_choice {
  std::size_t record;    // its number in the file
  std::string_view way;  // policy; batch_invariant
  std::string shape;
  std::string then, now;  // policies by their names of today; now: "none" if auto refuses the product
};
// Of every product of `bench gemm` in a result file: what auto takes today on the machine that the file
// names, which need not be here. Nothing of machines without a profile. Other records are skipped. Throws
// bad_input, with the file's name, for records that do not follow docs/project/measuring.md.
std::vector<stored_choice> choices_of(const json& file, const std::string& name);

}  // namespace antiphase::tool
