// A result that is being written: it appears complete, or not at all.
#include "tool/output_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <optional>

#include "tool/errors.hpp"

namespace antiphase::tool {
namespace {

constexpr int most_links = 40;            // as many as Linux follows
constexpr int most_names_tried = 100;     // for a temporary file, when older ones lie around
constexpr unsigned new_file_mode = 0666;  // less the umask

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

// What a symbolic link, or a chain of them, finally points to; the end need not exist. Empty on an error, which is in errno.
std::string follow_links(std::string path) {
  for (int links = 0; links < most_links; ++links) {
    struct stat about {};
    if (lstat(path.c_str(), &about) != 0 && errno != ENOENT) return {};
    if (!S_ISLNK(about.st_mode)) return path;
    std::array<char, PATH_MAX> text{};
    const ssize_t length = readlink(path.c_str(), text.data(), text.size());
    if (length < 0) return {};
    const std::string next(text.data(), static_cast<std::size_t>(length));
    path = next.starts_with('/') ? next : folder_of(path) + next;
  }
  errno = ELOOP;
  return {};
}

// What stands behind a path, "-" being `standard`; nothing if there is no such file.
std::optional<struct stat> look_up(const std::string& path, int standard) {
  struct stat about {};
  const int result = path == "-" ? fstat(standard, &about) : stat(path.c_str(), &about);
  return result == 0 ? std::optional{about} : std::nullopt;
}

}  // namespace

output_file::output_file(const std::string& path) : name_{output_name(path)} {
  if (path == "-") {
    file_ = duplicate(STDOUT_FILENO);
    if (!file_) fail("is not open", errno);
    return;
  }
  const std::optional<struct stat> existing = look_up(path, STDOUT_FILENO);
  if (existing && !S_ISREG(existing->st_mode)) {
    file_ = open_file(path, O_WRONLY);
    if (!file_) fail("cannot be opened for writing", errno);
    return;
  }
  target_ = follow_links(path);
  if (target_.empty()) fail("cannot be written", path.empty() ? ENOENT : errno);
  if (existing && access(target_.c_str(), W_OK) != 0) fail("cannot be replaced", errno);
  open_temporary();
  if (existing && fchmod(file_.get(), existing->st_mode & 0777) != 0) {
    const int number = errno;
    discard();
    fail("cannot be given the permissions of the file it replaces", number);
  }
}

output_file::~output_file() { discard(); }

void output_file::open_temporary() {
  for (int attempt = 0; attempt < most_names_tried; ++attempt) {
    temporary_ = fmt::format("{}.antiphase-{}-{}.tmp", folder_of(target_), getpid(), attempt);
    struct stat about {};
    if (lstat(temporary_.c_str(), &about) == 0) continue;  // somebody else's: it must not even be registered
    guard_ = std::make_unique<removed_on_signal>(temporary_);
    file_ = open_file(temporary_, O_WRONLY | O_CREAT | O_EXCL, new_file_mode);
    if (file_) return;
    const int number = errno;
    guard_.reset();
    if (number != EEXIST) {
      temporary_.clear();
      fail("no temporary file can be made in its folder", number);
    }
  }
  temporary_.clear();
  fail("no temporary file can be made in its folder, which is full of those of interrupted runs", EEXIST);
}

void output_file::write(std::span<const std::byte> data) {
  const int number = write_fully(file_.get(), data);
  if (number == 0) return;
  discard();
  fail("writing failed", number);
}

void output_file::commit() {
  if (!file_) fail("is closed already", EBADF);
  int number = file_.close();
  if (number == 0 && !temporary_.empty()) {
    if (rename(temporary_.c_str(), target_.c_str()) == 0)
      temporary_.clear();
    else
      number = errno;
  }
  discard();
  if (number != 0) fail("writing failed at the end", number);
}

// A caller that goes on after an error finds a closed file: write() and commit() throw again.
void output_file::discard() noexcept {
  file_.close();
  if (!temporary_.empty()) unlink(temporary_.c_str());
  temporary_.clear();
  guard_.reset();
}

void output_file::fail(std::string_view what, int number) const {
  if (number == EPIPE) throw output_closed{fmt::format("{}: the reader closed it before everything was written", name_)};
  throw output_failed{fmt::format("{}: {}: {}", name_, what, error_text(number))};
}

void refuse_same_file(const std::string& output, const std::string& input) {
  const std::optional<struct stat> to = look_up(output, STDOUT_FILENO);
  const std::optional<struct stat> from = look_up(input, STDIN_FILENO);
  if (!to || !from || to->st_dev != from->st_dev || to->st_ino != from->st_ino) return;
  const bool both_named = output != "-" && input != "-";
  if (!S_ISREG(to->st_mode) && !(S_ISFIFO(to->st_mode) && both_named)) return;
  throw bad_request{fmt::format("the output {} is the same file as the input {}, expected another one: an input is never overwritten",
                                output_name(output), input_name(input))};
}

}  // namespace antiphase::tool
