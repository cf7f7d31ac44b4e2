// The subcommand ladder gemm.
#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <antiphase/core/tile.hpp>
#include <antiphase/gemm.hpp>
#include <limits>
#include <memory>
#include <optional>

#include "tool/estimate.hpp"
#include "tool/ladder_gemm_rows.hpp"

namespace antiphase::tool {
namespace {

constexpr const char* explanation =
    "Columns on a GPU\n"
    "  time, TFLOP/s   median (--protocol); gain: in speed over the step before, a loss is negative; cuBLAS: share of its speed with the\n"
    "                  same operands, FP32 (without Tensor Cores), or f16 added up in FP32 in the second table\n"
    "  load, compute   times of the same kernel that only loads (Tl) and only computes (Tc); overlap: (Tl + Tc) / max(Tl, Tc), the gain "
    "that\n"
    "                  the textbooks' formula promises to a kernel that hides the one behind the other\n"
    "  shared, registers, occupancy   what a block takes, and the share of a multiprocessor's threads that is then in use\n"
    "Columns on the CPU executor\n"
    "  switches        from one simulated thread to another; barriers: of whole blocks; moved: bytes that the loads of A and B read\n"
    "  hidden          steps along K of one block whose load ran while another step was computed, of all its steps\n"
    "The steps of the second table multiply A and B rounded to f16, which is no part of the times: other operands, with a rival of their "
    "own.\n"
    "error is relative to FP64 in the Frobenius norm, over a sample of rows; verified: that, and a checksum of every row.\n"
    "\n"
    "Examples:\n"
    "  antiphase ladder gemm                                    a size that suits the place: 4096 on a GPU, 256 on the CPU\n"
    "  antiphase ladder gemm --m 1000 --n 777 --k 3000 --json\n"
    "  antiphase ladder gemm --steps tensor-core-2,tensor-core-tma     f16 operands, on Tensor Cores\n"
    "  antiphase ladder gemm --steps tiled,double-buffered,async-2,async-3 --size 512\n"
    "  antiphase ladder gemm --shared-limit 48                  which steps a small device refuses";

struct request {
  std::optional<std::int64_t> size, m, n, k;
  ladder_options options;
};
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

extents extents_of(const request& r, target where) {
  const std::int64_t usual = r.size.value_or(where == target::cuda ? 4096 : 256);
  const extents e{r.m.value_or(usual), r.n.value_or(usual), r.k.value_or(usual)};
  require_sensible(e);
  return e;
}

// The steps of a run: all, or those that were asked for.
struct chosen_steps {
  std::vector<const mm::step*> floats;
  std::vector<const mm::half_step*> halves;
};
chosen_steps choose(const std::vector<std::string>& names) {
  chosen_steps chosen;
  std::string known;
  const auto add = [&](const auto& steps, auto& list) {
    for (const auto& s : steps) {
      known += (known.empty() ? "" : ", ") + std::string(s.name);
      if (names.empty()) list.push_back(&s);
    }
  };
  add(mm::steps, chosen.floats);
  add(mm::half_steps, chosen.halves);
  const auto take = [](const auto& steps, const std::string& name, auto& list) {
    for (const auto& s : steps)
      if (name == s.name) return list.push_back(&s), true;
    return false;
  };
  for (const std::string& name : names)
    if (!take(mm::steps, name, chosen.floats) && !take(mm::half_steps, name, chosen.halves))
      throw bad_request(fmt::format("there is no step '{}' of the GEMM ladder: expected one of {}", name, known));
  return chosen;
}

gemm_results run_floats(const context& where, const extents& e, const std::vector<const mm::step*>& steps, const protocol& how,
                        const common_options& options) {
  bench data{where, e};
  gemm_results results;
  for (const mm::step* s : steps) {
    say_progress(options, fmt::format("running {}", s->name));
    warn_if_slow(options, where, data.problem(), {.policy = s->name}, reference::not_offered);
    results.rows.push_back(run_step(where, data, *s));
  }
  if (is_timed(where, e)) {
    results.cublas.who = cublas_product(data.problem());
    if (!results.cublas.who) say(options, fmt::format("cuBLAS is not compared with: {}", results.cublas.who.why_not));
    say_progress(options, "taking times");
    time_all(where, data, how, results.rows, results.cublas);
  }
  return results;
}

void run(const request& r) {
  const chosen_steps steps = choose(r.options.steps);
  const protocol_kind how = parse_protocol(r.options.protocol);
  const place at = choose_place(r.options.place, reference::not_offered);
  const context& where = *at.where;
  const extents e = extents_of(r, where.kind());
  say_place(r.options.common, at);
  say_progress(r.options.common, "computing the expected result");
  gemm_results floats, halves;
  if (!steps.floats.empty()) floats = run_floats(where, e, steps.floats, {.kind = how}, r.options.common);
  if (!steps.halves.empty()) halves = run_halves(where, e, steps.halves, {.kind = how}, r.options.common);

  std::string text;
  json list = json::array();
  std::vector<const ladder_row*> all;
  const auto tell = [&](gemm_results& results, const gemm_half& half, std::string_view title) {
    if (results.rows.empty()) return;
    std::vector<ladder_row*> rows;
    for (gemm_row& row : results.rows) rows.push_back(&row);
    if (is_timed(where, e)) compute_gains(rows);
    all.insert(all.end(), rows.begin(), rows.end());
    for (json& record : records(half, results.rows, results.cublas, e, how, where.kind())) list.push_back(std::move(record));
    text += fmt::format("{}{}, M = {}, N = {}, K = {}, on {}\n\n{}", text.empty() ? "" : "\n", title, e.m, e.n, e.k, at.name,
                        is_timed(where, e) ? gpu_table(results.rows, results.cublas, e) : cpu_table(results.rows));
  };
  tell(floats, of_floats, "C = A B in FP32");
  tell(halves, of_halves, "C = A B of A and B rounded to f16, added up in FP32 on Tensor Cores");
  if (r.options.common.json)
    print_json(result_file("ladder gemm", at, std::move(list)));
  else
    print(text);
  require_verified(all);
}

}  // namespace

void add_ladder_gemm(arguments ladder) {
  arguments command = ladder.add_subcommand("gemm", "The steps of the matrix product: FP32, then f16 operands on Tensor Cores");
  const auto r = std::make_shared<request>();
  command.add_option("--size", r->size, "M, N and K at once").check(integer_from(0)).type_name("N");
  command.add_option("--m", r->m, "Rows of A and C").check(integer_from(0)).type_name("N");
  command.add_option("--n", r->n, "Columns of B and C").check(integer_from(0)).type_name("N");
  command.add_option("--k", r->k, "Columns of A, rows of B").check(integer_from(0)).type_name("N");
  add_ladder_options(command, r->options);
  command.footer(explanation);
  command.runs([r] { run(*r); });
}

}  // namespace antiphase::tool
