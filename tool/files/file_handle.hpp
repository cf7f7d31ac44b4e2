// SPDX-License-Identifier: Apache-2.0
// An open file descriptor; complete reads and writes through it.
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
  // Closes now and returns 0, or the errno of close(): some file systems report a full disk only here.
  int close();

 private:
  int descriptor_ = -1;
};

// Opens a file. The descriptor is never 0, 1 or 2, even if those are closed: otherwise a message could be
// written into a result file. On failure the handle is empty and errno has the reason.
file_handle open_file(const std::string& path, int flags, unsigned mode = 0);
// A second descriptor of an open file; likewise never 0, 1 or 2.
file_handle duplicate(int descriptor);

// Reads until `into` is full or the input ends; returns the number of bytes read, or -1 with errno set.
std::ptrdiff_t read_fully(int descriptor, std::span<std::byte> into);
// Writes all of `from`; returns 0 or the error number.
int write_fully(int descriptor, std::span<const std::byte> from);

// The system's text for an error number.
std::string error_text(int number);
// Text in single quotes for a message: unprintable characters are escaped, long text is truncated.
std::string quoted(std::string_view text);
// Name of a path in messages; "-" is standard input or output.
std::string input_name(const std::string& path);
std::string output_name(const std::string& path);

}  // namespace antiphase::tool
