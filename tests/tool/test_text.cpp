// SPDX-License-Identifier: Apache-2.0
// Text and tables that fit a terminal.
#include <gtest/gtest.h>

#include "tool/base/wrap.hpp"
#include "tool/program/text/table.hpp"

namespace antiphase::tool {
namespace {

TEST(Wrapped, ShortLinesStay) {
  EXPECT_EQ(wrapped(""), "");
  EXPECT_EQ(wrapped("a\n\n  b  c\n"), "a\n\n  b  c\n");
  EXPECT_EQ(wrapped(std::string(80, 'x')), std::string(80, 'x'));
  EXPECT_EQ(wrapped("no space at the end   \n"), "no space at the end\n");
}

TEST(Wrapped, KeepsTheForm) {
  EXPECT_EQ(wrapped("one two three four", 9), "one two\nthree\nfour");
  EXPECT_EQ(wrapped("  one two three", 9), "  one two\n  three");
  EXPECT_EQ(wrapped("  - one two three", 9), "  - one\n    two\n    three");
  EXPECT_EQ(wrapped("  name  one two three", 15), "  name  one two\n        three");
  EXPECT_EQ(wrapped("a\none two three\nb", 7), "a\none two\nthree\nb");
  EXPECT_EQ(wrapped("a word longer than allowed", 3), "a\nword\nlonger\nthan\nallowed");
  EXPECT_EQ(wrapped("\xc3\xa4\xc3\xb6 \xc3\xbc\xc3\x9f", 5), "\xc3\xa4\xc3\xb6 \xc3\xbc\xc3\x9f")
      << "umlauts are one column each";
}

TEST(Wrapped, AColumnFarToTheRightGoesBelow) {
  const std::string command = "  a command that is rather long, so that it reaches far";
  EXPECT_EQ(wrapped(command + "   what it does, in words", 60), command + "\n      what it does, in words");
}

TEST(Table, IsShownInPartsThatFit) {
  const std::vector<std::vector<std::string>> rows{
      {"name", "first", "second", "third"}, {"a", "1", "22", "3"}, {"bb", "refused: it is too large"}};
  EXPECT_EQ(table_text(rows),
            "name  first  second  third\na         1      22      3\nbb    refused: it is too large\n");
  EXPECT_EQ(table_text(rows, 20),
            "name  first  second\na         1      22\nbb    refused: it is\n      too large\n\nname  "
            "third\na         3\n");
  const std::vector<std::vector<std::string>> numbers{rows[0], rows[1]};
  EXPECT_EQ(table_text(numbers, 26), table_text(numbers)) << "that is just wide enough";
  EXPECT_NE(table_text(numbers, 25), table_text(numbers));
  EXPECT_EQ(table_text({{"name", "first", "second"}, {"a", "1", "2"}}, 1),
            "name  first\na         1\n\nname  second\na          2\n")
      << "a column that fits nowhere stands alone";
}

}  // namespace
}  // namespace antiphase::tool
