// SPDX-License-Identifier: Apache-2.0
// Every step of the ladder with sizes around its tile, in all layouts, with several scales and schedules.
#include "tests/gemm/support.hpp"

namespace antiphase::gemm_test {
namespace {

struct device_and_step {
  const char* device;
  const char* step;
};
void PrintTo(const device_and_step& p, std::ostream* out) { *out << p.step << " on " << p.device; }

class gemm_shapes : public on_device_with<device_and_step> {
  std::string_view device() const override { return GetParam().device; }
};

std::vector<std::int64_t> sizes_around(std::int64_t tile) {
  return {0, 1, tile - 1, tile, tile + 1, 2 * tile + 1, 3 * tile + 5};
}
constexpr float scales[] = {0, 1, -1.5};

// Pairwise coverage of sizes of M, N and K.
template <class Run> void each_shape(const gemms::policy& how, Run run) {
  const auto m = sizes_around(how.tile.m), n = sizes_around(how.tile.n), k = sizes_around(how.tile_k);
  for (std::size_t i = 0; i < 7; ++i)
    for (std::size_t j = 0; j < 7; ++j) run(m[i], n[j], k[(i + 3 * j) % 7], 7 * i + j);
}

// The number of a case selects layouts, scales and values.
product shaped(std::int64_t m, std::int64_t n, std::int64_t k, std::size_t number) {
  const auto by = [&](int operand) { return number >> operand & 1 ? major::row : major::column; };
  const int seed = static_cast<int>(number);
  product p{.a = random_reals(m, k, static_cast<unsigned>(seed)),
            .b = random_reals(k, n, static_cast<unsigned>(seed + 100)),
            .c = random_reals(m, n, static_cast<unsigned>(seed + 200)),
            .alpha = scales[number % 3],
            .beta = scales[number / 3 % 3]};
  if (p.alpha == 0 && number % 2 == 0) p.alpha = 1;  // alpha = 0 in few cases
  const bool in_packets = number / 8 % 2 == 0;
  const auto place = [&](const dense& d, int operand) {
    return in_packets ? placed_in_packets(by(operand), d) : placed(by(operand), d, seed % 3, seed % 4);
  };
  p.place_a = place(p.a, 0);
  p.place_b = place(p.b, 1);
  p.place_c = place(p.c, 2);
  return p;
}

TEST_P(gemm_shapes, around_the_tile) {
  const std::vector<context> contexts = several();
  each_shape(gemms::find_step(GetParam().step).policy, [&](std::int64_t m, std::int64_t n, std::int64_t k,
                                                           std::size_t number) {
    const product p = shaped(m, n, k, number);
    SCOPED_TRACE(testing::Message() << m << " x " << n << " x " << k << ", alpha " << p.alpha << ", beta "
                                    << p.beta << ", case " << number);
    EXPECT_TRUE(same(computed(contexts[number % contexts.size()], GetParam().step, p), expected(p)));
  });
}

// Exact sums: no rounding hides a missing or duplicate product.
TEST_P(gemm_shapes, of_small_integers_are_exact) {
  const gemms::policy& how = gemms::find_step(GetParam().step).policy;
  const std::int64_t m = how.tile.m + 3, n = 2 * how.tile.n - 1, k = 3 * how.tile_k + 1;
  const product p = product_of(random_integers(m, k, 5), random_integers(k, n, 6), 1, -1.5);
  dense exact{m, n};
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      std::int64_t sum = 0;
      for (std::int64_t x = 0; x < k; ++x)
        sum += static_cast<std::int64_t>(p.a(i, x)) * static_cast<std::int64_t>(p.b(x, j));
      exact(i, j) = static_cast<float>(static_cast<double>(sum) - 1.5 * static_cast<double>(p.c(i, j)));
    }
  for (const context& where : several()) EXPECT_TRUE(same(computed(where, GetParam().step, p), exact));
}

// Shapes of convolutions; small extents leave most of a tile empty.
TEST(gemm_long_shapes, are_exact) {
  const context where = context::on("cpu");
  const int many = sanitized ? 5017 : 50176;
  for (const auto& [m, n, k] : {std::tuple{many, 64, 27}, {27, 64, many}}) {
    product p = product_of(random_integers(m, k, 7), random_integers(k, n, 8), 1, 1);
    p.c = random_integers(m, n, 9);
    EXPECT_TRUE(same(computed(where, "auto", p), expected(p))) << m << " x " << n << " x " << k;
  }
}

std::vector<device_and_step> steps_on(const char* device) {
  std::vector<device_and_step> all;
  for (const gemms::step& s : gemms::steps) all.push_back({device, s.name});
  return all;
}
std::string name_of(const testing::TestParamInfo<device_and_step>& info) {
  std::string name = info.param.step;
  for (char& c : name)
    if (c == '-') c = '_';
  return name;
}
INSTANTIATE_TEST_SUITE_P(Cpu, gemm_shapes, testing::ValuesIn(steps_on("cpu")), name_of);
INSTANTIATE_TEST_SUITE_P(Cuda, gemm_shapes, testing::ValuesIn(steps_on("cuda")), name_of);

}  // namespace
}  // namespace antiphase::gemm_test
