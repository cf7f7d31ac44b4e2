// SPDX-License-Identifier: Apache-2.0
// The subcommands that the build of ./run demo leaves out, as the demonstration runs none of them.
#include "tool/program/command.hpp"

namespace antiphase::tool {

void add_others(arguments program) {
  add_info(program);
  add_bench(program);
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
