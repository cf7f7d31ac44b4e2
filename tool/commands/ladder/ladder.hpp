// SPDX-License-Identifier: Apache-2.0
// What the two ladders share.
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
void add_ladder_options(arguments command, ladder_options& options);

void add_ladder_gemm(arguments ladder);
void add_ladder_scan(arguments ladder);

// One step, measured or counted. Cells of the tables and members of the JSON are made of it.
struct ladder_row {
  std::string step;
  std::string adds;
  std::string refused;  // why the device cannot run it; then nothing else is known
  kernel_usage usage;
  launch_counts counts;
  verdict result;
  timing time;
  std::vector<std::string> code;  // of the kernels that were timed
  double gain = 0;                // in speed over the step before, signed, in percent; 0 for the first
};

// Who is timed in one go, so that all can be compared.
class timed_works {
 public:
  // `result` gets the times, `of` the code; a rival has none. Neither may move before they are measured.
  void add(work run, timing& result, ladder_row* of = nullptr);
  // Calls `progress` after each round.
  void measure(const context& where, const protocol& how, const std::function<void()>& progress);

 private:
  std::vector<work> works_;
  std::vector<timing*> results_;
  std::vector<ladder_row*> rows_;
};

// In speed, in percent; 0 if one of the two was not taken.
double signed_gain(const timing& before, const timing& now);
// The gain of each row over the last one before it that ran.
void compute_gains(const std::vector<ladder_row*>& rows);

std::string verdict_text(const verdict& v);
std::string gain_text(double percent);
// What both ladders say of a step in JSON; `kernel` is its full name.
json to_json(const ladder_row& row, std::string_view kernel, target where);

// Throws verification_failed, naming the steps, if a step that ran gave a wrong result.
void require_verified(const std::vector<const ladder_row*>& rows);

}  // namespace antiphase::tool
