// SPDX-License-Identifier: Apache-2.0
// The subcommand ladder attention.
#include <fmt/format.h>

#include <algorithm>
#include <antiphase/attention.hpp>
#include <antiphase/attention/ladder.hpp>
#include <antiphase/core/error.hpp>
#include <antiphase/core/names.hpp>
#include <memory>
#include <optional>

#include "tool/base/wrap.hpp"
#include "tool/commands/ladder/ladder.hpp"
#include "tool/measure/attention/attention_check.hpp"
#include "tool/measure/estimate.hpp"
#include "tool/measure/machine.hpp"
#include "tool/program/text/table.hpp"
#include "tool/program/unfinished.hpp"

namespace antiphase::tool {
namespace {

constexpr const char* explanation =
    "Without a GPU steps run on the CPU executor, counted, not timed; what takes long is announced.\n\n"
    "O = softmax(Q K^T / sqrt(depth)) V of members x heads heads, each of as many queries as keys, rows of "
    "`depth` numbers. roles and antiphase need sm_90a or the CPU executor, and depth up to 128.\n"
    "\n"
    "Columns on a GPU\n"
    "  time, TFLOP/s  median of the whole call (--protocol), with the passes that split operands; 4 depth "
    "operations for each pair of a query and a key that it sees; gain: in speed over the step before, a loss "
    "is negative\n"
    "  model          what antiphase predicts by the cost models of its policies: fp32 is double-buffered, "
    "fp16 is "
    "antiphase; other steps have none\n"
    "  kernels        how many the step launches; shared, registers, occupancy: of the one that takes the "
    "most "
    "shared memory\n"
    "Columns on the CPU executor\n"
    "  switches       from one simulated thread to another; barriers: of whole blocks; async copies: by "
    "threads; warp meetings: shuffles and votes\n"
    "error is relative to FP64 in the Frobenius norm, over a sample of rows; verified: every output of these "
    "rows is within the bound of its step (docs/use/accuracy.md#attention).\n"
    "\n"
    "Examples:\n"
    "  antiphase ladder attention\n"
    "      8 x 12 x 1024 x 64 on a GPU, 1 x 2 x 128 x 64 on the CPU\n"
    "  antiphase ladder attention --causal --size 4096 --depth 128\n"
    "  antiphase ladder attention --policy roles,antiphase --json";

struct request {
  std::optional<std::int64_t> members, heads, size;
  std::int64_t depth = 64;
  bool causal = false;
  ladder_options options;
};

struct attention_row : ladder_row {
  std::size_t kernels = 0;
  double predicted = 0;  // seconds; 0: there is no cost model for the step
};

bool by_parts(const attentions::step& s) { return s.method == attentions::method::roles; }

// The policy that is the same kernel and has a cost model; empty: none.
std::string_view policy_with_model(const attentions::step& s) {
  const std::string_view name = s.name;
  return name == "double-buffered" ? "fp32" : name == "antiphase" ? "fp16" : "";
}

// Pairs of queries and keys that are seen.
double pairs(const attention_problem& p) {
  const double n = static_cast<double>(p.queries);
  return static_cast<double>(p.members * p.heads) * (p.mask == causal::no ? n * n : n * (n + 1) / 2);
}
double operations(const attention_problem& p) { return 4 * pairs(p) * static_cast<double>(p.depth); }
double tflops_of(const attention_problem& p, double us) { return operations(p) / us * 1e-6; }

// Counts of one head.
counted_step counts_of(const attentions::step& s, const attention_problem& of) {
  counted_step counted;
  counted.asked = count_requests([&](const context& on) {
    const std::int64_t few = std::min<std::int64_t>(of.queries, 128);
    const attention_operands data(on, 1, 1, few, few, of.depth, of.mask != causal::no);
    counted.operations = operations(data.problem());
    attention(on, data.problem(), {.policy = s.name});
  });
  return counted;
}

attention_row run_step(const context& where, attention_operands& data, const attentions::step& s) {
  attention_row row;
  row.step = s.name;
  row.adds = s.adds;
  try {
    const std::vector<kernel> kernels = attentions::kernels_of(where.runs_on(), s, data.problem());
    row.kernels = kernels.size();
    for (const kernel& k : kernels) {
      const kernel_usage usage = where.runs_on().usage(k);
      if (usage.shared_bytes >= row.usage.shared_bytes) row.usage = usage;
    }
    if (const std::string_view same = policy_with_model(s); !same.empty())
      row.predicted = explain(where, data.problem(), {.policy = same}).predicted;
    data.forget_result();
    row.counts = attention(where, data.problem(), {.policy = s.name});
    where.runs_on().synchronize(nullptr);
    row.result = data.check(by_parts(s));
  } catch (const not_supported& e) {
    row.refused = e.what();
  }
  return row;
}

void time_all(const context& where, const attention_operands& data, const protocol& how,
              std::vector<attention_row>& rows, const std::function<void()>& progress) {
  timed_works works;
  std::size_t most = 0;
  const attention_problem& p = data.problem();
  for (const attention_row& row : rows)
    if (row.refused.empty()) most = std::max(most, attention_workspace(where, p, {.policy = row.step}));
  device_array<std::byte> memory(where, most);  // so that no run allocates
  for (attention_row& row : rows)
    if (row.refused.empty())
      works.add(
          [&](stream on) {
            attention(where, p, {.policy = row.step, .stream = on, .workspace = {memory.data(), most}});
          },
          row.time, &row);
  works.measure(where, how, progress);
}

std::string table_of(const std::vector<attention_row>& rows, const attention_problem& p, bool timed) {
  std::vector<std::vector<std::string>> table{
      timed ? std::vector<std::string>{"step", "time us", "spread", "TFLOP/s", "gain", "model us", "kernels",
                                       "shared B", "registers", "occupancy", "error", "verified"}
            : std::vector<std::string>{"step", "switches", "barriers", "async copies", "warp meetings",
                                       "kernels", "shared B", "error", "verified"}};
  for (const attention_row& row : rows) {
    if (!row.refused.empty()) {
      table.push_back({row.step, "refused: " + row.refused});
      continue;
    }
    std::vector<std::string> cells{row.step};
    const auto add = [&](std::vector<std::string> more) {
      cells.insert(cells.end(), more.begin(), more.end());
    };
    if (timed)
      add({fmt::format("{:.1f}", row.time.median_us), spread_text(row.time),
           fmt::format("{:.2f}", tflops_of(p, row.time.median_us)), gain_text(row.gain),
           row.predicted > 0 ? fmt::format("{:.1f}", row.predicted * 1e6) : "-"});
    else
      add({fmt::format("{}", row.counts.switches), fmt::format("{}", row.counts.barriers),
           fmt::format("{}", row.counts.copies), fmt::format("{}", row.counts.warp_operations)});
    add({fmt::format("{}", row.kernels), fmt::format("{}", row.usage.shared_bytes)});
    if (timed)
      add({fmt::format("{}", row.usage.registers), fmt::format("{:.0f} %", row.usage.occupancy * 100)});
    add({fmt::format("{:.1e}", row.result.error), verdict_text(row.result)});
    table.push_back(std::move(cells));
  }
  add_counts(table, rows);
  return table_text(table, terminal_columns());
}

json records_of(const std::vector<attention_row>& rows, const attention_problem& p, protocol_kind how,
                target where) {
  json list = json::array();
  for (const attention_row& row : rows) {
    json record = to_json(row, "attention.ladder." + row.step, where);
    record["shape"] = {{"members", p.members},
                       {"heads", p.heads},
                       {"queries", p.queries},
                       {"keys", p.keys},
                       {"depth", p.depth}};
    record["mask"] = p.mask == causal::no ? "none" : "causal";
    record["type"] = "f32";
    if (row.refused.empty()) record["kernels"] = row.kernels;
    if (row.time.median_us > 0) {
      record["protocol"] = name(how);
      record["tflops"] = tflops_of(p, row.time.median_us);
      if (row.predicted > 0) record["predicted_us"] = row.predicted * 1e6;
    }
    list.push_back(std::move(record));
  }
  return list;
}

// Extrapolated from few queries and keys, of one head.
expected_time estimate_all(const context& where, const attention_problem& p,
                           const std::vector<const attentions::step*>& steps) {
  constexpr std::int64_t little = 128;
  const double times = static_cast<double>(p.members * p.heads) *
                       std::pow(static_cast<double>(p.queries) / static_cast<double>(little), 2);
  if (where.kind() != target::cpu || times < 8) return {};
  return time_of([&] {
           attention_operands piece(where, 1, 1, little, little, p.depth, p.mask != causal::no);
           for (const attentions::step* s : steps) run_step(where, piece, *s);
         }) *
         times;
}

void run(const request& r) {
  const protocol_kind how = parse_protocol(r.options.protocol);
  std::vector<const attentions::step*> steps;
  for (const std::string& name : r.options.policies) steps.push_back(&attentions::find_step(name));
  if (steps.empty())
    for (const attentions::step& s : attentions::steps) steps.push_back(&s);
  const place at = choose_place(r.options.place);
  const context& where = at.context;
  const bool timed = where.kind() == target::cuda;
  say_place(r.options.common, at);
  const std::int64_t members = r.members.value_or(timed ? 8 : 1), heads = r.heads.value_or(timed ? 12 : 2),
                     size = r.size.value_or(timed ? 1024 : 128);
  constexpr double most = 0x1p34;
  const auto count = [](std::int64_t n) { return static_cast<double>(n); };
  if (count(members) * count(heads) * count(size) * count(r.depth) > most)
    throw bad_request(fmt::format("{} x {} x {} x {}: expected at most 2^34 numbers in an operand", members,
                                  heads, size, r.depth));
  say_progress(r.options.common, "making operands");
  attention_operands data(where, members, heads, size, size, r.depth, r.causal);
  const progress_line line =
      warn_if_slow(r.options.common, "this", estimate_all(where, data.problem(), steps));
  std::vector<attention_row> rows;
  const auto records = [&] { return records_of(rows, data.problem(), how, where.kind()); };
  const auto text = [&]() -> std::string {
    if (timed && !rows.empty() && rows.front().refused.empty() && rows.front().time.median_us == 0) return "";
    return wrapped(fmt::format("attention in FP32, {} x {} heads of {} queries and keys, depth {}{}, on {}",
                               members, heads, size, r.depth, r.causal ? ", causal" : "", at.name)) +
           "\n\n" + table_of(rows, data.problem(), timed);
  };
  unfinished_results so_far(r.options.common, result_envelope("ladder attention", at), "records",
                            steps.size(), "steps");
  const auto progress = [&] {
    std::vector<ladder_row*> all;
    for (attention_row& row : rows) all.push_back(&row);
    compute_gains(all);
    so_far.show(rows.size(), records, text);
  };
  for (const attentions::step* s : steps) {
    say_progress(r.options.common, fmt::format("running {}", s->name));
    rows.push_back(run_step(where, data, *s));
    if (r.options.counts && rows.back().refused.empty()) rows.back().counted = counts_of(*s, data.problem());
    progress();
  }
  if (timed) {
    say_progress(r.options.common, "taking times");
    time_all(where, data, {.kind = how}, rows, progress);
  }
  so_far.finish();
  if (r.options.common.json)
    print_json(result_file("ladder attention", at, records()));
  else
    print(text());
  std::vector<const ladder_row*> all;
  for (const attention_row& row : rows) all.push_back(&row);
  require_verified(all);
}

}  // namespace

void add_ladder_attention(arguments ladder) {
  arguments command = ladder.add_subcommand("attention", "The steps of attention in FP32, forward");
  const auto r = std::make_shared<request>();
  command.add_option("--members", r->members, "Members of the batch").check(integer_from(1)).type_name("N");
  command.add_option("--heads", r->heads, "Heads of a member").check(integer_from(1)).type_name("N");
  command.add_option("--size", r->size, "Queries of a head, and keys").check(integer_from(1)).type_name("N");
  command.add_option("--depth", r->depth, "Numbers in a row, up to 256")
      .shows_default()
      .check(integer_between(1, 256))
      .type_name("N");
  command.add_flag("--causal", r->causal, "A query sees the keys up to its own place");
  add_ladder_options(command, r->options, names_of(attentions::steps));
  command.footer(explanation);
  command.runs([r] { run(*r); });
}

}  // namespace antiphase::tool
