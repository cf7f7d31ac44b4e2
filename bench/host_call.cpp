// SPDX-License-Identifier: Apache-2.0
// The host's time for a call of gemm(), without the launch: the same products repeatedly, on an executor that
// launches nothing.
#include <benchmark/benchmark.h>

#include <antiphase/executor/cpu/cpu_executor.hpp>
#include <antiphase/executor/forwarding_executor.hpp>
#include <antiphase/gemm.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace {

using namespace antiphase;

// The CPU executor, except for launches.
class launches_nothing final : public forwarding_executor {
 public:
  launches_nothing() : forwarding_executor(make_cpu_executor()) {}
  void* borrow(std::size_t bytes, stream) const override {
    if (lent_.size() < bytes) lent_.resize(bytes);
    return lent_.data();
  }
  void give_back(void*, stream) const noexcept override {}
  launch_counts launch(const kernel& k, extent3 grid, const void* params, stream) const override {
    benchmark::DoNotOptimize(&k);
    benchmark::DoNotOptimize(grid);
    benchmark::DoNotOptimize(params);
    return {};
  }

 private:
  mutable std::vector<std::byte> lent_;
};

// Products of n x n x n. Results alternate between `places` addresses, as an allocator may hand them out.
void host_call(benchmark::State& state) {
  const std::int64_t n = state.range(0), places = state.range(1);
  const context where(std::make_shared<launches_nothing>());
  const auto count = static_cast<std::size_t>(n * n);
  device_array<float> a(where, count), b(where, count), c(where, count * static_cast<std::size_t>(places));
  std::int64_t call = 0;
  for (auto _ : state) {
    gemm(where, {.a = row_major<const float>(a.data(), n, n),
                 .b = row_major<const float>(b.data(), n, n),
                 .c = row_major(c.data() + call % places * n * n, n, n)});
    ++call;
  }
}
BENCHMARK(host_call)->ArgNames({"n", "places"})->ArgsProduct({{64, 256, 1024}, {1, 2, 40}})->Args({64, 4000});

}  // namespace

BENCHMARK_MAIN();
