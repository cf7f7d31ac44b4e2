// SPDX-License-Identifier: Apache-2.0
// Translates preprocessed CUDA to C++ that g++ compiles against the stand-in headers.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace antiphase::plain {

// Something the dialect does not have, at its place in the user's source.
struct refusal {
  std::string file;
  int line = 0;
  std::string subject;  // such as "inline PTX 'name.modifier'"
  std::string instead;  // the nearest form that is supported
  // An instruction of inline PTX: only its execution is an error, as the program may have code for other
  // devices, and specialisations that nothing calls. The translation has a call of refused() there.
  bool when_reached = false;
};
std::string to_text(const refusal& r);  // "my.cu:12: ... is not supported here: use ..."

struct translation {
  std::string text;  // with all line breaks of the source
  std::vector<refusal> refused = {};
  bool has_main = false;
  std::vector<std::string> device_templates = {};  // names of the device's variable templates
};

// With a driver: in other files main is renamed, and what binds kernels to Python is dropped, that is,
// declarations outside of functions that name PyTorch or pybind11, except kernels and device functions.
struct driven {
  std::string driver;  // its file, as in line markers; empty: none
};

// Turns launches into calls, shared variables into references to the block's memory, and device variables
// into variables of tracked sections; drops what only nvcc knows. Strings, line markers and system headers
// stay as they are, and every line keeps its number. `numbers`: the first number not yet used; tells shared
// variables of several files apart. `whole`: the program has no other source. Functions that nothing calls
// may use what is not supported. `older`: words that C++20 added are names.
translation translate(std::string_view preprocessed, int& numbers, const driven& sources = {},
                      bool whole = true, bool older = false);

}  // namespace antiphase::plain
