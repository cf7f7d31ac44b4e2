// SPDX-License-Identifier: Apache-2.0
// An output file that appears complete or not at all.
#include "tool/files/output_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "tool/base/errors.hpp"
#include "tool/files/file_names.hpp"

namespace antiphase::tool {
namespace {

constexpr int most_names_tried = 100;     // for a temporary file: earlier runs may have left some
constexpr unsigned new_file_mode = 0666;  // less the umask

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

}  // namespace

output_file::output_file(const std::string& path) : name_{output_name(path)} {
  if (const std::optional<int> open = output_descriptor(path)) {
    file_ = duplicate(*open);
    if (!file_) fail("is not open", errno);
    if ((fcntl(file_.get(), F_GETFL) & O_ACCMODE) == O_RDONLY) fail("is open for reading only", EBADF);
    return;
  }
  struct stat existing {};
  const bool exists = stat(path.c_str(), &existing) == 0;
  if (exists && !S_ISREG(existing.st_mode)) {
    file_ = open_file(path, O_WRONLY);
    if (!file_) fail("cannot be opened for writing", errno);
    return;
  }
  target_ = follow_links(path);
  if (target_.empty()) fail("cannot be written", path.empty() ? ENOENT : errno);
  struct stat found {};  // a link in /proc may name a file deleted since
  if (exists && (stat(target_.c_str(), &found) != 0 || found.st_dev != existing.st_dev ||
                 found.st_ino != existing.st_ino))
    fail("cannot be replaced, because no other name leads to it", ENOENT);
  if (exists && access(target_.c_str(), W_OK) != 0) fail("cannot be replaced", errno);
  open_temporary();
  if (exists && fchmod(file_.get(), existing.st_mode & 0777) != 0) {
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
    if (lstat(temporary_.c_str(), &about) == 0) continue;  // another process's: must not even be registered
    guard_ = std::make_unique<removed_on_signal>(temporary_);
    file_ = open_file(temporary_, O_WRONLY | O_CREAT | O_EXCL, new_file_mode);
    if (file_) return;
    const int number = errno;
    guard_.reset();
    if (number != EEXIST) {
      temporary_.clear();
      fail(number == ENOENT ? "its folder is missing" : "no temporary file can be made in its folder",
           number);
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

// After an error the file is closed: further write() and commit() calls throw again.
void output_file::discard() noexcept {
  file_.close();
  if (!temporary_.empty()) unlink(temporary_.c_str());
  temporary_.clear();
  guard_.reset();
}

void output_file::fail(std::string_view what, int number) const {
  if (number == EPIPE)
    throw output_closed{fmt::format("{}: the reader closed it before everything was written", name_)};
  throw output_failed{fmt::format("{}: {}: {}", name_, what, error_text(number))};
}

}  // namespace antiphase::tool
