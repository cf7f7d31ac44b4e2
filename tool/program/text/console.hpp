// SPDX-License-Identifier: Apache-2.0
// Output of the program: results on standard output, messages on standard error. No colours; the only
// animation is a progress line, shown if standard error is a terminal.
#pragma once
#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

namespace antiphase::tool {

struct common_options;
using json = nlohmann::ordered_json;

// To standard output; throws output_failed or output_closed.
void print(std::string_view text);
// Wraps lines to the width of a terminal; into a pipe or file they go unbroken.
void print_lines(std::string_view text);
void print_json(const json& value);
std::string json_text(const json& value);  // the text that print_json() writes

// One line on standard error, prefixed with the program's name; say() respects --quiet.
void say(const common_options& options, std::string_view message);
void complain(std::string_view message);

// Shows a line of at most 40 columns on standard error; the next progress line or message overwrites it.
void show_progress(std::string_view line);
void end_progress();

// Whether standard error is a terminal and --quiet is off, so that progress is worth showing.
enum class audience { nobody, person };
audience who_watches(const common_options& options);

// Runs `work` and returns the program's exit code. Errors become one line on standard error.
int exit_code_of(const std::function<void()>& work);

// A result was computed, compared and found wrong (exit code 5).
struct verification_failed : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// The arguments themselves are invalid (exit code 2); the message is ready to print.
struct bad_usage : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// A program could not be started (exit code 126 or 127, the shells' convention).
struct program_failed : std::runtime_error {
  program_failed(int exit_code, const std::string& message) : std::runtime_error(message), code(exit_code) {}
  int code;
};

}  // namespace antiphase::tool
