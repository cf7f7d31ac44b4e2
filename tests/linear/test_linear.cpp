// SPDX-License-Identifier: Apache-2.0
// Linear layers: the bits of a row depend on nothing but the row and W, whatever computes it.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "tests/device/tensor_support.hpp"
#include "tests/linear/layer.hpp"

namespace antiphase::test {
namespace {

struct extents {
  std::int64_t m, n, k;
};
using probe::gpu;

constexpr element types[] = {element::bf16, element::f16};

// A step of 16 k of Hopper's Tensor Core, in doubles: products and the sum so far cut off to 25 bits after
// the largest of their exponents, added exactly and cut off to FP32 (docs/design/executor.md).
float hopper_step(const halves& x, const halves& w, std::int64_t i, std::int64_t j, std::int64_t k, float c) {
  const double least = x.type == element::bf16 ? -126 : -14;
  const auto exponent = [&](double v) { return v == 0 ? -1e9 : std::ilogb(v); };
  double largest = exponent(c), product[16] = {};
  for (std::int64_t e = 0; e < 16 && k + e < x.columns; ++e) {
    const double a = x(i, k + e), b = w(j, k + e);
    product[e] = a * b;
    if (product[e] != 0)
      largest = std::max(largest, std::max(exponent(a), least) + std::max(exponent(b), least));
  }
  if (largest < -1e8) return 0;
  const double unit = std::ldexp(1, static_cast<int>(largest) - 25);
  double sum = std::trunc(c / unit);
  for (const double p : product) sum += std::trunc(p / unit);
  sum *= unit;
  const auto nearest = static_cast<float>(sum);
  return std::abs(double{nearest}) > std::abs(sum) ? std::nextafter(nearest, 0.f) : nearest;
}
float in_order(const halves& x, const halves& w, std::int64_t i, std::int64_t j) {
  float sum = 0;
  for (std::int64_t k = 0; k < x.columns; k += 16) sum = hopper_step(x, w, i, j, k, sum);
  return sum;
}

// Each kernel has the bits of the definition, of a step of 16 after the other.
void check_every_kernel(const context& where, std::initializer_list<extents> shapes) {
  for (const element type : types)
    for (const kind how : {kind::normal, kind::wide, kind::cancelling})
      for (const extents& s : shapes) {
        const halves x(type, how, s.m, s.k, 1), w(type, how, s.n, s.k, 2);
        const std::vector<std::string> kernels = linear_kernels(where, type);
        ASSERT_GE(kernels.size(), 2U);
        const words expected = layer_call{where, kernels.back()}(x, w);
        for (const std::string& kernel : kernels)
          EXPECT_EQ((layer_call{where, kernel}(x, w) == expected), true)
              << kernel << ", kind " << static_cast<int>(how) << ", " << s.m << " x " << s.n << " x " << s.k;
        EXPECT_EQ((layer_call{where}(x, w) == expected), true) << "auto";
        for (std::int64_t i = 0; i < 40; ++i) {
          const std::int64_t row = i * 37 % s.m, column = i * 61 % s.n;
          const float definition = in_order(x, w, row, column);
          EXPECT_EQ(expected[static_cast<std::size_t>(row * s.n + column)],
                    std::bit_cast<std::uint32_t>(definition))
              << name(type) << ", (" << row << ", " << column << "), kind " << static_cast<int>(how);
        }
      }
}
TEST(linear, every_kernel_has_the_bits_of_the_definition) {
  const context where(make_cpu_executor());
  check_every_kernel(where, {{67, 40, 88}});
}
// So small that compute-sanitizer's racecheck and synccheck end.
TEST(linear_Cuda, every_kernel_has_the_bits_of_the_definition_with_few_rows) {
  ON_GPU(where, 90);
  check_every_kernel(where, {{1, 264, 192}, {130, 264, 192}});
}
TEST(linear_Cuda, every_kernel_has_the_bits_of_the_definition) {
  ON_GPU(where, 90);
  check_every_kernel(where, {{512, 768, 4096}, {320, 1024, 14336}, {128, 776, 1088}, {67, 40, 88}});
}

// Any number of rows, from the front and from the end, permuted, next to NaN and infinities: the same bits.
void check_rows(const context& where, const extents& s, std::initializer_list<std::int64_t> counts) {
  for (const element type : types) {
    const halves x(type, kind::normal, s.m, s.k, 3), w(type, kind::normal, s.n, s.k, 4);
    const layer_call call{where};
    const words all = call(x, w);
    for (const std::int64_t count : counts)
      for (const std::int64_t first : {std::int64_t{0}, s.m - count})
        EXPECT_EQ((call(x.row_range(first, count), w) ==
                   words(all.begin() + first * s.n, all.begin() + (first + count) * s.n)),
                  true)
            << count << " rows from " << first << " on";
    halves mixed = x;
    std::vector<std::int64_t> from(static_cast<std::size_t>(s.m));
    for (std::int64_t i = 0; i < s.m; ++i) {
      const std::int64_t source = from[static_cast<std::size_t>(i)] = (i * 7 + 5) % s.m;
      for (std::int64_t k = 0; k < s.k; ++k)
        mixed.bits[static_cast<std::size_t>(i * s.k + k)] =
            i % 3 == 1   ? to_bits(type, k % 2 == 0 ? std::nanf("") : INFINITY)
            : i % 3 == 2 ? to_bits(type, -INFINITY)
                         : x.bits[static_cast<std::size_t>(source * s.k + k)];
    }
    const words permuted = call(mixed, w);
    for (std::int64_t i = 0; i < s.m; i += 3)
      EXPECT_EQ((row_of(permuted, i, s.n) == row_of(all, from[static_cast<std::size_t>(i)], s.n)), true)
          << "row " << i << " next to NaN and infinities";
  }
}
TEST(linear, a_row_is_the_same_in_every_batch) {
  const context where(make_cpu_executor());
  check_rows(where, {142, 24, 72}, {1, 2, 9, 64, 65});
}
TEST(linear_Cuda, a_row_is_the_same_in_every_batch) {
  ON_GPU(where, 90);
  for (const extents& s : {extents{8192, 1024, 1024}, {2048, 4096, 4096}, {1100, 256, 7168}})
    check_rows(where, s, {1, 2, 3, 7, 8, 9, 17, 31, 63, 64, 65, 100, 127, 128, 256, 512, 1024});
}

// Operands that lie anyhow: padded rows, k by k, at odd addresses. By whole warps, too, which take them all.
void check_layouts(const context& where, const extents& s) {
  for (const element type : types) {
    const halves x(type, kind::normal, s.m, s.k, 5), w(type, kind::normal, s.n, s.k, 6);
    const words expected = layer_call{where}(x, w);
    for (const bool x_along_k : {true, false})
      for (const bool w_along_k : {true, false})
        for (const std::size_t offset : {0, 1}) {
          const auto spare = [&](std::int64_t in_row) { return offset == 0 ? 16 - in_row % 8 : 3; };
          const placed of_x(x, x_along_k, spare(x_along_k ? s.k : s.m), offset),
              of_w(w, w_along_k, spare(w_along_k ? s.k : s.n), offset);
          const device_array<std::uint16_t> on_x(where, std::span(of_x.memory)),
              on_w(where, std::span(of_w.memory));
          linear_problem p{
              .in = type, .out = element::f32, .x = of_x.lies, .w = of_w.lies, .m = s.m, .n = s.n, .k = s.k};
          p.x.data = on_x.data() + offset, p.w.data = on_w.data() + offset;
          const std::string by_warps = std::string(name(type)) + "-mma";
          std::vector<std::string> kernels{"auto", by_warps};
          if (offset == 0 && x_along_k) kernels.push_back(by_warps + (w_along_k ? "-128" : "-128-kn"));
          for (const std::string& kernel : kernels) {
            device_array<float> y(where, std::vector<float>(static_cast<std::size_t>(s.m * (s.n + 1)), -7.f));
            p.y = {y.data(), s.n + 1};
            linear(where, p, {.kernel = kernel});
            where.runs_on().synchronize(nullptr);
            const std::vector<float> found = y.to_host();
            for (std::int64_t i = 0; i < s.m; ++i) {
              for (std::int64_t j = 0; j < s.n; ++j)
                ASSERT_EQ(std::bit_cast<std::uint32_t>(found[static_cast<std::size_t>(i * (s.n + 1) + j)]),
                          expected[static_cast<std::size_t>(i * s.n + j)])
                    << kernel << x_along_k << w_along_k << offset << ": (" << i << ", " << j << ")";
              ASSERT_EQ(found[static_cast<std::size_t>(i * (s.n + 1) + s.n)], -7.f)
                  << kernel << ": written past row " << i;
            }
          }
        }
  }
}
TEST(linear, operands_lie_anyhow) { check_layouts(context(make_cpu_executor()), {70, 41, 83}); }
TEST(linear_Cuda, operands_lie_anyhow) {
  ON_GPU(where, 80);
  check_layouts(where, {270, 341, 983});
}

void check_batches_and_groups(const context& where, const extents& s) {
  constexpr std::int64_t members = 3;
  for (const element type : types) {
    const halves x(type, kind::normal, members * s.m, s.k, 7), w(type, kind::normal, members * s.n, s.k, 8);
    const device_array<std::uint16_t> on_x(where, std::span<const std::uint16_t>(x.bits)),
        on_w(where, std::span<const std::uint16_t>(w.bits));
    device_array<std::uint32_t> y(where, static_cast<std::size_t>(members * s.m * s.n));
    const auto row_alone = [&](std::int64_t row, std::int64_t member) {
      return layer_call{where}(x.row_range(row, 1), w.row_range(member * s.n, s.n));
    };
    linear_problem p{.in = type,
                     .out = element::f32,
                     .x = {on_x.data(), s.k, 1, s.m * s.k},
                     .w = {on_w.data(), s.k, 1, s.n * s.k},
                     .y = {y.data(), s.n, s.m * s.n},
                     .m = s.m,
                     .n = s.n,
                     .k = s.k,
                     .members = members};
    linear(where, p);
    where.runs_on().synchronize(nullptr);
    words found = y.to_host();
    for (std::int64_t i = 0; i < members * s.m; i += 5)
      EXPECT_EQ((row_of(found, i, s.n) == row_alone(i, i / s.m)), true) << "batch, row " << i;
    const std::vector<std::int32_t> ends{static_cast<std::int32_t>(s.m / 3),
                                         static_cast<std::int32_t>(s.m / 3),
                                         static_cast<std::int32_t>(members * s.m)};
    const device_array<std::int32_t> on_ends(where, std::span(ends));
    p.group_ends = on_ends.data(), p.m = members * s.m;
    linear(where, p);
    where.runs_on().synchronize(nullptr);
    found = y.to_host();
    for (std::int64_t i = 0; i < members * s.m; i += 5)
      EXPECT_EQ((row_of(found, i, s.n) == row_alone(i, i < ends[0] ? 0 : 2)), true) << "groups, row " << i;
  }
}
TEST(linear, batches_and_groups) { check_batches_and_groups(context(make_cpu_executor()), {50, 24, 72}); }
TEST(linear_Cuda, batches_and_groups) {
  ON_GPU(where, 80);
  check_batches_and_groups(where, {500, 264, 1032});
}

// Strides of 0: rows, columns or all of an operand, and rows of the residual, are the same memory.
void check_repeated(const context& where, const extents& s) {
  const halves rows(element::f16, kind::normal, 1, s.k, 11), columns(element::f16, kind::normal, s.m, 1, 12),
      added(element::f16, kind::normal, 1, s.n, 13);
  const auto full = [](const halves& x, std::int64_t m, std::int64_t k) {
    halves all(x.type, kind::normal, m, k, 0);
    for (std::int64_t i = 0; i < m * k; ++i)
      all.bits[static_cast<std::size_t>(i)] = x.bits[static_cast<std::size_t>(
          std::min(i / k, x.rows - 1) * x.columns + std::min(i % k, x.columns - 1))];
    return all;
  };
  const halves one = columns.row_range(s.m - 1, 1);
  const std::pair<const halves*, linear_operand> operands[] = {
      {&rows, {nullptr, 0, 1}}, {&columns, {nullptr, 1, 0}}, {&one, {nullptr, 0, 0}}};
  for (const auto& [x, x_lies] : operands)
    for (const auto& [w, w_lies] : operands) {
      const halves of_w = w == &columns ? w->row_range(0, s.n) : *w;
      const device_array<std::uint16_t> on_x(where, std::span(x->bits)), on_w(where, std::span(of_w.bits)),
          residual(where, std::span(added.bits));
      const words sums = layer_call{where}(full(*x, s.m, s.k), full(of_w, s.n, s.k));
      device_array<std::uint16_t> y(where, static_cast<std::size_t>(s.m * s.n));
      linear_problem p{.in = element::f16,
                       .out = element::f16,
                       .x = x_lies,
                       .w = w_lies,
                       .y = {y.data(), s.n},
                       .m = s.m,
                       .n = s.n,
                       .k = s.k,
                       .residual = {residual.data(), 0}};
      p.x.data = on_x.data(), p.w.data = on_w.data();
      linear(where, p);
      where.runs_on().synchronize(nullptr);
      const std::vector<std::uint16_t> found = y.to_host();
      for (std::size_t i = 0; i < found.size(); ++i)
        ASSERT_EQ(found[i], to_bits(element::f16, std::bit_cast<float>(sums[i]) +
                                                      added(0, static_cast<std::int64_t>(i) % s.n)))
            << x_lies.row_stride << x_lies.k_stride << w_lies.row_stride << w_lies.k_stride << ", element "
            << i;
    }
}
TEST(linear, repeated_operands) { check_repeated(context(make_cpu_executor()), {37, 24, 43}); }
TEST(linear_Cuda, repeated_operands) {
  ON_GPU(where, 80);
  check_repeated(where, {370, 264, 1032});
}

// Bias, activation, residual and rounding, against the same in FP32 on the host.
void check_endings(const context& where, const extents& s) {
  const std::size_t count = static_cast<std::size_t>(s.m * s.n);
  for (const element type : types)
    for (const element out : {element::f32, element::f16, element::bf16})
      for (const gemms::activation f : {gemms::activation::none, gemms::activation::relu,
                                        gemms::activation::gelu, gemms::activation::gelu_tanh}) {
        const halves x(type, kind::normal, s.m, s.k, 9), w(type, kind::normal, s.n, s.k, 10);
        const words sums = layer_call{where}(x, w);
        const auto as_out = [&](float v) {
          return out == element::f32 ? v : from_bits(out, to_bits(out, v));
        };
        std::vector<std::uint32_t> memory(count);  // of any type
        const auto put = [&](std::vector<std::uint32_t>& to, std::size_t i, float v) {
          if (out == element::f32)
            to[i] = std::bit_cast<std::uint32_t>(v);
          else
            reinterpret_cast<std::uint16_t*>(to.data())[i] = to_bits(out, v);
        };
        std::vector<std::uint32_t> bias(static_cast<std::size_t>(s.n));
        const auto bias_of = [&](std::size_t j) { return as_out(static_cast<float>(j % 13) * 0.37f - 2); };
        const auto residual_of = [&](std::size_t i) {
          return as_out(static_cast<float>(i % 17) * 0.21f - 1);
        };
        for (std::size_t j = 0; j < bias.size(); ++j) put(bias, j, bias_of(j));
        for (std::size_t i = 0; i < count; ++i) put(memory, i, residual_of(i));
        const device_array<std::uint16_t> on_x(where, std::span<const std::uint16_t>(x.bits)),
            on_w(where, std::span<const std::uint16_t>(w.bits));
        const device_array<std::uint32_t> on_bias(where, std::span(bias));
        device_array<std::uint32_t> y(where, std::span(memory));
        linear(where, {.in = type,
                       .out = out,
                       .x = {on_x.data(), s.k},
                       .w = {on_w.data(), s.k},
                       .y = {y.data(), s.n},
                       .m = s.m,
                       .n = s.n,
                       .k = s.k,
                       .function = f,
                       .bias = on_bias.data(),
                       .residual = {y.data(), s.n}});
        where.runs_on().synchronize(nullptr);
        const words found = y.to_host();
        for (std::size_t i = 0; i < count; ++i) {
          float v = std::bit_cast<float>(sums[i]) + bias_of(i % static_cast<std::size_t>(s.n));
          const double d = v;
          if (f == gemms::activation::relu) v = v > 0 ? v : 0;
          if (f == gemms::activation::gelu) v = static_cast<float>(d * std::erfc(-d / std::sqrt(2.)) / 2);
          if (f == gemms::activation::gelu_tanh)
            v = static_cast<float>(d * (1 + std::tanh(std::sqrt(2 / M_PI) * (d + .044715 * d * d * d))) / 2);
          v += residual_of(i);
          const float got = out == element::f32
                                ? std::bit_cast<float>(found[i])
                                : from_bits(out, reinterpret_cast<const std::uint16_t*>(found.data())[i]);
          const float unit = out == element::f32 ? 0x1p-21f : out == element::f16 ? 0x1p-10f : 0x1p-7f;
          if (f == gemms::activation::none || f == gemms::activation::relu)
            ASSERT_EQ(got, as_out(v)) << name(out) << ", element " << i;
          else
            ASSERT_NEAR(got, v, unit * (1 + std::abs(v))) << name(out) << ", element " << i;
        }
      }
}
TEST(linear, bias_activation_and_residual) { check_endings(context(make_cpu_executor()), {66, 40, 40}); }
TEST(linear_Cuda, bias_activation_and_residual) {
  ON_GPU(where, 80);
  check_endings(where, {300, 520, 200});
}

// Numbers of any type in memory, `stride` from row to row, the first at element `offset`; 0x5A elsewhere.
struct placed_numbers {
  element type;
  std::int64_t rows, columns, stride, offset;
  std::vector<unsigned char> memory;

  placed_numbers(element of, std::int64_t m, std::int64_t n, std::int64_t apart, std::int64_t first)
      : type(of), rows(m), columns(n), stride(apart), offset(first) {
    memory.assign(static_cast<std::size_t>(offset + (m - 1) * stride + n) * size_of(of), 0x5A);
  }
  std::size_t at(std::int64_t i, std::int64_t j) const {
    return static_cast<std::size_t>(offset + i * stride + j) * size_of(type);
  }
  void put(std::int64_t i, std::int64_t j, float v) {
    const std::uint32_t bits = type == element::f32 ? std::bit_cast<std::uint32_t>(v) : to_bits(type, v);
    std::memcpy(&memory[at(i, j)], &bits, size_of(type));
  }
  // The rows, and that nothing between them has changed.
  std::vector<unsigned char> rows_in(const std::vector<unsigned char>& found) const {
    std::vector<unsigned char> all, rest = found;
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::size_t size = static_cast<std::size_t>(columns) * size_of(type);
      all.insert(all.end(), &found[at(i, 0)], &found[at(i, 0)] + size);
      std::fill_n(rest.begin() + static_cast<std::ptrdiff_t>(at(i, 0)), size, 0x5A);
    }
    EXPECT_EQ(std::ranges::count(rest, 0x5A), std::ssize(rest)) << "written between rows";
    return all;
  }
};

// An ending has the same bits wherever Y, bias and residual lie, and whatever computes the sums.
void check_layouts_of_endings(const context& where, const extents& s) {
  for (const element type : types)
    for (const element out : {element::f32, element::f16, element::bf16}) {
      const halves x(type, kind::normal, s.m, s.k, 21), w(type, kind::normal, s.n, s.k, 22);
      const auto ended = [&](const std::string& kernel, gemms::activation f, std::int64_t spare,
                             std::int64_t offset, bool in_place) {
        const auto k_spare = [](std::int64_t in_row) { return (8 - in_row % 8) % 8; };
        const bool x_along = !kernel.ends_with("-mk") && !kernel.ends_with("-mn"),
                   w_along = !kernel.ends_with("-kn") && !kernel.ends_with("-mn");
        const placed of_x(x, x_along, k_spare(x_along ? s.k : s.m), 0),
            of_w(w, w_along, k_spare(w_along ? s.k : s.n), 0);
        placed_numbers y(out, s.m, s.n, s.n + spare, offset), residual = y, bias(out, 1, s.n, s.n, offset);
        for (std::int64_t j = 0; j < s.n; ++j) bias.put(0, j, static_cast<float>(j % 13) * 0.37f - 2);
        for (std::int64_t i = 0; i < s.m; ++i)
          for (std::int64_t j = 0; j < s.n; ++j)
            residual.put(i, j, static_cast<float>((i * 7 + j) % 17) * 0.21f - 1);
        const device_array<std::uint16_t> on_x(where, std::span(of_x.memory)),
            on_w(where, std::span(of_w.memory));
        const device_array<unsigned char> on_bias(where, std::span(bias.memory));
        device_array<unsigned char> on_residual(where, std::span(residual.memory)),
            on_y(where, std::span(y.memory));
        const std::size_t first = static_cast<std::size_t>(offset) * size_of(out);
        linear_problem p{.in = type,
                         .out = out,
                         .x = of_x.lies,
                         .w = of_w.lies,
                         .y = {(in_place ? on_residual : on_y).data() + first, y.stride},
                         .m = s.m,
                         .n = s.n,
                         .k = s.k,
                         .function = f,
                         .bias = on_bias.data() + first,
                         .residual = {on_residual.data() + first, y.stride}};
        p.x.data = on_x.data(), p.w.data = on_w.data();
        linear(where, p, {.kernel = kernel});
        where.runs_on().synchronize(nullptr);
        return y.rows_in((in_place ? on_residual : on_y).to_host());
      };
      using gemms::activation;
      const std::vector<unsigned char> expected =
          ended("auto", activation::gelu, (8 - s.n % 8) % 8 + 8, 0, false);
      for (const std::string& kernel : linear_kernels(where, type))
        EXPECT_EQ((ended(kernel, activation::gelu, (8 - s.n % 8) % 8, 8, true) == expected), true)
            << kernel << ", " << name(out);
      for (const activation f :
           {activation::none, activation::relu, activation::gelu, activation::gelu_tanh}) {
        const std::vector<unsigned char> aligned = ended("auto", f, (4 - s.n % 4) % 4, 4, false);
        for (const std::int64_t offset : {0, 1, 2})
          for (const std::int64_t spare : {0, 1, 3})
            EXPECT_EQ((ended("auto", f, spare, offset, (spare + offset) % 2 == 0) == aligned), true)
                << name(out) << ", activation " << static_cast<int>(f) << ", rows " << s.n + spare
                << " apart from element " << offset << " on";
      }
    }
}
TEST(linear, endings_lie_anyhow) {
  const context where(make_cpu_executor());
  for (const std::int64_t n : {43, 44}) check_layouts_of_endings(where, {67, n, 40});
}
TEST(linear_Cuda, endings_lie_anyhow) {
  ON_GPU(where, 90);
  check_layouts_of_endings(where, {267, 340, 200});
  check_layouts_of_endings(where, {130, 328, 136});
}

// Rows that overlap, as those of a sliding window do, and one row for all: nothing after the last is read.
void check_overlapping_rows(const context& where) {
  constexpr std::int64_t m = 70, n = 24, k = 64;
  for (const std::int64_t stride : {0, 8}) {
    const halves all(element::bf16, kind::normal, 1, (m - 1) * stride + k, 13);
    const auto window = [&](std::int64_t rows) {
      halves x(element::bf16, kind::normal, rows, k, 0);
      for (std::int64_t i = 0; i < rows * k; ++i)
        x.bits[static_cast<std::size_t>(i)] = all.bits[static_cast<std::size_t>(i / k * stride + i % k)];
      return x;
    };
    const words expected = layer_call{where}(window(m), window(n));
    const device_array<std::uint16_t> memory(where, std::span(all.bits));
    const linear_operand lies{memory.data(), stride, 1};
    device_array<std::uint32_t> y(where, static_cast<std::size_t>(m * n));
    linear(where, {.in = element::bf16,
                   .out = element::f32,
                   .x = lies,
                   .w = lies,
                   .y = {y.data(), n},
                   .m = m,
                   .n = n,
                   .k = k});
    where.runs_on().synchronize(nullptr);
    EXPECT_EQ((y.to_host() == expected), true) << "rows " << stride << " apart";
  }
}
TEST(linear, rows_may_overlap) { check_overlapping_rows(context(make_cpu_executor())); }
TEST(linear_Cuda, rows_may_overlap) {
  ON_GPU(where, 80);
  check_overlapping_rows(where);
}

// What the Tensor Core cuts off in each step, and nothing more.
TEST(linear, errors_are_within_the_bound) {
  const context where(make_cpu_executor());
  for (const element type : types) {
    const halves x(type, kind::wide, 20, 520, 11), w(type, kind::wide, 24, 520, 12);
    const words found = layer_call{where}(x, w);
    for (std::int64_t i = 0; i < x.rows; ++i)
      for (std::int64_t j = 0; j < w.rows; ++j) {
        double sum = 0, size = 0;
        for (std::int64_t k = 0; k < x.columns; ++k)
          sum += double{x(i, k)} * w(j, k), size += std::abs(double{x(i, k)} * w(j, k));
        const double got = std::bit_cast<float>(found[static_cast<std::size_t>(i * w.rows + j)]);
        EXPECT_LE(std::abs(got - sum), size * 0x1p-20 * (static_cast<double>(x.columns) / 16 + 1))
            << i << ", " << j;
      }
  }
}

}  // namespace
}  // namespace antiphase::test
