// SPDX-License-Identifier: Apache-2.0
// Results of the subcommand trace: a table, JSON, messages, pictures.
#pragma once
#include <antiphase/trace.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tool/commands/trace/trace.hpp"
#include "tool/files/output_file.hpp"
#include "tool/pictures/timeline_page.hpp"
#include "tool/program/command.hpp"
#include "tool/program/text/console.hpp"

namespace antiphase::tool {

// The picture that a request names, if it names one. Opened at once, so that a place that cannot be written
// is refused before anything runs.
class requested_picture {
 public:
  explicit requested_picture(const trace_request& r);
  void draw(std::span<const timeline> timelines, std::span<const taken_wait> taken = {});

 private:
  picture_format as_{};
  std::optional<output_file> to_;
};
json output_of(const trace_request& r);  // its name, or null

struct trace_results {
  std::vector<std::vector<std::string>> table;  // a row for each timeline that has complete steps
  json list = json::array();                    // an object for each
  bool bounded = false;                         // a row has a bound
  std::string forecast{};                       // a sentence: what says more than a bound
};
// `named`: what the first column holds. Says what the table cannot.
trace_results results_of(const common_options& common, const char* named,
                         std::span<const timeline> timelines);
// Prints the origin and the table, unless standard output has something else: then it says the origin.
void say_results(const trace_request& of, const trace_results& r, std::span<const timeline> timelines);

}  // namespace antiphase::tool
