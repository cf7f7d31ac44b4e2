// SPDX-License-Identifier: Apache-2.0
// Tables and records of the GEMM ladder.
#include "tool/commands/ladder/ladder_gemm_rows.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tool/base/wrap.hpp"
#include "tool/program/text/table.hpp"

namespace antiphase::tool {
namespace {

double promise(const gemm_row& row) {
  return (row.load->median_us + row.compute->median_us) /
         std::max(row.load->median_us, row.compute->median_us);
}

}  // namespace

std::string gpu_table(const std::vector<gemm_row>& rows, const timed_rival& cublas, const extents& e) {
  std::vector<std::vector<std::string>> table{{"step", "time us", "spread", "TFLOP/s", "gain", "cuBLAS",
                                               "load us", "compute us", "overlap", "model us", "limit",
                                               "shared B", "registers", "occupancy", "error", "verified"}};
  for (const gemm_row& row : rows) {
    if (!row.refused.empty()) {
      table.push_back({row.step, "refused: " + row.refused});
      continue;
    }
    const bool parts = row.load && row.compute;
    table.push_back(
        {row.step, fmt::format("{:.1f}", row.time.median_us), spread_text(row.time),
         fmt::format("{:.2f}", tflops(e, row.time.median_us)), gain_text(row.gain),
         cublas.rival ? fmt::format("{:.1f} %", cublas.time.median_us / row.time.median_us * 100) : "-",
         parts ? fmt::format("{:.1f}", row.load->median_us) : "-",
         parts ? fmt::format("{:.1f}", row.compute->median_us) : "-",
         parts ? fmt::format("x{:.2f}", promise(row)) : "-", fmt::format("{:.1f}", row.takes.seconds * 1e6),
         std::string(name(row.takes.largest())), fmt::format("{}", row.usage.shared_bytes),
         fmt::format("{}", row.usage.registers), fmt::format("{:.0f} %", row.usage.occupancy * 100),
         fmt::format("{:.1e}", row.result.error), verdict_text(row.result)});
  }
  if (cublas.rival)
    table.push_back({"cuBLAS", fmt::format("{:.1f}", cublas.time.median_us), spread_text(cublas.time),
                     fmt::format("{:.2f}", tflops(e, cublas.time.median_us)), "", "", "", "", "", "", "", "",
                     "", "", fmt::format("{:.1e}", cublas.result.error), verdict_text(cublas.result)});
  add_counts(table, rows);
  return table_text(table, terminal_columns());
}

std::string cpu_table(const std::vector<gemm_row>& rows) {
  std::vector<std::vector<std::string>> table{
      {"step", "switches", "barriers", "async copies", "moved B", "hidden", "shared B", "error", "verified"}};
  for (const gemm_row& row : rows) {
    if (!row.refused.empty()) {
      table.push_back({row.step, "refused: " + row.refused});
      continue;
    }
    const std::string hidden =
        row.hidden ? fmt::format("{} of {}", row.hidden->steps_hidden, row.hidden->steps) : "-";
    table.push_back({row.step, fmt::format("{}", row.counts.switches), fmt::format("{}", row.counts.barriers),
                     fmt::format("{}", row.counts.copies), fmt::format("{}", row.bytes_moved), hidden,
                     fmt::format("{}", row.usage.shared_bytes), fmt::format("{:.1e}", row.result.error),
                     verdict_text(row.result)});
  }
  add_counts(table, rows);
  return table_text(table, terminal_columns());
}

json records(const gemm_half& half, const std::vector<gemm_row>& rows, const timed_rival& cublas,
             const extents& e, protocol_kind how, target where) {
  json list = json::array();
  for (const gemm_row& row : rows) {
    json record = to_json(row, std::string(half.kernel) + row.step, where);
    record["shape"] = to_json(e);
    record["type"] = half.type;
    record["layout"] = "nn";
    record["bytes_moved"] = row.bytes_moved;
    if (row.refused.empty() && row.time.median_us > 0) {
      record["protocol"] = name(how);
      record["tflops"] = tflops(e, row.time.median_us);
      record["predicted_us"] = row.takes.seconds * 1e6;
      record["limit"] = name(row.takes.largest());
      if (cublas.rival) {
        add_time(record, half.rival, cublas.time);
        add_rival(record, half.rival, cublas.rival);
        record["error"][std::string(half.rival)] = cublas.result.error;
      }
      if (row.load && row.compute)
        record["overlap"] = {{"load_us", row.load->median_us},
                             {"compute_us", row.compute->median_us},
                             {"formula", promise(row)}};
    }
    if (row.hidden)
      record["hidden"] = {{"steps_hidden", row.hidden->steps_hidden}, {"steps", row.hidden->steps}};
    list.push_back(std::move(record));
  }
  return list;
}

}  // namespace antiphase::tool
