// SPDX-License-Identifier: Apache-2.0
// All subcommands, in the order of the help.
#include "tool/program/command.hpp"

namespace antiphase::tool {

void add_commands(arguments program) {
  add_demo(program);
  add_examples(program);
  add_info(program);
  add_gemm(program);
  add_scan(program);
  add_ladder(program);
  add_bench(program);
  add_trace(program);
  add_check(program);
  add_new(program);
  add_course(program);
  add_count(program);
  add_tune(program);
  add_run(program);
  add_advise(program);
  add_model(program);
  add_report(program);
}

}  // namespace antiphase::tool
