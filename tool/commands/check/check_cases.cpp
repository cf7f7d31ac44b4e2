// What `antiphase check` runs, and what it compares the results with.
#include "tool/commands/check/check_cases.hpp"

#include <fmt/format.h>

#include <antiphase/gemm.hpp>
#include <antiphase/gemm/ladder.hpp>
#include <antiphase/gemm/tensor_core_ladder.hpp>
#include <antiphase/scan/ladder.hpp>
#include <antiphase/scan.hpp>
#include <cmath>
#include <limits>
#include <span>
#include <stdexcept>

#include "tool/measure/verify.hpp"

namespace antiphase::tool {
namespace {

// Numbers of few bits that depend on their place: sums of products are exact, in whatever order they are taken.
int digit(std::uint64_t seed, std::uint64_t place, int most) {
  return static_cast<int>(random_bits(seed, place) % static_cast<std::uint64_t>(2 * most + 1)) - most;
}

void require_same(const std::string& what, std::size_t at, auto found, auto expected) {
  if (!(found == expected)) throw std::runtime_error(fmt::format("{}: element {} is {}, expected {}", what, at, found, expected));
}

// Products -----------------------------------------------------------------------------------------------------------------------------
// How the operands lie: each is contiguous along one of its indices, or along none; `offset` floats behind an address that is a multiple
// of 256 bytes.
enum class lie { rows, columns, neither };
struct operands {
  const char* name;
  lie a, b;
  int offset;
};
// Steps that are compiled for any strides run the first two, steps with variants for operands that are contiguous run all.
constexpr operands layouts[] = {{"row-major A, row-major B", lie::rows, lie::rows, 0},
                                {"row-major A, B of any strides, unaligned", lie::rows, lie::neither, 1},
                                {"row-major A, column-major B", lie::rows, lie::columns, 0},
                                {"column-major A, row-major B", lie::columns, lie::rows, 0},
                                {"column-major A, column-major B", lie::columns, lie::columns, 0}};
std::span<const operands> layouts_of(const gemms::step& how) {
  const std::span<const operands> all = layouts;
  return how.how.a.along == gemms::contiguous::neither ? all.first(2) : all;
}

// A matrix in host memory that is otherwise full of NaN: reading padding spoils a result, writing it shows.
struct placed {
  std::int64_t rows, columns;
  std::int64_t row_stride, column_stride;
  std::int64_t origin;
  std::vector<float> memory;

  placed(std::int64_t m, std::int64_t n, lie how, int offset) : rows(m), columns(n), origin(64 + offset) {
    constexpr std::int64_t packet = 4;  // lines stay multiples of 16 bytes apart, and never touch
    const auto apart = [](std::int64_t extent) { return extent / packet * packet + 2 * packet; };
    row_stride = how == lie::columns ? 1 : how == lie::rows ? apart(n) : 2 * apart(n);
    column_stride = how == lie::columns ? apart(m) : how == lie::rows ? 1 : 2;
    memory.assign(static_cast<std::size_t>(origin + rows * row_stride + columns * column_stride + 64), std::nanf(""));
  }
  std::size_t at(std::int64_t i, std::int64_t j) const { return static_cast<std::size_t>(origin + i * row_stride + j * column_stride); }
  float& operator()(std::int64_t i, std::int64_t j) { return memory[at(i, j)]; }
  template <class T> matrix_view<T> view(T* device) const { return {device + origin, rows, columns, row_stride, column_stride}; }
  void fill(std::uint64_t seed) {
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j)
        (*this)(i, j) = static_cast<float>(digit(seed, static_cast<std::uint64_t>(i * columns + j), 4));
  }
};

void multiply(const context& where, const gemms::step& how, const operands& lies) {
  // Two tiles and a part along m and n would be many blocks of the large tiles; one and a part is what takes both paths.
  const std::int64_t m = how.how.tile.m + 3, n = how.how.tile.n + 5, k = 2 * std::max(how.how.tile_k, 8) + 7;
  constexpr float alpha = 2, beta = -1;
  placed a(m, k, lies.a, lies.offset), b(k, n, lies.b, lies.offset), c(m, n, lie::rows, 0);
  a.fill(1);
  b.fill(2);
  c.fill(3);
  const device_array<float> da(where, a.memory), db(where, b.memory);
  device_array<float> dc(where, c.memory);
  gemm(where, {.a = a.view(da.data()), .b = b.view(db.data()), .c = c.view(dc.data()), .alpha = alpha, .beta = beta}, {.policy = how.name});
  const std::vector<float> result = dc.to_host();

  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (std::int64_t t = 0; t < k; ++t) sum += a(i, t) * b(t, j);
      c(i, j) = alpha * sum + beta * c(i, j);
    }
  for (std::size_t i = 0; i < result.size(); ++i)
    if (!std::isnan(c.memory[i]) || !std::isnan(result[i])) require_same(fmt::format("C of {}", lies.name), i, result[i], c.memory[i]);
}

// Digits in rows of f16 that are padded with NaN to a multiple of 16 bytes, and a row more of them.
struct placed_halves {
  std::int64_t rows, columns, stride = columns / 8 * 8 + 8;
  std::vector<f16> memory = std::vector<f16>(static_cast<std::size_t>((rows + 1) * stride), to_f16(std::nanf("")));

  float value(std::uint64_t seed, std::int64_t i, std::int64_t j) const {
    return static_cast<float>(digit(seed, static_cast<std::uint64_t>(i * columns + j), 4));
  }
  void fill(std::uint64_t seed) {
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j) memory[static_cast<std::size_t>(i * stride + j)] = to_f16(value(seed, i, j));
  }
};
void multiply(const context& where, const gemms::tensor_core_step& how) {
  const std::int64_t m = how.tile.m + 3, n = how.tile.n + 5, k = how.stages * how.tile_k + 7;
  placed_halves a{m, k}, b{k, n};
  a.fill(1);
  b.fill(2);
  placed c(m, n, lie::rows, 0);
  c.fill(3);
  const device_array<f16> da(where, a.memory), db(where, b.memory);
  device_array<float> dc(where, c.memory);
  gemms::run(
      where.runs_on(),
      gemms::prepare(where.runs_on(), how, {row_major(da.data(), m, k, a.stride), row_major(db.data(), k, n, b.stride), c.view(dc.data())}),
      nullptr);
  const std::vector<float> result = dc.to_host();
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      c(i, j) = 0;
      for (std::int64_t t = 0; t < k; ++t) c(i, j) += a.value(1, i, t) * b.value(2, t, j);
    }
  for (std::size_t i = 0; i < result.size(); ++i)
    if (!std::isnan(c.memory[i]) || !std::isnan(result[i])) require_same("C", i, result[i], c.memory[i]);
}

// Scans --------------------------------------------------------------------------------------------------------------------------------
struct lines {
  std::int64_t outer, length, inner;
};
struct scan_case {
  element type;
  scan_operation operation;
  scan_kind kind;
  scan_direction direction;
  bool whole_line;  // one line of several tiles; else short ones side by side
};
constexpr scan_case of_all_steps[] = {
    {element::f32, scan_operation::sum, scan_kind::inclusive, scan_direction::forward, true},
    {element::f64, scan_operation::sum, scan_kind::exclusive, scan_direction::reverse, true},
    {element::i32, scan_operation::sum, scan_kind::exclusive, scan_direction::forward, false},
    {element::u32, scan_operation::sum, scan_kind::inclusive, scan_direction::reverse, false},
};
constexpr scan_case of_whole_scans[] = {
    {element::i8, scan_operation::max, scan_kind::inclusive, scan_direction::reverse, true},
    {element::u16, scan_operation::min, scan_kind::exclusive, scan_direction::forward, false},
    {element::f32, scan_operation::min, scan_kind::inclusive, scan_direction::forward, false},
    {element::i64, scan_operation::product, scan_kind::exclusive, scan_direction::reverse, true},
};

template <class T> T identity(scan_operation operation) {
  using limits = std::numeric_limits<T>;
  switch (operation) {
    case scan_operation::sum: return T{0};
    case scan_operation::product: return T{1};
    case scan_operation::min: return limits::has_infinity ? limits::infinity() : limits::max();
    case scan_operation::max: break;
  }
  return limits::has_infinity ? -limits::infinity() : limits::lowest();
}
template <class T> T combined(scan_operation operation, T x, T y) {
  switch (operation) {
    case scan_operation::sum: return static_cast<T>(x + y);
    case scan_operation::product: return static_cast<T>(x * y);
    case scan_operation::min: return std::min(x, y);
    case scan_operation::max: break;
  }
  return std::max(x, y);
}
// Neither sums nor products leave what the type holds.
template <class T> T scan_input(scan_operation operation, std::uint64_t place) {
  if (operation == scan_operation::product) return random_bits(5, place) % 2 == 0 || place % 64 != 0 ? T{1} : static_cast<T>(-1);
  return static_cast<T>(digit(4, place, 50));
}

template <class T> void scan_lines(const context& where, const scans::step& how, const scan_case& s) {
  const lines l = s.whole_line ? lines{1, 2 * scans::tile_of(how, sizeof(T)) + 37, 1} : lines{3, 41, 5};
  const auto count = static_cast<std::size_t>(l.outer * l.length * l.inner);
  constexpr std::size_t guard = 16;
  std::vector<T> in(count + 2 * guard);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = scan_input<T>(s.operation, i);
  const device_array<T> from(where, in);
  device_array<T> to(where, in);
  const scans::problem p{.type = element_of<T>,
                          .operation = s.operation,
                          .kind = s.kind,
                          .direction = s.direction,
                          .in = from.data() + guard,
                          .out = to.data() + guard,
                          .outer = l.outer,
                          .length = l.length,
                          .inner = l.inner};
  for (int turn = 0; turn < (scans::is_one_wave(how) ? 2 : 1); ++turn) scan(where, p, {.policy = how.name});  // launches that may overlap
  const std::vector<T> result = to.to_host();

  std::vector<T> expected = in;
  for (std::int64_t line = 0; line < l.outer * l.inner; ++line) {
    T running = identity<T>(s.operation);
    for (std::int64_t i = 0; i < l.length; ++i) {
      const std::int64_t along = s.direction == scan_direction::forward ? i : l.length - 1 - i;
      const auto at = guard + static_cast<std::size_t>((line / l.inner * l.length + along) * l.inner + line % l.inner);
      const T before = running;
      running = combined(s.operation, running, in[at]);
      expected[at] = s.kind == scan_kind::inclusive ? running : before;
    }
  }
  for (std::size_t i = 0; i < expected.size(); ++i) require_same(fmt::format("scan of {}", name(s.type)), i, result[i], expected[i]);
}

void scan_all(const context& where, const scans::step& how) {
  const auto each = [&](std::span<const scan_case> cases) {
    for (const scan_case& s : cases)
      if ((s.whole_line || !scans::is_single_pass(how)) && scans::is_compiled(where.kind(), how, s.type, s.operation))
        with_element(s.type, [&]<class T>() { scan_lines<T>(where, how, s); });
  };
  each(of_all_steps);
  if (&how == &scans::find_step("items") || scans::is_single_pass(how)) each(of_whole_scans);
}

}  // namespace

const std::vector<checked_case>& checked_cases() {
  static const std::vector<checked_case> all = [] {
    std::vector<checked_case> cases;
    for (const gemms::step& s : gemms::steps)
      cases.push_back({fmt::format("gemm/{}", s.name), s.adds, [&s](const context& where) {
                         for (const operands& lies : layouts_of(s)) multiply(where, s, lies);
                       }});
    for (const gemms::tensor_core_step& s : gemms::tensor_core_steps)
      cases.push_back({fmt::format("gemm/{}", s.name), s.adds, [&s](const context& where) { multiply(where, s); }});
    for (const scans::step& s : scans::steps)
      cases.push_back({fmt::format("scan/{}", s.name), s.adds, [&s](const context& where) { scan_all(where, s); }});
    return cases;
  }();
  return all;
}

}  // namespace antiphase::tool
