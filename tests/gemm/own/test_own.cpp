// SPDX-License-Identifier: Apache-2.0
// Epilogue functions of a user's are applied to every element once, with its own place, and to nothing else.
#include "tests/gemm/own/own_functions.hpp"
#include "tests/gemm/support.hpp"

namespace antiphase::gemm_test {
namespace {

using testing::HasSubstr;

class own_epilogues : public on_device {
 protected:
  own_calls calls() const {
#if ANTIPHASE_HAS_CUDA
    if (is_cuda()) return cuda::calls();
#endif
    return cpu::calls();
  }
  // Compares C with the function applied to the result of a plain gemm(); for small integers.
  void expect_right(const product& p, const gemm_options& options = {}) {
    const context where = any();
    matrix a(where, p.a, p.place_a), b(where, p.b, p.place_b), c(where, p.c, p.place_c),
        plain(where, p.c, p.place_c);
    gemm_problem what{.a = a.view(), .b = b.view(), .c = plain.view(), .alpha = p.alpha, .beta = p.beta};
    gemm(where, what, options);
    what.c = c.view();
    const by_place finish{-2};
    calls().by_place(where, what, finish, options);
    where.runs_on().synchronize(nullptr);
    const dense before = plain.read();
    EXPECT_TRUE(same(
        c.read(), made(p.c.rows, p.c.columns, [&](auto i, auto j) { return finish(before(i, j), i, j); })));
  }
};
AP_ON_BOTH_DEVICES(own_epilogues);

product integers(std::int64_t m, std::int64_t n, std::int64_t k, unsigned seed, float alpha = 1,
                 float beta = 0) {
  product p = product_of(random_integers(m, k, seed), random_integers(k, n, seed + 1), alpha, beta);
  p.c = random_integers(m, n, seed + 2);
  return p;
}

TEST_P(own_epilogues, of_any_shape) {
  unsigned seed = 1;
  for (const auto& [m, n, k] : std::initializer_list<std::array<std::int64_t, 3>>{{1, 1, 1},
                                                                                  {7, 127, 5},
                                                                                  {8, 128, 9},
                                                                                  {9, 129, 30},
                                                                                  {130, 3, 64},
                                                                                  {1, 300, 17},
                                                                                  {261, 1, 4},
                                                                                  {70, 257, 3},
                                                                                  {0, 5, 3},
                                                                                  {5, 0, 3}}) {
    SCOPED_TRACE(testing::Message() << m << " x " << n << " x " << k);
    expect_right(integers(m, n, k, seed += 3));
    expect_right(integers(m, n, k, seed += 3, -1, 2));
  }
  expect_right(integers(40, 50, 0, 1, 1, 3));  // nothing to multiply: beta C
  expect_right(integers(40, 50, 6, 1, 0, 1));  // alpha = 0
  for (const char* policy : {"fp16", "tf32", "tiled"})
    expect_right(integers(150, 70, 40, 9, 1, 1), {.policy = policy});
}

TEST_P(own_epilogues, of_any_layout) {
  product p = integers(37, 150, 20, 5, 1, 1);
  for (const placing how : {placing{1, 41}, placing{160, 1, 3}, placing{3, 200}, placing{400, 2},
                            placing{-155, 1}, placing{1, -39}}) {
    SCOPED_TRACE(testing::Message() << how.row_stride << " and " << how.column_stride);
    p.place_c = how;
    expect_right(p);
  }
}

// The function is applied after the options' epilogue.
TEST_P(own_epilogues, behind_the_epilogue_of_the_library) {
  const context where = any();
  const dense bias = random_integers(1, 61, 4);
  const device_array<float> bias_there(where, bias.value);
  expect_right(integers(45, 61, 33, 7),
               {.epilogue = {.function = activation::relu, .column_bias = bias_there.data()}});
}

TEST_P(own_epilogues, of_batches) {
  const context where = any();
  const std::int64_t m = 19, n = 131, k = 12, count = 5;
  const dense a = random_integers(count * m, k, 1), b = random_integers(count * k, n, 2),
              zero = filled(count * m, n, 0);
  const dense rows = random_integers(1, m, 3), members = random_integers(1, count, 4);
  const device_array<float> of_row(where, rows.value), of_member(where, members.value);
  matrix on_a(where, a, placed(major::row, a)), on_b(where, b, placed(major::row, b));
  const dense expected = made(count * m, n, [&](auto row, auto j) {
    const std::int64_t member = row / m, i = row % m;
    float sum = 0;
    for (std::int64_t at = 0; at < k; ++at) sum += a(row, at) * b(member * k + at, j);
    return by_table{rows.value.data(), members.value.data()}(sum, i, j, member);
  });
  const by_table finish{of_row.data(), of_member.data()};
  for (const bool by_pointers : {false, true}) {
    matrix on_c(where, zero, placed(major::row, zero));
    gemm_problem p{.a = on_a.view(), .b = on_b.view(), .c = on_c.view()};
    p.a.rows = p.c.rows = m, p.b.rows = k;
    gemm_batch of{.count = count, .a_stride = m * k, .b_stride = k * n, .c_stride = m * n};
    std::vector<const float*> of_a, of_b;
    std::vector<float*> of_c;
    for (std::int64_t i = 0; i < count; ++i)
      of_a.push_back(p.a.data + i * m * k), of_b.push_back(p.b.data + i * k * n),
          of_c.push_back(p.c.data + i * m * n);
    const device_array<const float*> array_a(where, of_a), array_b(where, of_b);
    const device_array<float*> array_c(where, of_c);
    if (by_pointers) of = {.count = count, .a = array_a.data(), .b = array_b.data(), .c = array_c.data()};
    calls().by_table(where, p, finish, {.batch = of});
    where.runs_on().synchronize(nullptr);
    EXPECT_TRUE(same(on_c.read(), expected)) << (by_pointers ? "by pointers" : "by strides");
    const dense before = on_c.read();
    of.count = 0;
    calls().by_table(where, p, finish, {.batch = of});
    where.runs_on().synchronize(nullptr);
    EXPECT_TRUE(same_bits(on_c.read(), before)) << "a batch of none was written";
  }
}

TEST_P(own_epilogues, what_gemm_refuses_is_refused_before_anything_is_written) {
  const context where = any();
  const product p = integers(9, 9, 9, 1);
  matrix a(where, p.a, p.place_a), b(where, p.b, p.place_b), c(where, p.c, p.place_c);
  const gemm_problem what{.a = a.view(), .b = b.view(), .c = c.view()};
  EXPECT_THROW(calls().by_place(where, what, {1}, {.policy = "slit"}), bad_request);
#if ANTIPHASE_HAS_CUDA
  const own_calls of_the_other = is_cuda() ? cpu::calls() : cuda::calls();
  try {
    of_the_other.by_place(where, what, {1}, {});
    ADD_FAILURE() << "not refused";
  } catch (const not_supported& e) {
    EXPECT_THAT(e.what(), HasSubstr("this product was compiled for "));
  }
#endif
  where.runs_on().synchronize(nullptr);
  EXPECT_TRUE(same_bits(c.read(), p.c));
}

}  // namespace
}  // namespace antiphase::gemm_test
