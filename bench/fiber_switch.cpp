// SPDX-License-Identifier: Apache-2.0
// The cost of a fiber switch on the CPU executor: threads of a block that only meet at its barrier.
#include <benchmark/benchmark.h>
#include <antiphase/context.hpp>
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/kernel.cuh>

#include <algorithm>
#include <ctime>
#include <vector>

namespace {

using namespace antiphase;

constexpr int meetings = 200;

template <int Threads> struct meets {
  struct params {};
  struct storage {};
  static constexpr int threads = Threads;
  void operator()(const params&) const {
    for (int i = 0; i < meetings; ++i) block_barrier();
  }
};

// CPU time of this thread, which runs the only block: other load on the machine does not count.
double seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

template <int Threads> void fiber_switch(benchmark::State& state) {
  const context on = context::on("cpu");
  const auto what = kernel_of<meets<Threads>>("meets");
  const typename meets<Threads>::params params{};
  std::uint64_t switches = 0;
  for (auto _ : state) {
    const double start = seconds();
    const auto counts = on.runs_on().launch(what, {}, &params, nullptr);
    // the time reported is that of one switch
    state.SetIterationTime((seconds() - start) / static_cast<double>(counts.switches));
    switches += counts.switches;
  }
  state.counters["switches"] =
      benchmark::Counter(static_cast<double>(switches), benchmark::Counter::kAvgIterations);
}
double least(const std::vector<double>& times) { return *std::min_element(times.begin(), times.end()); }
void repeated(benchmark::internal::Benchmark* b) {
  b->UseManualTime()
      ->Unit(benchmark::kNanosecond)
      ->Repetitions(9)
      ->ReportAggregatesOnly()
      ->ComputeStatistics("min", least);
}
BENCHMARK(fiber_switch<32>)->Iterations(100)->Apply(repeated);
BENCHMARK(fiber_switch<256>)->Iterations(20)->Apply(repeated);
BENCHMARK(fiber_switch<1024>)->Iterations(5)->Apply(repeated);

}  // namespace

BENCHMARK_MAIN();
