// SPDX-License-Identifier: Apache-2.0
// Programs that the tests of check() run.
#pragma once
#include <antiphase/checker.hpp>
#include <array>
#include <stdexcept>
#include "tests/checker/api/ticket.hpp"

namespace antiphase::test {
namespace checked {
kernel ticket_kernel(publishing how);
}  // namespace checked

// Throws if the number has not arrived.
inline auto ticket_program(publishing how) {
  return [how](const context& where) {
    device_array<std::uint32_t> words(where, std::array<std::uint32_t, 4>{0, 0, 3, 5});
    std::uint32_t* const at = words.data();
    const ticket_params params{.ticket = at, .flag = at + 1, .number = at + 2, .seen = at + 3};
    where.runs_on().launch(checked::ticket_kernel(how), {}, &params, nullptr);
    if (words.to_host().back() != 7) throw std::runtime_error("the number has not arrived");
  };
}

}  // namespace antiphase::test
