// SPDX-License-Identifier: Apache-2.0
// A signal ends the program with its exit code and leaves no temporary file.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <thread>
#include <vector>

#include "tests/tool/in_a_process.hpp"
#include "tests/tool/scratch.hpp"
#include "tool/files/npy/npy.hpp"
#include "tool/files/output_file.hpp"

namespace antiphase::tool {
namespace {

using antiphase::testing::in_a_process;
using antiphase::testing::read_text;
using antiphase::testing::redirected;
using antiphase::testing::scratch_folder;
using antiphase::testing::write_text;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Signals, RemoveTemporaryFilesAndSetTheExitCode) {
  for (const auto& [signal, code] : {std::pair{SIGINT, 130}, {SIGTERM, 143}, {SIGHUP, 129}}) {
    const scratch_folder folder;
    write_text(folder / "a", "old");
    EXPECT_EQ(in_a_process([&, number = signal] {
                output_file a{folder / "a"};
                output_file b{folder / "b"};
                a.write("half");
                b.write("of it");
                if (folder.names().size() != 3) return 97;
                kill(getpid(), number);
                sleep(5);
                return 98;
              }),
              code);
    EXPECT_THAT(folder.names(), ElementsAre("a")) << signal;
    EXPECT_EQ(read_text(folder / "a"), "old");
  }
}

TEST(Signals, ReachAWriterThatIsBlocked) {
  const scratch_folder folder;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_EQ(in_a_process([&] {
              output_file kept{folder / "kept"};
              kept.write("half");
              alarm(5);
              std::thread later{[child = getpid()] {
                usleep(50'000);
                kill(child, SIGINT);
              }};
              later.detach();
              const redirected output{STDOUT_FILENO, ends[1]};
              output_file{"-"}.write(std::string(1'000'000, 'x'));  // no thread reads it
              return 98;
            }),
            130);
  close(ends[0]);
  close(ends[1]);
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST(Signals, ThatWereIgnoredStayIgnored) {
  EXPECT_EQ(in_a_process([] {
              std::signal(SIGHUP, SIG_IGN);
              std::signal(SIGINT, SIG_DFL);
              install_signal_handlers();
              kill(getpid(), SIGHUP);
              return 42;
            }),
            42);
}

TEST(Signals, AMappedInputThatShrinksIsReported) {
  const scratch_folder folder;
  const std::vector<std::int64_t> shape{100'000};
  {
    output_file out{folder / "x.npy"};
    write_npy(out, element::u8, shape, std::vector<std::byte>(100'000));
    out.commit();
  }
  EXPECT_EQ(in_a_process([&] {
              const int sink = open((folder / "messages").c_str(), O_WRONLY | O_CREAT, 0600);
              dup2(sink, STDERR_FILENO);
              const npy_array array = read_npy(folder / "x.npy");
              output_file out{folder / "y.npy"};
              std::filesystem::resize_file(folder / "x.npy", 100);
              int sum = 0;
              for (const std::uint8_t value : array.values<std::uint8_t>()) sum += value;
              return sum == 0 ? 98 : 97;
            }),
            3);
  EXPECT_THAT(read_text(folder / "messages"), HasSubstr("became shorter"));
  EXPECT_THAT(folder.names(), ElementsAre("messages", "x.npy"));
}

}  // namespace
}  // namespace antiphase::tool
