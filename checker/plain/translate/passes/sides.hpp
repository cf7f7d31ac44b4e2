// SPDX-License-Identifier: Apache-2.0
// Code that differs between nvcc's two compilations of a source, by __CUDA_ARCH__: for the device, for the
// host.
#pragma once
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace antiphase::plain {

// True if one of the program's files names __CUDA_ARCH__, going by the line markers.
bool tells_sides(std::string_view preprocessed);
// Headers of the system that the program's files include.
std::set<std::string> system_headers(std::string_view preprocessed);

struct sides {
  std::string text;
  bool differ = false;
  std::vector<std::string> refused = {};  // "my.cu:3: ... is not supported here: use ..."
};
// One text of two that were preprocessed with and without __CUDA_ARCH__. Functions whose bodies differ ask at
// run time where they run; what only one side declares is declared; where both declare a name differently,
// the device's gets another. `complete` false: the device's text, whose functions end the run with a refusal
// where the host calls them and has another body.
sides of_both_sides(const std::string& device, const std::string& host, bool complete);

}  // namespace antiphase::plain
