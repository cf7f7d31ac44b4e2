// SPDX-License-Identifier: Apache-2.0
#include "tool/commands/common/operands.hpp"

#include <fmt/format.h>

#include "tool/base/errors.hpp"

namespace antiphase::tool {

npy_array read_operand(const std::string& path, std::string_view operand, std::string_view taker) {
  npy_array array = read_npy(path, booleans::taken);
  if (array.type != element::f32)
    throw bad_input(fmt::format(
        "{} ({}): the elements are {}, but {} f4; convert the array first with .astype('f4')", array.name,
        operand, array.means == meaning::truths ? "b1" : numpy_name(array.type), taker));
  return array;
}

}  // namespace antiphase::tool
