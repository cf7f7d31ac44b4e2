// SPDX-License-Identifier: Apache-2.0
// Outputs recomputed in FP64: lists, whole tiles and lines of few nonzeros, on the CPU executor and on a GPU.
#include <antiphase/executor/cpu/cpu_executor.hpp>
#include <antiphase/executor/cuda/cuda_executor.hpp>

#include "tests/gemm/fp16/recompute_case.hpp"

namespace antiphase::gemm_test {
namespace {

class recompute : public on_device {
 protected:
  gemms::recompute_kernels kernels() const {
#if ANTIPHASE_HAS_CUDA
    if (is_cuda()) return gemms::cuda::kernels_of_recompute();
#endif
    return gemms::cpu::kernels_of_recompute();
  }
  void expect_right(const product& p, const std::vector<int>& counts) const {
    for (const context& where : several()) {
      recompute_run run(p);
      EXPECT_EQ(first_wrong(p, run(where, kernels().tile), run.all()), "") << "whole tiles";
      for (const int count : counts) {
        const marks marked = run.list(count);
        EXPECT_EQ(first_wrong(p, run(where, kernels().list), marked), "") << "a list of " << count;
      }
    }
  }
  void expect_sparse(const product& p) const {
    for (const context& where : several()) {
      recompute_run run(p);
      const marks marked = run.sparse();
      EXPECT_EQ(first_wrong(p, run(where, kernels().sparse), marked), "");
    }
  }
};

// Everything different in every dimension; C column-major alternately.
product laid_out(product p, const placing& a, const placing& b, int turn) {
  p.place_a = a, p.place_b = b;
  p.place_c = placed(turn % 2 == 0 ? major::row : major::column, p.c, turn % 3, turn % 4);
  return p;
}

TEST_P(recompute, takes_any_strides) {
  const dense a = scattered_reals(37, 41, 1, 3), b = scattered_reals(41, 135, 2, 3);
  int turn = 0;
  for (const major by_a : {major::row, major::column})
    for (const major by_b : {major::row, major::column})
      for (const int kind : {0, 1, 2, 3}) {
        SCOPED_TRACE(testing::Message() << (by_a == major::row ? "N" : "T")
                                        << (by_b == major::row ? "N" : "T") << ", kind " << kind);
        const auto place = [&](major by, const dense& d) {
          if (kind == 0) return placed_in_packets(by, d);
          return placed(by, d, kind == 1 ? 0 : 2 * kind + 1, kind);
        };
        expect_right(laid_out(product_of(a, b), place(by_a, a), place(by_b, b), turn++), {5, 60});
      }
  expect_right(laid_out(product_of(a, b), {3, 3 * 37 + 1}, {2 * 135, 2}, 1), {5, 60});
  expect_right(laid_out(product_of(a, b), {-44, 1}, {1, -42}, 0), {5, 60});
}
TEST_P(recompute, takes_any_sizes) {
  for (const auto& [m, n, k] : {std::array{1, 1, 1},
                                {129, 257, 17},
                                {130, 70, 3},
                                {40, 128, 0},
                                {128, 128, 48},
                                {3, 5, 1000},
                                {129, 33, 263}}) {
    SCOPED_TRACE(testing::Message() << m << " x " << n << " x " << k);
    expect_right(product_of(scattered_reals(m, k, 3, 10), scattered_reals(k, n, 4, 10)), {1, 16});
  }
}
TEST_P(recompute, takes_lists_of_all_lengths) {
  expect_right(product_of(scattered_reals(70, 90, 5, 4), scattered_reals(90, 133, 6, 4)),
               {0, 1, 2, 3, 8, 15, 16, 17, 100, 255, 256, 257, 511, 512});
}
TEST_P(recompute, blends) {
  for (const float alpha : {1.f, -1.5f})
    for (const float beta : {0.f, 1.f, -0.75f}) {
      SCOPED_TRACE(testing::Message() << "alpha " << alpha << " beta " << beta);
      product p = product_of(scattered_reals(35, 33, 7, 2), scattered_reals(33, 66, 8, 2), alpha, beta);
      if (beta == 0) p.c = filled(35, 66, nan);
      expect_right(p, {9, 300});
      for (std::int64_t i = 0; i < 35; i += 3)
        for (std::int64_t k = 0; k < 33; ++k) p.a(i, k) = k == i % 33 ? 3.f : 0;
      expect_sparse(p);
    }
}
// Sums of infinities and NaN are those of IEEE, and ranges that would overflow or vanish in FP32 do not.
TEST_P(recompute, has_the_values_of_ieee) {
  product p = product_of(scattered_reals(40, 50, 9, 60), scattered_reals(50, 45, 10, 60));
  p.a(3, 7) = infinity, p.a(5, 49) = -infinity, p.a(9, 11) = nan;
  p.b(7, 2) = 0, p.b(0, 20) = infinity, p.b(1, 20) = infinity, p.b(2, 21) = nan;
  for (std::int64_t k = 0; k < 50; ++k) {
    p.a(17, k) *= 0x1p-80f;  // denormal
    p.a(18, k) *= 0x1p60f;
    p.b(k, 33) *= 0x1p67f;
    p.a(19, k) = 0;
  }
  expect_right(p, {1, 400, 512});
  expect_sparse(p);
}
// Lists of every number of lanes to an output.
constexpr int lengths[] = {3, 7, 12, 30, 60, 100, 300};
// Whether the lines are read where they lie or by way of shared memory is a matter of the layout, the bits
// are not.
TEST_P(recompute, does_not_depend_on_the_layout) {
  product p = product_of(scattered_reals(50, 301, 18, 12), scattered_reals(301, 60, 19, 12));
  for (std::int64_t k = 0; k < 150; ++k) {  // what cancels shows the order of its sum
    for (std::int64_t i = 0; i < 50; ++i) p.a(i, 150 + k) = p.a(i, k);
    for (std::int64_t j = 0; j < 60; ++j) p.b(150 + k, j) = -p.b(k, j);
  }
  const context where = any();
  for (const int count : lengths) {
    recompute_run run(p);
    run.list(count);
    p.place_a = placed(major::row, p.a), p.place_b = placed(major::row, p.b);
    const dense one = run(where, kernels().list);
    for (const major by_a : {major::row, major::column})
      for (const major by_b : {major::row, major::column}) {
        p.place_a = placed(by_a, p.a, 1), p.place_b = placed(by_b, p.b, 3, 2);
        EXPECT_TRUE(same_bits(run(where, kernels().list), one)) << count;
      }
  }
}
TEST_P(recompute, does_not_depend_on_the_order_of_a_list) {
  const product p = product_of(scattered_reals(50, 300, 11, 2), scattered_reals(300, 60, 12, 2));
  for (const int count : {13, 200, 500}) {
    recompute_run run(p);
    const context where = any();
    run.list(count);
    const dense one = run(where, kernels().list);
    run.list(count, 101);
    EXPECT_TRUE(same_bits(run(where, kernels().list), one));
  }
}

// Lines of 0 to 5 nonzeros among dense ones, in A, in B and in both.
TEST_P(recompute, finds_lines_of_few) {
  // of so many columns three are sparse: more than are taken one by one, and fewer
  for (const auto& [m, n, k, apart] : {std::array{37, 140, 20, 7},
                                       {130, 65, 200, 7},
                                       {130, 129, 50, 40},
                                       {1, 1, 3, 7},
                                       {33, 34, 0, 7},
                                       {65, 66, 4, 7}}) {
    SCOPED_TRACE(testing::Message() << m << " x " << n << " x " << k);
    product p = product_of(scattered_reals(m, k, 13, 20), scattered_reals(k, n, 14, 20));
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t l = 0; l < k; ++l)
        if (i % 3 != 1 && (l * 7 + i) % k >= i % 6) p.a(i, l) = 0;
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t l = 0; l < k; ++l)
        if (j % apart >= apart - 3 && (l * 11 + j * 3) % k >= j % 6) p.b(l, j) = 0;
    if (k > 4) p.a(4, 2) = infinity, p.b(3, 5) = nan;
    expect_sparse(p);
    p.place_a = placed(major::column, p.a, 1, 3), p.place_b = placed(major::column, p.b, 2, 1),
    p.place_c = placed(major::column, p.c, 3);
    expect_sparse(p);
  }
}
TEST_P(recompute, multiplies_permutations_exactly) {
  constexpr std::int64_t size = 131;
  dense turned{size, size};
  for (std::int64_t i = 0; i < size; ++i) turned(i, (i * 50 + 7) % size) = 1;
  const dense values = scattered_reals(size, size, 15, 100);
  dense rows{size, size}, columns{size, size};
  for (std::int64_t i = 0; i < size; ++i)
    for (std::int64_t j = 0; j < size; ++j)
      rows(i, j) = values((i * 50 + 7) % size, j), columns(j, (i * 50 + 7) % size) = values(j, i);
  for (const auto& [p, right] :
       {std::pair{product_of(turned, values), rows}, {product_of(values, turned), columns}}) {
    recompute_run run(p);
    run.sparse();
    EXPECT_TRUE(same(run(any(), kernels().sparse), right)) << "few";
    EXPECT_TRUE(same(run(any(), kernels().tile), right)) << "whole tiles";
  }
}
// What a sum in doubles would lose.
TEST_P(recompute, adds_four_products_as_if_with_twice_the_digits) {
  product p = product_of(dense{9, 12}, filled(12, 140, 1));
  for (std::int64_t i = 0; i < 9; ++i) {
    const float large = std::ldexp(1.f, static_cast<int>(40 + 10 * i));
    p.a(i, i % 3) = 3, p.a(i, 4) = large, p.a(i, 6) = 0.5f, p.a(i, 7 + i % 4) = -large;
  }
  for (std::int64_t k = 0; k < 12; ++k)
    for (std::int64_t j = 0; j < 140; ++j)
      p.b(k, j) = k == 4 || k >= 7 ? 1 + static_cast<float>(j) * 0x1p-7f : static_cast<float>(j + k * 140);
  recompute_run run(p);
  run.sparse();
  const dense out = run(any(), kernels().sparse);
  for (std::int64_t i = 0; i < 9; ++i)
    for (std::int64_t j = 0; j < 140; ++j)
      EXPECT_EQ(out(i, j), 3 * p.b(i % 3, j) + 0.5f * p.b(6, j)) << i << ' ' << j;
}

// The GPU's FP64 products are the CPU executor's, bit for bit.
TEST(recompute_Cuda, has_the_bits_of_the_cpu_executor) {
#if ANTIPHASE_HAS_CUDA
  std::string why;
  if (cuda_devices(&why).empty()) GTEST_SKIP() << "no GPU to test on: " << why;
  const context here(make_cpu_executor()), there(make_cuda_executor());
  const auto on_cpu = gemms::cpu::kernels_of_recompute(), on_gpu = gemms::cuda::kernels_of_recompute();
  const product p =
      product_of(scattered_reals(200, 333, 16, 15), scattered_reals(333, 150, 17, 15), -1.25f, 0.5f);
  recompute_run run(p);
  EXPECT_TRUE(same_bits(run(there, on_gpu.tile), run(here, on_cpu.tile)));
  for (const int count : lengths) {
    run.list(count);
    EXPECT_TRUE(same_bits(run(there, on_gpu.list), run(here, on_cpu.list))) << count;
  }
#else
  GTEST_SKIP() << "no GPU to test on: built without the GPU part";
#endif
}

AP_ON_BOTH_DEVICES(recompute);

}  // namespace
}  // namespace antiphase::gemm_test
