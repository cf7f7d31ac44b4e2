// SPDX-License-Identifier: Apache-2.0
// Shared parts of the ladders.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tool/commands/record.hpp"
#include "tool/measure/measure.hpp"
#include "tool/measure/verify.hpp"
#include "tool/program/command.hpp"
#include "tool/program/place.hpp"

namespace antiphase::tool {

struct ladder_options : measuring_options {
  std::vector<std::string> policies;  // of the steps; empty: all
};
void add_ladder_options(arguments command, ladder_options& options, std::vector<std::string> policies);

void add_ladder_gemm(arguments ladder);
void add_ladder_scan(arguments ladder);
void add_ladder_attention(arguments ladder);

// One step, measured or counted: source of table cells and JSON members.
struct ladder_row {
  std::string step;
  std::string adds;
  std::string refused;  // why the device cannot run it; the rest is then unknown
  kernel_usage usage;
  launch_counts counts;
  verdict result;
  timing time;
  std::vector<std::string> code;  // of the kernels that were timed
  double gain = 0;                // speedup over the previous step, in percent; 0 for the first
};

// Works that are timed together, so that their times are comparable.
class timed_works {
 public:
  // `result` receives the times, `of` the code (none for a rival). Both must stay in place until measure().
  void add(work run, timing& result, ladder_row* of = nullptr);
  // Calls `progress` after each round.
  void measure(const context& where, const protocol& how, const std::function<void()>& progress);

 private:
  std::vector<work> works_;
  std::vector<timing*> results_;
  std::vector<ladder_row*> rows_;
};

// Speedup in percent; 0 if either time is missing.
double signed_gain(const timing& before, const timing& now);
// Gain of each row over the last row before it that ran.
void compute_gains(const std::vector<ladder_row*>& rows);

std::string verdict_text(const verdict& v);
std::string gain_text(double percent);
// JSON members common to the steps of all ladders; `kernel` is the full name.
json to_json(const ladder_row& row, std::string_view kernel, target where);

// Throws verification_failed, naming the steps that ran and gave wrong results.
void require_verified(const std::vector<const ladder_row*>& rows);

}  // namespace antiphase::tool
