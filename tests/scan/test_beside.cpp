// SPDX-License-Identifier: Apache-2.0
// Scans next to a kernel that holds most of the device, and scans of very long arrays: GPU only.
#include <cuda_runtime_api.h>

#include <chrono>
#include <cmath>
#include <thread>

#include "tests/own_stream.hpp"
#include "tests/scan/any_scan.hpp"
#include "tests/scan/holder.hpp"

namespace antiphase::scan_test {

// One per target.
namespace cuda {
kernel holder_kernel();
}

namespace {

class scan_beside_Cuda : public testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (cuda_devices(&why).empty()) GTEST_SKIP() << "no GPU: " << why;
    if (context::on("cuda").limits().major < 8) GTEST_SKIP() << "no single pass";
  }
};

// Occupies all multiprocessors but `left` until it is released.
class neighbour {
 public:
  neighbour(const context& where, int left) : where_(where), flag_(where, std::vector<std::uint32_t>{0}) {
    const holder_arguments p{flag_.data()};
    const auto blocks = static_cast<unsigned>(where.limits().multiprocessors - left);
    where.runs_on().launch(cuda::holder_kernel(), {blocks, 1, 1}, &p, on_.get);
  }
  neighbour(const neighbour&) = delete;
  neighbour& operator=(const neighbour&) = delete;
  ~neighbour() { let_go(); }
  bool is_there() const { return cudaStreamQuery(on_.get) == cudaErrorNotReady; }
  void let_go() {
    const std::uint32_t one = 1;
    where_.runs_on().copy_in(flag_.data(), &one, sizeof one, signals_.get);
    where_.runs_on().synchronize(on_.get);
  }

 private:
  const context& where_;
  device_array<std::uint32_t> flag_;
  own_stream on_, signals_;
};

template <class T> void expect_sums(const device_array<T>& out, const std::vector<T>& host) {
  const auto result = out.to_host();
  T sum = 0;
  for (std::size_t i = 0; i < host.size(); ++i) {
    sum = static_cast<T>(sum + host[i]);
    ASSERT_EQ(result[i], sum) << i;
  }
}

// Sums on their own stream. Kernels are loaded and memory allocated while the device is idle.
struct sums_beside {
  context where = context::on("cuda");
  std::string_view policy;
  std::vector<std::uint32_t> host;
  device_array<std::uint32_t> in, out;
  own_stream here;

  sums_beside(std::string_view by, std::int64_t length)
      : policy(by),
        host(numbers<std::uint32_t>(length, scan_operation::sum)),
        in(where, host),
        out(where, host.size()) {
    queue();
    wait();
  }
  void forget() { out.copy_from(std::vector<std::uint32_t>(host.size())); }
  void queue() {
    scan(where,
         {.type = element::u32,
          .in = in.data(),
          .out = out.data(),
          .length = static_cast<std::int64_t>(host.size())},
         {.policy = policy, .stream = here.get});
  }
  void wait() const { where.runs_on().synchronize(here.get); }
};

// Blocks draw tiles dynamically, so a few resident blocks do all the work.
TEST_F(scan_beside_Cuda, single_pass_ends_while_a_neighbour_holds_most_multiprocessors) {
  for (const char* policy : {"single-pass", "single-pass-async"}) {
    if (policy == std::string_view("single-pass") && context::on("cuda").limits().major != 9) continue;
    sums_beside sums(policy, 1000 * ring_tile<float> + 77);
    for (const int left : {1, 7}) {
      sums.forget();
      neighbour beside(sums.where, left);
      sums.queue();
      sums.wait();
      EXPECT_TRUE(beside.is_there());
      beside.let_go();
      expect_sums(sums.out, sums.host);
    }
  }
}

// Blocks of one wave wait for each other. They start together: next to the neighbour's blocks if registers
// are left, otherwise after it ends.
TEST_F(scan_beside_Cuda, one_wave_ends_when_the_neighbour_goes_at_the_latest) {
  sums_beside sums("one-wave", (4 << 20) - 5);  // 16 MiB
  sums.forget();
  neighbour beside(sums.where, 9);
  sums.queue();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_TRUE(beside.is_there());
  beside.let_go();
  sums.wait();
  expect_sums(sums.out, sums.host);
}

TEST_F(scan_beside_Cuda, takes_more_than_2_to_the_32_elements) {
  const context where = context::on("cuda");
  const std::vector<std::uint8_t> host =
      numbers<std::uint8_t>((std::int64_t{1} << 32) + 12347, scan_operation::sum);
  const device_array<std::uint8_t> in(where, host);
  device_array<std::uint8_t> out(where, host.size());
  scan(where, {.type = element::u8,
               .in = in.data(),
               .out = out.data(),
               .length = static_cast<std::int64_t>(host.size())});
  expect_sums(out, host);
}

// Same bound as for short sums: 80 half units in the last place of the sum of magnitudes.
TEST_F(scan_beside_Cuda, sums_of_2_to_the_30_floats_are_as_accurate_as_short_ones) {
  const context where = context::on("cuda");
  const std::vector<float> host = numbers<float>(std::int64_t{1} << 30, scan_operation::sum);
  const device_array<float> in(where, host);
  device_array<float> out(where, host.size());
  scan(where, {.in = in.data(), .out = out.data(), .length = static_cast<std::int64_t>(host.size())});
  const auto result = out.to_host();
  double sum = 0, weight = 0;
  for (std::size_t i = 0; i < host.size(); ++i) {
    sum += double{host[i]};
    weight += std::abs(double{host[i]});
    ASSERT_LE(std::abs(double{result[i]} - sum), 80 * 0x1p-24 * weight) << i;
  }
}

}  // namespace
}  // namespace antiphase::scan_test
