// SPDX-License-Identifier: Apache-2.0
// What the program says: results on standard output, messages on standard error. Never colours, never animation.
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
void print_json(const json& value);
std::string json_text(const json& value);  // as print_json() writes it

// Standard error, one line with the program's name before it; not said if the user wants it quiet.
void say(const common_options& options, std::string_view message);
void complain(std::string_view message);

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

}  // namespace antiphase::tool
