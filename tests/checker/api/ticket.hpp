// SPDX-License-Identifier: Apache-2.0
// Two threads draw tickets; the first writes a number, the other waits for a flag and reads it.
#pragma once
#include <cstdint>

namespace antiphase::test {

struct ticket_params {
  std::uint32_t* ticket;
  std::uint32_t* flag;
  std::uint32_t* number;
  std::uint32_t* seen;
};
enum class publishing { right, relaxed_by_thread_1 };  // the latter shows only if thread 1 comes first

}  // namespace antiphase::test
