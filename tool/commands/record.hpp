// SPDX-License-Identifier: Apache-2.0
// What the subcommands that take figures share: options, members of the JSON, texts of the tables.
#pragma once
#include <string>
#include <string_view>

#include "tool/measure/measure.hpp"
#include "tool/program/command.hpp"
#include "tool/program/console.hpp"
#include "tool/program/place.hpp"
#include "tool/rivals/rivals.hpp"

namespace antiphase::tool {

struct measuring_options {
  std::string protocol = "rested";
  place_options place;
  common_options common;
};
void add_measuring_options(arguments command, measuring_options& options);

// Enters a time and its spread under a name: ours, cublas_fp32, ...
void add_time(json& record, std::string_view name, const timing& time);
// Enters a rival's version and mode under the name of its times.
void add_rival(json& record, std::string_view name, const rival& of);
// A result file (docs/measuring.md).
json result_file(std::string_view command, const place& at, json records);

std::string spread_text(const timing& t);

// Says what is being done, if somebody watches.
void say_progress(const common_options& options, std::string_view what);

}  // namespace antiphase::tool
