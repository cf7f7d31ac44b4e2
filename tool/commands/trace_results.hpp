// SPDX-License-Identifier: Apache-2.0
// Results of the subcommand trace: a table, JSON, messages, pictures.
#pragma once
#include <antiphase/trace.hpp>
#include <span>
#include <string>
#include <vector>

#include "tool/pictures/picture_format.hpp"
#include "tool/pictures/timeline_page.hpp"
#include "tool/program/command.hpp"
#include "tool/program/console.hpp"

namespace antiphase::tool {

std::string drawn(picture_format as, std::span<const timeline> timelines,
                  std::span<const taken_wait> taken = {});

struct trace_results {
  std::vector<std::vector<std::string>> table;  // a row for each timeline that has complete steps
  json list = json::array();                    // an object for each
  bool bounded = false;                         // a row has a bound
  std::string forecast{};                       // a sentence: what says more than a bound
};
// `named`: what the first column holds. Says what the table cannot.
trace_results results_of(const common_options& common, const char* named,
                         std::span<const timeline> timelines);
// The origin and the table, for a terminal.
std::string text_of(const trace_results& r, std::span<const timeline> timelines);
json to_json(const timeline& t, const overlap& o);
std::string nothing_recorded(const timeline& t);  // why it has no row

}  // namespace antiphase::tool
