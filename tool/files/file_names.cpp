// SPDX-License-Identifier: Apache-2.0
// What paths refer to: open descriptors of this process, links, the same file under two names.
#include "tool/files/file_names.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <antiphase/core/error.hpp>
#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <memory>

#include "tool/files/file_handle.hpp"

namespace antiphase::tool {
namespace {

constexpr int most_links = 40;  // Linux's own limit

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

bool is_link(const std::string& path) {
  struct stat about {};
  return lstat(path.c_str(), &about) == 0 && S_ISLNK(about.st_mode);
}

// Target of a symbolic link, resolved against the folder of the link. Nothing on an error.
std::optional<std::string> target_of(const std::string& link) {
  std::array<char, PATH_MAX> text{};
  const ssize_t length = readlink(link.c_str(), text.data(), text.size());
  if (length < 0) return std::nullopt;
  const std::string target(text.data(), static_cast<std::size_t>(length));
  return target.starts_with('/') ? target : folder_of(link) + target;
}

std::string without_links(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real{realpath(path.empty() ? "." : path.c_str(), nullptr),
                                                         std::free};
  return real ? real.get() : "";
}

// The descriptor number that names an entry of /proc/self/fd or of a thread's fd folder.
std::optional<int> descriptor_entry(const std::string& path) {
  const std::string folder = folder_of(path);
  const char *const first = path.data() + folder.size(), *const last = path.data() + path.size();
  int number = -1;
  const auto [end, failed] = std::from_chars(first, last, number);
  if (failed != std::errc{} || end != last || number < 0) return std::nullopt;
  const std::string real = without_links(folder), process = without_links("/proc/self");
  if (process.empty() || !real.starts_with(process + "/")) return std::nullopt;
  const bool of_a_thread = real.starts_with(process + "/task/") && real.ends_with("/fd");
  return real == process + "/fd" || of_a_thread ? std::optional{number} : std::nullopt;
}

// stat() of a path, or fstat() of `standard` for "-"; nothing if there is no such file.
std::optional<struct stat> look_up(const std::string& path, int standard) {
  struct stat about {};
  const int result = path == "-" ? fstat(standard, &about) : stat(path.c_str(), &about);
  return result == 0 ? std::optional{about} : std::nullopt;
}

bool are_same(const std::optional<struct stat>& a, const std::optional<struct stat>& b) {
  return a && b && a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

}  // namespace

std::optional<int> named_descriptor(const std::string& path) {
  std::optional<std::string> at = path;
  for (int links = 0; at && links < most_links; ++links) {
    if (const auto number = descriptor_entry(*at)) return number;
    if (!is_link(*at)) return std::nullopt;
    at = target_of(*at);
  }
  return std::nullopt;
}

std::optional<int> input_descriptor(const std::string& path) {
  return path == "-" ? STDIN_FILENO : named_descriptor(path);
}
std::optional<int> output_descriptor(const std::string& path) {
  return path == "-" ? STDOUT_FILENO : named_descriptor(path);
}

std::string follow_links(std::string path) {
  for (int links = 0; links < most_links; ++links) {
    struct stat about {};
    if (lstat(path.c_str(), &about) != 0 && errno != ENOENT) return {};
    if (!S_ISLNK(about.st_mode)) return path;
    const std::optional<std::string> next = target_of(path);
    if (!next) return {};
    path = *next;
  }
  errno = ELOOP;
  return {};
}

bool is_standard_output(const std::string& path) {
  if (output_descriptor(path) == STDOUT_FILENO) return true;
  const auto to = look_up(path, STDOUT_FILENO), standard = look_up("-", STDOUT_FILENO);
  // output to a terminal or /dev/null cannot be mixed up
  return are_same(to, standard) && !S_ISCHR(to->st_mode);
}

void refuse_same_file(const std::string& output, const std::string& input) {
  const auto to = look_up(output, STDOUT_FILENO), from = look_up(input, STDIN_FILENO);
  if (!are_same(to, from)) return;
  const bool both_opened_here = !output_descriptor(output) && !input_descriptor(input);
  if (!S_ISREG(to->st_mode) && !(S_ISFIFO(to->st_mode) && both_opened_here)) return;
  throw bad_request{fmt::format(
      "the output {} is the same file as the input {}, expected another one: an input is never overwritten",
      output_name(output), input_name(input))};
}

void refuse_same_stream(const std::string& one, const std::string& other) {
  const auto descriptor = input_descriptor(one);
  const auto about = look_up(one, STDIN_FILENO);
  const bool same_descriptor = descriptor && descriptor == input_descriptor(other);
  if (!same_descriptor &&
      (!are_same(about, look_up(other, STDIN_FILENO)) || S_ISREG(about->st_mode) || S_ISDIR(about->st_mode)))
    return;
  throw bad_request{fmt::format(
      "{} is given for two inputs, but a stream can be read only once: expected a file for one of them",
      input_name(one))};
}

}  // namespace antiphase::tool
