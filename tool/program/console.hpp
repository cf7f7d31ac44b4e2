// SPDX-License-Identifier: Apache-2.0
// What the program says: results on standard output, messages on standard error. Never colours; animation is
// one line, for somebody who watches.
#pragma once
#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

namespace antiphase::tool {

struct common_options;
using json = nlohmann::ordered_json;

// Standard output; throws output_failed or output_closed.
void print(std::string_view text);
// broken where a terminal is not so wide; who reads a pipe gets them whole
void print_lines(std::string_view text);
void print_json(const json& value);
std::string json_text(const json& value);  // as print_json() writes it

// Standard error, one line with the program's name before it; not said if the user wants it quiet.
void say(const common_options& options, std::string_view message);
void complain(std::string_view message);

// A line of at most 40 columns on standard error that the next one, or what else is said there, is written
// over.
void show_progress(std::string_view line);
void end_progress();

// Whether somebody watches standard error, so that progress is worth a line.
enum class audience { nobody, person };
audience who_watches(const common_options& options);

// Runs `work` and returns the program's exit code; errors become one line on standard error.
int exit_code_of(const std::function<void()>& work);

// A result that was computed, compared, and found wrong (exit code 5).
struct verification_failed : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// The arguments as such are wrong (exit code 2); the message is ready to be printed.
struct bad_usage : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// A program that could not be started (exit code 126 or 127, as shells have them).
struct program_failed : std::runtime_error {
  program_failed(int exit_code, const std::string& message) : std::runtime_error(message), code(exit_code) {}
  int code;
};

}  // namespace antiphase::tool
