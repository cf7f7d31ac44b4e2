// SPDX-License-Identifier: Apache-2.0
// Data of small kernels: numbers to read, zeros to write to, and flags.
#pragma once
#include <antiphase/context.hpp>
#include <cstdint>
#include <span>
#include <vector>

namespace antiphase::test {

struct word_buffers {
  device_array<std::uint32_t> in, out, flag;

  word_buffers(const context& where, int words, int flags, std::uint32_t (*input)(int))
      : in(filled(where, words, input)),
        out(filled(where, words, nothing)),
        flag(filled(where, flags, nothing)) {}

 private:
  static std::uint32_t nothing(int) { return 0; }
  static device_array<std::uint32_t> filled(const context& where, int count, std::uint32_t (*with)(int)) {
    std::vector<std::uint32_t> values;
    for (int i = 0; i < count; ++i) values.push_back(with(i));
    return {where, std::span<const std::uint32_t>(values)};
  }
};

}  // namespace antiphase::test
