// SPDX-License-Identifier: Apache-2.0
// Shared parts of the ladders.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tool/commands/common/count_requests.hpp"
#include "tool/commands/common/record.hpp"
#include "tool/measure/measure.hpp"
#include "tool/measure/verify.hpp"
#include "tool/program/command.hpp"
#include "tool/program/place.hpp"

namespace antiphase::tool {

struct ladder_options : measuring_options {
  std::vector<std::string> policies;  // of the steps; empty: all
  bool counts = false;
};
void add_ladder_options(arguments command, ladder_options& options, std::vector<std::string> policies);

void add_ladder_gemm(arguments ladder);
void add_ladder_scan(arguments ladder);
void add_ladder_attention(arguments ladder);

// Requests to memory of a step on a small problem, and the operations that they are for.
struct counted_step {
  request_totals asked;
  double operations = 0;
  double intensity() const {  // operations for each byte of global memory moved
    return asked.moved() == 0 ? 0 : operations / static_cast<double>(asked.moved());
  }
};

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
  std::optional<counted_step> counted;
  double gain = 0;  // speedup over the previous step, in percent; 0 for the first
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

// Adds the columns of --counts after the others, where a row has them. `rows` and `table`, headings aside,
// are the same steps in the same order.
void add_counts(std::vector<std::vector<std::string>>& table, const std::vector<const ladder_row*>& rows);
template <class Row>
void add_counts(std::vector<std::vector<std::string>>& table, const std::vector<Row>& rows) {
  std::vector<const ladder_row*> all;
  for (const Row& row : rows) all.push_back(&row);
  add_counts(table, all);
}

// Throws verification_failed, naming the steps that ran and gave wrong results.
void require_verified(const std::vector<const ladder_row*>& rows);

}  // namespace antiphase::tool
