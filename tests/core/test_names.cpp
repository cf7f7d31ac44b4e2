// SPDX-License-Identifier: Apache-2.0
// Suggestions for a name that does not exist.
#include <gtest/gtest.h>

#include <antiphase/core/names.hpp>

namespace antiphase {
namespace {

TEST(names, distances) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("abc", ""), 3U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(edit_distance("flaw", "lawn"), 2U);
  EXPECT_EQ(edit_distance("spilt", "split"), 1U);  // two letters exchanged: one edit
  EXPECT_EQ(edit_distance("ab", "ba"), 1U);
  EXPECT_EQ(edit_distance("ca", "abc"), 3U);  // no edit between the two exchanged letters
  EXPECT_EQ(edit_distance("abcdef", "badcfe"), 3U);
}

TEST(names, the_closest) {
  const std::vector<std::string> known{"naive", "tiled",    "async-2",   "async-3",
                                       "max",   "--output", "gemm/items"};
  const auto closest = [&](std::string_view given) {
    const std::string* const found = closest_name(given, known);
    return found != nullptr ? *found : std::string();
  };
  EXPECT_EQ(closest("tield"), "tiled");
  EXPECT_EQ(closest("asinc-3"), "async-3");
  EXPECT_EQ(closest("async-3"), "async-3");
  EXPECT_EQ(closest("async"), "async-2");     // the first that begins with it
  EXPECT_EQ(closest("maximum"), "max");       // it begins with a name
  EXPECT_EQ(closest("items"), "gemm/items");  // it is the end of a name
  EXPECT_EQ(closest("-output"), "--output");
  EXPECT_EQ(closest("out"), "--output");
  for (const std::string_view far : {"", "-", "m", "mx", "tl", "nothing", "tensor-core", "mix-up"})
    EXPECT_EQ(closest(far), "") << far;
  EXPECT_EQ(closest_name("name", {}), nullptr);
}

TEST(names, sentences) {
  EXPECT_EQ(suggestion("on", {"first"}), "expected first");
  EXPECT_EQ(suggestion("on", {"first", "second"}), "expected first or second");
  EXPECT_EQ(suggestion("thrid", {"first", "second", "third"}),
            "did you mean third? Expected first, second or third");
}

TEST(names, long_words_are_shortened_for_messages) {
  EXPECT_EQ(shortened(""), "");
  EXPECT_EQ(shortened(std::string(60, 'x')), std::string(60, 'x'));
  EXPECT_EQ(shortened(std::string(100000, 'x')), std::string(60, 'x') + "...");
  EXPECT_EQ(shortened(std::string(59, 'x') + "\xc3\xa4"), std::string(59, 'x') + "...")
      << "not within a character";
  EXPECT_EQ(shortened(std::string(1000, '\x80')), "...");
}

}  // namespace
}  // namespace antiphase
