// SPDX-License-Identifier: Apache-2.0
// The subcommand bench overlap: what a second and further buffers gain, by how much a step computes.
#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <antiphase/executor/pipeline_cost.hpp>
#include <cmath>
#include <memory>
#include <vector>

#include "tool/base/errors.hpp"
#include "tool/base/wrap.hpp"
#include "tool/commands/bench/bench.hpp"
#include "tool/files/output_file.hpp"
#include "tool/files/whole_file.hpp"
#include "tool/measure/graphs/overlap_kernels.hpp"
#include "tool/pictures/overlap_page.hpp"
#include "tool/pictures/timeline_page.hpp"
#include "tool/program/text/names.hpp"
#include "tool/program/text/table.hpp"

namespace antiphase::tool {
namespace {

constexpr const char* explanation =
    "A kernel with knobs: blocks of 128 threads load tiles of 4 KiB by cp.async into a ring of 1, 2, 3, 4 or "
    "8 "
    "buffers, and multiply and add each float some times before they sum it up.\n\n"
    "Columns\n"
    "  Tl      time of a step that loads with one buffer and computes nothing\n"
    "  Tc      time of a step that computes from shared memory and loads nothing\n"
    "  N x     how many times as fast as with one buffer, measured; (N x): predicted by the "
    "cost model from Tc, as advise --kernel does. Tc loads nothing, so it lacks what issuing copies takes: "
    "where Tc is short, three and more buffers gain less\n"
    "  formula (Tl + Tc) / max(Tl, Tc), the textbook's gain of a second buffer\n"
    "Without a GPU the sums are verified on the CPU executor, and only the model is shown.\n"
    "\n"
    "Examples:\n"
    "  antiphase bench overlap\n"
    "  antiphase bench overlap --blocks 1 --rounds 8,32 --bytes 16777216\n"
    "      from a buffer that the L2 cache holds\n"
    "  antiphase bench overlap --json\n"
    "  antiphase bench overlap --read overlap.json -o overlap.html";

struct request {
  std::vector<std::int64_t> blocks = {1, 2, 4, 8}, rounds = {0, 4, 8, 16, 24, 32, 48, 64, 128, 256};
  std::int64_t bytes = std::int64_t{1} << 30;
  std::string file, output;
  bench_options options;
};

std::vector<overlap_kernel> kernels_on(target kind) {
#if ANTIPHASE_HAS_CUDA
  if (kind == target::cuda) return cuda::overlap_kernels();
#endif
  static_cast<void>(kind);
  return cpu::overlap_kernels();
}

// One setting of the knobs.
struct setting {
  int blocks, rounds;                  // blocks: resident on a multiprocessor
  double load_ns = 0, compute_ns = 0;  // of a step
  std::vector<double> step_ns;         // by overlap_stages; 0: does not fit
  std::vector<double> model;           // gains over one buffer, by overlap_stages

  double ratio() const { return compute_ns / load_ns; }
  double gain(std::size_t n) const { return step_ns[n] > 0 ? step_ns[0] / step_ns[n] : 0; }
  double formula() const { return textbook_times{load_ns, compute_ns}.gain(); }
};

constexpr double tile_bytes = overlap_tile * sizeof(float);

// The model's clocks of a step of each resident block, from what computing takes, as measured if it was: then
// its barriers are in it, but not what issuing the next tile's copies takes.
double model_clocks(const machine_profile& on, const setting& of, int stages, std::int64_t bytes) {
  constexpr double warps = overlap_threads / 32.;
  const double multiply_adds = double{overlap_floats} * of.rounds;
  const bool cached = static_cast<double>(bytes) < on.cache_size.value;
  const double processors = std::max(1, on.limits.multiprocessors);
  pipeline_step s{.threads = overlap_threads,
                  .stages = stages,
                  .arithmetic = multiply_adds * overlap_threads / on.multiply_adds.value,
                  .issue = warps * (multiply_adds + of.rounds + 40),
                  .shared = 2 * tile_bytes / on.shared_bytes.value,
                  .bytes = cached ? 0 : tile_bytes,
                  .latency = cached
                                 ? on.cache_latency.value + tile_bytes * processors / on.cache_bytes.value
                                 : on.memory_latency.value + tile_bytes * processors / on.memory_bytes.value};
  if (of.compute_ns > 0) {
    constexpr double much = 1e6;  // so that nothing else is longer
    const pipeline_step computes{.threads = overlap_threads, .stages = 2, .arithmetic = much};
    const auto busy = [&](int blocks) {  // clocks of the unit in a clock of computing
      return much / step_clocks(on, computes, blocks).of(limit::arithmetic);
    };
    const double clocks = of.compute_ns * 1e-9 * on.clock.value, barriers = fitted::barrier_of_warp * warps;
    s.issue = s.shared = 0;
    s.arithmetic = std::min(std::max(0., clocks - barriers) * busy(1), clocks * busy(of.blocks));
    if (stages > 1) s.latency += barriers / on.clock.value;  // the next load begins after the barrier
  }
  return step_clocks(on, s, of.blocks).seconds;
}

void find_models(const machine_profile& on, std::vector<setting>& all, std::int64_t bytes) {
  for (setting& s : all) {
    s.model.clear();
    const double one = model_clocks(on, s, 1, bytes);
    double least = one;  // a buffer too many may stay empty
    for (const int stages : overlap_stages) {
      least = std::min(least, model_clocks(on, s, stages, bytes));
      s.model.push_back(one / least);
    }
  }
}

class bench {
 public:
  bench(const request& r, const place& at)
      : where_(at.context), kernels_(kernels_on(at.context.kind())), gpu_(where_.kind() == target::cuda) {
    const int most = static_cast<int>(*std::ranges::max_element(r.blocks));
    const std::int64_t block_bytes = overlap_tile * sizeof(float);
    const std::int64_t all = gpu_ ? r.bytes : 64 * block_bytes * most;
    floats_ =
        std::max(all, block_bytes * most * multiprocessors()) / static_cast<std::int64_t>(sizeof(float));
    std::vector<float> host(static_cast<std::size_t>(floats_));
    for (std::size_t i = 0; i < host.size(); ++i) host[i] = static_cast<float>(i * 7 % 31);
    from_ = std::make_unique<device_array<float>>(where_, std::span<const float>(host));
    sums_ = std::make_unique<device_array<float>>(
        where_, static_cast<std::size_t>(multiprocessors()) * most * overlap_threads);
  }
  // Blocks of that many buffers that a multiprocessor holds.
  bool fits(std::size_t n, int blocks) const {
    return kernels_[n].code.shared_bytes * blocks + std::size_t{1024} * blocks <=
               shared_of_multiprocessor() &&
           overlap_threads * blocks <= 2048;
  }
  overlap_params params(const setting& s, bool loads) const {
    const auto distinct = static_cast<std::int32_t>(floats_ / (overlap_tile * grid(s)));
    const std::int32_t steps = gpu_ ? std::max(distinct, 256) : 8;
    return {from_->data(), sums_->data(), steps, std::max(1, distinct), s.rounds, loads ? 1 : 0, 0.5f, 1};
  }
  work run(std::size_t n, const setting& s, bool loads) const {
    return [this, n, p = params(s, loads), blocks = grid(s)](stream on) {
      where_.runs_on().launch(kernels_[n].code, {static_cast<unsigned>(blocks), 1, 1}, &p, on);
    };
  }
  // Every thread's sum of all it has loaded.
  void verify(std::size_t n, const setting& s) const {
    where_.runs_on().milliseconds(run(n, s, true), nullptr);
    const overlap_params p = params(s, true);
    const std::vector<float> found = sums_->to_host();
    for (const std::int64_t thread : {std::int64_t{0}, grid(s) * overlap_threads - 1}) {
      const std::int64_t block = thread / overlap_threads, t = thread % overlap_threads;
      float sum = 0;
      for (std::int64_t step = 0; step < p.steps; ++step)
        for (int i = 0; i < overlap_floats; ++i) {
          const std::int64_t at = (step % p.distinct * grid(s) + block) * overlap_tile +
                                  4 * (i / 4 * overlap_threads + t) + i % 4;
          float x = static_cast<float>(at * 7 % 31);
          for (int round = 0; round < s.rounds; ++round) x = std::fma(x, p.a, p.b);
          sum += x;
        }
      const float got = found[static_cast<std::size_t>(thread)];
      if (!(std::abs(got - sum) <= 1e-4f * std::abs(sum)))
        throw verification_failed(fmt::format("the sum of thread {} with {} buffers is {}, expected {}",
                                              thread, kernels_[n].stages, got, sum));
    }
  }
  int steps(const setting& s) const { return params(s, true).steps; }

 private:
  int multiprocessors() const { return gpu_ ? std::max(1, where_.limits().multiprocessors) : 1; }
  std::size_t shared_of_multiprocessor() const {
    return static_cast<std::size_t>(where_.limits().shared_per_multiprocessor);
  }
  std::int64_t grid(const setting& s) const { return std::int64_t{multiprocessors()} * s.blocks; }

  context where_;
  std::vector<overlap_kernel> kernels_;
  bool gpu_;
  std::int64_t floats_;
  std::unique_ptr<device_array<float>> from_, sums_;
};

std::string table(const std::vector<setting>& all, bool timed) {
  std::vector<std::vector<std::string>> rows{{"blocks", "rounds", "Tl ns", "Tc ns", "Tc/Tl"}};
  for (const int n : overlap_stages)
    if (n > 1) rows[0].push_back(fmt::format("{} x", n)), rows[0].push_back(fmt::format("({} x)", n));
  rows[0].push_back("formula");
  for (const setting& s : all) {
    std::vector<std::string> row{fmt::format("{}", s.blocks), fmt::format("{}", s.rounds)};
    for (const double x : {s.load_ns, s.compute_ns, s.ratio()})
      row.push_back(timed ? fmt::format("{:.3g}", x) : "");
    for (std::size_t n = 1; n < std::size(overlap_stages); ++n) {
      row.push_back(s.step_ns[n] > 0 ? fmt::format("{:.2f}", s.gain(n)) : "");
      row.push_back(fmt::format("{:.2f}", s.model[n]));
    }
    row.push_back(timed ? fmt::format("{:.2f}", s.formula()) : "");
    rows.push_back(row);
  }
  return table_text(rows, terminal_columns());
}

// What a file of bench overlap has measured.
struct measured {
  json file;
  std::string machine;
  std::int64_t bytes = 0;
  std::vector<setting> all;
};
measured read(const std::string& path) {
  const std::string text = whole_file(path);
  const auto fault = [&](std::string_view why) {
    return bad_input(
        fmt::format("'{}' {}: expected a file of bench overlap --json, measured on a GPU", path, why));
  };
  measured m{.file = json::parse(text, nullptr, false), .machine = {}, .all = {}};
  try {
    if (m.file.is_discarded() || m.file.at("command") != "bench overlap") throw fault("is of something else");
    m.machine = m.file.at("machine").at("name");
    for (const json& r : m.file.at("records")) {
      setting s{.blocks = r.at("blocks_per_multiprocessor"),
                .rounds = r.at("rounds"),
                .load_ns = r.at("load_ns"),
                .compute_ns = r.at("compute_ns"),
                .step_ns = std::vector<double>(std::size(overlap_stages)),
                .model = {}};
      m.bytes = r.at("bytes");
      for (const json& step : r.at("steps"))
        if (const auto* const n = std::ranges::find(overlap_stages, step.at("buffers").get<int>());
            n != std::end(overlap_stages))
          s.step_ns[static_cast<std::size_t>(n - overlap_stages)] = step.at("step_ns");
      m.all.push_back(std::move(s));
    }
  } catch (const json::exception& e) {
    throw fault(fmt::format("lacks something ({})", e.what()));
  }
  if (m.all.empty()) throw fault("has no records");
  return m;
}

json records(const std::vector<setting>& all, std::int64_t bytes, protocol_kind how) {
  json list = json::array();
  for (const setting& s : all) {
    json record{{"kernel", "overlap"},   {"blocks_per_multiprocessor", s.blocks},
                {"rounds", s.rounds},    {"bytes", bytes},
                {"load_ns", s.load_ns},  {"compute_ns", s.compute_ns},
                {"protocol", name(how)}, {"formula", s.formula()},
                {"steps", json::array()}};
    for (std::size_t n = 0; n < std::size(overlap_stages); ++n)
      if (s.step_ns[n] > 0)
        record["steps"].push_back({{"buffers", overlap_stages[n]},
                                   {"step_ns", s.step_ns[n]},
                                   {"gain", s.gain(n)},
                                   {"model", s.model[n]}});
    list.push_back(std::move(record));
  }
  return list;
}

std::string text_of(const std::vector<setting>& all, std::string_view machine, bool timed) {
  return wrapped(fmt::format("steps of 4 KiB for each of `blocks` resident blocks of a multiprocessor, on {}",
                             machine)) +
         "\n\n" + table(all, timed);
}

// Four digits of every number, which are enough for a page and the same with every C library.
void shorten(json& value) {
  if (value.is_number_float()) value = std::stod(fmt::format("{:.4g}", value.get<double>()));
  if (value.is_structured())
    for (json& member : value) shorten(member);
}

// Prints what a result file tells, or writes the page of it.
void show(const request& r, json file, const std::vector<setting>& all, std::string_view machine) {
  if (!r.output.empty()) {
    output_file out{r.output};
    shorten(file);
    out.write(filled_page(file.dump(), "What further buffers gain", overlap_page_template()));
    return out.commit();
  }
  if (r.options.common.json) return print_json(file);
  print(text_of(all, machine, true));
}

void run_read(const request& r) {
  measured m = read(r.file);
  std::string name = m.machine;  // which may end in what memory it has: NVIDIA H100 80GB HBM3
  if (const std::size_t space = name.rfind(' ', name.find("GB"));
      name.find("GB") != name.npos && space != name.npos)
    name.resize(space);
  find_models(shipped_profile(name), m.all, m.bytes);
  const std::string protocol = m.file["records"][0].value("protocol", "rested");
  m.file["records"] = records(m.all, m.bytes, parse_protocol(protocol));
  show(r, std::move(m.file), m.all, m.machine);
}

void run(const request& r) {
  if (!r.file.empty()) return run_read(r);
  const protocol_kind how = parse_protocol(r.options.protocol);
  const place at = choose_place(r.options.place);
  say_place(r.options.common, at);
  const bool timed = at.context.kind() == target::cuda;
  const machine_profile profile = profile_of(at.context.limits());
  if (!timed && !r.output.empty())
    throw not_supported(
        "a page is made of times, which take a GPU: expected one, or a file of times (--read)");
  const bench b(r, at);
  std::vector<setting> all;
  for (const std::int64_t blocks : r.blocks)
    for (const std::int64_t rounds : r.rounds) {
      all.push_back({.blocks = static_cast<int>(blocks),
                     .rounds = static_cast<int>(rounds),
                     .step_ns = std::vector<double>(std::size(overlap_stages)),
                     .model = {}});
    }
  std::vector<work> works;
  std::vector<double*> to;
  std::vector<int> steps;
  for (setting& s : all)
    for (std::size_t n = 0; n < std::size(overlap_stages); ++n) {
      if (!b.fits(n, s.blocks)) continue;
      if (s.rounds == all[0].rounds || !timed) b.verify(n, s);
      works.push_back(b.run(n, s, true)), to.push_back(&s.step_ns[n]), steps.push_back(b.steps(s));
      if (n > 0) continue;
      works.push_back(b.run(n, s, false)), to.push_back(&s.compute_ns), steps.push_back(b.steps(s));
      setting alone = s;
      alone.rounds = 0;
      works.push_back(b.run(n, alone, true)), to.push_back(&s.load_ns), steps.push_back(b.steps(s));
    }
  if (timed) {
    say_progress(r.options.common, "taking times");
    const std::vector<timing> times =
        measure(at.context.runs_on(), works,
                {.kind = how, .samples = r.options.repeats, .rest_ms = 10, .sample_ms = 1});
    for (std::size_t i = 0; i < works.size(); ++i) *to[i] = times[i].median_us * 1e3 / steps[i];
  }
  find_models(profile, all, r.bytes);
  json file = result_file("bench overlap", at, timed ? records(all, r.bytes, how) : json::array());
  if (timed || r.options.common.json) return show(r, std::move(file), all, at.name);
  print(text_of(all, at.name, timed));
}

}  // namespace

void add_bench_overlap(arguments benches) {
  arguments command = benches.add_subcommand(
      "overlap", "What a second and further buffers gain, by how much is computed for each byte");
  const auto r = std::make_shared<request>();
  command.add_option("--blocks", r->blocks, "Resident blocks of a multiprocessor (default 1,2,4,8)")
      .several()
      .check(integer_between(1, 16))
      .type_name("N");
  command.add_option("--rounds", r->rounds, "Multiply-adds of each float that is loaded")
      .several()
      .check(integer_between(0, 100000))
      .type_name("N");
  command.add_option("--bytes", r->bytes, "Of the buffer that is loaded from again and again (default 1 GiB)")
      .check(integer_between(1 << 20, std::int64_t{1} << 36))
      .type_name("BYTES");
  command.add_option("--read", r->file, "Measure nothing: show this file, which --json has written")
      .type_name("FILE");
  command.add_option("-o,--output", r->output, "Write a page (HTML) with the curves, to move about in")
      .type_name("FILE")
      .otherwise("--out");
  add_bench_options(command, r->options);
  command.footer(explanation);
  command.runs([r] { run(*r); });
}

}  // namespace antiphase::tool
