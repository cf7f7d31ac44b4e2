// Element types: names, sizes, and the way from a value to a C++ type.
#include <gtest/gtest.h>
#include <antiphase/core/element.hpp>

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

TEST(element, other_names_are_none) {
  for (const char* text : {"", "f", "f16", "F32", "f32 ", " f32", "i128", "float", "u6", "u644"})
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
