// SPDX-License-Identifier: Apache-2.0
// Boxes of tensors: their placement in memory, refused boxes, and a product fed by them.
#include <gmock/gmock.h>
#include <antiphase/core/error.hpp>
#include <cstring>

#include "tests/device/stored_box.hpp"
#include "tests/device/tensor_support.hpp"

namespace antiphase::probe {
namespace {

using testing::HasSubstr;

struct box_case {
  std::string name;
  int element_bytes;
  std::vector<std::uint64_t> extent;
  std::vector<std::uint64_t> stride;  // from dimension 1 on
  std::vector<std::uint32_t> box;
  std::vector<int> first;
  swizzle pattern;
};

unsigned char byte_at(std::size_t i) { return static_cast<unsigned char>((i * 2654435761u >> 13) + i); }

// The row's swizzle number: 16-byte piece p of a row lies at piece p ^ number.
std::size_t row_number(std::size_t row, swizzle s) {
  switch (s) {
    case swizzle::bytes_128: return row % 8;
    case swizzle::bytes_64: return row / 2 % 4;
    case swizzle::bytes_32: return row / 4 % 2;
    default: return 0;
  }
}

struct shape_of_box {
  std::size_t rows = 1, row_bytes;
  explicit shape_of_box(const box_case& c) : row_bytes(c.box[0] * static_cast<std::size_t>(c.element_bytes)) {
    for (std::size_t d = 1; d < c.box.size(); ++d) rows *= c.box[d];
  }
  std::size_t bytes() const { return rows * row_bytes; }
};
tensor_layout layout_of(const box_case& c, const void* data) {
  tensor_layout t{.data = data,
                  .element_bytes = c.element_bytes,
                  .dimensions = static_cast<int>(c.extent.size()),
                  .pattern = c.pattern};
  for (std::size_t d = 0; d < c.extent.size(); ++d) {
    t.extent[d] = c.extent[d];
    if (d > 0) t.stride[d] = c.stride[d - 1];
    t.box[d] = c.box[d];
  }
  return t;
}
// Offset of byte i of a row of the box in shared memory.
std::size_t in_box(const box_case& c, std::size_t row, std::size_t i) {
  return row * shape_of_box(c).row_bytes + ((i / 16) ^ row_number(row, c.pattern)) * 16 + i % 16;
}
// Its offset in the tensor; nothing if outside.
std::optional<std::size_t> in_tensor(const box_case& c, std::size_t row, std::size_t i) {
  const auto size = static_cast<std::size_t>(c.element_bytes);
  std::int64_t at = (c.first[0] + static_cast<std::int64_t>(i / size)) * static_cast<std::int64_t>(size) +
                    static_cast<std::int64_t>(i % size);
  bool inside = c.first[0] + static_cast<std::int64_t>(i / size) >= 0 && c.first[0] + i / size < c.extent[0];
  for (std::size_t d = 1; d < c.extent.size(); row /= c.box[d], ++d) {
    const std::int64_t index = c.first[d] + static_cast<std::int64_t>(row % c.box[d]);
    inside = inside && index >= 0 && index < static_cast<std::int64_t>(c.extent[d]);
    at += index * static_cast<std::int64_t>(c.stride[d - 1]);
  }
  return inside ? std::optional(static_cast<std::size_t>(at)) : std::nullopt;
}
std::vector<unsigned char> numbered_bytes(std::size_t count) {
  std::vector<unsigned char> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = byte_at(i);
  return all;
}

// Loaded by one block, or by multicast for all blocks of a cluster.
void check_box(const context& where, const box_case& c, std::size_t blocks = 1) {
  const device_array<unsigned char> tensor(
      where, std::span<const unsigned char>(numbered_bytes(c.extent.back() * c.stride.back())));
  const shape_of_box shape(c);
  box_params params{};
  std::copy(c.first.begin(), c.first.end(), params.first);
  params.map = where.runs_on().encode(layout_of(c, tensor.data()));
  params.bytes = static_cast<int>(shape.bytes());
  device_array<unsigned char> out(where, blocks * shape.bytes());
  params.out = out.data();
  launch(where, blocks > 1 ? "box-for-all" : "box-" + std::to_string(c.extent.size()), params,
         static_cast<unsigned>(blocks));

  const auto result = out.to_host();
  int wrong = 0;
  for (std::size_t row = 0; row < blocks * shape.rows; ++row)
    for (std::size_t i = 0; i < shape.row_bytes && wrong < 3; ++i) {
      const auto at = in_tensor(c, row % shape.rows, i);
      const unsigned char expected = at ? byte_at(*at) : 0;
      const std::size_t place = row / shape.rows * shape.bytes() + in_box(c, row % shape.rows, i);
      if (result[place] != expected)
        ADD_FAILURE() << c.name << ": byte " << i << " of row " << row << " is " << int{result[place]}
                      << ", expected " << int{expected} << ", wrong " << ++wrong;
    }
}

// Reason why TMA does not store this box as it would load it; empty if it does.
std::string objection_to_store(const box_case& c) {
  for (std::size_t d = 0; d < c.first.size(); ++d)
    if (c.first[d] < 0)
      return "a tensor store from index " + std::to_string(c.first[d]) + " on in dimension " +
             std::to_string(d) + ": the engine takes no negative index of a store";
  const std::uint64_t size = static_cast<std::uint64_t>(c.element_bytes), row = c.extent[0] * size,
                      begin = static_cast<std::uint64_t>(c.first[0]) * size;
  const bool cut = begin < row && begin + shape_of_box(c).row_bytes > row && row % 16 != 0;
  return cut ? "a tensor store across the end of a row of " + std::to_string(row) + " bytes" : "";
}
// A tensor of zeros gets the box, and no other change. The CPU executor refuses what a GPU would do wrong.
void check_stored_box(const context& where, const box_case& c) {
  const std::string objection = objection_to_store(c);
  if (!objection.empty() && where.kind() == target::cuda) GTEST_SKIP() << objection;
  const std::size_t bytes = c.extent.back() * c.stride.back();
  const device_array<unsigned char> tensor(where,
                                           std::span<const unsigned char>(std::vector<unsigned char>(bytes)));
  const shape_of_box shape(c);
  const auto box = numbered_bytes(shape.bytes());
  const device_array<unsigned char> in(where, std::span<const unsigned char>(box));
  stored_box_params params{};
  std::copy(c.first.begin(), c.first.end(), params.first);
  params.map = where.runs_on().encode(layout_of(c, tensor.data()));
  params.bytes = static_cast<int>(shape.bytes());
  params.in = in.data();
  const auto store = [&] { launch(where, "stored-" + std::to_string(c.extent.size()), params); };
  if (!objection.empty()) {
    EXPECT_THAT(store, testing::Throws<std::exception>(
                           testing::Property(&std::exception::what, HasSubstr(objection))));
    return;
  }
  store();

  std::vector<unsigned char> expected(bytes);
  for (std::size_t row = 0; row < shape.rows; ++row)
    for (std::size_t i = 0; i < shape.row_bytes; ++i)
      if (const auto at = in_tensor(c, row, i)) expected[*at] = box[in_box(c, row, i)];
  EXPECT_EQ(tensor.to_host(), expected);
}

std::vector<box_case> boxes() {
  return {
      {"inside", 2, {100, 37}, {208}, {24, 8}, {8, 5}, swizzle::none},
      {"across_the_lower_edges", 2, {100, 37}, {208}, {64, 16}, {-8, -2}, swizzle::bytes_128},
      {"across_the_upper_edges", 2, {101, 37}, {208}, {64, 16}, {72, 30}, swizzle::bytes_128},
      {"wide_32", 2, {100, 40}, {208}, {16, 24}, {80, 7}, swizzle::bytes_32},
      {"wide_64", 2, {100, 40}, {208}, {32, 24}, {88, 7}, swizzle::bytes_64},
      {"outside", 2, {100, 40}, {208}, {32, 8}, {200, 3}, swizzle::bytes_64},
      {"before", 4, {30, 9}, {128}, {32, 8}, {-40, 3}, swizzle::bytes_128},
      {"whole_bytes", 1, {250, 5}, {256}, {128, 5}, {96, 1}, swizzle::bytes_128},
      {"three_dimensions", 4, {33, 7, 6}, {144, 1040}, {32, 3, 4}, {4, 5, -1}, swizzle::bytes_128},
      {"three_dense", 4, {33, 7, 6}, {144, 1040}, {12, 4, 3}, {-4, 4, 4}, swizzle::none},
      {"four_dimensions", 8, {10, 5, 4, 3}, {96, 512, 2112}, {8, 3, 2, 3}, {4, 3, 3, 1}, swizzle::bytes_64},
      {"four_from_before",
       8,
       {10, 5, 4, 3},
       {96, 512, 2112},
       {4, 3, 2, 3},
       {-2, -1, -1, -2},
       swizzle::bytes_32},
  };
}
std::string name_of(const testing::TestParamInfo<box_case>& info) { return info.param.name; }
void PrintTo(const box_case& c, std::ostream* out) { *out << c.name; }

using tensor_copies = testing::TestWithParam<box_case>;
TEST_P(tensor_copies, bring_the_box) {
  for (const context& where : cpu_contexts()) check_box(where, GetParam());
}
TEST_P(tensor_copies, store_the_box) {
  for (const context& where : cpu_contexts()) check_stored_box(where, GetParam());
}
INSTANTIATE_TEST_SUITE_P(cpu, tensor_copies, testing::ValuesIn(boxes()), name_of);
using tensor_copies_gpu = testing::TestWithParam<box_case>;
TEST_P(tensor_copies_gpu, bring_the_box) {
  ON_GPU(where, 90);
  check_box(where, GetParam());
}
TEST_P(tensor_copies_gpu, store_the_box) {
  ON_GPU(where, 90);
  check_stored_box(where, GetParam());
}
INSTANTIATE_TEST_SUITE_P(Cuda, tensor_copies_gpu, testing::ValuesIn(boxes()), name_of);

const box_case for_all{"for_all", 2, {100, 37}, {208}, {64, 16}, {72, 30}, swizzle::bytes_128};
TEST(tensor_copies, bring_a_box_to_all_blocks_of_a_cluster) {
  for (const context& where : cpu_contexts()) check_box(where, for_all, 3);
}
TEST(tensor_copies_Cuda, bring_a_box_to_all_blocks_of_a_cluster) {
  ON_GPU(where, 90);
  check_box(where, for_all, 3);
}

void check_refusals(const context& where) {
  const device_array<float> memory(where, 1024);
  const tensor_layout good{.data = memory.data(),
                           .element_bytes = 4,
                           .dimensions = 2,
                           .extent = {32, 32},
                           .stride = {0, 128},
                           .box = {32, 8},
                           .pattern = swizzle::bytes_128};
  EXPECT_NO_THROW(where.runs_on().encode(good));
  const auto refusal = [&](auto change) {
    tensor_layout t = good;
    change(t);
    try {
      where.runs_on().encode(t);
    } catch (const bad_request& e) {
      return std::string(e.what());
    }
    return std::string("none");
  };
  EXPECT_EQ(refusal([](auto& t) { t.element_bytes = 3; }),
            "tensor map: elements of 3 bytes, expected 1, 2, 4 or 8");
  EXPECT_EQ(refusal([](auto& t) { t.dimensions = 6; }), "tensor map: 6 dimensions, expected 2 to 5");
  EXPECT_THAT(refusal([](auto& t) { t.data = static_cast<const float*>(t.data) + 1; }),
              HasSubstr("is not a multiple of 16"));
  EXPECT_THAT(refusal([](auto& t) { t.data = nullptr; }), HasSubstr("the address 0x0"));
  EXPECT_EQ(refusal([](auto& t) { t.extent[1] = 0; }), "tensor map: extent 1 is 0, expected 1 to 2^32");
  EXPECT_EQ(refusal([](auto& t) { t.stride[1] = 136; }),
            "tensor map: stride 1 is 136 bytes, expected a multiple of 16 below 2^40");
  EXPECT_EQ(refusal([](auto& t) { t.stride[1] = 0; }), "none") << "CUTLASS has it until it sets another";
  EXPECT_EQ(refusal([](auto& t) { t.pattern = static_cast<swizzle>(9); }),
            "tensor map: the swizzle is 9, expected none or that of 32, 64 or 128 bytes");
  EXPECT_EQ(
      refusal([](auto& t) { t.data = reinterpret_cast<void*>(~std::uintptr_t{0} - 31); }),
      "tensor map: its last element lies beyond the end of memory, expected smaller extents or strides");
  EXPECT_EQ(refusal([](auto& t) { t.box[1] = 257; }),
            "tensor map: the box is 257 wide in dimension 1, expected 1 to 256");
  EXPECT_EQ(refusal([](auto& t) { t.box[0] = 0; }),
            "tensor map: the box is 0 wide in dimension 0, expected 1 to 256");
  EXPECT_EQ(refusal([](auto& t) { t.box[0] = 30; }),
            "tensor map: a row of the box is 120 bytes, expected a multiple of 16");
  EXPECT_EQ(refusal([](auto& t) { t.box[0] = 36; }),
            "tensor map: a row of the box is 144 bytes, expected 128 to be swizzled so");
}
TEST(tensor_maps, what_the_engine_cannot_copy_is_refused) { check_refusals(cpu_contexts()[0]); }
TEST(tensor_maps_Cuda, what_the_engine_cannot_copy_is_refused) {
  ON_GPU(where, 90);
  check_refusals(where);
}

void check_product(const context& where, int k) {
  std::vector<std::uint16_t> a, b;
  const auto a_at = [](int i, int j) { return static_cast<float>((i * 7 + j * 3 + i * j) % 9 - 4); };
  const auto b_at = [](int i, int j) { return static_cast<float>((i * 5 + j * 11 + i * j) % 7 - 3); };
  for (int i = 0; i < 64 * k; ++i) {
    a.push_back(to_f16(a_at(i / k, i % k)).bits);
    b.push_back(to_f16(b_at(i / 64, i % 64)).bits);
  }
  const device_array<std::uint16_t> of_a(where, std::span<const std::uint16_t>(a)),
      of_b(where, std::span<const std::uint16_t>(b));
  device_array<float> out(where, 64 * 64);
  const auto map = [&](const void* data, int columns, int rows) {
    const auto wide = static_cast<std::uint64_t>(columns);
    return where.runs_on().encode({.data = data,
                                   .extent = {wide, static_cast<std::uint64_t>(rows)},
                                   .stride = {0, 2 * wide},
                                   .box = {64, 64},
                                   .pattern = swizzle::bytes_128});
  };
  launch(where, "product", product_params{map(of_a.data(), k, 64), map(of_b.data(), 64, k), out.data(), k});
  const auto result = out.to_host();
  for (int i = 0; i < 64; ++i)
    for (int j = 0; j < 64; ++j) {
      float sum = 0;
      for (int l = 0; l < k; ++l) sum += a_at(i, l) * b_at(l, j);
      ASSERT_EQ(result[static_cast<std::size_t>(i * 64 + j)], sum) << i << ", " << j;
    }
}
TEST(tensor_copies, feed_a_product) {
  for (const context& where : cpu_contexts())
    for (const int k : {64, 320, 72}) check_product(where, k);
}
TEST(tensor_copies_Cuda, feed_a_product) {
  ON_GPU(where, 90);
  for (const int k : {64, 320, 72}) check_product(where, k);
}

}  // namespace
}  // namespace antiphase::probe
