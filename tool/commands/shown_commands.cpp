// SPDX-License-Identifier: Apache-2.0
// In place of all_commands.cpp in the build of ./run demo: those that the demonstration runs.
#include "tool/program/command.hpp"

namespace antiphase::tool {

void add_commands(arguments program) {
  add_demo(program);
  add_examples(program);
  add_gemm(program);
  add_scan(program);
  add_ladder(program);
  add_trace(program);
  add_check(program);
}

}  // namespace antiphase::tool
