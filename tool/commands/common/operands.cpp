// SPDX-License-Identifier: Apache-2.0
#include "tool/commands/common/operands.hpp"

#include <fmt/format.h>

#include <antiphase/core/error.hpp>
#include <memory>

#include "tool/files/convert.hpp"

namespace antiphase::tool {
namespace {

std::string type_name(const npy_array& array) {
  return array.means == meaning::truths ? "b1" : numpy_name(array.type);
}

}  // namespace

npy_array read_operand(const std::string& path, std::string_view operand, const casts& done,
                       std::string_view taker) {
  npy_array array = read_npy(path, booleans::taken);
  if (array.type != element::f32 && !done.allowed)
    throw bad_request(
        fmt::format("{} ({}): the elements are {}, but {} f4; --cast converts them, and says what that loses",
                    array.name, operand, type_name(array), taker));
  return array;
}

void cast(npy_array& array, std::string_view operand, casts& done) {
  if (array.type == element::f32) return;
  const auto as_floats =
      std::make_shared<const cast_floats>(cast_to_floats(array.bytes(), array.type, array.means));
  const cast_loss& loss = as_floats->loss;
  done.text += fmt::format("{}{} from {}: {}", done.text.empty() ? "cast to f4: " : "; ", operand,
                           type_name(array), loss_text(loss));
  done.value[std::string(operand)] = {{"from", type_name(array)},
                                      {"elements", loss.elements},
                                      {"changed", loss.changed},
                                      {"became_infinite", loss.infinite},
                                      {"became_zero", loss.zero},
                                      {"became_denormal", loss.denormal},
                                      {"largest_relative_error", loss.largest_relative_error}};
  array.type = element::f32;
  array.means = meaning::numbers;
  array.data = {as_floats, reinterpret_cast<const std::byte*>(as_floats->values.data())};
}

}  // namespace antiphase::tool
