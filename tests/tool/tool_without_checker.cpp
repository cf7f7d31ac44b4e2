// SPDX-License-Identifier: Apache-2.0
// The tool in a build without the checker: what needs that says so.
#include <cstdio>
#include <string>

#include "tool/commands/check/check.hpp"
#include "tool/measure/kernel_code.hpp"
#include "tool/measure/provenance.hpp"

namespace antiphase::tool {

std::string_view built_from() { return "a test"; }
std::span<const kernel_code> kernel_codes() { return {}; }

}  // namespace antiphase::tool

int main() {
  using namespace antiphase;
  using namespace antiphase::tool;
  std::string said;
  try {
    timed_program({}, {});
  } catch (const not_supported& e) {
    said = e.what();
  }
  std::printf("%s\n", said.c_str());
  return said.find("checker") == std::string::npos;
}
