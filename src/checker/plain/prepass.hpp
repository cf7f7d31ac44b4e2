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

// What a driver brings along: in files other than its own, main gets another name, and what binds kernels to
// Python is left out: whatever stands outside of functions and names PyTorch or pybind11, but for kernels and
// device functions.
struct driven {
  std::string driver;  // its file, as line markers name it; empty: there is none
};

// Launches become calls; shared variables references into the block's memory; device globals move to sections
// of their own, which the checker follows; what only nvcc knows is left out. Strings, line markers and the
// system's headers stay as they are, and every line keeps its number. `numbers` tells apart the shared
// variables of several files: the first number not used yet.
translation translate(std::string_view preprocessed, int& numbers, const driven& by = {});

}  // namespace antiphase::plain
