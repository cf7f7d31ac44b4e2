// SPDX-License-Identifier: Apache-2.0
// An open file descriptor; complete reads and writes through it.
#include "tool/files/file_handle.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace antiphase::tool {
namespace {

constexpr int first_free = 3;                               // after standard input, output and error
constexpr std::size_t most_at_once = std::size_t{1} << 30;  // Linux moves at most 2 GiB - 4 KiB in one call
constexpr std::size_t longest_quote = 200;

// After EAGAIN: another process has made the shared pipe or terminal non-blocking, so wait as a blocking call
// would.
void wait_until_ready(int descriptor, short events) {
  pollfd wanted{.fd = descriptor, .events = events, .revents = 0};
  poll(&wanted, 1, -1);
}

// Length of the UTF-8 character that `text` begins with, if it is printable; else 0. Messages may end up in a
// terminal or in JSON, which must not get control characters or malformed UTF-8.
std::size_t printable_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned>(static_cast<unsigned char>(text[i])); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return lead >= 0x20 && lead != 0x7f ? 1 : 0;
  const std::size_t length = lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  const unsigned second = byte(1);
  const bool control = lead == 0xc2 && second < 0xa0;  // U+0080 ... U+009F
  const bool overlong = (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
  // surrogates, above U+10FFFF
  const bool no_character = (lead == 0xed && second >= 0xa0) || (lead == 0xf4 && second >= 0x90);
  return control || overlong || no_character ? 0 : length;
}

}  // namespace

file_handle::~file_handle() { close(); }

int file_handle::close() {
  const int descriptor = std::exchange(descriptor_, -1);
  // After EINTR, Linux has closed the descriptor; a second close() could hit one that another thread just
  // opened.
  return descriptor < 0 || ::close(descriptor) == 0 || errno == EINTR ? 0 : errno;
}

file_handle duplicate(int descriptor) { return file_handle{fcntl(descriptor, F_DUPFD_CLOEXEC, first_free)}; }

file_handle open_file(const std::string& path, int flags, unsigned mode) {
  int descriptor = -1;
  do descriptor = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  while (descriptor < 0 && errno == EINTR);
  file_handle opened{descriptor};
  return descriptor < 0 || descriptor >= first_free ? std::move(opened) : duplicate(descriptor);
}

std::ptrdiff_t read_fully(int descriptor, std::span<std::byte> into) {
  std::size_t done = 0;
  while (done < into.size()) {
    const ssize_t got = ::read(descriptor, into.data() + done, std::min(into.size() - done, most_at_once));
    if (got > 0) {
      done += static_cast<std::size_t>(got);
    } else if (got == 0) {
      break;
    } else if (errno == EAGAIN) {
      wait_until_ready(descriptor, POLLIN);
    } else if (errno != EINTR) {
      return -1;
    }
  }
  return static_cast<std::ptrdiff_t>(done);
}

int write_fully(int descriptor, std::span<const std::byte> from) {
  while (!from.empty()) {
    const ssize_t put = ::write(descriptor, from.data(), std::min(from.size(), most_at_once));
    if (put >= 0) {
      from = from.subspan(static_cast<std::size_t>(put));
    } else if (errno == EAGAIN) {
      wait_until_ready(descriptor, POLLOUT);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

std::string error_text(int number) { return std::generic_category().message(number); }

std::string quoted(std::string_view text) {
  std::string result = "'";
  std::size_t at = 0;
  while (at < text.size() && at < longest_quote) {
    const std::size_t length = printable_length(text.substr(at));
    if (length == 0) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(text[at])));
    } else {
      if (text[at] == '\\' || text[at] == '\'') result += '\\';
      result += text.substr(at, length);
    }
    at += length > 0 ? length : 1;
  }
  return result + (at < text.size() ? "'..." : "'");
}

std::string input_name(const std::string& path) { return path == "-" ? "standard input" : quoted(path); }
std::string output_name(const std::string& path) { return path == "-" ? "standard output" : quoted(path); }

}  // namespace antiphase::tool
