// SPDX-License-Identifier: Apache-2.0
// The cache of calls: a repeated call runs the same plan without being checked again; any other call does not
// hit.
#include <algorithm>
#include <antiphase/executor/published.hpp>
#include <antiphase/gemm_comparison.hpp>
#include <functional>
#include <thread>
#include <utility>

#include "tests/executor/elsewhere.hpp"
#include "tests/gemm/support.hpp"

namespace antiphase::gemm_test {
namespace {

// A CPU executor with a device's limits that records launches as text, and runs them or only records them.
enum class launches { run, are_written_down };
class noted : public forwarding_executor {
 public:
  explicit noted(const device_limits& limits, launches how = launches::run)
      : forwarding_executor(make_cpu_executor({.workers = 1, .limits = limits})), how_(how) {}
  const device_limits& limits() const override { return ++asked_for_limits, forwarding_executor::limits(); }
  launch_counts launch(const kernel& k, extent3 grid, const void* params, stream on) const override {
    launched.push_back(fmt::format("{} {} x {} x {} by {}", k.name, grid.x, grid.y, grid.z, k.cluster));
    return how_ == launches::run ? forwarding_executor::launch(k, grid, params, on) : launch_counts{};
  }
  void* borrow(std::size_t bytes, stream on) const override {
    launched.push_back(fmt::format("borrow {}", bytes));
    if (while_borrowing) while_borrowing();
    return forwarding_executor::borrow(bytes, on);
  }
  mutable std::vector<std::string> launched;
  mutable int asked_for_limits = 0;
  std::function<void()> while_borrowing;

 private:
  launches how_;
};
context lent(const noted& on) {
  return context(std::shared_ptr<const executor>(&on, [](auto*) {}));
}

// Memory for all arguments of a call: A, B, C, biases and members in one array, and a workspace.
constexpr std::size_t extent = 48, matrix_floats = extent * extent * 3, all_floats = 8 * matrix_floats,
                      work_bytes = 1 << 20;
struct asked {
  gemm_problem what;
  gemm_options how;
};
struct memory {
  explicit memory(const context& where)
      : floats(where, all_floats), work(where, work_bytes), counts(where, 2), members(where, 6) {}
  device_array<float> floats;
  device_array<std::byte> work;
  device_array<std::uint64_t> counts;
  device_array<const float*> members;

  float* at(int place) { return floats.data() + static_cast<std::size_t>(place) * matrix_floats; }
};
// The first row of A cancels in B's first two rows and is small elsewhere: its outputs are recomputed.
std::vector<float> initial() {
  std::vector<float> all = reals(1, all_floats, 7).value;
  float *const row_of_a = all.data(), *const rows_of_b = all.data() + matrix_floats;
  for (std::size_t k = 2; k < extent; ++k) row_of_a[k] *= 0x1p-40f;
  row_of_a[0] = 1, row_of_a[1] = -1;
  std::fill_n(rows_of_b, 2 * extent, 1.f);
  return all;
}

// A product of 40 x 28 x 44 with A, B and C at places 0, 1 and 2.
asked base(memory& m) {
  return {.what = {.a = row_major<const float>(m.at(0), 40, 44, extent),
                   .b = row_major<const float>(m.at(1), 44, 28, extent),
                   .c = row_major(m.at(2), 40, 28, extent)},
          .how = {}};
}

class repeated_calls : public testing::Test {
 protected:
  struct outcome {
    std::vector<float> floats;
    std::vector<std::uint64_t> counts;
    std::vector<std::string> launched;
    std::string refused;
    bool operator==(const outcome&) const = default;
    friend void PrintTo(const outcome& o, std::ostream* to) {
      *to << testing::PrintToString(o.launched) << ' ' << o.refused;
    }
  };
  // Each time with the same memory contents. checked: by a call that is never remembered.
  outcome of(noted& on, memory& m, asked q, bool with_tally = false) {
    m.floats.copy_from(values_);
    m.counts.copy_from(std::vector<std::uint64_t>{0, 0});
    const std::vector<const float*> members{m.at(0), m.at(3), m.at(1), m.at(4), m.at(2), m.at(5)};
    m.members.copy_from(members);
    on.launched.clear();
    gemm_choice ran;
    if (with_tally) q.how.ran = &ran;
    outcome is;
    try {
      gemm(lent(on), q.what, q.how);
    } catch (const std::runtime_error& e) {
      is.refused = e.what();
    }
    is.launched = on.launched;
    is.floats = m.floats.to_host();
    is.counts = m.counts.to_host();
    return is;
  }
  static constexpr int times = 4;
  // Expects the same outcome each time the call is repeated.
  void expect_right(noted& on, memory& m, const asked& q, const outcome& right, const std::string& what) {
    for (int time = 0; time < times; ++time) {
      const outcome found = of(on, m, q);
      EXPECT_EQ(found, right) << what << ", time " << time;
    }
  }
  std::vector<float> values_ = initial();
};

TEST_F(repeated_calls, each_difference_makes_another_call) {
  // A device that adds up in FP64, and one that uses FP16 parts, a workspace and a recomputed counter.
  noted on(simulated_device()), by_parts(published_device("8.6"));
  memory m(context::on("cpu"));
  using change = std::function<void(asked&)>;
  const auto in_batch = [](asked& q) {
    q.how.batch = {.count = 2, .a_stride = 1000, .b_stride = 1000, .c_stride = 3000};
  };
  const auto by_pointers = [&](asked& q) {
    q.how.batch = {.count = 2,
                   .a = m.members.data(),
                   .b = m.members.data() + 2,
                   .c = const_cast<float**>(m.members.data() + 4)};
  };
  const auto biased = [&](asked& q) {
    q.how.epilogue.row_bias = m.at(6), q.how.epilogue.column_bias = m.at(7);
  };
  const auto biased_batch = [&](asked& q) { in_batch(q), biased(q); };
  const auto given = [&](asked& q) { q.how.workspace = {m.work.data(), work_bytes - 256}; };
  const auto counting = [&](asked& q) { q.how.recomputed = m.counts.data(); };
  const change none = [](asked&) {};
  struct step {
    std::string what;
    change before, then;
    bool in_parts = false;
  };
  const std::vector<step> steps{
      {"A's address", none, [](asked& q) { q.what.a.data += 4; }},
      {"B's address", none, [](asked& q) { q.what.b.data += 4; }},
      {"C's address", none, [](asked& q) { q.what.c.data += 4; }},
      {"rows", none, [](asked& q) { q.what.a.rows = q.what.c.rows = 36; }},
      {"columns", none, [](asked& q) { q.what.b.columns = q.what.c.columns = 24; }},
      {"k", none, [](asked& q) { q.what.a.columns = q.what.b.rows = 40; }},
      {"A's rows alone", none, [](asked& q) { q.what.a.rows = 36; }},
      {"C's rows alone", none, [](asked& q) { q.what.c.rows = 36; }},
      {"B's columns alone", none, [](asked& q) { q.what.b.columns = 24; }},
      {"C's columns alone", none, [](asked& q) { q.what.c.columns = 24; }},
      {"A's columns alone", none, [](asked& q) { q.what.a.columns = 40; }},
      {"B's rows alone", none, [](asked& q) { q.what.b.rows = 40; }},
      {"A's row stride", none, [](asked& q) { q.what.a.row_stride = 52; }},
      {"B's row stride", none, [](asked& q) { q.what.b.row_stride = 52; }},
      {"C's row stride", none, [](asked& q) { q.what.c.row_stride = 52; }},
      {"A's column stride", none, [](asked& q) { q.what.a.column_stride = 2; }},
      {"B's column stride", none, [](asked& q) { q.what.b.column_stride = 2; }},
      {"C's column stride", none, [](asked& q) { q.what.c.row_stride = 64, q.what.c.column_stride = 2; }},
      {"C's column stride alone", [](asked& q) { q.what.c.row_stride = 64; },
       [](asked& q) { q.what.c.column_stride = 2; }},
      {"C over A", none, [](asked& q) { q.what.c.data = const_cast<float*>(q.what.a.data) + 8; }},
      {"alpha", none, [](asked& q) { q.what.alpha = 2; }},
      {"alpha's sign", [](asked& q) { q.what.alpha = 0; },
       [](asked& q) { q.what.alpha = -0.f, q.what.beta = -1; }},
      {"beta", none, [](asked& q) { q.what.beta = 2; }},
      {"precision", none, [](asked& q) { q.how.accuracy = precision::strict; }},
      {"a precision that there is not", none,
       [](asked& q) { q.how.accuracy = static_cast<precision>(1 << 16); }},
      {"whether a weaker bound will do", none,
       [](asked& q) { q.how.if_weaker = static_cast<weaker_bound>(2); }},
      {"what is reproducible", none, [](asked& q) { q.how.reproducible = static_cast<reproducibility>(2); }},
      {"policy", none, [](asked& q) { q.how.policy = "naive"; }},
      {"function", none, [](asked& q) { q.how.epilogue.function = gemms::activation::relu; }},
      {"another function", [](asked& q) { q.how.epilogue.function = gemms::activation::gelu; },
       [](asked& q) { q.how.epilogue.function = gemms::activation::gelu_tanh; }},
      {"scale", none, [](asked& q) { q.how.epilogue.scale = 2; }},
      {"a bias of rows", none, [&](asked& q) { q.how.epilogue.row_bias = m.at(6); }},
      {"a bias of columns", none, [&](asked& q) { q.how.epilogue.column_bias = m.at(6); }},
      {"the bias of rows", biased, [](asked& q) { q.how.epilogue.row_bias += 4; }},
      {"the bias of columns", biased, [](asked& q) { q.how.epilogue.column_bias += 4; }},
      {"a bias that lies in C", biased, [](asked& q) { q.how.epilogue.column_bias = q.what.c.data; }},
      {"a residual", [](asked& q) { q.what.beta = 1; },
       [&](asked& q) { q.how.epilogue.residual = row_major<const float>(m.at(5), 40, 28, extent); }},
      {"an input of a gradient", none,
       [&](asked& q) {
         q.how.epilogue.function = gemms::activation::relu_gradient;
         q.how.epilogue.input = row_major<const float>(m.at(5), 40, 28, extent);
       }},
      {"values before", none, [&](asked& q) { q.how.epilogue.before = row_major(m.at(5), 40, 28, extent); }},
      {"a batch", none, in_batch},
      {"members", in_batch, [](asked& q) { q.how.batch.count = 1; }},
      {"how far members of A lie apart", in_batch, [](asked& q) { q.how.batch.a_stride = 500; }},
      {"how far members of B lie apart", in_batch, [](asked& q) { q.how.batch.b_stride = 500; }},
      {"how far members of C lie apart", in_batch, [](asked& q) { q.how.batch.c_stride = 2500; }},
      {"members of C on top of each other", in_batch, [](asked& q) { q.how.batch.c_stride = 0; }},
      {"how far biases of rows lie apart", biased_batch,
       [](asked& q) { q.how.epilogue.row_bias_stride = 40; }},
      {"how far biases of columns lie apart", biased_batch,
       [](asked& q) { q.how.epilogue.column_bias_stride = 40; }},
      {"pointers to A's members", by_pointers, [](asked& q) { ++q.how.batch.a; }},
      {"pointers to B's members", by_pointers, [](asked& q) { --q.how.batch.b; }},
      {"pointers to C's members", by_pointers, [](asked& q) { q.how.batch.c = nullptr; }},
      {"whose working memory", given, [](asked& q) { q.how.workspace = {}; }, true},
      {"where working memory lies", given,
       [](asked& q) {
         q.how.workspace = {q.how.workspace.data() + 1, work_bytes - 256};
       },
       true},
      {"how much working memory there is", given,
       [](asked& q) { q.how.workspace = q.how.workspace.first(1); }, true},
      {"whether recomputed outputs are counted", none, counting, true},
      {"where they are counted", counting, [](asked& q) { ++q.how.recomputed; }, true},
      {"where they are counted, in C", counting,
       [](asked& q) { q.how.recomputed = reinterpret_cast<std::uint64_t*>(q.what.c.data); }, true},
  };
  for (const step& s : steps) {
    asked first = base(m);
    if (s.in_parts) first.how.policy = "fp16-mma";
    s.before(first);
    asked second = first;
    s.then(second);
    noted& where = s.in_parts ? by_parts : on;
    const outcome right_first = of(where, m, first, true), right_second = of(where, m, second, true);
    EXPECT_EQ(right_first.refused, "") << s.what;
    EXPECT_NE(right_first, right_second) << s.what << " makes no difference here, so it tests nothing";
    expect_right(where, m, first, right_first, s.what + ", before");
    expect_right(where, m, second, right_second, s.what);
    expect_right(where, m, first, right_first, s.what + ", again");
  }
}

// Operands at addresses that are never accessed.
asked nowhere(std::int64_t m, std::int64_t n, std::int64_t k, std::uintptr_t where = 1) {
  const auto at = [&](std::uintptr_t number) { return reinterpret_cast<float*>((4 * where + number) << 36); };
  return {.what = {.a = row_major<const float>(at(0), m, k),
                   .b = row_major<const float>(at(1), k, n),
                   .c = row_major(at(2), m, n)},
          .how = {}};
}

TEST(remembered_calls, are_not_checked_again) {
  const noted on(simulated_device(), launches::are_written_down);
  const asked q = nowhere(64, 64, 64);
  const auto limits_asked_for = [&] {
    on.asked_for_limits = 0;
    gemm(lent(on), q.what, q.how);
    return on.asked_for_limits;
  };
  const int first = limits_asked_for(), second = limits_asked_for(), third = limits_asked_for();
  EXPECT_GT(first, 4);
  EXPECT_GT(second, 4);
  EXPECT_LE(third, 1);
}

// A call runs the plan that compare() chose for it.
TEST(remembered_calls, run_what_they_were_compared_with) {
  const noted on(published_device("8.6"), launches::are_written_down);
  asked q = nowhere(256, 256, 256, 5);
  gemm_choice ran;
  q.how.ran = &ran;  // such a call is not remembered
  gemm(lent(on), q.what, q.how);
  q.how.ran = nullptr;
  const std::vector<std::string> right = std::exchange(on.launched, {});
  const gemm_comparison is = compare(lent(on), q.what, q.how);
  EXPECT_EQ(is.seconds, ran.predicted);
  EXPECT_EQ(is.workspace, ran.workspace);
  EXPECT_GT(is.workspace, 0U);
  on.asked_for_limits = 0;
  gemm(lent(on), q.what, q.how);
  EXPECT_LT(on.asked_for_limits, 4);
  EXPECT_EQ(on.launched, right);
}

// If C overlaps A, compare() succeeds, but the call is refused.
TEST(remembered_calls, overlaps_are_refused_after_a_comparison) {
  const noted on(simulated_device(), launches::are_written_down);
  asked q = nowhere(64, 64, 64, 6);
  const gemm_comparison apart = compare(lent(on), q.what, q.how);
  q.what.c.data = const_cast<float*>(q.what.a.data) + 8;
  EXPECT_EQ(compare(lent(on), q.what, q.how).seconds, apart.seconds);
  EXPECT_THROW(gemm(lent(on), q.what, q.how), bad_request);
  EXPECT_TRUE(on.launched.empty());
}

// The same arguments on another device are another call, even if the devices differ only in name or only in
// numbers.
TEST(remembered_calls, devices_are_told_apart) {
  device_limits h200 = published_device("9.0"), other = h200, smaller = h200;
  // devices with cost models of their own
  h200.name = smaller.name = "NVIDIA H200", other.name = "NVIDIA H100 80GB HBM3";
  smaller.multiprocessors = 20;
  const noted all[] = {noted(h200, launches::are_written_down), noted(other, launches::are_written_down),
                       noted(smaller, launches::are_written_down)};
  int by_name = 0, by_number = 0;
  for (const std::int64_t m : {256, 512, 768, 1024})
    for (const std::int64_t n : {4, 24, 64, 96, 192, 256, 512})
      for (const std::int64_t k : {20, 36, 64, 128, 256, 1024, 4096}) {
        asked q = nowhere(m, n, k);
        std::vector<std::string> right[3];
        for (int time = 0; time < 4; ++time)
          for (std::size_t i = 0; i < 3; ++i) {
            gemm_choice ran;
            q.how.ran = time == 0 ? &ran : nullptr;  // such a call is not remembered
            all[i].launched.clear();
            gemm(lent(all[i]), q.what, q.how);
            if (time == 0) right[i] = all[i].launched;
            EXPECT_EQ(all[i].launched, right[i]) << m << " x " << n << " x " << k << " on " << i;
          }
        by_name += right[0] != right[1], by_number += right[0] != right[2];
      }
  EXPECT_GT(by_name, 0);
  EXPECT_GT(by_number, 0);
}

// An allocator may itself call gemm(), more often than there are places, while the call it allocates for is
// in progress.
TEST(remembered_calls, stay_while_they_are_used) {
  noted on(published_device("8.6"), launches::are_written_down);
  const asked q = nowhere(256, 256, 256);
  const auto run = [&](const asked& one) {
    on.launched.clear();
    gemm(lent(on), one.what, one.how);
    return on.launched;
  };
  const std::vector<std::string> right = run(q);
  ASSERT_GE(right.size(), 3U);  // borrows, and launches more than one kernel
  EXPECT_EQ(run(q), right);
  EXPECT_EQ(run(q), right);
  int inside = 0;
  on.while_borrowing = [&] {
    const auto again = std::exchange(on.while_borrowing, nullptr);
    const std::vector<std::string> until_now = on.launched;
    for (std::uintptr_t i = 0; i < 3000; ++i)
      for (int time = 0; time < 3; ++time) ++inside, run(nowhere(128, 640, 300, 2 + i));
    on.launched = until_now;
    on.while_borrowing = again;
  };
  EXPECT_EQ(run(q), right);
  EXPECT_EQ(inside, 9000);
}

// Thread-local destructors may call gemm() after the cache's destructor has run.
TEST(remembered_calls, of_a_thread_that_ends) {
  static std::vector<std::vector<std::string>> found;
  struct late {
    ~late() {
      const noted on(simulated_device(), launches::are_written_down);
      for (int time = 0; time < 3; ++time) {
        const asked q = nowhere(64, 64, 64);
        on.launched.clear();
        gemm(lent(on), q.what, q.how);
        found.push_back(on.launched);
      }
    }
  };
  std::thread([] {
    static thread_local const late last;  // constructed before the cache, so destroyed after it
    static_cast<void>(last);
    const noted on(simulated_device(), launches::are_written_down);
    for (int time = 0; time < 3; ++time) {
      const asked q = nowhere(64, 64, 64);
      gemm(lent(on), q.what, q.how);
    }
    found.push_back({on.launched.front()});
  }).join();
  ASSERT_EQ(found.size(), 4U);
  for (const auto& one : found) EXPECT_EQ(one, found.front());
}

}  // namespace
}  // namespace antiphase::gemm_test
