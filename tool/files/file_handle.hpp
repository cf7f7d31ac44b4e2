// SPDX-License-Identifier: Apache-2.0
// An open file descriptor, and reading and writing through it to the end.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace antiphase::tool {

// Owns a descriptor; -1 is none.
class file_handle {
 public:
  file_handle() = default;
  explicit file_handle(int descriptor) : descriptor_{descriptor} {}
  file_handle(file_handle&& other) noexcept : descriptor_{std::exchange(other.descriptor_, -1)} {}
  file_handle& operator=(file_handle&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~file_handle();

  int get() const { return descriptor_; }
  explicit operator bool() const { return descriptor_ >= 0; }
  // Closes now and returns 0, or the error number that closing gave: some file systems report a full disk
  // only here.
  int close();

 private:
  int descriptor_ = -1;
};

// Opens a file. The descriptor is never 0, 1 or 2, even if those are closed: otherwise a message could land
// in a result. On failure the handle is empty and errno says why.
file_handle open_file(const std::string& path, int flags, unsigned mode = 0);
// A second descriptor of an open file, with the same promise.
file_handle duplicate(int descriptor);

// Reads until `into` is full or the input ends, and returns how many bytes came; -1 with errno on an error.
std::ptrdiff_t read_fully(int descriptor, std::span<std::byte> into);
// Writes all of `from` and returns 0, or the error number.
int write_fully(int descriptor, std::span<const std::byte> from);

// What the system calls an error number.
std::string error_text(int number);
// Text in single quotes, fit for a message: what cannot be printed is escaped, and long text is cut.
std::string quoted(std::string_view text);
// How messages call a path; "-" is the standard input or output.
std::string input_name(const std::string& path);
std::string output_name(const std::string& path);

}  // namespace antiphase::tool
