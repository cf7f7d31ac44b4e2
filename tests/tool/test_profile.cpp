// SPDX-License-Identifier: Apache-2.0
// The profiling recipe: ncu's output is parsed, and a shell can run the recipe.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include "tool/commands/report/profile.hpp"

#include "tests/tool/scratch.hpp"

namespace antiphase::tool {
namespace {

constexpr const char* printed =
    "==PROF== Connected to process 7\nsize 4096\n"
    "\"ID\",\"Kernel Name\",\"Block Size\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n"
    "\"0\",\"void run_kernel<a, \"\"b\"\">()\",\"(256, 1, "
    "1)\",\"gpu__time_duration.sum\",\"us\",\"3,601.25\"\n"
    "\"0\",\"void run_kernel<a>()\",\"(256, 1, 1)\",\"smsp__issue_active\",\"%\",\"71.5\"\r\n"
    "\"1\",\"void run_kernel<c>()\",\"(256, 1, 1)\",\"smsp__issue_active\",\"%\",\"1\"\n"
    "==PROF== Disconnected\n";

void expect_figures(const profile& p) {
  ASSERT_EQ(p.figures.size(), 2u) << "of the first launch alone";
  EXPECT_EQ(p.figures[0].metric, "gpu__time_duration.sum");
  EXPECT_EQ(p.figures[0].value, "3,601.25");
  EXPECT_EQ(p.figures[0].unit, "us");
  EXPECT_EQ(p.figures[1].value, "71.5");
  EXPECT_EQ(p.why_not, "");
}

TEST(Profile, IsReadFromCsv) {
  expect_figures(read_profile(printed));
  const profile none =
      read_profile("==PROF== Connected\n==ERROR== ERR_NVGPUCTRPERM: no permission\n==ERROR== more\n");
  EXPECT_TRUE(none.figures.empty());
  EXPECT_EQ(none.why_not, "ERR_NVGPUCTRPERM: no permission");
  EXPECT_EQ(read_profile("").why_not, "ncu printed no table of metrics");
}

TEST(Profile, TheRecipeIsFollowed) {
  const antiphase::testing::scratch_folder folder;
  const std::string path = std::getenv("PATH");
  setenv("PATH", "/nowhere", 1);
  const profile without = take_profile("tool", 5);
  EXPECT_TRUE(without.figures.empty() && without.why_not.empty())
      << "where there is no ncu there is nothing to say";
  std::ofstream(folder / "ncu") << "#!/bin/sh\nfor a; do echo \"$a\"; done > '" << folder / "arguments"
                                << "'\ncat <<'END'\n"
                                << printed << "END\n"
                                << std::flush;
  std::filesystem::permissions(folder / "ncu", std::filesystem::perms::owner_all);
  setenv("PATH", (folder.path() + ":" + path).c_str(), 1);
  expect_figures(take_profile("/a folder/it's antiphase", 5));
  setenv("PATH", path.c_str(), 1);
  std::vector<std::string> arguments;
  std::ifstream file(folder / "arguments");
  for (std::string line; std::getline(file, line);) arguments.push_back(line);
  ASSERT_EQ(arguments.size(), 17u) << ::testing::PrintToString(arguments);
  EXPECT_EQ(arguments[0], "--csv");
  EXPECT_THAT(arguments[6], ::testing::HasSubstr("gpu__time_duration.sum,sm__inst_executed_pipe_fma"));
  EXPECT_THAT(arguments, ::testing::Contains("/a folder/it's antiphase"));
  EXPECT_EQ(arguments.back(), "--quiet");
}

}  // namespace
}  // namespace antiphase::tool
