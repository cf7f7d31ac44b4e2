// SPDX-License-Identifier: Apache-2.0
// The cost model of the GEMM ladder: from a policy to what a step of its blocks takes of each unit.
#include <algorithm>
#include <antiphase/core/tile.hpp>
#include <antiphase/gemm/cost.hpp>
#include <cmath>
#include <limits>

#include "library/costs/models.hpp"
#include "library/gemm/fp32/reads_of_step.hpp"

namespace antiphase::gemms {
namespace {

using namespace fitted;

double real(std::int64_t x) { return static_cast<double>(x); }
double real(int x) { return x; }

double latency_of(const machine_profile& on, double bytes) {
  return bytes < on.cache_size.value ? on.cache_latency.value : on.memory_latency.value;
}

std::size_t shared_bytes_of(const policy& p) {
  const auto floats = [&](const operand_policy& o, int outer) {
    const int row = side_by_side(o, outer, p.tile_k), rows = outer * p.tile_k / row;
    return (row + o.padding) * rows;
  };
  return sizeof(float) * static_cast<std::size_t>(p.stages * (floats(p.a, p.tile.m) + floats(p.b, p.tile.n)));
}

// Registers of a thread: sums, operands read ahead, addresses (more for strides known at run time only). At
// most what the policy's blocks per multiprocessor leave.
int registers_of(const policy& p) {
  constexpr int most = 255, of_register_file = 65536;
  const bool general = p.a.along == contiguous::neither || p.b.along == contiguous::neither;
  const int sums = p.thread.m * p.thread.n;
  const int wanted =
      sums + (sums == 1 ? 48 : 64) + (p.fragments > 1 ? 12 : 0) + (general && p.read_width > 1 ? 60 : 0);
  return std::min({wanted, most, of_register_file / (p.threads() * std::max(1, p.blocks)) / 8 * 8});
}

kernel kernel_with_resources(int threads, std::size_t shared) {
  kernel k{};
  k.threads = threads;
  k.shared_bytes = shared;
  k.shared = shared_kind::dynamic;
  return k;
}
int resident_of(const machine_profile& on, int threads, std::size_t shared, int registers) {
  const kernel k = kernel_with_resources(threads, shared);
  return shortage_of(on.limits, k) != shortage::none ? 0 : resident_blocks(on.limits, k, registers);
}

// Rows of C that begin anywhere are stored an element at a time where threads hold several side by side.
bool stores_singly(const product_size& p, int side_by_side) { return side_by_side > 1 && p.n % 4 != 0; }
double stores_seconds(const machine_profile& on, const product_size& p, extent2 tile, int resident,
                      bool singly) {
  const double processors = std::max(1, on.limits.multiprocessors),
               bytes = sizeof(float) * real(p.m) * real(p.n) * (p.adds_c ? 2 : 1);
  const costs::models& card = costs::models_of(on.limits);
  if (singly)
    return bytes / (1e6 * card.ladder.unaligned_stores * processors / card.multiprocessors) / resident;
  const std::int64_t tiles = ceil_div<std::int64_t>(p.m, tile.m) * ceil_div<std::int64_t>(p.n, tile.n);
  const double waves = std::ceil(real(tiles) / (processors * resident));
  return (resident > 1 ? card.ladder.stores_exposed : 1) * waves * resident * sizeof(float) * tile.m *
         tile.n * (p.adds_c ? 2 : 1) / (on.memory_bytes.value / processors);
}

double operand_bytes(const product_size& p, std::size_t element) {
  return static_cast<double>(element) * (real(p.m) * real(p.k) + real(p.k) * real(p.n));
}
prediction does_not_fit() {
  prediction never;
  never.add(limit::shared_memory, std::numeric_limits<double>::infinity());
  return never;
}
prediction times(const prediction& one, std::int64_t count) {
  prediction all = one;
  all.scale(real(count));
  return all;
}

prediction predict_naive(const machine_profile& on, const product_size& p) {
  const costs::ladder_cost& cost = costs::models_of(on.limits).ladder;
  const double clocks =
      operand_bytes(p, sizeof(float)) < on.cache_size.value ? cost.naive_clocks : cost.naive_clocks_of_memory;
  prediction all;
  all.add(limit::launch, on.launch.value);
  all.add(limit::memory, real(p.m) * real(p.n) / 32 * real(p.k) * clocks /
                             (std::max(1, on.limits.multiprocessors) * on.clock.value));
  return times(all, p.count);
}

prediction predict_tiles(const machine_profile& on, const pipeline_shape& shape, const product_size& p,
                         extent2 tile, int tile_k, int wide) {
  if (shape.resident == 0) return does_not_fit();
  prediction all;
  const std::int64_t tiles = ceil_div<std::int64_t>(p.m, tile.m) * ceil_div<std::int64_t>(p.n, tile.n);
  if (tiles > 0)
    all = blocks_seconds(on, shape.step, tiles, ceil_div<std::int64_t>(p.k, tile_k), shape.resident);
  all.add(limit::launch, on.launch.value);
  all.add(limit::stores, stores_seconds(on, p, tile, shape.resident, stores_singly(p, wide)));
  return times(all, p.count);
}

}  // namespace

// The share of the latency of loads that block their warps which other warps do not hide, where one barrier a
// step lets these run apart. Fitted to textbook-double at 1024^3 and 4096^3 on an H200.
constexpr double open_latency_of_stores_first = 0.4;

pipeline_shape shape_of(const machine_profile& on, const policy& p, double bytes) {
  pipeline_shape s;
  // of 4 bytes for each thread
  const double warps = p.threads() / 32., a = p.tile.m * p.tile_k / 32., b = p.tile.n * p.tile_k / 32.;
  const auto copies = [](const operand_policy& o, double narrow) { return narrow / o.copy_width; };
  const double all_copies = copies(p.a, a) + copies(p.b, b);
  const double reads = warps * reads_of_step(p);
  s.step = {.threads = p.threads(),
            .stages = p.stores_first ? 1 : p.stages,  // inside a warp the second buffer hides nothing
            .asynchronous = p.copy == copy_kind::asynchronous,
            .registers_ahead = p.fragments > 1,
            .arithmetic = real(p.tile.m) * p.tile.n * p.tile_k / on.multiply_adds.value,
            .issue = warps * p.slice_k() * p.thread.m * p.thread.n + reads,
            .shared = reads,
            .latency = latency_of(on, bytes) * (p.stores_first ? open_latency_of_stores_first : 1)};
  if (s.step.asynchronous) {
    s.step.issue += copy_instructions * all_copies;
    for (const auto& [how, narrow] : {std::pair{p.a, a}, std::pair{p.b, b}}) {
      s.step.shared += copies(how, narrow) * (how.copy_width > 1 ? wide_copy_clocks : narrow_copy_clocks);
      if (how.transposed()) s.step.issue += transposing_instructions * copies(how, narrow);
    }
  } else {
    s.step.issue += staged_instructions * all_copies;
    s.step.shared += staged_copy_clocks * all_copies;
  }
  s.step.shared *= 128 / on.shared_bytes.value;
  s.shared_bytes = shared_bytes_of(p);
  s.registers = registers_of(p);
  s.resident = resident_of(on, p.threads(), s.shared_bytes, s.registers);
  return s;
}

pipeline_shape shape_of(const machine_profile& on, const tensor_core_step& how, double bytes) {
  constexpr int warpgroups_threads = 384, threads = 256, registers = 128;
  constexpr std::size_t line_boxes = 8 * 16 * 144;  // in which eight warps turn their sums into lines
  pipeline_shape s;
  const bool engine = how.feed == feeding::engine;
  const double processors = std::max(1, on.limits.multiprocessors),
               products = real(how.tile.m) * how.tile.n * how.tile_k;
  const int slot_bytes = 2 * (how.tile.m + how.tile.n) * how.tile_k;
  const costs::models& fitted_here = costs::models_of(on.limits);
  // All of a large slot has to come before any of it is used.
  const double transfer = engine ? 2 * slot_bytes / (1e6 * fitted_here.linear.couple) : 0;
  s.step = {.threads = engine ? warpgroups_threads : threads,
            .stages = how.stages,
            .meets = !engine,
            .latency = latency_of(on, bytes) + transfer};
  // wgmma: the Tensor Cores' rate at the power-limited clock, in cycles of the full clock. mma.sync: its rate
  // at the full clock.
  const double sustained = on.tensor_fp16.value / processors / on.clock.value;
  const double full = on.tensor_fp16.value / processors / on.clock_under_power.value;
  s.step.arithmetic =
      products / (engine ? sustained : std::min(warp_multiplies, fitted_here.ladder.warp_multiplies * full));
  s.shared_bytes = static_cast<std::size_t>(slot_bytes * how.stages) + line_boxes;
  s.registers = engine ? 168 : registers;
  s.resident = resident_of(on, s.step.threads, s.shared_bytes, s.registers);
  return s;
}

// `element`: bytes of one of an operand; `multiplying`: seconds.
static roofline longest(const machine_profile& on, const product_size& p, std::size_t element,
                        double multiplying) {
  const double operands = operand_bytes(p, element) * (p.shares ? 1 : real(p.count));
  const double bytes = operands + sizeof(float) * real(p.count) * real(p.m) * real(p.n) * (p.adds_c ? 2 : 1);
  const double moving = least_to_move(on, bytes);
  return moving > multiplying ? roofline{moving, limit::memory} : roofline{multiplying, limit::arithmetic};
}
static double products_of(const product_size& p) { return real(p.count) * real(p.m) * real(p.n) * real(p.k); }
// Tensor Cores at the clock that they have before power takes some of it.
static double at_full_clock(const machine_profile& on, const machine_figure& rate) {
  return rate.value * on.clock.value / on.clock_under_power.value;
}

roofline roofline_of(const machine_profile& on, const tensor_work& work, const product_size& p) {
  const double products = work.products * products_of(p);
  if (!work.converts) return longest(on, p, sizeof(float), products / at_full_clock(on, on.*work.rate));
  const double converted =
      real(p.count) * real(p.m) * real(p.n) + operand_bytes(p, 1) * (p.shares ? 1 : real(p.count));
  return longest(on, p, sizeof(float), (products + converted) / (on.*work.rate).value);
}
roofline roofline_of(const machine_profile& on, const policy& how, const product_size& p) {
  constexpr double clocks_of_one = 4;  // from one multiply-add to the next that needs its result
  const double in_a_row = (p.m * p.n == 0 ? 0 : real(p.k)) / how.slices * clocks_of_one / on.clock.value;
  const double all =
      products_of(p) / (on.multiply_adds.value * std::max(1, on.limits.multiprocessors) * on.clock.value);
  return longest(on, p, sizeof(float), std::max(all, in_a_row));
}
roofline roofline_of(const machine_profile& on, const tensor_core_step&, const product_size& p) {
  return longest(on, p, 2, products_of(p) / at_full_clock(on, on.tensor_fp16));
}
static prediction not_below(const roofline& least, prediction fitted_time) {
  fitted_time.raise_to(least.seconds, least.limit);
  return fitted_time;
}

prediction predict(const machine_profile& on, const policy& how, const product_size& p) {
  return not_below(roofline_of(on, how, p),
                   how.tile_k == 1 ? predict_naive(on, p)
                                   : predict_tiles(on, shape_of(on, how, operand_bytes(p, sizeof(float))), p,
                                                   how.tile, how.tile_k, how.read_width));
}
prediction predict(const machine_profile& on, const tensor_core_step& how, const product_size& p) {
  // Warpgroups store lines of memory, whatever multiple of 4 bytes these begin at.
  const int side_by_side = how.feed == feeding::engine ? 1 : 2;
  return not_below(roofline_of(on, how, p), predict_tiles(on, shape_of(on, how, operand_bytes(p, 2)), p,
                                                          how.tile, how.tile_k, side_by_side));
}

prediction explained(const machine_profile& on, const tensor_work& work, const product_size& p,
                     double seconds) {
  const double products = products_of(p);
  const double c = real(p.m) * real(p.n) * (p.adds_c ? 2 : 1);
  const double moving = sizeof(float) * real(p.count) * (real(p.m) * real(p.k) + real(p.k) * real(p.n) + c) /
                        on.memory_bytes.value;
  const double rate = (on.*work.rate).value;
  const double multiplying = rate > 0 ? work.products * products / rate : 0;
  prediction all;
  const double launch = std::min(on.launch.value, seconds),
               longer = std::min(std::max(moving, multiplying), seconds - launch);
  all.add(limit::launch, launch);
  all.add(moving > multiplying ? limit::memory : limit::arithmetic, longer);
  all.add(limit::waiting, seconds - launch - longer);
  return all;
}

}  // namespace antiphase::gemms
