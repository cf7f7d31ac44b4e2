// SPDX-License-Identifier: Apache-2.0
// f16: conversion of all values and back, and rounding.
#include <gtest/gtest.h>
#include <antiphase/core/half.hpp>
#include <cmath>

namespace antiphase {
namespace {

TEST(half, every_value_comes_back) {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const f16 x{static_cast<std::uint16_t>(bits)};
    const float value = to_float(x);
    if ((bits & 0x7FFF) > 0x7C00)
      ASSERT_TRUE(std::isnan(value) && (to_f16(value).bits & 0x7FFF) > 0x7C00) << bits;
    else
      ASSERT_EQ(to_f16(value).bits, bits);
  }
}

TEST(half, values_by_hand) {
  EXPECT_EQ(to_float(f16{0x3C00}), 1.f);
  EXPECT_EQ(to_float(f16{0xC000}), -2.f);
  EXPECT_EQ(to_float(f16{0x3555}), 0x1.554p-2f);
  EXPECT_EQ(to_float(f16{0x0001}), 0x1p-24f);
  EXPECT_EQ(to_float(f16{0x83FF}), -0x1.ff8p-15f);
  EXPECT_EQ(to_float(f16{0x7BFF}), 65504.f);
  EXPECT_EQ(to_float(f16{0x7C00}), INFINITY);
}

// Between two neighbours: down below the middle, up above it, to even in the middle.
TEST(half, rounds_to_the_nearest_even) {
  for (unsigned bits = 0; bits < 0x7C00; ++bits) {
    const float low = to_float(f16{static_cast<std::uint16_t>(bits)});
    const float high = bits == 0x7BFF ? 65536.f : to_float(f16{static_cast<std::uint16_t>(bits + 1)});
    const float middle = (low + high) / 2;  // exact
    ASSERT_EQ(to_f16(middle).bits, bits + bits % 2) << bits;
    ASSERT_EQ(to_f16(std::nextafter(middle, 0.f)).bits, bits) << bits;
    ASSERT_EQ(to_f16(-std::nextafter(middle, INFINITY)).bits, (bits + 1) | 0x8000) << bits;
  }
  EXPECT_EQ(to_f16(1e10f).bits, 0x7C00);
  EXPECT_EQ(to_f16(-INFINITY).bits, 0xFC00);
}

}  // namespace
}  // namespace antiphase
