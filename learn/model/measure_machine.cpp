// SPDX-License-Identifier: Apache-2.0
#include <antiphase/measure_machine.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <cstdint>
#include <functional>
#include <numeric>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "build_config.hpp"
#include "learn/model/probe.hpp"

namespace antiphase {
namespace {

constexpr int repeats = 5;

// Seconds, the least of `repeats` runs.
double seconds_of(const executor& on, const std::function<void(stream)>& queue) {
  double least = on.milliseconds(queue, nullptr);
  for (int i = 1; i < repeats; ++i) least = std::min(least, on.milliseconds(queue, nullptr));
  return least * 1e-3;
}

// Seconds per copy of `bytes`, of `count` back to back.
double copy_seconds(const context& where, void* to, const void* from, std::size_t bytes, int count) {
  return seconds_of(where.runs_on(),
                    [&](stream s) {
                      for (int i = 0; i < count; ++i) where.runs_on().copy(to, from, bytes, s);
                    }) /
         count;
}

// A cycle through `bytes` of memory, a place every `apart` bytes, in random order (Sattolo's algorithm).
std::vector<std::uint32_t> random_cycle(std::size_t bytes, std::size_t apart) {
  const std::size_t words = apart / sizeof(std::uint32_t), places = bytes / apart;
  std::vector<std::uint32_t> order(places);
  std::iota(order.begin(), order.end(), 0U);
  std::mt19937 random(1);
  for (std::size_t i = places - 1; i > 0; --i) std::swap(order[i], order[random() % i]);
  std::vector<std::uint32_t> next(places * words);
  for (std::size_t i = 0; i < places; ++i) next[i * words] = order[i] * static_cast<std::uint32_t>(words);
  return next;
}

double latency(const context& where, const probe::kernels& k, std::size_t bytes, std::size_t apart) {
  const device_array<std::uint32_t> next(where, random_cycle(bytes, apart));
  const std::uint32_t first = 0;
  device_array<std::uint32_t> last(where, std::span<const std::uint32_t>(&first, 1));
  const auto run = [&](std::uint32_t steps) {
    const probe::chase_params p{next.data(), steps, last.data()};
    return seconds_of(where.runs_on(), [&](stream s) { where.runs_on().launch(k.chase, {1, 1, 1}, &p, s); });
  };
  // The first run warms up the cache. With 256 MiB, all runs together visit no place twice.
  constexpr std::uint32_t few = 1 << 14, many = 1 << 16;
  run(many);
  return (run(many) - run(few)) / (many - few);
}

}  // namespace

machine_profile measure_machine(const context& where) {
  if (where.kind() != target::cuda)
    throw not_supported(
        fmt::format("a machine profile is measured on a GPU, and this is the {}: expected a usable GPU",
                    where.limits().name));
  const executor& on = where.runs_on();
#if ANTIPHASE_HAS_CUDA
  const probe::kernels k = probe::cuda::probe_kernels();
#else
  const probe::kernels k = probe::cpu::probe_kernels();
#endif
  machine_profile found = profile_of(where.limits());
  const auto set = [](machine_figure& f, double value, const char* how) {
    f = {value, fmt::format("measured: {}", how)};
  };
  const int processors = std::max(1, where.limits().multiprocessors);
  const extent3 grid{static_cast<unsigned>(processors), 1, 1};
  constexpr double threads = probe::probe_threads;  // per multiprocessor: one block
  device_array<float> sums(where, grid.count() * probe::probe_threads);
  device_array<std::int64_t> clocks(where, 1);

  constexpr int rounds = 20000;
  const probe::multiply_params multiply{rounds, 0.5F, 1.0F, sums.data(), clocks.data()};
  const double multiplying = seconds_of(on, [&](stream s) { on.launch(k.multiply, grid, &multiply, s); });
  const auto multiply_clocks = static_cast<double>(clocks.to_host()[0]);
  set(found.clock, multiply_clocks / multiplying, "clocks of a kernel of multiply-adds over its time");
  set(found.multiply_adds, threads * probe::chains * probe::links * rounds / multiply_clocks,
      "a kernel of independent multiply-adds");

  constexpr int read_rounds = 10000;
  const probe::read_params read{read_rounds, sums.data(), clocks.data()};
  seconds_of(on, [&](stream s) { on.launch(k.read, grid, &read, s); });
  set(found.shared_bytes,
      threads * 16 * probe::reads * read_rounds / static_cast<double>(clocks.to_host()[0]),
      "reads of 16 bytes, neighbours side by side");

  constexpr int launches = 1000;
  const probe::multiply_params nothing{0, 0.5F, 1.0F, sums.data(), clocks.data()};
  set(found.launch,
      seconds_of(on,
                 [&](stream s) {
                   for (int i = 0; i < launches; ++i) on.launch(k.multiply, {1, 1, 1}, &nothing, s);
                 }) /
          launches,
      "1000 kernels of one block, one after the other in a stream");

  constexpr std::size_t large = std::size_t{256} << 20, line = 128;
  {
    const device_array<std::byte> from(where, large);
    device_array<std::byte> to(where, large);
    set(found.memory_bytes, 2. * large / copy_seconds(where, to.data(), from.data(), large, 10),
        "copies of 256 MiB, read and written");
    // source and copy fit in the cache, at twice the size too
    const auto held = static_cast<std::size_t>(found.cache_size.value) / 8;
    const double more = copy_seconds(where, to.data(), from.data(), 2 * held, 100) -
                        copy_seconds(where, to.data(), from.data(), held, 100);
    if (more > 0)
      set(found.cache_bytes, 2. * static_cast<double>(held) / more,
          "how much longer a copy that the L2 cache holds takes if it is twice as large");
  }
  set(found.cache_latency, latency(where, k, std::size_t{8} << 20, line),
      "a thread that follows pointers through 8 MiB in random order");
  set(found.memory_latency, latency(where, k, large, line * 2),
      "a thread that follows pointers through 256 MiB in random order");
  return found;
}

}  // namespace antiphase
