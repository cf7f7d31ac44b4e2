// SPDX-License-Identifier: Apache-2.0
// A memo returns each key's own result, even after other keys have used its slot.
#include <gtest/gtest.h>

#include <stdexcept>

#include "core/memo.hpp"

namespace antiphase {
namespace {

TEST(memo, gives_what_belongs_to_the_key) {
  memo<2, std::uint64_t, 4> known;
  int made = 0;
  const auto get = [&](std::uint64_t a, std::uint64_t b) {
    return known.get({a, b}, [&] {
      ++made;
      return a * 1000 + b;
    });
  };
  for (int turn = 0; turn < 3; ++turn)
    for (std::uint64_t a = 0; a < 10; ++a)
      for (std::uint64_t b = 0; b < 10; ++b) ASSERT_EQ(get(a, b), a * 1000 + b);
  EXPECT_LE(made, 300);
  const int before = made;
  get(3, 4), get(3, 4), get(3, 4);
  EXPECT_LE(made, before + 1);
}
// An all-zero key is a key like any other, also in an empty memo.
TEST(memo, makes_the_first_result) {
  memo<1, int, 8> known;
  EXPECT_EQ(known.get({0}, [] { return 7; }), 7);
  EXPECT_EQ(known.get({0}, [] { return 8; }), 7);
}
TEST(memo, keeps_what_it_had_if_nothing_could_be_made) {
  memo<1, int, 1> known;
  EXPECT_EQ(known.get({1}, [] { return 5; }), 5);
  EXPECT_THROW(known.get({2}, []() -> int { throw std::runtime_error("no"); }), std::runtime_error);
  EXPECT_EQ(known.get({1}, [] { return 6; }), 5);
  EXPECT_EQ(known.get({2}, [] { return 9; }), 9);
}

}  // namespace
}  // namespace antiphase
