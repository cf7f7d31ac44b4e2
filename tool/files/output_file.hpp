// SPDX-License-Identifier: Apache-2.0
// An output file that appears complete or not at all.
#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tool/files/file_handle.hpp"
#include "tool/files/interrupt.hpp"

namespace antiphase::tool {

// The path decides where the bytes go:
//   "-"                      standard output
//   an open descriptor       written through it at its current position: /dev/stdout, /dev/fd/N,
//                            /proc/self/fd/N, links to them
//   a device, FIFO, socket   opened and written directly, never replaced
//   a regular file, or none  a temporary file in the same folder, renamed by commit()
// Until commit() an existing file is untouched. The new file has its permissions, or those of the umask if
// there was none. A symbolic link is followed: its target is replaced, the link stays. Other hard links to
// the old file keep the old contents. Without commit(), and on a signal (interrupt.hpp), the temporary file
// is removed. All failures are thrown as output_failed, or as output_closed if the reader of a pipe has
// closed it.
class output_file {
 public:
  explicit output_file(const std::string& path);
  ~output_file();
  output_file(const output_file&) = delete;
  output_file& operator=(const output_file&) = delete;

  void write(std::span<const std::byte> data);
  void write(std::string_view text) { write(std::as_bytes(std::span{text})); }
  // Publishes the result. Nothing may be written afterwards.
  void commit();

  // Name in messages: the path in quotes, or "standard output".
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  std::string target_;     // name that the temporary file gets on commit()
  std::string temporary_;  // empty if written directly
  std::unique_ptr<removed_on_signal> guard_;
  file_handle file_;

  void open_temporary();
  void discard() noexcept;
  [[noreturn]] void fail(std::string_view what, int number) const;
};

}  // namespace antiphase::tool
