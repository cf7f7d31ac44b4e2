// Devices with less shared memory: which steps fit, what a refusal says, what "auto" chooses there.
#include <algorithm>
#include <iterator>

#include "tests/gemm/support.hpp"

namespace antiphase::gemm_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

struct need {
  const char* step;
  std::size_t by_rows;       // bytes per block, A and B row-major
  std::size_t along_tiles;   // A column-major, B row-major: both can be copied in packets, without padding
};
constexpr need needs[] = {
    {"naive", 0, 0},
    {"tiled", 2 * 32 * 32 * 4, 2 * 32 * 32 * 4},
    {"padded", 2 * 32 * 33 * 4, 2 * 32 * 33 * 4},
    {"double-buffered", 2 * 8192, 2 * 8192},
    {"async-2", 2 * 8192, 2 * 8192},
    {"async-3", 3 * 8192, 3 * 8192},
    {"async-4", 4 * 8192, 4 * 8192},
    {"register-tile", 3 * 2 * 16 * 132 * 4, 3 * 2 * 16 * 132 * 4},
    {"fragments", 3 * 2 * 16 * 132 * 4, 3 * 2 * 16 * 132 * 4},
    {"vectors", 3 * 16 * (132 + 128) * 4, 3 * 16 * (128 + 128) * 4},
    {"warp-tile", 3 * 16 * (132 + 128) * 4, 3 * 16 * (128 + 128) * 4},
};
// What blocks of real devices may have, and two smaller ones.
constexpr std::size_t limits_in_kib[] = {4, 16, 48, 64, 99, 163, 227};

enum class operands { by_rows, along_tiles };
product small_product(operands lie) {
  product p = product_of(random_reals(40, 21, 1), random_reals(21, 36, 2), 1, -1.5);
  p.place_a = placed_in_packets(lie == operands::by_rows ? major::row : major::column, p.a);
  p.place_b = placed_in_packets(major::row, p.b);
  return p;
}

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
  // A GPU may have less than is asked for: what then counts is its own.
  static std::size_t allowed(const context& where) { return std::max(where.limits().shared_opt_in, where.limits().shared_per_block); }

  template <class Run> void each_limit(Run run) const {
    for (const std::size_t kib : limits_in_kib)
      for (const operands lie : {operands::by_rows, operands::along_tiles}) {
        SCOPED_TRACE(testing::Message() << kib << " KiB, operands " << (lie == operands::by_rows ? "by rows" : "along their tiles"));
        run(with_shared(kib * 1024), lie);
      }
  }
};

TEST_P(gemm_limits, table_names_every_step) {
  ASSERT_EQ(std::size(needs), std::size(mm::steps));
  for (std::size_t i = 0; i < std::size(needs); ++i) EXPECT_STREQ(needs[i].step, mm::steps[i].name);
}
TEST_P(gemm_limits, steps_that_fit_are_right_and_others_refused_with_the_numbers) {
  each_limit([&](const context& where, operands lie) {
    const product p = small_product(lie);
    const dense right = expected(p);
    for (const need& n : needs) {
      SCOPED_TRACE(n.step);
      const std::size_t bytes = lie == operands::by_rows ? n.by_rows : n.along_tiles;
      if (bytes <= allowed(where)) {
        EXPECT_TRUE(same(computed(where, n.step, p), right));
        continue;
      }
      try {
        computed(where, n.step, p);
        ADD_FAILURE() << "not refused";
      } catch (const not_supported& e) {
        EXPECT_THAT(e.what(), AllOf(HasSubstr(n.step), HasSubstr(std::to_string(bytes)), HasSubstr(std::to_string(allowed(where))),
                                    HasSubstr(where.limits().name), HasSubstr("shared memory")));
      }
    }
  });
}
TEST_P(gemm_limits, auto_takes_the_last_step_that_fits) {
  each_limit([&](const context& where, operands lie) {
    const product p = small_product(lie);
    const auto last = std::find_if(std::rbegin(needs), std::rend(needs), [&](const need& n) {
      return (lie == operands::by_rows ? n.by_rows : n.along_tiles) <= allowed(where);
    });
    matrix a(where, p.a, p.place_a), b(where, p.b, p.place_b), c(where, p.c, p.place_c);
    const mm::problem request{.a = a.view(), .b = b.view(), .c = c.view(), .alpha = p.alpha, .beta = p.beta};
    EXPECT_STREQ(select_step(where, request).name, last->step);
    EXPECT_TRUE(same(computed(where, "auto", p), expected(p)));
  });
}
TEST(gemm_limits_choice, at_sizes_of_real_devices) {
  const auto chosen = [](std::size_t kib, operands lie) {
    device_limits limits = simulated_device();
    limits.shared_opt_in = kib * 1024;
    const context where(make_cpu_executor({.limits = limits}));
    const product p = small_product(lie);
    matrix a(where, p.a, p.place_a), b(where, p.b, p.place_b), c(where, p.c, p.place_c);
    return std::string(select_step(where, {.a = a.view(), .b = b.view(), .c = c.view()}).name);
  };
  EXPECT_EQ(chosen(48, operands::by_rows), "async-4");
  EXPECT_EQ(chosen(48, operands::along_tiles), "warp-tile");  // 48 KiB to the byte
  for (const std::size_t kib : {64, 99, 163, 227}) EXPECT_EQ(chosen(kib, operands::by_rows), "warp-tile") << kib << " KiB";
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
