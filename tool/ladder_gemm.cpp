// The subcommand ladder gemm.
#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <antiphase/core/tile.hpp>
#include <antiphase/gemm.hpp>
#include <antiphase/trace.hpp>
#include <limits>
#include <memory>
#include <optional>

#include "tool/estimate.hpp"
#include "tool/ladder.hpp"
#include "tool/product.hpp"
#include "tool/rivals.hpp"
#include "tool/table.hpp"

namespace antiphase::tool {
namespace {

constexpr const char* explanation =
    "Columns on a GPU\n"
    "  time, TFLOP/s   median (--protocol); gain: in speed over the step before, a loss is negative; cuBLAS: share of its speed in FP32\n"
    "  load, compute   times of the same kernel that only loads (Tl) and only computes (Tc); overlap: (Tl + Tc) / max(Tl, Tc), the gain "
    "that\n"
    "                  the textbooks' formula promises to a kernel that hides the one behind the other\n"
    "  shared, registers, occupancy   what a block takes, and the share of a multiprocessor's threads that is then in use\n"
    "Columns on the CPU executor\n"
    "  switches        from one simulated thread to another; barriers: of whole blocks; moved: bytes that the loads of A and B read\n"
    "  hidden          steps along K of one block whose load ran while another step was computed, of all its steps\n"
    "error is relative to FP64 in the Frobenius norm, over a sample of rows; verified: that, and a checksum of every row.\n"
    "\n"
    "Examples:\n"
    "  antiphase ladder gemm                                    a size that suits the place: 4096 on a GPU, 256 on the CPU\n"
    "  antiphase ladder gemm --m 1000 --n 777 --k 3000 --json\n"
    "  antiphase ladder gemm --steps tiled,double-buffered,async-2,async-3 --size 512\n"
    "  antiphase ladder gemm --shared-limit 48                  which steps a small device refuses";

struct request {
  std::optional<std::int64_t> size, m, n, k;
  ladder_options options;
};
struct gemm_row : ladder_row {
  std::optional<timing> load, compute;  // naive has no such parts
  std::optional<overlap> hidden;
  std::int64_t bytes_moved = 0;
};

double promise(const gemm_row& row) {
  return (row.load->median_us + row.compute->median_us) / std::max(row.load->median_us, row.compute->median_us);
}

// The matrices of a run, and what is known about their product.
struct bench {
  extents size;
  std::vector<float> host_a, host_b;
  product_check check;
  device_array<float> a, b, c;

  bench(const context& where, const extents& e)
      : size{e},
        host_a{random_values(static_cast<std::size_t>(e.m * e.k), 1)},
        host_b{random_values(static_cast<std::size_t>(e.k * e.n), 2)},
        check{host_a, host_b, e.m, e.n, e.k},
        a{where, host_a},
        b{where, host_b},
        c{where, static_cast<std::size_t>(e.m * e.n)} {}

  mm::problem problem() {
    return {.a = row_major(std::as_const(a).data(), size.m, size.k),
            .b = row_major(std::as_const(b).data(), size.k, size.n),
            .c = row_major(c.data(), size.m, size.n)};
  }
  // Fills C with NaN: an output that is left out must not pass as the one of the run before.
  void forget_result() { c.copy_from(std::vector<float>(c.size(), std::numeric_limits<float>::quiet_NaN())); }
  // The first block's share, for timelines.
  mm::problem corner(const mm::step& s) {
    mm::problem p = problem();
    p.a.rows = p.c.rows = std::min<std::int64_t>(size.m, s.how.tile.m);
    p.b.columns = p.c.columns = std::min<std::int64_t>(size.n, s.how.tile.n);
    return p;
  }
};

work launcher(const context& where, const mm::plan& plan) {
  return [where, plan](stream on) { where.runs_on().launch(plan.what.code, plan.grid, &plan.arguments, on); };
}

bool is_tiled(const mm::step& s) { return std::string_view(s.name) != "naive"; }

// What the loads of a step read of A and B: A once for every column of tiles, B once for every row of them. Naive has tiles of one output.
std::int64_t bytes_moved(const mm::step& s, const mm::plan& plan, const extents& e) {
  const mm::extent2 tile = is_tiled(s) ? plan.what.how.tile : mm::extent2{1, 1};
  const std::int64_t floats = ceil_div<std::int64_t>(e.n, tile.n) * e.m * e.k + ceil_div<std::int64_t>(e.m, tile.m) * e.k * e.n;
  return floats * static_cast<std::int64_t>(sizeof(float));
}

gemm_row run_step(const context& where, bench& data, const mm::step& s) {
  const mm::plan plan = mm::prepare(where.kind(), s, data.problem());
  gemm_row row;
  row.step = s.name;
  row.adds = s.adds;
  row.bytes_moved = bytes_moved(s, plan, data.size);
  if (const auto why = refusal(where.limits(), plan.what.code)) {
    row.refused = *why;
    return row;
  }
  data.forget_result();
  row.usage = where.runs_on().usage(plan.what.code);
  row.counts = where.runs_on().launch(plan.what.code, plan.grid, &plan.arguments, nullptr);
  where.runs_on().synchronize(nullptr);
  row.result = data.check(data.c.to_host());
  if (where.kind() == target::cpu && is_tiled(s) && data.size.m > 0 && data.size.n > 0 && data.size.k > 0) {
    const auto steps = static_cast<int>(ceil_div<std::int64_t>(data.size.k, s.how.tile_k));
    row.hidden = measure(record_gemm(where, s.name, data.corner(s), {.steps = steps, .runs = 1}));
  }
  return row;
}

struct timed_rival {
  rival who;
  timing time;
  verdict result;
};

// Times all steps, their parts and the rival in one go, so that they can be compared.
void time_all(const context& where, bench& data, const protocol& how, std::vector<gemm_row>& rows, timed_rival& cublas) {
  std::vector<work> works;
  std::vector<timing*> results;
  for (gemm_row& row : rows) {
    if (!row.refused.empty()) continue;
    const mm::step& s = mm::find_step(row.step);
    works.push_back(launcher(where, mm::prepare(where.kind(), s, data.problem())));
    results.push_back(&row.time);
    if (!is_tiled(s)) continue;
    works.push_back(launcher(where, mm::prepare(where.kind(), s, data.problem(), mm::parts::load_only)));
    results.push_back(&row.load.emplace());
    works.push_back(launcher(where, mm::prepare(where.kind(), s, data.problem(), mm::parts::compute_only)));
    results.push_back(&row.compute.emplace());
  }
  if (cublas.who) {
    data.forget_result();
    where.runs_on().milliseconds(cublas.who.run, nullptr);
    cublas.result = data.check(data.c.to_host());
    works.push_back(cublas.who.run);
    results.push_back(&cublas.time);
  }
  const std::vector<timing> times = measure(where.runs_on(), works, how);
  for (std::size_t i = 0; i < times.size(); ++i) *results[i] = times[i];
}

std::string gpu_table(const std::vector<gemm_row>& rows, const timed_rival& cublas, const extents& e) {
  std::vector<std::vector<std::string>> table{{"step", "time us", "spread", "TFLOP/s", "gain", "cuBLAS", "load us", "compute us", "overlap",
                                               "shared B", "registers", "occupancy", "error", "verified"}};
  for (const gemm_row& row : rows) {
    if (!row.refused.empty()) {
      table.push_back({row.step, "refused: " + row.refused});
      continue;
    }
    const bool parts = row.load && row.compute;
    table.push_back({row.step, fmt::format("{:.1f}", row.time.median_us), spread_text(row.time),
                     fmt::format("{:.2f}", tflops(e, row.time.median_us)), gain_text(row.gain),
                     cublas.who ? fmt::format("{:.1f} %", cublas.time.median_us / row.time.median_us * 100) : "-",
                     parts ? fmt::format("{:.1f}", row.load->median_us) : "-", parts ? fmt::format("{:.1f}", row.compute->median_us) : "-",
                     parts ? fmt::format("x{:.2f}", promise(row)) : "-", fmt::format("{}", row.usage.shared_bytes),
                     fmt::format("{}", row.usage.registers), fmt::format("{:.0f} %", row.usage.occupancy * 100),
                     fmt::format("{:.1e}", row.result.error), verdict_text(row.result)});
  }
  if (cublas.who)
    table.push_back({"cuBLAS", fmt::format("{:.1f}", cublas.time.median_us), spread_text(cublas.time),
                     fmt::format("{:.2f}", tflops(e, cublas.time.median_us)), "", "", "", "", "", "", "", "",
                     fmt::format("{:.1e}", cublas.result.error), verdict_text(cublas.result)});
  return table_text(table);
}

std::string cpu_table(const std::vector<gemm_row>& rows) {
  std::vector<std::vector<std::string>> table{
      {"step", "switches", "barriers", "async copies", "moved B", "hidden", "shared B", "error", "verified"}};
  for (const gemm_row& row : rows) {
    if (!row.refused.empty()) {
      table.push_back({row.step, "refused: " + row.refused});
      continue;
    }
    const std::string hidden = row.hidden ? fmt::format("{} of {}", row.hidden->steps_hidden, row.hidden->steps) : "-";
    table.push_back({row.step, fmt::format("{}", row.counts.switches), fmt::format("{}", row.counts.barriers),
                     fmt::format("{}", row.counts.copies), fmt::format("{}", row.bytes_moved), hidden,
                     fmt::format("{}", row.usage.shared_bytes), fmt::format("{:.1e}", row.result.error), verdict_text(row.result)});
  }
  return table_text(table);
}

json records(const std::vector<gemm_row>& rows, const timed_rival& cublas, const extents& e, protocol_kind how, target where) {
  json list = json::array();
  for (const gemm_row& row : rows) {
    json record = to_json(row, "gemm.ladder." + row.step, where);
    record["shape"] = to_json(e);
    record["type"] = "f32";
    record["layout"] = "nn";
    record["bytes_moved"] = row.bytes_moved;
    if (row.refused.empty() && where == target::cuda) {
      record["protocol"] = name(how);
      record["tflops"] = tflops(e, row.time.median_us);
      if (cublas.who) {
        add_time(record, "cublas_fp32", cublas.time);
        record["error"]["cublas_fp32"] = cublas.result.error;
      }
      if (row.load && row.compute)
        record["overlap"] = {{"load_us", row.load->median_us}, {"compute_us", row.compute->median_us}, {"formula", promise(row)}};
    }
    if (row.hidden) record["hidden"] = {{"steps_hidden", row.hidden->steps_hidden}, {"steps", row.hidden->steps}};
    list.push_back(std::move(record));
  }
  return list;
}

extents extents_of(const request& r, target where) {
  const std::int64_t usual = r.size.value_or(where == target::cuda ? 4096 : 256);
  const extents e{r.m.value_or(usual), r.n.value_or(usual), r.k.value_or(usual)};
  require_sensible(e);
  return e;
}

void run(const request& r) {
  std::vector<const mm::step*> steps;
  for (const std::string& name : r.options.steps) steps.push_back(&mm::find_step(name));
  if (steps.empty())
    for (const mm::step& s : mm::steps) steps.push_back(&s);

  const protocol_kind how = parse_protocol(r.options.protocol);
  const place at = choose_place(r.options.place, reference::not_offered);
  const context& where = *at.where;
  const extents e = extents_of(r, where.kind());
  say_place(r.options.common, at);
  say_progress(r.options.common, "computing the expected result");
  bench data{where, e};
  std::vector<gemm_row> rows;
  for (const mm::step* s : steps) {
    say_progress(r.options.common, fmt::format("running {}", s->name));
    warn_if_slow(r.options.common, where, data.problem(), {.policy = s->name}, reference::not_offered);
    rows.push_back(run_step(where, data, *s));
  }
  timed_rival cublas{};
  const bool timed = where.kind() == target::cuda && e.m > 0 && e.n > 0 && e.k > 0;
  if (timed) {
    cublas.who = cublas_product(data.problem());
    if (!cublas.who) say(r.options.common, fmt::format("cuBLAS is not compared with: {}", cublas.who.why_not));
    say_progress(r.options.common, "taking times");
    time_all(where, data, {.kind = how}, rows, cublas);
  }
  std::vector<ladder_row*> all;
  for (gemm_row& row : rows) all.push_back(&row);
  if (timed) compute_gains(all);

  if (r.options.common.json)
    print_json(result_file("ladder gemm", at, records(rows, cublas, e, how, where.kind())));
  else
    print(fmt::format("C = A B in FP32, M = {}, N = {}, K = {}, on {}\n\n{}", e.m, e.n, e.k, at.name,
                      timed ? gpu_table(rows, cublas, e) : cpu_table(rows)));
  require_verified({all.begin(), all.end()});
}

}  // namespace

void add_ladder_gemm(CLI::App& ladder, action& chosen) {
  CLI::App* command = ladder.add_subcommand("gemm", "The steps of the FP32 matrix product");
  const auto r = std::make_shared<request>();
  command->add_option("--size", r->size, "M, N and K at once")->check(integer_from(0))->type_name("N");
  command->add_option("--m", r->m, "Rows of A and C")->check(integer_from(0))->type_name("N");
  command->add_option("--n", r->n, "Columns of B and C")->check(integer_from(0))->type_name("N");
  command->add_option("--k", r->k, "Columns of A, rows of B")->check(integer_from(0))->type_name("N");
  add_ladder_options(*command, r->options);
  command->footer(explanation);
  command->callback([r, &chosen] { chosen = [r] { run(*r); }; });
}

}  // namespace antiphase::tool
