// SPDX-License-Identifier: Apache-2.0
// The errors of the tool's file layer; each type stands for one exit code.
#pragma once
#include <antiphase/core/error.hpp>

namespace antiphase::tool {

// An input file is malformed or unsuitable (exit code 3); the message names the file, what was found and what
// was expected.
struct bad_input : error {
  using error::error;
};
// A result could not be written (exit code 1).
struct output_failed : error {
  using error::error;
};
// The reader of standard output or of a pipe has closed it (exit code 1). Callers may end without a message,
// as users of `head` expect.
struct output_closed : output_failed {
  using output_failed::output_failed;
};

}  // namespace antiphase::tool
