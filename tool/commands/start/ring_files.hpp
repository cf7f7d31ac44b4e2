// SPDX-License-Identifier: Apache-2.0
// What `antiphase new` copies: files of examples/ring and antiphase/ring.cuh, compiled into the program.
#pragma once
#include <span>
#include <string_view>

namespace antiphase::tool {

struct ring_file {
  std::string_view name, text;
};
std::span<const ring_file> ring_files();

}  // namespace antiphase::tool
