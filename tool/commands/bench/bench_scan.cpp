// SPDX-License-Identifier: Apache-2.0
// The subcommand bench scan.
#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <antiphase/core/tile.hpp>
#include <antiphase/scan.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tool/commands/bench/bench_scan.hpp"
#include "tool/files/npy/npy_header.hpp"
#include "tool/measure/estimate.hpp"
#include "tool/measure/graphs/graph.hpp"
#include "tool/measure/kernel_code.hpp"
#include "tool/measure/machine.hpp"
#include "tool/program/text/names.hpp"
#include "tool/program/text/table.hpp"
#include "tool/program/unfinished.hpp"

namespace antiphase::tool {
namespace {

constexpr const char* explanation =
    "Without a GPU scans are verified on the CPU executor, not timed; what takes long is announced.\n\n"
    "Inclusive sums of all sizes and types: of whole arrays, of rows, by key, in wider types. --own: scans "
    "of structs of 4 to 32 "
    "bytes that stand for maps x -> x + offset or offset - x, with an operator that does one after the "
    "other, which does not "
    "commute. Who is timed for one array is timed in one go, in random order.\n"
    "\n"
    "Columns\n"
    "  how     rested, hot: calls queued one after the other (--protocol); up to 128 MiB also graph: one of "
    "40 in a captured "
    "graph, and event: a single call between two events. All warm: an array that fits the cache is there\n"
    "  time    median of a call; GB/s: every element and key read once, every result written once\n"
    "  memcpy  share of the speed of a copy on the device that moves as many bytes; CUB: how many times as "
    "fast as "
    "DeviceScan::InclusiveSum, InclusiveSumByKey or (--own) InclusiveScan; r2r: as many as its sums with the "
    "same bits in every "
    "run, where the build has a CUB that knows them\n"
    "  error   relative to FP64 in the Frobenius norm (integers: the share of wrong elements); verified: "
    "every element\n"
    "\n"
    "Examples:\n"
    "  antiphase bench scan\n"
    "      sizes that suit the place: 2^16 to 2^28 on a GPU, 2^12 on the CPU\n"
    "  antiphase bench scan --size 1048576,268435456 --type f4,i1,u2\n"
    "  antiphase bench scan --size 256000000 --rows 1000000\n"
    "  antiphase bench scan --type i1 --accumulate i4\n"
    "  antiphase bench scan --by-key 1000\n"
    "      a key for each 1000 elements\n"
    "  antiphase bench scan --own 16 --size 67108864\n"
    "  antiphase bench scan --type all --against memcpy --json";

constexpr int launches_in_a_graph = 40;
// bytes read and written; in longer calls a launch's time is negligible
constexpr std::int64_t most_bytes_of_short_calls = 128 << 20;

// Times of one array, all measured in the same way.
struct times {
  std::string policy;
  timing ours;
  std::vector<timing> rivals;  // in the order of outcome::rivals
};
struct measured_rival {
  tool::rival rival;
  std::optional<verdict> result;  // a copy has none
};
struct outcome {
  std::string type, called;  // in JSON, in tables
  std::int64_t count;
  double bytes = 0;         // that a call must move
  std::string policy = {};  // the one that ran
  verdict ours = {};
  launch_counts counts = {};
  std::vector<measured_rival> rivals = {};  // the available ones
  std::vector<times> taken = {};
  std::vector<std::string> code = {};     // of the kernels that ran
  std::vector<std::string> why_not = {};  // reasons for what was not measured

  bool is_beside(std::string_view rival) const {
    return std::ranges::any_of(rivals, [&](const measured_rival& one) { return one.rival.key == rival; });
  }
  const timing* time_of(const times& t, std::string_view rival) const {
    for (std::size_t i = 0; i < rivals.size(); ++i)
      if (rivals[i].rival.key == rival) return &t.rivals[i];
    return nullptr;
  }
};

std::vector<element> types_of(const scan_request& r) {
  if (r.types.empty()) return {element::f32};
  std::vector<element> types;
  for (const std::string& text : r.types) {
    if (text == "all")
      types.insert(types.end(), types_to_calculate_with.begin(), types_to_calculate_with.end());
    else
      types.push_back(parse_type("--type", text, types_to_calculate_with, {"all"}));
  }
  return types;
}

std::vector<std::int64_t> sizes_of(const scan_request& r, target where) {
  constexpr std::int64_t most = std::int64_t{1} << 40;
  for (const std::int64_t size : r.sizes)
    if (size > most) throw bad_request(fmt::format("--size {}: expected at most 2^40 elements", size));
  if (!r.sizes.empty()) return r.sizes;
  if (where != target::cuda) return {1 << 12};
  if (!r.own.empty()) return {1 << 20, 1 << 22, 1 << 24, 1 << 26};
  return {1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 26, 1 << 28};
}

// The works timed for one array, and where their times go.
struct contest {
  std::vector<work> works;
  std::vector<timing*> results;

  void add(const work& w, timing& result) {
    works.push_back(w);
    results.push_back(&result);
  }
  void take(const executor& where, const protocol& how, int runs_of_a_work) {
    const std::vector<timing> all = measure(where, works, how);
    for (std::size_t i = 0; i < all.size(); ++i) *results[i] = divided(all[i], runs_of_a_work);
  }
};

// Adds the available rivals and checks their results.
void add_rivals(const scan_request& r, scan_subject& subject, outcome& o) {
  if (r.beside("cub"))
    for (rival& one : subject.rivals()) {
      if (!one && !one.why_not.empty())
        o.why_not.push_back(fmt::format("{} is not compared with: {}", one.name, one.why_not));
      if (!one) continue;
      const verdict result = subject.assess(one.run);
      o.rivals.push_back({std::move(one), result});
    }
  if (r.beside("memcpy")) o.rivals.push_back({subject.copy(), std::nullopt});
}

times take(const context& where, scan_subject& subject, const outcome& o, std::string how, const protocol& as,
           int in_a_graph_of = 1) {
  times taken{.policy = std::move(how), .ours = {}, .rivals = std::vector<timing>(o.rivals.size())};
  contest all;
  const auto add = [&](const work& w, timing& result) {
    all.add(in_a_graph_of > 1 ? in_graph(where, w, in_a_graph_of) : w, result);
  };
  add([&subject](stream on) { subject.run(on); }, taken.ours);
  for (std::size_t i = 0; i < o.rivals.size(); ++i) add(o.rivals[i].rival.run, taken.rivals[i]);
  all.take(where.runs_on(), as, in_a_graph_of);
  return taken;
}
void take_times(const context& where, scan_subject& subject, const protocol& how, outcome& o) {
  o.taken.push_back(take(where, subject, o, std::string(name(how.kind)), how));
  if (o.bytes > most_bytes_of_short_calls) return;
  protocol single = how;
  single.most_repeats = 1;
  o.taken.push_back(take(where, subject, o, "event", single));
  try {
    o.taken.push_back(take(where, subject, o, "graph", how, launches_in_a_graph));
  } catch (const not_supported& why) {
    o.why_not.push_back(fmt::format("{} of {} in a graph: {}", o.count, o.called, why.what()));
  }
}

void measure_all(const scan_request& r, const context& where, scan_subject& subject, outcome& o) {
  o.bytes = subject.bytes();
  o.policy = subject.policy();
  o.ours = subject.assess([&](stream on) { o.counts = subject.run(on); });
  if (where.kind() != target::cuda || o.count == 0) return;
  add_rivals(r, subject, o);
  take_times(where, subject, {.kind = parse_protocol(r.protocol), .samples = r.repeats}, o);
  o.code = code_of(where, std::vector<work>{[&](stream on) { subject.run(on); }});
  for (measured_rival& one : o.rivals) one.rival.run = {};  // frees its workspace
}

using cells = std::vector<std::string>;

std::string faster_text(const char* format, const timing* rival, const timing& ours) {
  return rival != nullptr ? fmt::format(fmt::runtime(format), rival->median_us / ours.median_us) : "-";
}
std::string table(const std::vector<outcome>& all) {
  const bool timed = std::ranges::any_of(all, [](const outcome& o) { return !o.taken.empty(); });
  const bool twice = std::ranges::any_of(all, [](const outcome& o) { return o.is_beside("cub_run_to_run"); });
  cells heads{"type", "n", "policy"};
  if (timed) heads.insert(heads.end(), {"how", "time us", "spread", "GB/s", "memcpy", "CUB"});
  if (timed && twice) heads.push_back("CUB, r2r");
  heads.insert(heads.end(), {"error", "verified"});
  std::vector<cells> rows{heads};
  for (const outcome& o : all) {
    const auto add = [&](const times* t) {
      cells row{o.called, fmt::format("{}", o.count), o.policy};
      if (t != nullptr)
        row.insert(row.end(), {t->policy, fmt::format("{:.2f}", t->ours.median_us), spread_text(t->ours),
                               fmt::format("{:.0f}", o.bytes / t->ours.median_us * 1e-3),
                               faster_text("{:.3f}", o.time_of(*t, "memcpy"), t->ours),
                               faster_text("x{:.2f}", o.time_of(*t, "cub"), t->ours)});
      else if (timed)
        row.insert(row.end(), 6, "-");
      if (timed && twice)
        row.push_back(t != nullptr ? faster_text("x{:.2f}", o.time_of(*t, "cub_run_to_run"), t->ours) : "-");
      row.insert(row.end(), {fmt::format("{:.1e}", o.ours.error), o.ours.verified ? "yes" : "NO"});
      rows.push_back(row);
    };
    for (const times& t : o.taken) add(&t);
    if (o.taken.empty()) add(nullptr);
  }
  return table_text(rows);
}

std::string kind_of(const scan_request& r) {
  return !r.own.empty()          ? "scan.own"
         : r.segment > 0         ? "scan.by-key"
         : r.rows > 1            ? "scan.rows"
         : !r.accumulate.empty() ? "scan.wider"
                                 : "scan.sum";
}
// What is scanned, unless it is the whole array, summed in its own type.
std::string what_of(const scan_request& r) {
  if (!r.own.empty()) return "x + offset, offset - x";
  if (r.segment > 0) return fmt::format("a key for each {}", r.segment);
  if (r.rows > 1) return fmt::format("{} rows", r.rows);
  return r.accumulate.empty()
             ? ""
             : fmt::format("summed in {}",
                           name(parse_type("--accumulate", r.accumulate, types_to_calculate_with)));
}
void add_measured(json& value, const measured_rival& one, const timing& time, const timing& ours) {
  const std::string& key = one.rival.key;
  add_time(value, key, time);
  add_rival(value, key, one.rival);
  if (!one.result) return;
  value["error"][key] = one.result->error;
  value["rivals"][key]["verified"] = one.result->verified;
  value["times_" + key] = time.median_us / ours.median_us;
}
// One record per way of timing, or one without times.
json record(const scan_request& r, const outcome& o, const times* t) {
  json value{{"kernel", kind_of(r) + (r.policy == "auto" ? "" : "." + r.policy)},
             {"policy", o.policy},
             {"shape", {{"n", o.count}}},
             {"type", o.type}};
  if (const std::string what = what_of(r); !what.empty()) value["data"] = what;
  value["error"] = {{"ours", o.ours.error}, {"unit", "relative Frobenius"}};
  if (t == nullptr) value["counts"] = to_json(o.counts);
  if (t != nullptr) {
    value["protocol"] = t->policy;
    add_time(value, "ours", t->ours);
    for (std::size_t i = 0; i < o.rivals.size(); ++i) add_measured(value, o.rivals[i], t->rivals[i], t->ours);
    if (const timing* copy = o.time_of(*t, "memcpy"))
      value["of_memcpy"] = copy->median_us / t->ours.median_us;
    value["gb_per_s"] = o.bytes / t->ours.median_us * 1e-3;
  }
  value["verified"] = o.ours.verified;
  value["code"] = o.code;
  return value;
}

void require_verified(const std::vector<outcome>& all) {
  std::string wrong;
  for (const outcome& o : all)
    if (!o.ours.verified) wrong += fmt::format("{}{} of {}", wrong.empty() ? "" : ", ", o.count, o.called);
  if (!wrong.empty())
    throw verification_failed(fmt::format("verification failed: the results of {} are wrong", wrong));
}

void require_sensible(const scan_request& r) {
  parse_protocol(r.protocol);
  for (const std::string& rival : r.against) choice_of("--against", rival, {"cub", "memcpy", "none"});
  if (r.policy != "auto") scans::find_policy(r.policy);
  if ((r.rows > 1) + (r.segment > 0) + !r.accumulate.empty() + !r.own.empty() > 1)
    throw bad_request("--rows, --by-key, --accumulate and --own are measured one at a time");
  if (!r.own.empty() && (!r.types.empty() || r.policy != "auto"))
    throw bad_request(
        "--own has types and a kernel of its own: it cannot be combined with --type or --policy");
}

// Contents of the arrays of a request, in order.
struct contents {
  std::string type, called;  // in JSON, in tables
  std::function<std::unique_ptr<scan_subject>(const context&, std::int64_t count)> make;
};
std::vector<contents> contents_of(const scan_request& r) {
  std::vector<contents> all;
  for (const int size : custom_sizes_of(r)) {
    const std::string type = fmt::format("{} bytes", size);
    all.push_back({type, type, [=](const context& where, std::int64_t count) {
                     return custom_scan_of(where, size, count);
                   }});
  }
  if (!all.empty()) return all;
  for (const element type : types_of(r))
    all.push_back(
        {std::string(name(type)), numpy_name(type),
         [&r, type](const context& where, std::int64_t count) { return sums_of(r, where, type, count); }});
  return all;
}

// Extrapolated from an array that takes a moment, a hundredth or less of those whose duration matters.
// Includes the references on the host, which take their share of the time.
expected_time estimate_all(const scan_request& r, const context& where, const std::vector<contents>& arrays,
                           const std::vector<std::int64_t>& sizes) {
  expected_time whole;
  if (where.kind() != target::cpu) return whole;
  constexpr std::int64_t little = 1 << 16;
  const std::int64_t piece = ceil_div(little, r.rows) * r.rows;
  for (const contents& array : arrays) {
    std::optional<expected_time> of_piece;
    for (const std::int64_t size : sizes) {
      if (size / piece < 16) continue;
      try {
        for (int turn = 0; turn < 2 && (!of_piece || turn == 1); ++turn)  // the first run creates the fibers
          of_piece = time_of([&] {
            const auto subject = array.make(where, piece);
            subject->assess([&](stream on) { subject->run(on); });
          });
        whole += *of_piece * (static_cast<double>(size) / static_cast<double>(piece));
      } catch (const not_supported&) {  // reported when this array is measured
      }
    }
  }
  return whole;
}

void run(const scan_request& r) {
  require_sensible(r);
  const std::vector<contents> arrays = contents_of(r);
  const place at = choose_place(r.place);
  const std::vector<std::int64_t> sizes = sizes_of(r, at.context.kind());
  for (const std::int64_t size : sizes)
    if (size % r.rows != 0)
      throw bad_request(fmt::format("--size {}: expected a multiple of --rows {}", size, r.rows));
  say_place(r.common, at);
  if (at.context.kind() != target::cuda)
    say(r.common, "nothing is timed: times of the CPU executor would say nothing about a GPU");

  std::vector<outcome> all;
  const auto records_of = [&] {
    json records = json::array();
    for (const outcome& o : all) {
      for (const times& t : o.taken) records.push_back(record(r, o, &t));
      if (o.taken.empty()) records.push_back(record(r, o, nullptr));
    }
    return records;
  };
  const std::string what = what_of(r);
  const auto text_of = [&] {
    return fmt::format("inclusive {}{} on {}\n\n{}", r.own.empty() ? "sums" : "scans",
                       what.empty() ? "" : ", " + what + ",", at.name, table(all));
  };
  unfinished_results so_far(r.common, result_envelope("bench scan", at), "records",
                            arrays.size() * sizes.size(), "arrays");
  const progress_line line = warn_if_slow(r.common, "this", estimate_all(r, at.context, arrays, sizes));
  for (const contents& array : arrays)
    for (const std::int64_t size : sizes) {
      if (!all.empty()) so_far.show(all.size(), records_of, text_of);
      say_progress(r.common, fmt::format("{} of {}", size, array.called));
      outcome& o = all.emplace_back(outcome{.type = array.type, .called = array.called, .count = size});
      measure_all(r, at.context, *array.make(at.context, size), o);
      for (const std::string& why : o.why_not) say(r.common, why);
    }

  so_far.finish();
  if (r.common.json)
    print_json(result_file("bench scan", at, records_of()));
  else
    print(text_of());
  require_verified(all);
}

}  // namespace

bool scan_request::beside(std::string_view rival) const {
  return std::ranges::find(against, rival) != against.end();
}

void add_bench_scan(arguments bench) {
  arguments command = bench.add_subcommand("scan", "Running sums: time, and CUB and a copy next to them");
  const auto r = std::make_shared<scan_request>();
  command.add_option("--size", r->sizes, "Numbers of elements, separated by commas")
      .several()
      .check(integer_from(0))
      .type_name("NUMBERS");
  std::vector<std::string> types = names_of_types(types_to_calculate_with);
  types.emplace_back("all");
  command.add_option("--type", r->types, "Some of f4 (default), f8, i1 to i8, u1 to u8, or all")
      .several()
      .type_name("TYPES")
      .offers(types);
  command.add_option("--rows", r->rows, "Rows of equal length that each array consists of")
      .check(integer_from(1))
      .type_name("N");
  command.add_option("--by-key", r->segment, "Sums by 32-bit keys, of which each stands for so many elements")
      .check(integer_from(1))
      .type_name("N");
  command.add_option("--accumulate", r->accumulate, "Sums in a wider type")
      .type_name("TYPE")
      .offers(names_of_types(types_to_calculate_with));
  command
      .add_option("--own", r->own,
                  "Scans with a type and an operator of one's own, some of 4, 8, 16, 24, 32 bytes, or all")
      .several()
      .type_name("BYTES")
      .offers({"4", "8", "16", "24", "32", "all"});
  command
      .add_option("--policy", r->policy, "auto (default), or a step of the scan ladder that takes the type")
      .type_name("NAME")
      .offers(policies_of_scan())
      .otherwise("--step")
      .otherwise("--steps");
  command.add_option("--against", r->against, "Some of cub and memcpy (default: both), or none")
      .several()
      .type_name("NAMES")
      .offers({"cub", "memcpy", "none"});
  add_bench_options(command, *r);
  command.footer(explanation);
  command.runs([r] { run(*r); });
}

}  // namespace antiphase::tool
