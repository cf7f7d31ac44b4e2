// SPDX-License-Identifier: Apache-2.0
// The subcommand ladder gemm.
#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/names.hpp>
#include <antiphase/core/tile.hpp>
#include <antiphase/gemm.hpp>
#include <antiphase/gemm/policies.hpp>
#include <limits>
#include <memory>
#include <optional>

#include "tool/base/wrap.hpp"
#include "tool/commands/ladder/ladder_gemm_rows.hpp"
#include "tool/measure/estimate.hpp"
#include "tool/measure/machine.hpp"
#include "tool/program/unfinished.hpp"

namespace antiphase::tool {
namespace {

constexpr const char* explanation =
    "Without a GPU steps run on the CPU executor, counted, not timed; what takes long is announced.\n\n"
    "Columns on a GPU\n"
    "  time, TFLOP/s  median (--protocol); gain: in speed over the step before, a loss is negative; cuBLAS: "
    "share of its speed "
    "with the same operands, FP32 (without Tensor Cores), or f16 added up in FP32 in the second table\n"
    "  load, compute  times of the same kernel that only loads (Tl) and only computes (Tc); overlap: (Tl + "
    "Tc) / max(Tl, Tc), the "
    "gain that the textbooks' formula predicts to a kernel that hides the one after the other\n"
    "  model, limit   what antiphase's model predicts, of which that formula is a special case, and what "
    "limits it (docs/learn/model.md)\n"
    "  shared, registers, occupancy\n"
    "                 what a block takes, and the share of a multiprocessor's threads that is then in use\n"
    "Columns on the CPU executor\n"
    "  switches       from one simulated thread to another; barriers: of whole blocks; moved: bytes that the "
    "loads of A and B read\n"
    "  hidden         steps along K of one block whose load ran while another step was computed, of all its "
    "steps\n"
    "The steps of the second table multiply A and B rounded to f16, which is no part of the times: other "
    "operands, with a rival "
    "of their own.\n"
    "error is relative to FP64 in the Frobenius norm, over a sample of rows; verified: that, and a checksum "
    "of every row.\n"
    "\n"
    "Examples:\n"
    "  antiphase ladder gemm\n"
    "      a size that suits the place: 4096 on a GPU, 256 on the CPU\n"
    "  antiphase ladder gemm --m 1000 --n 777 --k 3000 --json\n"
    "  antiphase ladder gemm --policy tensor-core-2,tensor-core-tma\n"
    "      f16 operands, on Tensor Cores\n"
    "  antiphase ladder gemm --policy tiled,double-buffered,async-2 --size 512\n"
    "  antiphase ladder gemm --shared-limit 48\n"
    "      which steps a small device refuses";

struct request {
  std::optional<std::int64_t> size, m, n, k;
  ladder_options options;
};
// The matrices of a run, and the check of their product.
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

  gemms::problem problem() {
    return {.a = row_major(std::as_const(a).data(), size.m, size.k),
            .b = row_major(std::as_const(b).data(), size.k, size.n),
            .c = row_major(c.data(), size.m, size.n)};
  }
  // Fills C with NaN, so that an output that is not written cannot pass with the previous run's value.
  void forget_result() { c.copy_from(std::vector<float>(c.size(), std::numeric_limits<float>::quiet_NaN())); }
  // The part of the product that the first block computes, for timelines.
  gemms::problem corner(const gemms::step& s) {
    gemms::problem p = problem();
    p.a.rows = p.c.rows = std::min<std::int64_t>(size.m, s.policy.tile.m);
    p.b.columns = p.c.columns = std::min<std::int64_t>(size.n, s.policy.tile.n);
    return p;
  }
};

work launcher(const context& where, const gemms::plan& plan) {
  return [where, plan](stream on) {
    where.runs_on().launch(plan.instance.code, plan.grid, &plan.arguments, on);
  };
}

bool is_tiled(const gemms::step& s) { return std::string_view(s.name) != "naive"; }

// Bytes that a step loads: A once per column of tiles, B once per row of tiles. The tiles of naive have one
// output.
std::int64_t bytes_moved(const gemms::step& s, const gemms::plan& plan, const extents& e) {
  const gemms::extent2 tile = is_tiled(s) ? plan.instance.policy.tile : gemms::extent2{1, 1};
  const std::int64_t floats =
      ceil_div<std::int64_t>(e.n, tile.n) * e.m * e.k + ceil_div<std::int64_t>(e.m, tile.m) * e.k * e.n;
  return floats * static_cast<std::int64_t>(sizeof(float));
}

counted_step counts_of(const gemms::step& s, const extents& e) {
  const extents few = few_of(e);
  return {.asked = count_requests([&](const context& on) {
            bench data{on, few};
            const gemms::plan plan = gemms::prepare(on.kind(), s, data.problem());
            on.runs_on().launch(plan.instance.code, plan.grid, &plan.arguments, nullptr);
          }),
          .operations = operations(few)};
}

gemm_row run_step(const context& where, bench& data, const gemms::step& s) {
  const gemms::plan plan = gemms::prepare(where.kind(), s, data.problem());
  gemm_row row;
  row.step = s.name;
  row.adds = s.adds;
  row.bytes_moved = bytes_moved(s, plan, data.size);
  row.takes = gemms::predict(profile_of(where.limits()), plan.instance.policy,
                             {.m = data.size.m, .n = data.size.n, .k = data.size.k});
  if (const auto why = refusal(where.limits(), plan.instance.code)) {
    row.refused = *why;
    return row;
  }
  data.forget_result();
  row.usage = where.runs_on().usage(plan.instance.code);
  row.counts = where.runs_on().launch(plan.instance.code, plan.grid, &plan.arguments, nullptr);
  where.runs_on().synchronize(nullptr);
  row.result = data.check(data.c.to_host());
  if (where.kind() == target::cpu && is_tiled(s) && data.size.m > 0 && data.size.n > 0 && data.size.k > 0) {
    const auto steps = static_cast<int>(ceil_div<std::int64_t>(data.size.k, s.policy.tile_k));
    row.hidden = measure(record_gemm(where, s.name, data.corner(s), {.steps = steps, .runs = 1}));
  }
  return row;
}

// Times all steps, their parts and the rival together, so that the times are comparable.
void time_all(const context& where, bench& data, const protocol& how, std::vector<gemm_row>& rows,
              timed_rival& cublas, const std::function<void()>& progress) {
  timed_works works;
  for (gemm_row& row : rows) {
    if (!row.refused.empty()) continue;
    const gemms::step& s = gemms::find_step(row.step);
    works.add(launcher(where, gemms::prepare(where.kind(), s, data.problem())), row.time, &row);
    if (!is_tiled(s)) continue;
    works.add(launcher(where, gemms::prepare(where.kind(), s, data.problem(), gemms::parts::load_only)),
              row.load.emplace(), &row);
    works.add(launcher(where, gemms::prepare(where.kind(), s, data.problem(), gemms::parts::compute_only)),
              row.compute.emplace(), &row);
  }
  if (cublas.rival) {
    data.forget_result();
    where.runs_on().milliseconds(cublas.rival.run, nullptr);
    cublas.result = data.check(data.c.to_host());
    works.add(cublas.rival.run, cublas.time);
  }
  works.measure(where, how, progress);
}

extents extents_of(const request& r, target where) {
  const std::int64_t usual = r.size.value_or(where == target::cuda ? 4096 : 256);
  const extents e{r.m.value_or(usual), r.n.value_or(usual), r.k.value_or(usual)};
  require_sensible(e);
  return e;
}

// The steps of a run: all or those requested.
struct chosen_steps {
  std::vector<const gemms::step*> floats;
  std::vector<const gemms::tensor_core_step*> halves;
};
chosen_steps choose(const std::vector<std::string>& policies) {
  chosen_steps chosen;
  if (policies.empty()) {
    for (const gemms::step& s : gemms::steps) chosen.floats.push_back(&s);
    for (const gemms::tensor_core_step& s : gemms::tensor_core_steps) chosen.halves.push_back(&s);
  }
  const auto take = [](const auto& steps, const std::string& name, auto& list) {
    for (const auto& s : steps)
      if (name == s.name) return list.push_back(&s), true;
    return false;
  };
  for (const std::string& name : policies) {
    if (take(gemms::steps, name, chosen.floats) || take(gemms::tensor_core_steps, name, chosen.halves))
      continue;
    std::vector<std::string> known = names_of(gemms::steps);
    for (const std::string& half : names_of(gemms::tensor_core_steps)) known.push_back(half);
    gemms::refuse_policy(name, "step of the GEMM ladder", known);
  }
  return chosen;
}

void run_floats(const context& where, const extents& e, const std::vector<const gemms::step*>& steps,
                const ladder_options& options, gemm_results& results, const std::function<void()>& progress) {
  bench data{where, e};
  for (const gemms::step* s : steps) {
    say_progress(options.common, fmt::format("running {}", s->name));
    results.rows.push_back(run_step(where, data, *s));
    if (options.counts && results.rows.back().refused.empty()) results.rows.back().counted = counts_of(*s, e);
    progress();
  }
  if (is_timed(where, e)) {
    results.cublas.rival = cublas_product(data.problem());
    if (!results.cublas.rival)
      say(options.common, fmt::format("cuBLAS is not compared with: {}", results.cublas.rival.why_not));
    say_progress(options.common, "taking times");
    time_all(where, data, {.kind = parse_protocol(options.protocol)}, results.rows, results.cublas, progress);
  }
}

// Extrapolated from a product that takes a second or less: the time of steps, checks and recordings grows in
// proportion.
expected_time estimate_all(const context& where, const extents& e, const chosen_steps& steps) {
  const auto little = [](std::int64_t extent) { return std::min<std::int64_t>(extent, 128); };
  const extents piece{little(e.m), little(e.n), little(e.k)};
  const auto work = [](const extents& of) {
    return static_cast<double>(of.m) * static_cast<double>(of.n) * static_cast<double>(of.k);
  };
  if (where.kind() != target::cpu || work(e) < 8 * std::max(work(piece), 1.)) return {};
  ladder_options quiet;
  quiet.common.quiet = true;
  gemm_results unused;
  const expected_time of_piece = time_of([&] {
    if (!steps.floats.empty()) run_floats(where, piece, steps.floats, quiet, unused, [] {});
    if (!steps.halves.empty()) run_halves(where, piece, steps.halves, quiet, unused, [] {});
  });
  return of_piece * (work(e) / work(piece));
}

bool is_any_timed(const std::vector<gemm_row>& rows) {
  return std::ranges::any_of(rows, [](const gemm_row& row) { return row.time.median_us > 0; });
}

void compute_gains(std::vector<gemm_row>& rows) {
  std::vector<ladder_row*> all;
  for (gemm_row& row : rows) all.push_back(&row);
  tool::compute_gains(all);
}

void run(const request& r) {
  const chosen_steps steps = choose(r.options.policies);
  const protocol_kind how = parse_protocol(r.options.protocol);
  const place at = choose_place(r.options.place);
  const context& where = at.context;
  const extents e = extents_of(r, where.kind());
  say_place(r.options.common, at);
  const progress_line line = warn_if_slow(r.options.common, "this", estimate_all(where, e, steps));
  say_progress(r.options.common, "computing the expected result");
  gemm_results floats, halves;
  const auto records_of = [&] {
    json list = json::array();
    for (const auto& [results, half] : {std::pair{&floats, &of_floats}, {&halves, &of_halves}})
      for (json& record : records(*half, results->rows, results->cublas, e, how, where.kind()))
        list.push_back(std::move(record));
    return list;
  };
  const auto text_of = [&] {
    std::string text;
    for (const auto& [results, title] :
         {std::pair{&floats, "C = A B in FP32"},
          {&halves, "C = A B of A and B rounded to f16, added up in FP32 on Tensor Cores"}})
      if (!results->rows.empty() && (!is_timed(where, e) || is_any_timed(results->rows)))
        text +=
            wrapped(fmt::format("{}{}, M = {}, N = {}, K = {}, on {}", text.empty() ? "" : "\n", title, e.m,
                                e.n, e.k, at.name)) +
            "\n\n" +
            (is_timed(where, e) ? gpu_table(results->rows, results->cublas, e) : cpu_table(results->rows));
    return text;
  };
  const std::size_t planned = steps.floats.size() + steps.halves.size();
  unfinished_results so_far(r.options.common, result_envelope("ladder gemm", at), "records", planned,
                            "steps");
  const auto progress = [&] {
    for (gemm_results* results : {&floats, &halves}) compute_gains(results->rows);
    so_far.show(floats.rows.size() + halves.rows.size(), records_of, text_of);
  };
  if (!steps.floats.empty()) run_floats(where, e, steps.floats, r.options, floats, progress);
  if (!steps.halves.empty()) run_halves(where, e, steps.halves, r.options, halves, progress);

  so_far.finish();
  if (r.options.common.json)
    print_json(result_file("ladder gemm", at, records_of()));
  else
    print(text_of());
  std::vector<const ladder_row*> all;
  for (const gemm_results* results : {&floats, &halves})
    for (const gemm_row& row : results->rows) all.push_back(&row);
  require_verified(all);
}

}  // namespace

void add_ladder_gemm(arguments ladder) {
  arguments command = ladder.add_subcommand(
      "gemm", "The steps of the matrix product: FP32, then f16 operands on Tensor Cores");
  const auto r = std::make_shared<request>();
  command.add_option("--size", r->size, "M, N and K at once").check(integer_from(0)).type_name("N");
  command.add_option("--m", r->m, "Rows of A and C").check(integer_from(0)).type_name("N");
  command.add_option("--n", r->n, "Columns of B and C").check(integer_from(0)).type_name("N");
  command.add_option("--k", r->k, "Columns of A, rows of B").check(integer_from(0)).type_name("N");
  std::vector<std::string> policies = names_of(gemms::steps);
  for (const gemms::tensor_core_step& s : gemms::tensor_core_steps) policies.emplace_back(s.name);
  add_ladder_options(command, r->options, std::move(policies));
  command.footer(explanation);
  command.runs([r] { run(*r); });
}

}  // namespace antiphase::tool
