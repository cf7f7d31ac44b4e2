// SPDX-License-Identifier: Apache-2.0
// Stacks of ended workers serve the next ones, up to a limit; live workers have separate stacks.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>
#include "core/executor/cpu/order/fiber.hpp"

namespace antiphase::test {
namespace {
using cpu_detail::stack_arena;

unsigned char* first_byte(const stack_arena& of, std::size_t index) {
  const auto stack = of.stack(index);
  return static_cast<unsigned char*>(stack.sp) - stack.size;
}
// Access rights of a byte of this process, as in /proc/self/maps ("rw-p"); empty if not mapped.
std::string rights_of(const void* at) {
  const auto wanted = reinterpret_cast<std::uintptr_t>(at);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::uintptr_t from = 0, to = 0;
    char dash = 0;
    std::string rights;
    words >> std::hex >> from >> dash >> to >> rights;
    if (from <= wanted && wanted < to) return rights;
  }
  return "";
}
// No stacks are cached when a test begins: an arena as large as the cache has displaced the others, and is in
// use.
class stacks : public testing::Test {
 protected:
  void SetUp() override {
    { reserved(stack_arena::most_waiting); }
    all_ = reserved(stack_arena::most_waiting);
  }
  static std::unique_ptr<stack_arena> reserved(std::size_t count) {
    auto made = std::make_unique<stack_arena>();
    made->reserve(count);
    return made;
  }

 private:
  std::unique_ptr<stack_arena> all_;
};
void use_all(const stack_arena& of, int value) {
  for (std::size_t i = 0; i < of.count(); ++i) std::memset(first_byte(of, i), value, of.stack(i).size);
}

TEST_F(stacks, of_an_arena_that_is_no_more_serve_the_next) {
  auto before = reserved(67);
  const void* const place = first_byte(*before, 66);
  use_all(*before, 1);
  before.reset();
  const auto after = reserved(65);
  EXPECT_EQ(after->count(), 67u);
  EXPECT_EQ(first_byte(*after, 66), place);
  use_all(*after, 2);
  // the guard page
  for (std::size_t i = 0; i < after->count(); ++i)
    EXPECT_EQ(rights_of(first_byte(*after, i) - 1), "---p") << i;
}
TEST_F(stacks, the_smallest_that_has_room_is_taken) {
  { const auto one = reserved(50), two = reserved(30), three = reserved(40), four = reserved(20); }
  EXPECT_EQ(reserved(25)->count(), 30u);
  EXPECT_EQ(reserved(31)->count(), 40u);
}
TEST_F(stacks, that_are_too_few_are_not_taken) {
  { reserved(33); }
  const auto large = reserved(71);
  EXPECT_EQ(large->count(), 71u);
  use_all(*large, 3);
}
TEST_F(stacks, of_another_size_are_not_taken) {
  { reserved(33); }
  stack_arena::grow({.stack = 1024 * 1024, .guard = 64 * 1024});
  const auto large = reserved(30);
  stack_arena::grow({});
  EXPECT_EQ(large->count(), 30u);
  EXPECT_GE(large->stack(29).size, 1024u * 1024 - 4096);
  use_all(*large, 4);
  for (std::size_t i = 0; i < 30; ++i)
    for (const int below : {1, 64 * 1024}) EXPECT_EQ(rights_of(first_byte(*large, i) - below), "---p") << i;
  EXPECT_EQ(reserved(30)->count(), 33u);
}
TEST_F(stacks, of_two_that_live_are_different) {
  { reserved(40); }
  const auto one = reserved(40), other = reserved(40);
  use_all(*one, 1);
  use_all(*other, 2);
  for (std::size_t i = 0; i < 40; ++i) EXPECT_EQ(*first_byte(*one, i), 1) << i;
}
TEST_F(stacks, wait_up_to_a_limit) {
  constexpr std::size_t each = stack_arena::most_waiting / 4 + 1;  // three of them fit, four do not
  std::vector<std::unique_ptr<stack_arena>> all;
  std::vector<const void*> places;
  for (int i = 0; i < 6; ++i) places.push_back(first_byte(*all.emplace_back(reserved(each)), 0));
  for (auto& a : all) a.reset();  // in order of creation
  const auto expect = [&] {
    for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(rights_of(places[i]), i < 3 ? "" : "rw-p") << i;
  };
  expect();
  const void* const large = first_byte(*reserved(stack_arena::most_waiting + 1), 0);
  EXPECT_EQ(rights_of(large), "");
  expect();
}

}  // namespace
}  // namespace antiphase::test
