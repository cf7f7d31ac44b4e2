// SPDX-License-Identifier: Apache-2.0
// From preprocessed CUDA to C++ that g++ compiles against the stand-in headers.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace antiphase::plain {

// Something that the dialect does not have, where it stands in the user's source.
struct refusal {
  std::string file;
  int line = 0;
  std::string what;     // "inline PTX (asm)"
  std::string instead;  // the nearest form that is supported
};
std::string to_text(const refusal& r);  // "my.cu:12: inline PTX (asm) is not supported: ..."

struct translation {
  std::string text;  // with every line break of the source
  std::vector<refusal> refused;
};

// Launches become calls; shared variables references into the block's memory; device globals move to sections of their own, which the
// checker follows; what only nvcc knows is left out. Strings, line markers and the system's headers stay as they are, and every line
// keeps its number. `numbers` tells apart the shared variables of several files: the first number not used yet.
translation translate(std::string_view preprocessed, int& numbers);

}  // namespace antiphase::plain
