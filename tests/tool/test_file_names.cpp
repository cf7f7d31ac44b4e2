// SPDX-License-Identifier: Apache-2.0
// The objects that paths name: descriptors of this process, one file under two names, one stream for two
// inputs.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <antiphase/core/error.hpp>
#include <filesystem>

#include "tests/tool/scratch.hpp"
#include "tool/files/file_names.hpp"

namespace antiphase::tool {
namespace {

using antiphase::testing::message_of;
using antiphase::testing::redirected;
using antiphase::testing::scratch_folder;
using antiphase::testing::write_text;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Descriptors, AreNamedByPathsAndLinks) {
  const scratch_folder folder;
  write_text(folder / "1", "a file");
  std::filesystem::create_symlink("/dev/stderr", folder / "errors");
  std::filesystem::create_symlink("errors", folder / "again");
  std::filesystem::create_symlink("loop", folder / "loop");
  EXPECT_EQ(named_descriptor("/dev/stdin"), 0);
  EXPECT_EQ(named_descriptor("/dev/stdout"), 1);
  EXPECT_EQ(named_descriptor("/dev/fd/27"), 27);
  EXPECT_EQ(named_descriptor("/proc/self/fd/3"), 3);
  EXPECT_EQ(named_descriptor("/proc/self/../self/fd/3"), 3);
  EXPECT_EQ(named_descriptor("/proc/thread-self/fd/3"), 3);
  EXPECT_EQ(named_descriptor("/proc/" + std::to_string(getpid()) + "/fd/4"), 4);
  EXPECT_EQ(named_descriptor(folder / "errors"), 2);
  EXPECT_EQ(named_descriptor(folder / "again"), 2);
  for (const std::string& path :
       {folder / "1", folder / "loop", folder / "2", std::string("1"), std::string("-"), std::string(),
        std::string("/dev/fd/"), std::string("/dev/fd/1x"), std::string("/dev/fd/-1"),
        std::string("/dev/null"), std::string("/proc/1/fd/1"), std::string("/proc/self/fdinfo/1"),
        std::string("/dev/fd/99999999999")})
    EXPECT_EQ(named_descriptor(path), std::nullopt) << path;
  EXPECT_EQ(input_descriptor("-"), 0);
  EXPECT_EQ(output_descriptor("-"), 1);
}

TEST(Descriptors, StandardOutputHasManyNames) {
  const scratch_folder folder;
  write_text(folder / "x", "");
  write_text(folder / "other", "");
  for (const std::string_view name : {"-", "/dev/stdout", "/dev/fd/1"})
    EXPECT_TRUE(is_standard_output(std::string{name})) << name;
  EXPECT_FALSE(is_standard_output(folder / "x"));
  {
    const redirected output{STDOUT_FILENO, open((folder / "x").c_str(), O_WRONLY)};
    EXPECT_TRUE(is_standard_output(folder / "x"));
    EXPECT_FALSE(is_standard_output(folder / "other"));
    EXPECT_FALSE(is_standard_output(folder / "new"));
  }
  const redirected output{STDOUT_FILENO, open("/dev/null", O_WRONLY)};
  EXPECT_FALSE(is_standard_output("/dev/null"));
}

TEST(SameStream, IsRefused) {
  const scratch_folder folder;
  write_text(folder / "x", "input");
  ASSERT_EQ(mkfifo((folder / "fifo").c_str(), 0600), 0);
  std::filesystem::create_hard_link(folder / "fifo", folder / "pipe");
  const redirected input{STDIN_FILENO, open((folder / "x").c_str(), O_RDONLY)};
  for (const auto& [one, other] : {std::pair{std::string("-"), std::string("-")},
                                   {"-", "/dev/stdin"},
                                   {"/dev/fd/0", "-"},
                                   {"/dev/fd/9", "/proc/self/fd/9"},
                                   {folder / "fifo", folder / "pipe"}}) {
    EXPECT_THAT(message_of<bad_request>([&] { refuse_same_stream(one, other); }), HasSubstr("read only once"))
        << one << ' ' << other;
    EXPECT_THROW(refuse_same_stream(other, one), bad_request);
  }
  EXPECT_NO_THROW(refuse_same_stream(folder / "x", folder / "x"));
  EXPECT_NO_THROW(refuse_same_stream("-", folder / "x"));
  EXPECT_NO_THROW(refuse_same_stream("/dev/fd/8", "/dev/fd/9"));
  EXPECT_NO_THROW(refuse_same_stream(folder / "none", folder / "none"));
}

TEST(SameFile, IsSeenThroughEveryName) {
  const scratch_folder folder;
  write_text(folder / "x", "input");
  write_text(folder / "other", "input");
  std::filesystem::create_hard_link(folder / "x", folder / "hard");
  std::filesystem::create_symlink("x", folder / "soft");
  std::filesystem::create_directory(folder / "d");
  for (const std::string_view name : {"x", "hard", "soft", "d/../x", "./x"}) {
    const std::string message =
        message_of<bad_request>([&] { refuse_same_file(folder / name, folder / "x"); });
    EXPECT_THAT(message, AllOf(HasSubstr(std::string{name} + "'"), HasSubstr("never overwritten"))) << name;
    EXPECT_THROW(refuse_same_file(folder / "x", folder / name), bad_request) << name;
  }
  EXPECT_NO_THROW(refuse_same_file(folder / "other", folder / "x"));
  EXPECT_NO_THROW(refuse_same_file(folder / "new", folder / "x"));
  EXPECT_NO_THROW(refuse_same_file(folder / "new", folder / "new"));
  EXPECT_NO_THROW(refuse_same_file("/dev/null", "/dev/null"));
}

TEST(SameFile, IsSeenThroughStandardInputAndOutput) {
  const scratch_folder folder;
  write_text(folder / "x", "input");
  {
    const redirected input{STDIN_FILENO, open((folder / "x").c_str(), O_RDONLY)};
    EXPECT_THROW(refuse_same_file(folder / "x", "-"), bad_request);
    EXPECT_NO_THROW(refuse_same_file(folder / "y", "-"));
  }
  bool refused = false;
  {
    const redirected output{STDOUT_FILENO, open((folder / "x").c_str(), O_WRONLY | O_APPEND)};
    try {
      refuse_same_file("-", folder / "x");
    } catch (const bad_request&) {
      refused = true;
    }
  }
  EXPECT_TRUE(refused);
  {
    const redirected output{STDOUT_FILENO, open((folder / "x").c_str(), O_WRONLY | O_APPEND)};
    const std::string message =
        message_of<bad_request>([&] { refuse_same_file("/dev/stdout", folder / "x"); });
    EXPECT_THAT(message, HasSubstr("never overwritten"));
  }
  ASSERT_EQ(mkfifo((folder / "fifo").c_str(), 0600), 0);
  EXPECT_THROW(refuse_same_file(folder / "fifo", folder / "fifo"), bad_request);
}

}  // namespace
}  // namespace antiphase::tool
