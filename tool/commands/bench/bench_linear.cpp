// SPDX-License-Identifier: Apache-2.0
// The subcommand bench linear: linear layers compared with cuBLAS, in time and in bits.
#include <fmt/format.h>

#include <algorithm>
#include <antiphase/linear.hpp>
#include <charconv>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "tool/base/errors.hpp"
#include "tool/commands/bench/bench.hpp"
#include "tool/measure/graphs/graph_times.hpp"
#include "tool/program/text/names.hpp"
#include "tool/program/text/table.hpp"

namespace antiphase::tool {
namespace {

constexpr const char* explanation =
    "Y = X W^T of 16-bit numbers with FP32 sums, W as models have it, X of few and of many rows. "
    "Without a GPU nothing is timed, and bits are those of the CPU executor, of small shapes.\n\n"
    "Columns\n"
    "  us, cuBLAS us  median times of calls in CUDA graphs, Y in the type of X; calls take copies of W in "
    "turn, so that it comes from memory, as in a model\n"
    "  x cuBLAS       how many times as fast\n"
    "With --ending\n"
    "  x plain        how many times as long as without the ending; cuBLAS's time is that of its product "
    "alone\n"
    "With --overlap\n"
    "  overlapped us  of calls that read W while the one before ends, where one tile has all rows\n"
    "With --invariant\n"
    "  moved          rows of Y in FP32, of those looked at, that have other bits than the same row computed "
    "alone; "
    "one of ours is an error (exit code 5)\n"
    "  cuBLAS moved   the same of cuBLAS\n"
    "\n"
    "Examples:\n"
    "  antiphase bench linear\n"
    "  antiphase bench linear --invariant\n"
    "  antiphase bench linear --random 3 60 --ending plain,bias,residual\n"
    "  antiphase bench linear --shape 4096x14336 --rows 1,64,8192 --type f2 --invariant --json";

// What follows the sums. Y is in the type of X or in FP32.
struct ending {
  const char* name;
  gemms::activation function = gemms::activation::none;
  bool bias = false, residual = false, f32 = false;
};
using gemms::activation;
constexpr ending endings[] = {{"plain"},
                              {"bias", activation::none, true},
                              {"relu", activation::relu},
                              {"gelu", activation::gelu},
                              {"gelu-tanh", activation::gelu_tanh},
                              {"bias-gelu", activation::gelu, true},
                              {"residual", activation::none, false, true},
                              {"bias-residual", activation::none, true, true},
                              {"f32", activation::none, false, false, true},
                              {"residual-f32", activation::none, false, true, true}};
const ending& ending_named(const std::string& name) {
  std::vector<std::string> names;
  for (const ending& e : endings) names.emplace_back(e.name);
  return endings[choice_of("--ending", name, names)];
}

struct request {
  std::vector<std::int64_t> random;  // seed, count
  std::vector<std::string> endings{"plain"};
  std::vector<std::string> shapes;
  std::vector<std::int64_t> rows;
  std::vector<std::string> kernels{"auto"};
  std::string type = "bf16";
  bool invariant = false, overlap = false;
  bench_options options;
};

struct layer {
  std::int64_t n, k;
};
layer parse_shape(const std::string& text) {
  layer l{};
  const char* const end = text.data() + text.size();
  const auto n = std::from_chars(text.data(), end, l.n);
  const auto k = n.ptr < end && *n.ptr == 'x' ? std::from_chars(n.ptr + 1, end, l.k) : n;
  if (n.ec != std::errc() || k.ec != std::errc() || k.ptr != end || k.ptr == n.ptr || l.n < 1 || l.k < 1 ||
      std::max(l.n, l.k) > 1 << 20)
    throw bad_request(fmt::format("--shape '{}': expected N x K of W, such as 4096x14336", text));
  return l;
}

// Operands of a layer, for up to `rows` rows: numbers from -1 to 1. There are copies of W, more than the L2
// cache holds.
class operands {
 public:
  operands(const context& where, element type, const layer& of, std::int64_t rows, std::int64_t bytes_of_w,
           bool with_residual)
      : copies(std::max<std::int64_t>(1, bytes_of_w / (2 * of.n * of.k))),
        type_(type),
        of_(of),
        x_(where, numbers(rows * of.k, 1)),
        y_(where, static_cast<std::size_t>(rows * of.n)),
        row_(where, static_cast<std::size_t>(of.n)),
        bias_(where, numbers(2 * of.n, 3)),
        residual_(where, with_residual ? numbers(2 * rows * of.n, 4) : std::vector<std::uint16_t>()) {
    const std::vector<std::uint16_t> w = numbers(of.n * of.k, 2);
    for (std::int64_t i = 0; i < copies; ++i) w_.emplace_back(where, w);
  }
  const std::int64_t copies;

  linear_problem problem(std::int64_t first, std::int64_t m, std::int64_t copy = 0) {
    return {.in = type_,
            .out = element::f32,
            .x = {x_.data() + first * of_.k, of_.k},
            .w = {w_[static_cast<std::size_t>(copy)].data(), of_.k},
            .y = {y_.data(), of_.n},
            .m = m,
            .n = of_.n,
            .k = of_.k};
  }
  // The problem with an ending, Y in the type of X unless that says otherwise.
  linear_problem layer_problem(std::int64_t m, std::int64_t copy, const ending& with) {
    linear_problem p = problem(0, m, copy);
    if (!with.f32) p.out = type_;
    p.function = with.function;
    if (with.bias) p.bias = bias_.data();
    if (with.residual) p.residual = {residual_.data(), of_.n};
    return p;
  }
  // One row, whose result has a place of its own.
  linear_problem alone(std::int64_t row) {
    linear_problem p = problem(row, 1);
    p.y = {row_.data(), of_.n};
    return p;
  }
  const device_array<float>& together() const { return y_; }
  const device_array<float>& row() const { return row_; }

 private:
  element type_;
  layer of_;
  device_array<std::uint16_t> x_;
  std::vector<device_array<std::uint16_t>> w_;
  device_array<float> y_, row_;
  device_array<std::uint16_t> bias_, residual_;  // of either type: halves of FP32 numbers are such numbers

  std::vector<std::uint16_t> numbers(std::int64_t count, std::uint32_t seed) const {
    std::vector<std::uint16_t> all(static_cast<std::size_t>(count));
    std::uint32_t state = seed * 2654435761u;
    for (std::uint16_t& bits : all) {
      state = state * 1664525u + 1013904223u;
      const float x = static_cast<float>(static_cast<int>(state >> 8) - (1 << 23)) * 0x1p-23f;
      bits = type_ == element::bf16 ? to_bf16(x).bits : to_f16(x).bits;
    }
    return all;
  }
};

constexpr std::int64_t looked_at = 64;  // rows of a product

using product = std::function<void(const linear_problem&)>;
// How many of the rows of a product of m rows have other bits than each row alone.
std::int64_t moved_rows(const context& where, operands& data, const layer& of, std::int64_t m,
                        const product& multiply) {
  multiply(data.problem(0, m));
  where.runs_on().synchronize(nullptr);
  const std::vector<float> together = data.together().to_host();
  const std::int64_t looked = std::min(m, looked_at);
  std::int64_t moved = 0;
  for (std::int64_t i = 0; i < looked; ++i) {
    const std::int64_t row = i * (m - 1) / std::max<std::int64_t>(1, looked - 1);
    multiply(data.alone(row));
    where.runs_on().synchronize(nullptr);
    const std::vector<float> alone = data.row().to_host();
    moved += std::memcmp(alone.data(), together.data() + row * of.n, alone.size() * sizeof(float)) != 0;
  }
  return moved;
}

struct line {
  layer of;
  std::int64_t m;
  const ending* with;
  std::string kernel;
  timing ours, plain, cublas, overlapped;
  rival of_cublas = {};
  std::int64_t moved = -1, cublas_moved = -1;  // -1: not looked at
};

void take_times(const request& r, const context& where, operands& data, const fast_cublas& cublas,
                const std::string& kernel, line& l) {
  std::vector<rival> rivals;
  for (std::int64_t i = 0; i < data.copies; ++i)
    rivals.push_back(cublas.of(data.layer_problem(l.m, i, endings[0])));
  std::int64_t turn = 0;
  const auto ours = [&](const ending& with, bool overlap) {
    return [&, overlap](stream on) {
      linear(where, data.layer_problem(l.m, turn++ % data.copies, with),
             {.kernel = kernel, .stream = on, .overlap = overlap});
    };
  };
  std::vector<work> works;
  std::vector<timing*> times_of;
  const auto add = [&](timing& of, work what) { works.push_back(std::move(what)), times_of.push_back(&of); };
  add(l.ours, ours(*l.with, false));
  if (l.with != endings) add(l.plain, ours(endings[0], false));
  if (r.overlap) add(l.overlapped, ours(*l.with, true));
  if (rivals[0])
    add(l.cublas, [&](stream on) { rivals[static_cast<std::size_t>(turn++ % data.copies)].run(on); });
  const std::vector<timing> times = graph_times(where, works, {.samples = r.options.repeats});
  for (std::size_t i = 0; i < times.size(); ++i) *times_of[i] = times[i];
  if (!rivals[0]) return;
  l.of_cublas = rivals[0];
  l.of_cublas.run = {};
}

line measure_line(const request& r, const context& where, operands& data, const layer& of, std::int64_t m,
                  const std::string& kernel, const ending& with) {
  const linear_options how{.kernel = kernel};
  line l{of, m, &with, explain(where, data.layer_problem(m, 0, with), how).kernel, {}, {}, {}, {}};
  std::optional<fast_cublas> cublas;
  if (where.kind() == target::cuda) take_times(r, where, data, cublas.emplace(where), kernel, l);
  if (!r.invariant) return l;
  l.moved = moved_rows(where, data, of, m, [&](const linear_problem& x) { linear(where, x, how); });
  if (l.cublas.median_us > 0)
    l.cublas_moved =
        moved_rows(where, data, of, m, [&](const linear_problem& x) { cublas->of(x).run(nullptr); });
  return l;
}

std::string moved_text(const line& l, std::int64_t moved) {
  return moved < 0 ? "-" : fmt::format("{}/{}", moved, std::min(l.m, looked_at));
}
std::string summary_of(const std::vector<line>& all) {
  double logarithms = 0, least = std::numeric_limits<double>::infinity();
  int timed = 0;
  for (const line& l : all) {
    if (l.cublas.median_us <= 0) continue;
    const double ratio = l.cublas.median_us / l.ours.median_us;
    logarithms += std::log(ratio), least = std::min(least, ratio), ++timed;
  }
  if (timed == 0) return {};
  return fmt::format("\n{:.2f} times as fast as cuBLAS in the geometric mean, {:.2f} times at least\n",
                     std::exp(logarithms / timed), least);
}
std::string text_of(const std::vector<line>& all, const request& r) {
  std::vector<std::vector<std::string>> rows{{"N x K", "rows", "kernel", "us", "cuBLAS us", "x cuBLAS"}};
  const bool plainly = std::ranges::all_of(all, [](const line& l) { return l.with == endings; });
  if (!plainly) rows[0].insert(rows[0].end(), {"ending", "x plain"});
  if (r.overlap) rows[0].emplace_back("overlapped us");
  if (r.invariant) rows[0].insert(rows[0].end(), {"moved", "cuBLAS moved"});
  const auto time = [](const timing& t) {
    return t.median_us > 0 ? fmt::format("{:.1f}", t.median_us) : "-";
  };
  for (const line& l : all) {
    rows.push_back(
        {fmt::format("{} x {}", l.of.n, l.of.k), fmt::format("{}", l.m), l.kernel, time(l.ours),
         time(l.cublas),
         l.cublas.median_us > 0 ? fmt::format("{:.2f}", l.cublas.median_us / l.ours.median_us) : "-"});
    if (!plainly)
      rows.back().insert(
          rows.back().end(),
          {l.with->name,
           l.plain.median_us > 0 ? fmt::format("{:.2f}", l.ours.median_us / l.plain.median_us) : "-"});
    if (r.overlap) rows.back().push_back(time(l.overlapped));
    if (r.invariant)
      rows.back().insert(rows.back().end(), {moved_text(l, l.moved), moved_text(l, l.cublas_moved)});
  }
  return table_text(rows) + summary_of(all);
}
json records_of(const std::vector<line>& all, const request& r) {
  json records = json::array();
  for (const line& l : all) {
    json record{{"n", l.of.n}, {"k", l.of.k}, {"rows", l.m}, {"type", r.type}, {"kernel", l.kernel}};
    record["ending"] = l.with->name;
    if (l.plain.median_us > 0) add_time(record, "plain", l.plain);
    if (l.ours.median_us > 0) add_time(record, "ours", l.ours);
    if (l.cublas.median_us > 0)
      add_time(record, "cublas", l.cublas), add_rival(record, "cublas", l.of_cublas);
    if (l.overlapped.median_us > 0) add_time(record, "overlapped", l.overlapped);
    if (l.moved >= 0) record["moved"] = l.moved;
    if (l.cublas_moved >= 0) record["cublas_moved"] = l.cublas_moved;
    records.push_back(std::move(record));
  }
  return records;
}

struct layer_rows {
  layer of;
  std::vector<std::int64_t> rows;
};
// Layers for which no kernel has been tuned: extents whose logarithms are uniform, K any multiple of 8, every
// second N and K one of 64.
std::vector<layer_rows> random_layers(std::int64_t seed, std::int64_t count, bool gpu) {
  std::mt19937 random(static_cast<std::uint32_t>(seed));
  const auto extent = [&](double least, double most, std::int64_t step) {
    const double share = static_cast<double>(random()) / 0x1p32;
    return std::max<std::int64_t>(
               1, std::llround(least * std::pow(most / least, share) / static_cast<double>(step))) *
           step;
  };
  const double most = gpu ? 32768 : 96, most_rows = gpu ? 8192 : 80;
  std::vector<layer_rows> all;
  while (std::ssize(all) < count) {
    const std::int64_t n = extent(most / 128, most, random() % 2 == 0 ? 64 : 8),
                       k = extent(most / 128, most, random() % 2 == 0 ? 64 : 8);
    if (n * k <= std::int64_t{1} << 28) all.push_back({{n, k}, {extent(1, most_rows, 1)}});
  }
  return all;
}
// What the options ask for.
std::vector<layer_rows> layers_of(const request& r, bool gpu) {
  if (!r.random.empty()) {
    if (!r.shapes.empty() || !r.rows.empty())
      throw bad_request("--random draws shapes and rows: expected no --shape and no --rows with it");
    return random_layers(r.random[0], r.random[1], gpu);
  }
  std::vector<std::string> shapes = r.shapes;
  if (shapes.empty())
    shapes = gpu ? std::vector<std::string>{"4096x4096",   "6144x4096", "28672x4096", "4096x14336",
                                            "128256x4096", "1024x4096", "8192x8192",  "256x7168"}
                 : std::vector<std::string>{"64x128", "40x200"};
  std::vector<std::int64_t> rows = r.rows;
  if (rows.empty())
    rows = gpu ? std::vector<std::int64_t>{1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192}
               : std::vector<std::int64_t>{1, 9, 70};
  std::vector<layer_rows> all;
  for (const std::string& shape : shapes) all.push_back({parse_shape(shape), rows});
  return all;
}

void run(const request& r) {
  const place at = choose_place(r.options.place);
  say_place(r.options.common, at);
  const bool gpu = at.context.kind() == target::cuda;
  const element type = choice_of("--type", r.type, {"bf16", "f2"}) == 0 ? element::bf16 : element::f16;
  std::vector<const ending*> with;
  for (const std::string& name : r.endings) with.push_back(&ending_named(name));
  const bool with_residual = std::ranges::any_of(with, [](const ending* e) { return e->residual; });
  std::vector<line> all;
  std::int64_t moved = 0;
  for (const auto& [of, rows] : layers_of(r, gpu)) {
    const std::string name = fmt::format("{}x{}", of.n, of.k);
    say_progress(r.options.common, fmt::format("{}: making operands", name));
    operands data(at.context, type, of, *std::ranges::max_element(rows), gpu ? std::int64_t{260} << 20 : 0,
                  with_residual);
    for (const std::int64_t m : rows) {
      say_progress(r.options.common, fmt::format("{} of {} rows", name, m));
      for (const std::string& kernel : r.kernels)
        for (const ending* e : with) {
          all.push_back(measure_line(r, at.context, data, of, m, kernel, *e));
          moved += std::max<std::int64_t>(0, all.back().moved);
        }
    }
  }
  if (r.options.common.json)
    print(result_file("bench linear", at, records_of(all, r)).dump(1) + "\n");
  else
    print(text_of(all, r));
  if (moved > 0)
    throw verification_failed(fmt::format("{} rows have other bits than the same rows alone", moved));
}

}  // namespace

void add_bench_linear(arguments benches) {
  arguments command = benches.add_subcommand(
      "linear", "Linear layers in 16 bits compared with cuBLAS: times, and bits by the batch");
  const auto r = std::make_shared<request>();
  command.add_option("--shape", r->shapes, "N x K of W (default on a GPU: eight of language models)")
      .several()
      .type_name("NxK");
  command.add_option("--rows", r->rows, "Rows of X (default on a GPU: 1 to 8192)")
      .several()
      .check(integer_between(1, 1 << 20))
      .type_name("M");
  command.add_option("--kernel", r->kernels, "Kernels to take (default auto: the one that is chosen)")
      .several()
      .type_name("NAME");
  command.add_option("--random", r->random, "That many layers of random extents, the same for the same seed")
      .values(2, 2)
      .check(integer_between(0, 1 << 20))
      .type_name("SEED COUNT");
  command
      .add_option("--ending", r->endings,
                  "What follows the sums (default plain): plain, bias, relu, gelu, "
                  "gelu-tanh, bias-gelu, residual, bias-residual, f32, residual-f32")
      .several()
      .type_name("NAME");
  command.add_option("--type", r->type, "Of X and W: bf16 (default) or f2").type_name("TYPE");
  command.add_flag("--overlap", r->overlap,
                   "Also calls that read W while the one before ends (linear_options::overlap)");
  command.add_flag("--invariant", r->invariant,
                   "Count the rows that have other bits than the same row computed alone");
  command.add_option("--repeats", r->options.repeats, "Samples of each time (default 9)")
      .check(integer_between(1, 1000))
      .type_name("N");
  add_place_options(command, r->options.place);
  add_common_options(command, r->options.common);
  command.footer(explanation);
  command.runs([r] { run(*r); });
}

}  // namespace antiphase::tool
