// SPDX-License-Identifier: Apache-2.0
// The tool's subcommand check, with one broken kernel and one correct one.
#include <antiphase/checker.hpp>
#include "tests/checker/api/support.hpp"

#include "tool/commands/check/check_cases.hpp"
#include "tool/measure/provenance.hpp"
#include "tool/program/command.hpp"
#include "tool/program/text/console.hpp"

namespace antiphase::tool {

void add_check(arguments program);

std::string_view built_from() { return "a test"; }

const std::vector<checked_case>& checked_cases() {
  static const std::vector<checked_case> all{
      {"ticket/right", "", test::ticket_program(test::publishing::right)},
      {"ticket/broken", "", test::ticket_program(test::publishing::relaxed_by_thread_1)}};
  return all;
}

}  // namespace antiphase::tool

int main(int argc, char** argv) {
  using namespace antiphase::tool;
  return exit_code_of([&] {
    program program{"", "", [] { return std::string(built_from()); }};
    add_check(program.commands());
    program.run(argc, argv);
  });
}
