// SPDX-License-Identifier: Apache-2.0
// Results appear complete or not at all: temporary files, links, devices, pipes and full disks.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <thread>
#include <vector>

#include "tests/tool/in_a_process.hpp"
#include "tests/tool/scratch.hpp"
#include "tool/base/errors.hpp"
#include "tool/files/output_file.hpp"

namespace antiphase::tool {
namespace {

using antiphase::testing::in_a_process;
using antiphase::testing::message_of;
using antiphase::testing::read_text;
using antiphase::testing::redirected;
using antiphase::testing::scratch_folder;
using antiphase::testing::without_rights;
using antiphase::testing::write_text;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

unsigned mode_of(const std::string& path) {
  struct stat about {};
  return stat(path.c_str(), &about) == 0 ? about.st_mode & 07777 : 0;
}

void write_all(const std::string& path, std::string_view text) {
  output_file out{path};
  out.write(text);
  out.commit();
}

TEST(OutputFile, AppearsOnlyWhenCommitted) {
  const scratch_folder folder;
  const mode_t before = umask(027);
  {
    output_file out{folder / "y.npy"};
    out.write("first ");
    out.write("second");
    EXPECT_FALSE(std::filesystem::exists(folder / "y.npy"));
    EXPECT_EQ(folder.names().size(), 1U) << "the temporary file lies in the same folder";
    out.commit();
  }
  umask(before);
  EXPECT_THAT(folder.names(), ElementsAre("y.npy"));
  EXPECT_EQ(read_text(folder / "y.npy"), "first second");
  EXPECT_EQ(mode_of(folder / "y.npy"), 0640U) << "the permissions follow the umask";
}

TEST(OutputFile, LeavesNothingWithoutCommit) {
  const scratch_folder folder;
  try {
    output_file out{folder / "y.npy"};
    out.write("half");
    throw std::runtime_error{"something else failed"};
  } catch (const std::runtime_error&) {
  }
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST(OutputFile, ReplacesARegularFileOnlyAtCommit) {
  const scratch_folder folder;
  write_text(folder / "y.npy", "old");
  chmod((folder / "y.npy").c_str(), 0600);
  { output_file{folder / "y.npy"}.write("abandoned"); }
  EXPECT_EQ(read_text(folder / "y.npy"), "old");
  output_file out{folder / "y.npy"};
  out.write("new");
  EXPECT_EQ(read_text(folder / "y.npy"), "old");
  out.commit();
  EXPECT_EQ(read_text(folder / "y.npy"), "new");
  EXPECT_EQ(mode_of(folder / "y.npy"), 0600U) << "a private file stays private";
  EXPECT_THAT(folder.names(), ElementsAre("y.npy"));
  EXPECT_THROW(out.commit(), output_failed);
  EXPECT_THROW(out.write("more"), output_failed);
}

TEST(OutputFile, FollowsSymbolicLinks) {
  const scratch_folder folder;
  std::filesystem::create_directories(folder / "deep/er");
  write_text(folder / "deep/target", "old");
  std::filesystem::create_symlink("er/second", folder / "deep/first");
  std::filesystem::create_symlink("../target", folder / "deep/er/second");
  std::filesystem::create_symlink("deep/not-yet", folder / "dangling");
  std::filesystem::create_symlink("loop", folder / "loop");

  write_all(folder / "deep/first", "new");
  EXPECT_EQ(read_text(folder / "deep/target"), "new");
  write_all(folder / "dangling", "made");
  EXPECT_EQ(read_text(folder / "deep/not-yet"), "made");
  for (const std::string_view link : {"deep/first", "deep/er/second", "dangling"})
    EXPECT_TRUE(std::filesystem::is_symlink(folder / link)) << link;
  EXPECT_THAT(message_of<output_failed>([&] { output_file{folder / "loop"}; }), HasSubstr("symbolic links"));
  EXPECT_THAT(folder.names(), ElementsAre("dangling", "deep", "loop"));
}

TEST(OutputFile, TwoFilesAtOnceAndALeftoverDoNotCollide) {
  const scratch_folder folder;
  const std::string leftover = ".antiphase-" + std::to_string(getpid()) + "-0.tmp";
  write_text(folder / leftover, "of an older run");
  {
    output_file a{folder / "a"};
    output_file b{folder / "b"};
    a.write("for a");
    b.write("for b");
    b.commit();
    a.commit();
  }
  EXPECT_EQ(read_text(folder / "a"), "for a");
  EXPECT_EQ(read_text(folder / "b"), "for b");
  EXPECT_EQ(read_text(folder / leftover), "of an older run");
  EXPECT_THAT(folder.names(), ElementsAre(leftover, "a", "b"));
}

TEST(OutputFile, TooManyAtOnceIsAnErrorThatLeavesNothing) {
  const scratch_folder folder;
  {
    std::vector<std::unique_ptr<output_file>> open;
    const std::string message = message_of<output_failed>([&] {
      for (int i = 0; i < 100; ++i) open.push_back(std::make_unique<output_file>(folder / std::to_string(i)));
    });
    EXPECT_THAT(message, HasSubstr("written at once"));
  }
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST(OutputFile, DevicesAreWrittenDirectly) {
  struct stat before {
  }, after{};
  ASSERT_EQ(stat("/dev/null", &before), 0);
  EXPECT_EQ(without_rights([] {
              write_all("/dev/null", "gone");
              return 42;
            }),
            42);
  ASSERT_EQ(stat("/dev/null", &after), 0);
  EXPECT_TRUE(S_ISCHR(after.st_mode));
  EXPECT_EQ(before.st_ino, after.st_ino);
}

TEST(OutputFile, AFullDeviceIsAnError) {
  EXPECT_EQ(
      without_rights([] {
        const std::string message = message_of<output_failed>([] { write_all("/dev/full", "does not fit"); });
        return message.find("'/dev/full'") == 0 && message.find("No space left") != std::string::npos ? 42
                                                                                                      : 97;
      }),
      42);
}

TEST(OutputFile, AFifoIsWrittenDirectly) {
  const scratch_folder folder;
  ASSERT_EQ(mkfifo((folder / "fifo").c_str(), 0600), 0);
  std::string received;
  std::thread reader{[&] { received = read_text(folder / "fifo"); }};
  std::string sent(300'000, '?');  // exceeds a pipe's capacity
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<char>('a' + i % 23);
  write_all(folder / "fifo", sent);
  reader.join();
  EXPECT_TRUE(received == sent);
  EXPECT_TRUE(std::filesystem::is_fifo(folder / "fifo"));
  EXPECT_THAT(folder.names(), ElementsAre("fifo"));
}

TEST(OutputFile, DashIsStandardOutput) {
  const scratch_folder folder;
  {
    const redirected output{STDOUT_FILENO, open((folder / "captured").c_str(), O_WRONLY | O_CREAT, 0600)};
    write_all("-", "to standard output");
    write_all("-", ", twice");
  }
  EXPECT_EQ(read_text(folder / "captured"), "to standard output, twice");
  EXPECT_THAT(folder.names(), ElementsAre("captured"));
}

TEST(OutputFile, AnOpenDescriptorIsWrittenThrough) {
  const scratch_folder folder;
  std::filesystem::create_symlink("/dev/stdout", folder / "link");
  std::filesystem::create_symlink("link", folder / "link to a link");
  for (const std::string& path :
       {std::string("/dev/stdout"), std::string("/dev/fd/1"), std::string("/proc/self/fd/1"),
        "/proc/" + std::to_string(getpid()) + "/fd/1", folder / "link", folder / "link to a link"}) {
    write_text(folder / "log", "before, ");
    const redirected output{STDOUT_FILENO, open((folder / "log").c_str(), O_WRONLY | O_APPEND)};
    const std::size_t files = folder.names().size();
    write_all(path, "result");
    EXPECT_EQ(::write(STDOUT_FILENO, ", after", 7), 7);
    EXPECT_EQ(read_text(folder / "log"), "before, result, after") << path;
    EXPECT_EQ(folder.names().size(), files) << path;
  }
}

TEST(OutputFile, ADescriptorKeepsItsPositionAndItsRights) {
  const scratch_folder folder;
  write_text(folder / "y", "0123456789");
  const int both = open((folder / "y").c_str(), O_RDWR), reading = open((folder / "y").c_str(), O_RDONLY);
  ASSERT_EQ(lseek(both, 3, SEEK_SET), 3);
  write_all("/dev/fd/" + std::to_string(both), "abc");
  EXPECT_EQ(read_text(folder / "y"), "012abc6789");
  std::filesystem::remove(folder / "y");
  write_all("/dev/fd/" + std::to_string(both), "d");  // writable without a name
  EXPECT_EQ(lseek(both, 0, SEEK_CUR), 7);
  const std::string only = "/dev/fd/" + std::to_string(reading);
  EXPECT_THAT(message_of<output_failed>([&] { output_file{only}; }),
              AllOf(HasSubstr(only), HasSubstr("reading only")));
  close(both);
  close(reading);
  EXPECT_THAT(message_of<output_failed>([&] { output_file{only}; }), HasSubstr("is not open"));
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST(OutputFile, AFileOfAnotherProcessThatWasRemovedIsNotMadeAnew) {
  const scratch_folder folder;
  write_text(folder / "y", "old");
  const int file = open((folder / "y").c_str(), O_RDWR);
  std::filesystem::remove(folder / "y");
  const std::string path = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(file);
  EXPECT_EQ(in_a_process([&] {  // for this process the path belongs to another one
              return message_of<output_failed>([&] { output_file{path}; }).find("cannot be replaced") !=
                             std::string::npos
                         ? 42
                         : 97;
            }),
            42);
  close(file);
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST(OutputFile, ASocketIsNeverReplaced) {
  const scratch_folder folder;
  const int server = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  ASSERT_LT((folder / "socket").size(), sizeof address.sun_path);
  std::ranges::copy(folder / "socket", address.sun_path);
  ASSERT_EQ(bind(server, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_THAT(message_of<output_failed>([&] { output_file{folder / "socket"}; }),
              HasSubstr("cannot be opened for writing"));
  close(server);
  EXPECT_TRUE(std::filesystem::is_socket(folder / "socket"));

  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  write_all("/dev/fd/" + std::to_string(ends[0]), "through it");  // open() cannot do this
  char text[10];
  EXPECT_EQ(::read(ends[1], text, sizeof text), 10);
  EXPECT_EQ(std::string(text, 10), "through it");
  close(ends[0]);
  close(ends[1]);
}

TEST(OutputFile, AClosedReaderIsAnErrorOfItsOwn) {
  EXPECT_EQ(in_a_process([] {
              int ends[2];
              if (pipe(ends) != 0) return 98;
              close(ends[0]);
              const redirected output{STDOUT_FILENO, ends[1]};
              const std::string message =
                  message_of<output_closed>([] { write_all("-", "no thread reads this"); });
              return message.find("standard output") == 0 ? 42 : 97;
            }),
            42);
}

TEST(OutputFile, AClosedStandardOutputIsAnError) {
  EXPECT_EQ(in_a_process([] {
              close(STDOUT_FILENO);
              return message_of<output_failed>([] { write_all("-", "nowhere"); }).find("is not open") !=
                             std::string::npos
                         ? 42
                         : 97;
            }),
            42);
}

TEST(OutputFile, NoResultTakesTheNumberOfStandardOutput) {
  const scratch_folder folder;
  EXPECT_EQ(in_a_process([&] {
              close(STDOUT_FILENO);
              output_file out{folder / "y"};
              const ssize_t written = ::write(STDOUT_FILENO, "a message", 9);
              out.write("a result");
              out.commit();
              return written < 0 ? 42 : 97;
            }),
            42);
  EXPECT_EQ(read_text(folder / "y"), "a result");
}

TEST(OutputFile, AFullDiskLeavesTheOldFile) {
  const scratch_folder folder;
  write_text(folder / "y", "old");
  EXPECT_EQ(in_a_process([&] {
              const rlimit limit{.rlim_cur = 1000, .rlim_max = 1000};
              if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 98;
              output_file out{folder / "y"};
              const std::string message =
                  message_of<output_failed>([&] { out.write(std::string(5000, 'x')); });
              const bool cleared = folder.names().size() == 1;
              message_of<output_failed>([&] { out.commit(); });
              return cleared && message.find("File too large") != std::string::npos ? 42 : 97;
            }),
            42);
  EXPECT_EQ(read_text(folder / "y"), "old");
  EXPECT_THAT(folder.names(), ElementsAre("y"));
}

TEST(OutputFile, FoldersThatCannotTakeItAreNamed) {
  const scratch_folder folder;
  const auto refused = [](const std::string& path) {
    return message_of<output_failed>([&] { output_file{path}; });
  };
  EXPECT_THAT(refused(folder / "missing/y"), AllOf(HasSubstr("missing/y'"), HasSubstr("No such file")));
  EXPECT_THAT(refused(folder.path()), HasSubstr("Is a directory"));
  EXPECT_THAT(refused("/proc/y"), HasSubstr("'/proc/y'"));
  EXPECT_THAT(refused(""), HasSubstr("No such file"));
  write_text(folder / "file", "not a folder");
  EXPECT_THAT(refused(folder / "file/y"), HasSubstr("Not a directory"));
  EXPECT_THAT(folder.names(), ElementsAre("file"));
}

TEST(OutputFile, SomebodyElsesFilesAreNotTouched) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to become another user";
  const scratch_folder folder;
  write_text(folder / "protected", "old");
  chmod((folder / "protected").c_str(), 0644);
  chmod(folder.path().c_str(), 0777);
  EXPECT_EQ(without_rights([&] {
              const std::string replaced =
                  message_of<output_failed>([&] { output_file{folder / "protected"}; });
              return replaced.find("cannot be replaced: Permission denied") != std::string::npos ? 42 : 97;
            }),
            42);
  chmod(folder.path().c_str(), 0755);
  EXPECT_EQ(without_rights([&] {
              const std::string made = message_of<output_failed>([&] { output_file{folder / "new"}; });
              return made.find("in its folder: Permission denied") != std::string::npos ? 42 : 97;
            }),
            42);
  EXPECT_EQ(read_text(folder / "protected"), "old");
  EXPECT_THAT(folder.names(), ElementsAre("protected"));
}

}  // namespace
}  // namespace antiphase::tool
