// What the subcommands share: their options, and how they join the program.
#pragma once
#include <CLI/CLI.hpp>
#include <functional>

namespace antiphase::tool {

struct common_options {
  bool quiet = false;  // no messages but errors
  bool json = false;   // results as one JSON object with "schema": 1
};
void add_common_options(CLI::App& command, common_options& options);

// Adds a subcommand to the program. If the user chose it, `chosen` is what to run once all arguments have been read.
using action = std::function<void()>;
void add_info(CLI::App& program, action& chosen);
void add_gemm(CLI::App& program, action& chosen);
void add_scan(CLI::App& program, action& chosen);
void add_ladder(CLI::App& program, action& chosen);
void add_bench(CLI::App& program, action& chosen);
void add_trace(CLI::App& program, action& chosen);
void add_check(CLI::App& program, action& chosen);

// Checks for option values; they say what was expected.
CLI::Validator number_in_fp32();
CLI::Validator integer_from(long long least);
CLI::Validator integer_between(long long least, long long most);
CLI::Validator not_empty();  // a shell's unset variable must not pass for an option that was left away

// What is wrong with the arguments, in one sentence that names what exists instead.
std::string usage_error(const CLI::App& program, const CLI::ParseError& failure);

}  // namespace antiphase::tool
