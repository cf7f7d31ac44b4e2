// SPDX-License-Identifier: Apache-2.0
// The subcommand model: predictions next to the measurements in result files.
#include <fmt/format.h>

#include <antiphase/core/error.hpp>
#include <antiphase/executor/machine.hpp>
#include <filesystem>
#include <memory>

#include "tool/base/errors.hpp"
#include "tool/base/wrap.hpp"
#include "tool/commands/model/choices.hpp"
#include "tool/commands/model/model_errors.hpp"
#include "tool/files/whole_file.hpp"
#include "tool/program/command.hpp"
#include "tool/program/text/console.hpp"
#include "tool/program/text/table.hpp"

namespace antiphase::tool {
namespace {

constexpr const char* explanation =
    "Without a GPU all is the same: it reads result files.\n\n"
    "A prediction is right by its ratio to the measured time. median, p90: of |ratio - 1|. rank: Spearman's "
    "correlation of the "
    "predicted order of policies with the measured one, mean over shapes at which three or more were "
    "measured. picks: how often the "
    "policy that is predicted to be the fastest takes at most 5 % longer than the one that is. fitted: times "
    "that constants of a cost model "
    "were fitted to; unseen: the others.\n"
    "\n"
    "Examples:\n"
    "  antiphase bench gemm --size 1024,4096 --json > mine.json && antiphase model mine.json\n"
    "  antiphase tune -o tuning.json --seconds 50 --json > tune.json && antiphase model tune.json\n"
    "      all policies of many random products: the rank and the picks of the library's own choice\n"
    "  antiphase model --choices mine.json\n"
    "      products of bench gemm for which auto takes another policy than when they were measured";

struct request {
  std::vector<std::string> files;
  std::string device;
  bool all = false, choices = false;
  common_options common;
};

json read_json(const std::string& path) {
  if (std::error_code ignored; std::filesystem::is_directory(path, ignored))
    throw bad_input(
        fmt::format("'{}' is a directory: expected a result file of bench, ladder or tune", path));
  json content = json::parse(whole_file(path), nullptr, false);
  if (!content.is_object() || !content.contains("command") || !content["command"].is_string() ||
      !content.contains("records") || !content["records"].is_array())
    throw bad_input(fmt::format(
        "'{}' is no result file: expected JSON of bench, ladder or tune with 'command' and 'records'", path));
  return content;
}

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string text_of(const std::vector<family_error>& families) {
  std::vector<std::vector<std::string>> rows{
      {"kernels", "times", "fitted", "unseen", "median", "p90", "rank", "picks"}};
  for (const family_error& f : families)
    rows.push_back({f.name, fmt::format("{}", f.times), f.fitted_times == 0 ? "" : percent(f.fitted_median),
                    fmt::format("{}", f.times - f.fitted_times),
                    f.times == f.fitted_times ? "" : percent(f.median),
                    f.times == f.fitted_times ? "" : percent(f.p90),
                    f.ranked == 0 ? "" : fmt::format("{:.2f} of {}", f.rank, f.ranked),
                    f.ranked == 0 ? "" : fmt::format("{} of {}", f.picks, f.ranked)});
  return table_text(rows, terminal_columns());
}
json to_json(const family_error& f) {
  json one{{"kernels", f.name}, {"times", f.times}, {"fitted", f.fitted_times}};
  if (f.fitted_times > 0) one["fitted_median"] = f.fitted_median;
  if (f.times > f.fitted_times) one["unseen_median"] = f.median, one["unseen_p90"] = f.p90;
  if (f.ranked > 0) one["rank"] = f.rank, one["shapes"] = f.ranked, one["picks_within_5_percent"] = f.picks;
  return one;
}

void tell_choices(const request& r) {
  if (!r.device.empty())
    throw bad_usage("--choices takes the device that each file names: give one of --choices and --device");
  json list = json::array();
  std::vector<std::vector<std::string>> rows{{"shape", "way", "measured with", "auto takes", "file"}};
  std::size_t count = 0, others = 0;
  for (const std::string& path : r.files)
    for (const stored_choice& c : choices_of(read_json(path), path)) {
      ++count;
      others += c.now != c.then ? 1 : 0;
      if (c.now == c.then && !r.all) continue;
      rows.push_back({c.shape, std::string(c.way), c.then, c.now, path});
      list.push_back(
          {{"file", path}, {"record", c.record}, {"way", c.way}, {"then", c.then}, {"now", c.now}});
    }
  if (r.common.json)
    return print_json(json{{"schema", 1}, {"command", "model"}, {"choices", list}, {"of", count}});
  print(fmt::format("auto takes another policy today for {} of {} choices\n{}", others, count,
                    rows.size() == 1 ? "" : "\n" + table_text(rows)));
}

void run(const request& r) {
  if (r.choices) return tell_choices(r);
  const machine_profile on = shipped_profile(r.device.empty() ? "H200" : r.device);
  std::vector<compared_time> times;
  for (const std::string& path : r.files) add_times(on, read_json(path), path, times);
  if (times.empty())
    throw bad_input(
        "no record of these files has a time that is predicted: expected those of ladder, bench or tune");
  const std::vector<family_error> families = errors_of(times);
  if (r.common.json) {
    json list = json::array(), all = json::array();
    for (const family_error& f : families) list.push_back(to_json(f));
    for (const compared_time& t : times)
      if (r.all)
        all.push_back({{"kernels", t.family},
                       {"policy", t.policy},
                       {"shape", t.shape},
                       {"fitted", t.fitted},
                       {"measured_us", t.measured * 1e6},
                       {"predicted_us", t.takes.seconds * 1e6},
                       {"limit", name(t.takes.largest())}});
    json out{{"schema", 1}, {"command", "model"}, {"device", on.limits.name}, {"kernels", list}};
    if (r.all) out["times"] = all;
    print_json(out);
    return;
  }
  std::string text = text_of(families);
  if (r.all) {
    std::vector<std::vector<std::string>> rows{
        {"policy", "shape", "measured us", "predicted us", "off", "limit"}};
    for (const compared_time& t : times)
      rows.push_back({t.policy, t.shape, fmt::format("{:.2f}", t.measured * 1e6),
                      fmt::format("{:.2f}", t.takes.seconds * 1e6),
                      fmt::format("{:+.1f} %", 100 * (t.takes.seconds / t.measured - 1)),
                      std::string(name(t.takes.largest()))});
    text += "\n" + table_text(rows);
  }
  print(text);
}

}  // namespace

void add_model(arguments program) {
  arguments command = program.add_subcommand("model", "Compare predicted times with those of result files");
  const auto r = std::make_shared<request>();
  command.add_option("files", r->files, "Result files of bench, ladder or tune")
      .required()
      .type_name("FILE")
      .values(1, option::any);
  command.add_option("--device", r->device, "Whose profile predicts (default H200)")
      .check(not_empty())
      .type_name("NAME");
  command.add_flag("--all", r->all, "Every time, not the errors alone; with --choices every choice");
  command.add_flag("--choices", r->choices,
                   "Instead: products of bench gemm for which auto takes another policy today");
  add_common_options(command, r->common);
  command.footer(explanation);
  command.runs([r] { run(*r); });
}

}  // namespace antiphase::tool
