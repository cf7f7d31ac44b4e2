// SPDX-License-Identifier: Apache-2.0
// A result that is being written: it appears complete, or not at all.
#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tool/files/file_handle.hpp"
#include "tool/files/interrupt.hpp"

namespace antiphase::tool {

// Where the bytes go depends on what the path names:
//   "-"                     standard output
//   an open descriptor      written through it, where it stands: /dev/stdout, /dev/fd/N, /proc/self/fd/N,
//                           links to them
//   a device, FIFO, socket  opened and written directly, never replaced
//   a regular file, or none a temporary file in the same folder, renamed by commit(). Until then an existing
//   file stays as it is;
//                           it keeps its permissions (a new one has those of the umask). A symbolic link is
//                           followed: what it points
//                           to is replaced, the link stays. Another hard link to the old file keeps the old
//                           contents.
// Without commit(), and on a signal (interrupt.hpp), the temporary file is removed. All failures are thrown
// as output_failed, or as output_closed if whoever reads a pipe has gone away.
class output_file {
 public:
  explicit output_file(const std::string& path);
  ~output_file();
  output_file(const output_file&) = delete;
  output_file& operator=(const output_file&) = delete;

  void write(std::span<const std::byte> data);
  void write(std::string_view text) { write(std::as_bytes(std::span{text})); }
  // Makes the result visible. Nothing may be written afterwards.
  void commit();

  // What messages call it: the path in quotes, or "standard output".
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  std::string target_;     // what the temporary file will be renamed to
  std::string temporary_;  // empty if written directly
  std::unique_ptr<removed_on_signal> guard_;
  file_handle file_;

  void open_temporary();
  void discard() noexcept;
  [[noreturn]] void fail(std::string_view what, int number) const;
};

}  // namespace antiphase::tool
