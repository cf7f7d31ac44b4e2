// SPDX-License-Identifier: Apache-2.0
// Devices with less shared memory: which steps fit, the message of a refusal, and what "auto" chooses.
#include <algorithm>
#include <iterator>

#include "tests/gemm/support.hpp"

namespace antiphase::gemm_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Shared memory of a block: stages with a tile of A and one of B each, rows padded.
std::size_t bytes_of(const gemms::operand_policy& o, int outer, int k) {
  const int rows = o.order == gemms::layout::k_major ? k : outer;
  return sizeof(float) * static_cast<std::size_t>(rows * (gemms::side_by_side(o, outer, k) + o.padding));
}
std::size_t bytes_of(std::string_view step, const gemms::policy& how) {
  if (step == "naive") return 0;
  return static_cast<std::size_t>(how.stages) *
         (bytes_of(how.a, how.tile.m, how.tile_k) + bytes_of(how.b, how.tile.n, how.tile_k));
}
// Shared memory per block of real devices, and two smaller sizes.
constexpr std::size_t limits_in_kib[] = {4, 16, 48, 64, 99, 163, 227};

enum class operands { by_rows, along_tiles };
product small_product(operands lie) {
  product p = product_of(random_reals(40, 21, 1), random_reals(21, 36, 2), 1, -1.5);
  p.place_a = placed_in_packets(lie == operands::by_rows ? major::row : major::column, p.a);
  p.place_b = placed_in_packets(major::row, p.b);
  return p;
}

struct placed_product {
  matrix a, b, c;
  gemms::problem request;
  placed_product(const context& where, const product& p)
      : a(where, p.a, p.place_a),
        b(where, p.b, p.place_b),
        c(where, p.c, p.place_c),
        request{a.view(), b.view(), c.view(), p.alpha, p.beta} {}
};

class gemm_limits : public on_device {
 protected:
  context with_shared(std::size_t bytes) const {
    if (is_cuda()) return context(make_cuda_executor({.shared_limit = bytes}));
    device_limits limits = simulated_device();
    limits.name = "a small device";
    limits.shared_opt_in = bytes;
    limits.shared_per_block = std::min(limits.shared_per_block, bytes);
    return context(make_cpu_executor({.limits = limits}));
  }
  // The real limit: a GPU may have less than requested.
  static std::size_t allowed(const context& where) {
    return std::max(where.limits().shared_opt_in, where.limits().shared_per_block);
  }

  template <class Run> void each_limit(Run run) const {
    for (const std::size_t kib : limits_in_kib)
      for (const operands lie : {operands::by_rows, operands::along_tiles}) {
        SCOPED_TRACE(testing::Message() << kib << " KiB, operands "
                                        << (lie == operands::by_rows ? "by rows" : "along their tiles"));
        run(with_shared(kib * 1024), lie);
      }
  }
};

TEST_P(gemm_limits, steps_that_fit_are_right_and_others_refused_with_the_numbers) {
  each_limit([&](const context& where, operands lie) {
    const product p = small_product(lie);
    const auto right = expected(p);
    const placed_product placed_here(where, p);
    const char* last = nullptr;
    for (const gemms::step& s : gemms::steps) {
      SCOPED_TRACE(s.name);
      const std::size_t bytes =
          bytes_of(s.name, gemms::prepare(where.kind(), s, placed_here.request).instance.policy);
      if (bytes <= allowed(where)) {
        last = s.name;
        EXPECT_TRUE(same(computed(where, s.name, p), right));
        continue;
      }
      try {
        computed(where, s.name, p);
        ADD_FAILURE() << "not refused";
      } catch (const not_supported& e) {
        EXPECT_THAT(e.what(), AllOf(HasSubstr(s.name), HasSubstr(std::to_string(bytes)),
                                    HasSubstr(std::to_string(allowed(where))), HasSubstr(where.limits().name),
                                    HasSubstr("shared memory")));
      }
    }
    EXPECT_STREQ(gemms::select_step(where.runs_on(), placed_here.request).name, last)
        << "auto takes the last step that fits";
    EXPECT_TRUE(same(computed(where, "auto", p), right));
  });
}
TEST(gemm_limits_choice, at_sizes_of_real_devices) {
  const auto chosen = [](std::size_t kib) {
    device_limits limits = simulated_device();
    limits.shared_opt_in = kib * 1024;
    limits.shared_per_block = std::min(limits.shared_per_block, limits.shared_opt_in);
    const context where(make_cpu_executor({.limits = limits}));
    return std::string(
        gemms::select_step(where.runs_on(), placed_product(where, small_product(operands::by_rows)).request)
            .name);
  };
  EXPECT_EQ(chosen(4), "naive");
  EXPECT_EQ(chosen(8), "tiled");
  EXPECT_EQ(chosen(16), "async-2");
  EXPECT_EQ(chosen(24), "async-3");
  EXPECT_EQ(chosen(64), "warp-tile");
  for (const std::size_t kib : {99, 163, 227})
    EXPECT_EQ(chosen(kib), std::rbegin(gemms::steps)->name) << kib << " KiB";
}
TEST(gemm_limits_choice, a_device_without_enough_threads_gets_smaller_blocks) {
  device_limits limits = simulated_device();
  limits.threads_per_block = 512;
  const context where(make_cpu_executor({.limits = limits}));
  const product p = small_product(operands::by_rows);
  EXPECT_TRUE(same(computed(where, "auto", p), expected(p)));
  try {
    computed(where, "tiled", p);
    ADD_FAILURE() << "not refused";
  } catch (const not_supported& e) {
    EXPECT_THAT(e.what(), AllOf(HasSubstr("tiled"), HasSubstr("1024 threads"), HasSubstr("512")));
  }
}

AP_ON_BOTH_DEVICES(gemm_limits);

}  // namespace
}  // namespace antiphase::gemm_test
