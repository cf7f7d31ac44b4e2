// SPDX-License-Identifier: Apache-2.0
// Division by a number that is known in advance.
#pragma once
#include <antiphase/core/portable.hpp>
#include <cstdint>

namespace antiphase {

// Quotients of numbers below 2^31 by a multiplication and a shift (Granlund, Montgomery: Division by
// Invariant Integers using Multiplication, 1994). GPUs have no division instruction: a division takes about
// twenty dependent ones.
class divider {
 public:
  constexpr divider() = default;
  // by: 1 ... 2^31 - 1.
  AP_FN constexpr explicit divider(std::uint32_t by) : by_(by) {
    int bits = 0;
    while ((std::uint32_t{1} << bits) < by) ++bits;
    shift_ = 31 + bits;
    // Exceeds 2^shift / by by a relative error below 2^-31: for n < 2^31 the quotient is off by less than 1 /
    // by.
    factor_ = static_cast<std::uint32_t>((std::uint64_t{1} << shift_) / by + 1);
  }
  AP_FN constexpr std::uint32_t by() const { return by_; }
  AP_FN constexpr std::uint32_t quotient(std::uint32_t n) const {
    return static_cast<std::uint32_t>(std::uint64_t{n} * factor_ >> shift_);
  }

 private:
  std::uint32_t by_ = 1, factor_ = (std::uint32_t{1} << 31) + 1;
  std::int32_t shift_ = 31;
};

}  // namespace antiphase
