// SPDX-License-Identifier: Apache-2.0
#include "tool/files/whole_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>

#include "tool/base/errors.hpp"
#include "tool/files/file_handle.hpp"

namespace antiphase::tool {

std::string whole_file(const std::string& path) {
  const file_handle in = path == "-" ? duplicate(STDIN_FILENO) : open_file(path, O_RDONLY);
  std::string text;
  for (std::ptrdiff_t got = in ? 1 : -1; got != 0;) {
    constexpr std::size_t piece = 1 << 20;
    const std::size_t before = text.size();
    if (got > 0) {
      text.resize(before + piece);
      got = read_fully(in.get(), std::as_writable_bytes(std::span(text).subspan(before)));
      text.resize(before + static_cast<std::size_t>(std::max<std::ptrdiff_t>(got, 0)));
    }
    if (got < 0) throw bad_input(fmt::format("{}: cannot be read: {}", input_name(path), error_text(errno)));
  }
  return text;
}

}  // namespace antiphase::tool
