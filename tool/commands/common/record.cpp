// SPDX-License-Identifier: Apache-2.0
// Shared by the subcommands that measure: JSON members and texts of tables.
#include "tool/commands/common/record.hpp"

#include <fmt/format.h>

#include <utility>

#include "tool/measure/machine.hpp"

namespace antiphase::tool {

void add_measuring_options(arguments command, measuring_options& options) {
  command
      .add_option("--protocol", options.protocol,
                  "On a GPU: rested (default), idle before each sample; or hot, busy throughout")
      .type_name("NAME")
      .offers({"rested", "hot"});
  add_place_options(command, options.place);
  add_common_options(command, options.common);
}

void add_time(json& record, std::string_view name, const timing& time) {
  const std::string key(name);
  record["time_us"][key] = time.median_us;
  record["spread"][key] = {{"least", time.fastest_us},
                           {"lower_quartile", time.lower_quartile_us},
                           {"upper_quartile", time.upper_quartile_us},
                           {"most", time.slowest_us}};
}

void add_rival(json& record, std::string_view name, const rival& of) {
  record["rivals"][std::string(name)] = {{"version", of.version}, {"mode", of.mode}};
}

json result_file(std::string_view command, const place& at, json records) {
  json content = result_envelope(command, at);
  content["records"] = std::move(records);
  return content;
}

std::string spread_text(const timing& t) { return fmt::format("{:.1f}..{:.1f}", t.fastest_us, t.slowest_us); }

void say_progress(const common_options& options, std::string_view what) {
  if (who_watches(options) == audience::person) complain(what);
}

}  // namespace antiphase::tool
