// SPDX-License-Identifier: Apache-2.0
// Operand layouts of the Tensor Core: swizzles and majors, registers, and ldmatrix.
#include <antiphase/core/tensor_map.hpp>

#include "tests/device/tensor_support.hpp"

namespace antiphase::probe {
namespace {

// 16-byte pieces of eight rows, by hand: piece i of row r lies at position rows[r][i].
TEST(swizzles, tables_by_hand) {
  constexpr int rows_128[8][8] = {
      {0, 1, 2, 3, 4, 5, 6, 7}, {1, 0, 3, 2, 5, 4, 7, 6}, {2, 3, 0, 1, 6, 7, 4, 5}, {3, 2, 1, 0, 7, 6, 5, 4},
      {4, 5, 6, 7, 0, 1, 2, 3}, {5, 4, 7, 6, 1, 0, 3, 2}, {6, 7, 4, 5, 2, 3, 0, 1}, {7, 6, 5, 4, 3, 2, 1, 0}};
  constexpr int rows_64[8][4] = {{0, 1, 2, 3}, {0, 1, 2, 3}, {1, 0, 3, 2}, {1, 0, 3, 2},
                                 {2, 3, 0, 1}, {2, 3, 0, 1}, {3, 2, 1, 0}, {3, 2, 1, 0}};
  constexpr int rows_32[8][2] = {{0, 1}, {0, 1}, {0, 1}, {0, 1}, {1, 0}, {1, 0}, {1, 0}, {1, 0}};
  for (std::uint32_t start : {0u, 1024u, 5120u})
    for (std::uint32_t row = 0; row < 8; ++row) {
      for (std::uint32_t i = 0; i < 8; ++i)
        EXPECT_EQ(swizzled(start + row * 128 + static_cast<std::uint32_t>(rows_128[row][i]) * 16 + 5,
                           swizzle::bytes_128),
                  start + row * 128 + i * 16 + 5);
      for (std::uint32_t i = 0; i < 4; ++i)
        EXPECT_EQ(swizzled(start + row * 64 + static_cast<std::uint32_t>(rows_64[row][i]) * 16 + 5,
                           swizzle::bytes_64),
                  start + row * 64 + i * 16 + 5);
      for (std::uint32_t i = 0; i < 2; ++i)
        EXPECT_EQ(swizzled(start + row * 32 + static_cast<std::uint32_t>(rows_32[row][i]) * 16 + 5,
                           swizzle::bytes_32),
                  start + row * 32 + i * 16 + 5);
      EXPECT_EQ(swizzled(start + row * 16 + 5, swizzle::none), start + row * 16 + 5);
    }
}

// Small integers, so that every sum is exact in every order.
int a_at(int row, int k) { return (row * 7 + k * 3 + row * k) % 17 - 8; }
int b_at(int k, int column) { return (column * 5 + k * 11 + column * k) % 13 - 6; }

void check_layout(const context& where, const std::string& name, int columns) {
  std::vector<std::uint16_t> a, b;
  for (int row = 0; row < 64; ++row)
    for (int k = 0; k < layout_depth; ++k) a.push_back(to_f16(static_cast<float>(a_at(row, k))).bits);
  for (int column = 0; column < columns; ++column)
    for (int k = 0; k < layout_depth; ++k) b.push_back(to_f16(static_cast<float>(b_at(k, column))).bits);
  const device_array<std::uint16_t> of_a(where, std::span<const std::uint16_t>(a)),
      of_b(where, std::span<const std::uint16_t>(b));
  device_array<float> out(where, static_cast<std::size_t>(64 * columns));
  launch(where, name, layout_params{of_a.data(), of_b.data(), out.data()});
  const auto result = out.to_host();
  int wrong = 0;
  for (int i = 0; i < 64 * columns && wrong < 3; ++i) {
    int expected = 0;
    for (int k = 0; k < layout_depth; ++k) expected += a_at(i / columns, k) * b_at(k, i % columns);
    if (result[static_cast<std::size_t>(i)] != static_cast<float>(expected))
      ADD_FAILURE() << name << ": (" << i / columns << ", " << i % columns << ") is "
                    << result[static_cast<std::size_t>(i)] << ", expected " << expected << ", wrong "
                    << ++wrong;
  }
}

struct layout {
  std::string name;
  int columns;
};
std::vector<layout> layouts() {
  std::vector<layout> all;
  const auto add = [&](const std::string& pattern, int columns) {
    for (const char* majors : {"k-k", "k-mn", "mn-k", "mn-mn"})
      all.push_back({"layout-" + pattern + "-" + majors + "-" + std::to_string(columns), columns});
  };
  for (const char* pattern : {"none", "32", "64", "128"}) add(pattern, 64);
  add("128", 128);
  add("128", 256);
  all.push_back({"layout-registers-k-64", 64});
  all.push_back({"layout-registers-mn-64", 64});
  all.push_back({"layout-registers-mn-128", 128});
  all.push_back({"layout-reuse-of-own-rows", 64});
  return all;
}
std::string name_of(const testing::TestParamInfo<layout>& info) {
  std::string name = info.param.name;
  for (char& c : name)
    if (c == '-') c = '_';
  return name;
}
void PrintTo(const layout& l, std::ostream* out) { *out << l.name; }

using operand_layouts = testing::TestWithParam<layout>;
TEST_P(operand_layouts, are_read_as_described) {
  for (const context& where : cpu_contexts()) check_layout(where, GetParam().name, GetParam().columns);
}
INSTANTIATE_TEST_SUITE_P(cpu, operand_layouts, testing::ValuesIn(layouts()), name_of);

using operand_layouts_gpu = testing::TestWithParam<layout>;
TEST_P(operand_layouts_gpu, are_read_as_described) {
  ON_GPU(where, 90);
  check_layout(where, GetParam().name, GetParam().columns);
}
INSTANTIATE_TEST_SUITE_P(Cuda, operand_layouts_gpu, testing::ValuesIn(layouts()), name_of);

void check_ldmatrix(const context& where) {
  std::vector<std::uint16_t> in(256);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<std::uint16_t>(i * 259 + 17);
  const device_array<std::uint16_t> from(where, std::span<const std::uint16_t>(in));
  device_array<std::uint32_t> out(where, 256);
  launch(where, "ldmatrix", load_params{from.data(), out.data()});
  const auto result = out.to_host();
  for (std::size_t m = 0; m < 4; ++m)
    for (std::size_t lane = 0; lane < 32; ++lane) {
      const std::size_t g = lane / 4, q = lane % 4 * 2;
      const auto at = [&](std::size_t row, std::size_t column) {
        return std::uint32_t{in[(31 - (m * 8 + row)) * 8 + column]};
      };
      EXPECT_EQ(result[m * 32 + lane], at(g, q) | at(g, q + 1) << 16) << m << ", " << lane;
      EXPECT_EQ(result[(4 + m) * 32 + lane], at(q, g) | at(q + 1, g) << 16)
          << m << ", " << lane << ", transposed";
    }
}
TEST(ldmatrix, gives_each_lane_its_elements) {
  for (const context& where : cpu_contexts()) check_ldmatrix(where);
}
TEST(ldmatrix_Cuda, gives_each_lane_its_elements) {
  ON_GPU(where, 80);
  check_ldmatrix(where);
}

}  // namespace
}  // namespace antiphase::probe
