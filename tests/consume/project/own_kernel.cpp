// SPDX-License-Identifier: Apache-2.0
// A user's own kernel on the CPU executor: the block reverses its input through shared memory.
#include <antiphase/context.hpp>
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/kernel.cuh>
#include <vector>

struct reverse {
  static constexpr int threads = 64;
  struct params {
    const int* from;
    int* to;
  };
  struct storage {
    int value[threads];
  };
  void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, antiphase::shared_kind::fixed>();
    const int t = antiphase::thread_index();
    s.value[t] = p.from[t];
    antiphase::block_barrier();
    p.to[t] = s.value[threads - 1 - t];
  }
};

int main() {
  int unused_on_purpose;  // a consumer chooses its own warnings
  const auto where = antiphase::context::on("cpu");
  std::vector<int> host(reverse::threads);
  for (int i = 0; i < reverse::threads; ++i) host[i] = i * i;
  antiphase::device_array<int> from(where, host), to(where, host.size());
  const reverse::params params{from.data(), to.data()};
  where.runs_on().launch(antiphase::kernel_of<reverse>("reverse"), {}, &params, nullptr);
  const std::vector<int> result = to.to_host();
  for (int i = 0; i < reverse::threads; ++i)
    if (result[i] != host[reverse::threads - 1 - i]) return 1;
  return 0;
}
