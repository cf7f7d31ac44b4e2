// SPDX-License-Identifier: Apache-2.0
// Element types: names, sizes, and the mapping from a runtime value to a C++ type.
#include <gtest/gtest.h>
#include <antiphase/core/element.hpp>

#include <bit>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

using namespace antiphase;

namespace {

const std::vector<element> all{element::f32, element::f64, element::i8,  element::i16, element::i32,
                               element::i64, element::u8,  element::u16, element::u32, element::u64};

TEST(element, names_are_read_back) {
  for (element e : all) EXPECT_EQ(parse_element(name(e)), e) << name(e);
}

TEST(element, floats_of_16_bits) {
  for (element e : {element::f16, element::bf16}) {
    EXPECT_EQ(parse_element(name(e)), e);
    EXPECT_TRUE(is_half(e) && is_floating(e) && !is_unsigned(e));
    EXPECT_EQ(size_of(e), 2u);
    with_stored_element(e, [e]<class T>() { EXPECT_EQ(element_of<T>, e); });
  }
  static_assert(with_stored_element(element::i64, []<class T>() { return sizeof(T); }) == 8);
}

// Every bf16 is the upper half of a float. Rounding is to nearest, ties to even, and keeps NaN.
TEST(bf16, is_rounded_to_the_nearest) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const bf16 x{static_cast<std::uint16_t>(bits)};
    const float f = to_float(x);
    if (f != f) {
      EXPECT_NE(to_float(to_bf16(f)), to_float(to_bf16(f))) << bits;
      continue;
    }
    EXPECT_EQ(to_bf16(f), x);
    if ((bits & 0x7FFF) >= 0x7F80) continue;
    const auto above = [&](std::uint32_t lower) {
      return to_bf16(std::bit_cast<float>(bits << 16 | lower)).bits;
    };
    EXPECT_EQ(above(0x7FFF), bits);
    EXPECT_EQ(above(0x8001), bits + 1);
    EXPECT_EQ(above(0x8000), bits + (bits & 1));
  }
  EXPECT_EQ(to_float(to_bf16(3.4028235e38f)), std::numeric_limits<float>::infinity());
  // a NaN whose bits all lie in the lower half
  EXPECT_NE(to_float(to_bf16(std::bit_cast<float>(0x7F800001u))), 0);
  EXPECT_NE(to_bf16(std::bit_cast<float>(0x7F800001u)).bits, 0x7F80);
}

TEST(element, other_names_are_none) {
  for (const char* text : {"", "f", "f8", "F32", "f32 ", " f32", "i128", "float", "u6", "u644"})
    EXPECT_EQ(parse_element(text), std::nullopt) << '"' << text << '"';
}

TEST(element, the_name_says_kind_and_bits) {
  for (element e : all) {
    const std::string text(name(e));
    EXPECT_EQ(std::stoul(text.substr(1)), 8 * size_of(e)) << text;
    EXPECT_EQ(is_floating(e), text[0] == 'f') << text;
    EXPECT_EQ(is_unsigned(e), text[0] == 'u') << text;
  }
}

TEST(element, with_element_gives_the_type_of_the_element) {
  for (element e : all)
    with_element(e, [e]<class T>() {
      EXPECT_EQ(element_of<T>, e);
      EXPECT_EQ(sizeof(T), size_of(e));
      EXPECT_EQ(std::is_floating_point_v<T>, is_floating(e));
      EXPECT_EQ(std::is_unsigned_v<T>, is_unsigned(e));
    });
}

TEST(element, with_element_returns_what_the_function_returns) {
  static_assert(with_element(element::i16, []<class T>() { return sizeof(T); }) == 2);
  std::size_t bytes = 0;
  for (element e : all) bytes += with_element(e, []<class T>() { return sizeof(T); });
  EXPECT_EQ(bytes, 4u + 8u + 2 * (1u + 2u + 4u + 8u));
}

}  // namespace
