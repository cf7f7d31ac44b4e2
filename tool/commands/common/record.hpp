// SPDX-License-Identifier: Apache-2.0
// Shared by the subcommands that measure: options, JSON members and texts of tables.
#pragma once
#include <string>
#include <string_view>

#include "tool/measure/measure.hpp"
#include "tool/program/command.hpp"
#include "tool/program/place.hpp"
#include "tool/program/text/console.hpp"
#include "tool/rivals/rivals.hpp"

namespace antiphase::tool {

struct measuring_options {
  std::string protocol = "rested";
  place_options place;
  common_options common;
};
void add_measuring_options(arguments command, measuring_options& options);

// Adds a time and its spread under a name: ours, cublas_fp32, ...
void add_time(json& record, std::string_view name, const timing& time);
// Adds a rival's version and mode under the name of its times.
void add_rival(json& record, std::string_view name, const rival& of);
// A result file (docs/project/measuring.md).
json result_file(std::string_view command, const place& at, json records);

std::string spread_text(const timing& t);

// Shows what is being done, if standard error is a terminal.
void say_progress(const common_options& options, std::string_view what);

}  // namespace antiphase::tool
