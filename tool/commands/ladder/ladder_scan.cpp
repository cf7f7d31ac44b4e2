// SPDX-License-Identifier: Apache-2.0
// The subcommand ladder scan.
#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <antiphase/core/names.hpp>
#include <antiphase/scan/ladder.hpp>
#include <functional>
#include <memory>
#include <optional>

#include "tool/base/wrap.hpp"
#include "tool/commands/ladder/ladder.hpp"
#include "tool/files/file_handle.hpp"
#include "tool/files/npy/npy_header.hpp"
#include "tool/measure/estimate.hpp"
#include "tool/measure/machine.hpp"
#include "tool/measure/scans/scan_data.hpp"
#include "tool/program/text/names.hpp"
#include "tool/program/text/table.hpp"
#include "tool/program/unfinished.hpp"
#include "tool/rivals/rivals.hpp"

namespace antiphase::tool {
namespace {

constexpr const char* explanation =
    "Without a GPU steps run on the CPU executor, counted, not timed; what takes long is announced.\n\n"
    "The first steps are ways to scan a tile within a block; 'tile' is how many elements that is. They run "
    "twice: each tile on "
    "its own in one launch (tiles), which shows the step alone, and over the whole array by three kernels "
    "(whole). The single "
    "passes scan the whole array in one kernel that reads it once: single-pass-async with a ring of 4 tiles "
    "per block that "
    "threads move (sm_80), the others of 1, 2, 3 and 8 that the copy engine moves (sm_90). `antiphase scan` "
    "uses the last one for "
    "long sums on Hopper, the first one on other GPUs. The shorter rings are compiled for f4 only.\n"
    "\n"
    "Columns on a GPU: median times (--protocol); GB/s counts every element read once and written once; "
    "gain: in speed over the "
    "step before, of 'tiles' and of 'whole'; a loss is negative; shared, registers, occupancy of the kernel. "
    "Below them CUB and a "
    "plain copy on the device.\n"
    "Columns on the CPU executor: switches from one simulated thread to another, barriers of whole blocks, "
    "and shuffles, votes "
    "and other meetings of warps.\n"
    "error is relative to FP64 in the Frobenius norm (integers: the share of wrong elements); verified: "
    "every element of both "
    "runs.\n"
    "\n"
    "Examples:\n"
    "  antiphase ladder scan\n"
    "      2^26 elements on a GPU, 2^16 on the CPU\n"
    "  antiphase ladder scan --size 1000000 --type i4\n"
    "  antiphase ladder scan --policy two-barriers,double-buffer --json";

struct request {
  std::optional<std::int64_t> size;
  std::string type = "f4";
  ladder_options options;
};
struct scan_row : ladder_row {
  int tile = 0;
  bool single_pass = false;  // tiles cannot be timed separately
  verdict whole_result;
  timing whole_time;
  double whole_gain = 0;
};

// for which the steps are compiled
constexpr element types[] = {element::f32, element::f64, element::i32, element::u32};

// The arrays of a run, and two ways to scan them: tile by tile, or whole.
template <class T> struct bench : scan_arrays<T> {
  using scan_arrays<T>::scan_arrays, scan_arrays<T>::context, scan_arrays<T>::problem;

  std::vector<scans::launchable> tiles(const scans::step& s) {
    if (this->host.empty() || scans::is_single_pass(s)) return {};
    return {scans::prepare_tiles(context.kind(), s, problem())};
  }
  // Uses a new workspace, zeroed as for its first use.
  std::vector<scans::launchable> whole(const scans::step& s,
                                       std::vector<device_array<std::byte>>& workspaces) {
    const std::vector<std::byte> zeros(scans::workspace_bytes(s, problem()));
    workspaces.emplace_back(context, std::span<const std::byte>(zeros));
    return scans::prepare(context.runs_on(), s, problem(), {workspaces.back().data(), zeros.size()});
  }
  launch_counts run(const std::vector<scans::launchable>& launches, stream on) const {
    launch_counts counts;
    for (const scans::launchable& l : launches)
      counts += context.runs_on().launch(l.code, l.grid, l.arguments.data(), on);
    return counts;
  }
  verdict check_after(const std::vector<scans::launchable>& launches, std::int64_t tile,
                      launch_counts& counts) {
    return this->assess([&](stream on) { counts = run(launches, on); }, tile);
  }
};

struct timed_rivals {
  rival cub, copy;
  timing cub_time, copy_time;
  verdict cub_result;
};

// Counts of tiles on their own, where the step has them.
template <class T> counted_step counts_of(const scans::step& s, std::int64_t count) {
  const std::int64_t few = std::min<std::int64_t>(count, 1 << 14);
  return {.asked = count_requests([&](const context& on) {
            bench<T> data{on, few};
            std::vector<device_array<std::byte>> workspaces;
            data.run(scans::is_single_pass(s) ? data.whole(s, workspaces) : data.tiles(s), nullptr);
          }),
          .operations = static_cast<double>(few)};
}

template <class T> void run_steps(const request& r, bench<T>& data,
                                  const std::vector<const scans::step*>& steps, std::vector<scan_row>& rows,
                                  const std::function<void()>& progress) {
  for (const scans::step* s : steps) {
    say_progress(r.options.common, fmt::format("running {}", s->name));
    scan_row row;
    row.step = s->name;
    row.adds = s->adds;
    row.single_pass = scans::is_single_pass(*s);
    row.tile = scans::tile_of(*s, sizeof(T));
    std::vector<device_array<std::byte>> workspaces;
    try {
      const auto whole = data.whole(*s, workspaces);
      const auto launches = row.single_pass ? whole : data.tiles(*s);
      if (!launches.empty()) {
        if (const auto why = refusal(data.context.limits(), launches[0].code)) throw not_supported(*why);
        row.usage = data.context.runs_on().usage(launches[0].code);
      }
      launch_counts of_whole;
      const std::int64_t all = data.count();
      row.result = data.check_after(launches, row.single_pass ? all : row.tile, row.counts);
      row.whole_result = row.single_pass ? row.result : data.check_after(whole, all, of_whole);
      row.result.verified = row.result.verified && row.whole_result.verified;
      if (r.options.counts) row.counted = counts_of<T>(*s, all);
    } catch (const not_supported& e) {
      row.refused = e.what();
    }
    rows.push_back(row);
    progress();
  }
}

template <class T> void time_all(const request& r, bench<T>& data, std::vector<scan_row>& rows,
                                 timed_rivals& rivals, const std::function<void()>& progress) {
  std::vector<device_array<std::byte>> workspaces;
  timed_works works;
  for (scan_row& row : rows) {
    if (!row.refused.empty()) continue;
    const scans::step& s = scans::find_step(row.step);
    if (!row.single_pass)
      works.add([&data, launches = data.tiles(s)](stream on) { data.run(launches, on); }, row.time, &row);
    works.add([&data, launches = data.whole(s, workspaces)](stream on) { data.run(launches, on); },
              row.whole_time, &row);
  }
  rivals.copy =
      device_copy(data.context, data.out.data(), std::as_const(data.in).data(), data.host.size() * sizeof(T));
  works.add(rivals.copy.run, rivals.copy_time);
  rivals.cub =
      cub_sums(data.context, element_of<T>, std::as_const(data.in).data(), data.out.data(), data.count());
  if (rivals.cub) {
    rivals.cub_result = data.assess(rivals.cub.run, data.count());
    works.add(rivals.cub.run, rivals.cub_time);
  } else {
    say(r.options.common, fmt::format("CUB is not compared with: {}", rivals.cub.why_not));
  }
  works.measure(data.context, {.kind = parse_protocol(r.options.protocol)}, progress);
}

std::string gpu_table(const std::vector<scan_row>& rows, const timed_rivals& rivals, std::int64_t count,
                      std::size_t size) {
  std::vector<std::vector<std::string>> table{{"step", "tile", "tiles us", "GB/s", "gain", "whole us", "GB/s",
                                               "gain", "shared B", "registers", "occupancy", "error",
                                               "verified"}};
  const auto us = [](const timing& t) { return fmt::format("{:.1f}", t.median_us); };
  const auto rate = [&](const timing& t) {
    return fmt::format("{:.0f}", gigabytes_per_second(count, size, t.median_us));
  };
  for (const scan_row& row : rows) {
    if (!row.refused.empty()) {
      table.push_back({row.step, "refused: " + row.refused});
      continue;
    }
    table.push_back({row.step, fmt::format("{}", row.tile), row.single_pass ? "" : us(row.time),
                     row.single_pass ? "" : rate(row.time), gain_text(row.gain), us(row.whole_time),
                     rate(row.whole_time), gain_text(row.whole_gain),
                     fmt::format("{}", row.usage.shared_bytes), fmt::format("{}", row.usage.registers),
                     fmt::format("{:.0f} %", row.usage.occupancy * 100),
                     fmt::format("{:.1e}", row.whole_result.error), verdict_text(row.result)});
  }
  if (rivals.cub)
    table.push_back({"CUB", "", "", "", "", us(rivals.cub_time), rate(rivals.cub_time), "", "", "", "",
                     fmt::format("{:.1e}", rivals.cub_result.error), verdict_text(rivals.cub_result)});
  table.push_back(
      {"copy", "", "", "", "", us(rivals.copy_time), rate(rivals.copy_time), "", "", "", "", "", ""});
  add_counts(table, rows);
  return table_text(table, terminal_columns());
}

std::string cpu_table(const std::vector<scan_row>& rows) {
  std::vector<std::vector<std::string>> table{
      {"step", "tile", "switches", "barriers", "warp meetings", "shared B", "error", "verified"}};
  for (const scan_row& row : rows) {
    if (!row.refused.empty()) {
      table.push_back({row.step, "refused: " + row.refused});
      continue;
    }
    table.push_back({row.step, fmt::format("{}", row.tile), fmt::format("{}", row.counts.switches),
                     fmt::format("{}", row.counts.barriers), fmt::format("{}", row.counts.warp_operations),
                     fmt::format("{}", row.usage.shared_bytes), fmt::format("{:.1e}", row.whole_result.error),
                     verdict_text(row.result)});
  }
  add_counts(table, rows);
  return table_text(table, terminal_columns());
}

json records(const std::vector<scan_row>& rows, const timed_rivals& rivals, std::int64_t count, element type,
             protocol_kind how, target where) {
  json list = json::array();
  for (const scan_row& row : rows) {
    json record = to_json(row, "scan.ladder." + row.step, where);
    record["shape"] = {{"n", count}};
    record["type"] = name(type);
    record["tile"] = row.tile;
    if (row.refused.empty()) {  // of the whole array, like the rivals' errors
      record["error"]["ours"] = row.whole_result.error;
      if (!row.single_pass) record["error"]["tiles"] = row.result.error;
    }
    if (row.refused.empty() && row.whole_time.median_us > 0) {
      record["protocol"] = name(how);
      add_time(record, "ours", row.whole_time);                   // the whole array, as the rivals scan it
      if (!row.single_pass) add_time(record, "tiles", row.time);  // the times after gain_percent
      if (row.single_pass) record.erase("gain_percent");
      record["gain_of_whole_percent"] = row.whole_gain;
      add_time(record, "memcpy", rivals.copy_time);
      add_rival(record, "memcpy", rivals.copy);
      if (rivals.cub) {
        add_time(record, "cub", rivals.cub_time);
        add_rival(record, "cub", rivals.cub);
        record["error"]["cub"] = rivals.cub_result.error;
      }
      record["gb_per_s"] = gigabytes_per_second(count, size_of(type), row.whole_time.median_us);
      if (!row.single_pass)
        record["gb_per_s_of_tiles"] = gigabytes_per_second(count, size_of(type), row.time.median_us);
    }
    list.push_back(std::move(record));
  }
  return list;
}

void compute_gains(std::vector<scan_row>& rows) {
  std::vector<ladder_row*> all;
  for (scan_row& row : rows) all.push_back(&row);
  tool::compute_gains(all);
  const scan_row* before = nullptr;
  for (scan_row& row : rows) {
    if (!row.refused.empty()) continue;
    if (before != nullptr) row.whole_gain = signed_gain(before->whole_time, row.whole_time);
    before = &row;
  }
}

template <class T>
void run_with(const request& r, const place& at, const std::vector<const scans::step*>& steps) {
  const target kind = at.context.kind();
  const std::int64_t count =
      r.size.value_or(kind == target::cuda ? std::int64_t{1} << 26 : std::int64_t{1} << 16);
  constexpr std::int64_t most = std::int64_t{1} << 40;
  if (count > most) throw bad_request(fmt::format("--size {}: expected at most 2^40 elements", count));
  const bool timed = kind == target::cuda && count > 0;
  std::vector<scan_row> rows;
  timed_rivals rivals{};
  const auto records_of = [&] {
    return records(rows, rivals, count, element_of<T>, parse_protocol(r.options.protocol), kind);
  };
  const auto text_of = [&]() -> std::string {
    if (timed && rivals.copy_time.median_us == 0) return "";
    return wrapped(fmt::format("inclusive sums of {} elements of {}, on {}", count, numpy_name(element_of<T>),
                               at.name)) +
           "\n\n" + (timed ? gpu_table(rows, rivals, count, sizeof(T)) : cpu_table(rows));
  };
  unfinished_results so_far(r.options.common, result_envelope("ladder scan", at), "records", steps.size(),
                            "steps");
  const auto progress = [&] {
    compute_gains(rows);
    so_far.show(rows.size(), records_of, text_of);
  };
  constexpr std::int64_t little = 1 << 14;
  expected_time whole;
  if (kind == target::cpu && count / little >= 16) {
    request quiet = r;
    quiet.options.common.quiet = true;
    std::vector<scan_row> unused;
    whole = time_of([&] {
              bench<T> piece{at.context, little};
              run_steps(quiet, piece, steps, unused, [] {});
            }) *
            (static_cast<double>(count) / little);
  }
  const progress_line line = warn_if_slow(r.options.common, "this", whole);
  bench<T> data{at.context, count};
  run_steps(r, data, steps, rows, progress);
  if (timed) {
    say_progress(r.options.common, "taking times");
    time_all(r, data, rows, rivals, progress);
  }
  so_far.finish();
  if (r.options.common.json)
    print_json(result_file("ladder scan", at, records_of()));
  else
    print(text_of());
  std::vector<const ladder_row*> all;
  for (const scan_row& row : rows) all.push_back(&row);
  require_verified(all);
}

void run(const request& r) {
  const element type = parse_type("--type", r.type, types);
  parse_protocol(r.options.protocol);
  std::vector<const scans::step*> steps;
  for (const std::string& name : r.options.policies) steps.push_back(&scans::find_step(name));
  if (steps.empty())
    for (const scans::step& s : scans::steps) steps.push_back(&s);
  const place at = choose_place(r.options.place);
  say_place(r.options.common, at);
  if (type == element::f32) return run_with<float>(r, at, steps);
  if (type == element::f64) return run_with<double>(r, at, steps);
  if (type == element::i32) return run_with<std::int32_t>(r, at, steps);
  run_with<std::uint32_t>(r, at, steps);
}

}  // namespace

void add_ladder_scan(arguments ladder) {
  arguments command =
      ladder.add_subcommand("scan", "The steps of the scan within a block, and over whole arrays");
  const auto r = std::make_shared<request>();
  command.add_option("--size", r->size, "Number of elements").check(integer_from(0)).type_name("N");
  command.add_option("--type", r->type, "f4 (default), f8, i4 or u4")
      .type_name("TYPE")
      .offers(names_of_types(types));
  add_ladder_options(command, r->options, names_of(scans::steps));
  command.footer(explanation);
  command.runs([r] { run(*r); });
}

}  // namespace antiphase::tool
