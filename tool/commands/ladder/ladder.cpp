// SPDX-License-Identifier: Apache-2.0
// The subcommand ladder: all steps from the textbook's first kernel to the fastest, side by side.
#include "tool/commands/ladder/ladder.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tool/measure/kernel_code.hpp"

namespace antiphase::tool {
namespace {

constexpr const char* examples =
    "Without a GPU steps run on the CPU executor, counted, not timed; what takes long is announced.\n\n"
    "Each step adds one idea to the one before. On a GPU they are timed, on the CPU executor they are "
    "counted: it simulates a "
    "GPU, so its speed would mean nothing. Every result is verified, and a wrong one gives exit code 5.\n"
    "\n"
    "Examples:\n"
    "  antiphase ladder gemm --size 4096\n"
    "  antiphase ladder scan --size 1000000 --type i4\n"
    "  antiphase ladder attention --causal\n"
    "  antiphase ladder gemm --help                 what the columns mean";

}  // namespace

void add_ladder(arguments program) {
  arguments command = program.add_subcommand(
      "ladder", "Run every step of a ladder of kernels: timed on a GPU, counted on the CPU; verified");
  command.require_subcommand();
  command.footer(examples);
  add_ladder_gemm(command);
  add_ladder_scan(command);
  add_ladder_attention(command);
}

void add_ladder_options(arguments command, ladder_options& options, std::vector<std::string> policies) {
  command
      .add_option("--policy", options.policies,
                  "Only the steps with these policies, separated by commas (default: all)")
      .several()
      .type_name("NAMES")
      .offers(std::move(policies))
      .otherwise("--steps")
      .otherwise("--step")
      .otherwise("--policies");
  command.add_flag(
      "--counts", options.counts,
      "Add what each step asks memory for, counted on a small problem as antiphase count does: the "
      "active lanes of a request; the wavefronts of one to shared memory, and the ideal (more "
      "are bank conflicts); the sectors of one to global memory, and the ideal (more for lack of "
      "coalescing); operations for each byte of global memory that is moved");
  add_measuring_options(command, options);
}

void timed_works::add(work run, timing& result, ladder_row* of) {
  works_.push_back(std::move(run));
  results_.push_back(&result);
  rows_.push_back(of);
}

void timed_works::measure(const context& where, const protocol& how, const std::function<void()>& progress) {
  tool::measure(where.runs_on(), works_, how, [&](const std::vector<timing>& times) {
    for (std::size_t i = 0; i < times.size(); ++i) *results_[i] = times[i];
    progress();
  });
  for (ladder_row* row : rows_) {
    if (row == nullptr || !row->code.empty()) continue;
    std::vector<work> of_row;
    for (std::size_t i = 0; i < works_.size(); ++i)
      if (rows_[i] == row) of_row.push_back(works_[i]);
    row->code = code_of(where, of_row);
  }
}

double signed_gain(const timing& before, const timing& now) {
  return before.median_us > 0 && now.median_us > 0 ? (before.median_us / now.median_us - 1) * 100 : 0;
}

void compute_gains(const std::vector<ladder_row*>& rows) {
  const ladder_row* before = nullptr;
  for (ladder_row* row : rows) {
    if (!row->refused.empty()) continue;
    if (before != nullptr) row->gain = signed_gain(before->time, row->time);
    before = row;
  }
}

std::string verdict_text(const verdict& v) { return v.verified ? "yes" : "NO"; }

std::string gain_text(double percent) { return percent == 0 ? "" : fmt::format("{:+.1f} %", percent); }

void add_counts(std::vector<std::vector<std::string>>& table, const std::vector<const ladder_row*>& rows) {
  if (std::ranges::none_of(rows, [](const ladder_row* row) { return row->counted.has_value(); })) return;
  const std::size_t width = table.front().size();
  table.front().insert(table.front().end(),
                       {"lanes", "wavefronts", "ideal", "sectors", "ideal", "ops a byte"});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i]->counted || table[i + 1].size() < width) continue;
    const request_totals& t = rows[i]->counted->asked;
    const auto each = [](std::uint64_t n, std::uint64_t of) {
      return of == 0 ? std::string("-") : fmt::format("{:.2f}", ratio(n, of));
    };
    table[i + 1].insert(
        table[i + 1].end(),
        {each(t.lanes, t.requests), each(t.wavefronts, t.shared_requests), each(t.ideal, t.shared_requests),
         each(t.global_sectors, t.global_requests), each(t.global_ideal, t.global_requests),
         fmt::format("{:.3g}", rows[i]->counted->intensity())});
  }
  for (std::size_t i = rows.size() + 1; i < table.size(); ++i) table[i].resize(table.front().size());
}

json to_json(const ladder_row& row, std::string_view kernel, target where) {
  json value{{"kernel", kernel}, {"policy", row.step}, {"adds", row.adds}};
  if (!row.refused.empty()) {
    value["refused"] = row.refused;
    return value;
  }
  value["shared_bytes"] = row.usage.shared_bytes;
  // The number of resident blocks depends on registers, known only from a GPU's machine code.
  const bool known = where == target::cuda;
  value["blocks_per_multiprocessor"] = known ? json(row.usage.blocks_per_multiprocessor) : json();
  value["occupancy"] = known ? json(row.usage.occupancy) : json();
  if (where == target::cuda) {
    value["registers"] = row.usage.registers;
    value["spilled_bytes"] = row.usage.spilled_bytes;
    if (row.time.median_us > 0) {
      add_time(value, "ours", row.time);
      value["gain_percent"] = row.gain;
    }
  } else {
    value["counts"] = to_json(row.counts);
  }
  if (row.counted) {
    const request_totals& t = row.counted->asked;
    value["asked"] = {{"requests", t.requests},
                      {"lanes", t.lanes},
                      {"shared",
                       {{"requests", t.shared_requests},
                        {"bytes", t.shared_bytes},
                        {"wavefronts", t.wavefronts},
                        {"ideal", t.ideal}}},
                      {"global",
                       {{"requests", t.global_requests},
                        {"bytes", t.global_bytes},
                        {"sectors", t.global_sectors},
                        {"ideal", t.global_ideal}}},
                      {"copied_bytes", t.copied_bytes},
                      {"operations", row.counted->operations},
                      {"operations_per_byte", row.counted->intensity()}};
  }
  value["error"] = {{"ours", row.result.error}, {"unit", "relative Frobenius"}};
  value["verified"] = row.result.verified;
  value["code"] = row.code;
  return value;
}

void require_verified(const std::vector<const ladder_row*>& rows) {
  std::string wrong;
  for (const ladder_row* row : rows)
    if (row->refused.empty() && !row->result.verified) wrong += (wrong.empty() ? "" : ", ") + row->step;
  if (!wrong.empty())
    throw verification_failed(fmt::format("verification failed: the result of {} is wrong", wrong));
}

}  // namespace antiphase::tool
