// SPDX-License-Identifier: Apache-2.0
// What a call of gemm() takes the host beside the launch: the same products again and again, on an executor that launches nothing.
#include <benchmark/benchmark.h>

#include <antiphase/gemm.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace {

using namespace antiphase;

// The CPU executor, but for launches.
class launches_nothing final : public executor {
 public:
  target kind() const override { return on_->kind(); }
  const device_limits& limits() const override { return on_->limits(); }
  void* allocate(std::size_t bytes) const override { return on_->allocate(bytes); }
  void deallocate(void* memory) const noexcept override { on_->deallocate(memory); }
  void copy_in(void* to, const void* from, std::size_t bytes, stream s) const override { on_->copy_in(to, from, bytes, s); }
  void copy_out(void* to, const void* from, std::size_t bytes, stream s) const override { on_->copy_out(to, from, bytes, s); }
  void copy(void* to, const void* from, std::size_t bytes, stream s) const override { on_->copy(to, from, bytes, s); }
  std::unique_lock<std::recursive_mutex> hold(stream s) const override { return on_->hold(s); }
  std::span<std::byte> scratch(std::size_t bytes, stream s) const override { return on_->scratch(bytes, s); }
  void forget_scratch(stream s) const override { on_->forget_scratch(s); }
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
  kernel_usage usage(const kernel& k) const override { return on_->usage(k); }
  void synchronize(stream s) const override { on_->synchronize(s); }
  tensor_map encode(const tensor_layout& tensor) const override { return on_->encode(tensor); }
  double milliseconds(const std::function<void(stream)>& queue, stream s) const override { return on_->milliseconds(queue, s); }

 private:
  context cpu_ = context::on("cpu");
  const executor* on_ = &cpu_.runs_on();
  mutable std::vector<std::byte> lent_;
};

// Products of n x n x n. The results lie in turn at so many places, as an allocator hands them out.
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
