// SPDX-License-Identifier: Apache-2.0
// Advice: the model's answers, compared and put into words.
#include <antiphase/advise.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <antiphase/context.hpp>
#include <antiphase/core/error.hpp>
#include <antiphase/core/names.hpp>
#include <antiphase/executor/cpu/cpu_executor.hpp>
#include <antiphase/gemm.hpp>
#include <antiphase/gemm/policies.hpp>
#include <antiphase/scan/cost.hpp>
#include <cmath>
#include <limits>
#include <utility>

#include "library/scan/choose.hpp"

namespace antiphase {
namespace {

constexpr int most_stages = 6;
constexpr double worth_it = 0.02;  // smaller gains are within the model's error

std::string seconds_text(double s) {
  return s < 1e-3 ? fmt::format("{:.4g} us", s * 1e6) : fmt::format("{:.4g} ms", s * 1e3);
}
std::string gain_text(double gain) { return fmt::format("{:+.1f} %", 100 * gain); }
std::string kib_text(double bytes) { return fmt::format("{:.3g} KiB", bytes / 1024); }

std::string_view meaning(limit l) {
  switch (l) {
    case limit::launch: return "launching it, so that neither memory nor arithmetic counts";
    case limit::memory: return "memory: the bytes that have to be moved";
    case limit::arithmetic: return "arithmetic: the multiplying units are busy";
    case limit::issue:
      return "issue slots: instructions next to multiply-adds; more outputs per thread and wider copies "
             "help, "
             "stages do not";
    case limit::shared_memory:
      return "shared memory, which has more reads than it serves in the time; more outputs per thread help";
    case limit::latency: return "latency: loads that nothing hides; more stages or more blocks help";
    case limit::barriers: return "barriers and what a step costs besides; longer steps help";
    case limit::stores: return "storing the result";
    case limit::waiting: break;
  }
  return "waiting: blocks that start, finish and wait for each other, and multiprocessors without a block";
}

std::string limit_text(const advised_policy& p) {
  const limit most = p.takes.largest();
  return fmt::format("{}: {} ({} of {} would be saved without)", p.name, meaning(most),
                     seconds_text(p.takes.saved_without(most)), seconds_text(p.takes.seconds));
}

// A stand-in with the device's limits, for choices only: nothing runs on it.
context simulated(const machine_profile& on) { return context(make_cpu_executor({.limits = on.limits})); }

gemm_problem imagined(const gemms::product_size& p) {
  const auto address = [](std::uintptr_t number) { return reinterpret_cast<float*>(number << 44); };
  return {.a = row_major<const float>(address(1), p.m, p.k),
          .b = row_major<const float>(address(2), p.k, p.n),
          .c = row_major(address(3), p.m, p.n),
          .beta = p.adds_c ? 1.0F : 0.0F};
}
gemm_options options_of(const gemms::product_size& p, std::string_view policy = "auto") {
  gemm_options how{.policy = policy};
  if (p.count != 1)
    how.batch = {.count = p.count, .a_stride = p.m * p.k, .b_stride = p.k * p.n, .c_stride = p.m * p.n};
  return how;
}

bool runs(const context& where, const gemms::product_size& p, std::string_view policy) {
  try {
    explain(where, imagined(p), options_of(p, policy));
    return true;
  } catch (const not_supported&) {
    return false;
  }
}

void sort(std::vector<advised_policy>& list) {
  std::ranges::stable_sort(list, [](const advised_policy& a, const advised_policy& b) {
    return a.takes.seconds < b.takes.seconds;
  });
}

// The policy with another number of stages.
advised_stages stages_of(const machine_profile& on, const gemms::policy& how, int stages,
                         const gemms::product_size& p, double bytes) {
  gemms::policy with = how;
  with.stages = stages;
  const gemms::pipeline_shape shape = gemms::shape_of(on, with, bytes);
  advised_stages one{.stages = stages,
                     .fits = shape.resident > 0,
                     .shared_bytes = shape.shared_bytes,
                     .resident = shape.resident};
  if (!one.fits) return one;
  const prediction takes = gemms::predict(on, with, p);
  one.occupancy =
      static_cast<double>(shape.resident * shape.step.threads) / on.limits.threads_per_multiprocessor;
  one.bytes_in_flight = static_cast<double>(shape.resident) * std::max(1, stages - 1) *
                        static_cast<double>(shape.shared_bytes) / stages;
  one.seconds = takes.seconds;
  const auto elements = [](std::int64_t x, std::int64_t y) {
    return static_cast<double>(x) * static_cast<double>(y);
  };
  one.bandwidth = 4 * static_cast<double>(p.count) *
                  (elements(p.m, p.k) + elements(p.k, p.n) + elements(p.m, p.n)) / takes.seconds /
                  on.memory_bytes.value;
  one.largest = takes.largest();
  return one;
}
// By the textbooks' formulas, for the extents of tiles that they try, and further ones.
std::vector<textbook_tile> textbook_tiles(const machine_profile& on) {
  std::vector<textbook_tile> all;
  const double processors = std::max(1, on.limits.multiprocessors);
  for (const int extent : {8, 16, 32, 64, 128}) {
    const double area = static_cast<double>(extent) * extent;
    all.push_back({.extent = extent,
                   .times = {2 * area * 4 / (on.memory_bytes.value / processors),
                             area * extent / (on.multiply_adds.value * on.clock.value)}});
  }
  return all;
}
void find_gains(std::vector<advised_stages>& list) {
  const double one = list.empty() ? 0 : list.front().seconds;
  for (advised_stages& s : list) s.gain = s.fits && one > 0 ? one / s.seconds - 1 : 0;
}
// By how much the speed with this many buffers was overestimated at worst, over that with one: kernels of
// `bench overlap` with one block on a multiprocessor, 40 records of an H100 (docs/learn/model.md).
double most_overestimated(int stages) {
  constexpr double worst[] = {1, 1, 1.12, 1.27, 1.42, 1.73, 1.73, 1.73, 1.73};
  return worst[std::clamp(stages, 0, 8)];
}
void find_least_gains(std::vector<advised_stages>& list) {
  double before = 0;  // a further buffer is no slower
  for (advised_stages& s : list)
    if (s.fits)
      s.least_gain = before =
          std::min(s.gain, std::max(before, (1 + s.gain) / most_overestimated(s.stages) - 1));
}
// The fewest stages that are as fast as any, within the model's error.
const advised_stages* fewest_of(const std::vector<advised_stages>& list) {
  const advised_stages* best = nullptr;
  for (const advised_stages& s : list)
    if (s.fits && (best == nullptr || s.gain > best->gain + worth_it)) best = &s;
  return best;
}

void say_stages(advice& a) {
  const advised_stages* const best = fewest_of(a.stages);
  if (best == nullptr) {
    a.recommends.push_back(fmt::format(
        "{} does not fit: even one slot takes more shared memory or threads than a block may have",
        a.pipelined));
    return;
  }
  const std::string textbook =
      fmt::format("the textbooks' formula predicts {} to two", gain_text(a.textbook_gain - 1));
  if (best->stages == 1)
    a.recommends.push_back(fmt::format("{}: one buffer; more are predicted to gain less than {:.0f} % ({})",
                                       a.pipelined, 100 * worth_it, textbook));
  else
    a.recommends.push_back(fmt::format(
        "{}: {} buffers, {} over one ({}); {} {}", a.pipelined, best->stages, gain_text(best->gain), textbook,
        best->stages == most_stages ? "no more were looked at:" : "after that it is limited by",
        name_of(a, best->largest)));
  for (const advised_stages& s : a.stages) {
    if (s.stages <= best->stages || s.stages != best->stages + 1) continue;
    if (!s.fits)
      a.recommends.push_back(fmt::format("{} buffers do not fit", s.stages));
    else if (s.resident < best->resident)
      a.recommends.push_back(
          fmt::format("{} buffers would leave room for {} instead of {} blocks on a multiprocessor: {}",
                      s.stages, s.resident, best->resident, gain_text(best->seconds / s.seconds - 1)));
  }
}

// Where another policy would be chosen: doubles or halves each extent, up to four times.
void say_changes(advice& a, const context& where, const gemms::product_size& p) {
  struct extent {
    const char* name;
    std::int64_t gemms::product_size::*extent;
  };
  constexpr int farthest = 4;
  constexpr std::int64_t largest = 1 << 20;
  for (const extent& e :
       {extent{"M", &gemms::product_size::m}, {"N", &gemms::product_size::n}, {"K", &gemms::product_size::k}})
    for (const bool up : {false, true}) {
      gemms::product_size other = p;
      for (int i = 0; i < farthest; ++i) {
        other.*e.extent = up ? other.*e.extent * 2 : other.*e.extent / 2;
        if (other.*e.extent < 1 || other.*e.extent > largest) break;
        const std::string chosen = explain(where, imagined(other), options_of(other)).kernel;
        if (chosen == a.pick.name) continue;
        a.changes.push_back(fmt::format("with {} = {} it would be {}", e.name, other.*e.extent, chosen));
        break;
      }
    }
  if (a.changes.empty())
    a.changes.push_back(fmt::format("M, N or K sixteen times as large or small: still {}", a.pick.name));
}

void require(bool holds, std::string_view what, std::int64_t value, std::string_view expected) {
  if (!holds) throw bad_request(fmt::format("{} is {}: expected {}", what, value, expected));
}

advice advice_on(const machine_profile& on) {
  advice a;
  a.machine = on;
  a.bytes_needed_in_flight = on.memory_in_flight.value;
  return a;
}

constexpr std::int64_t largest_extent = std::int64_t{1} << 31;

// The ladder step for which stages are compared: tiles of 128 x 128 x 16, asynchronous copies.
constexpr const char* ladder_kernel = "register-tile";

}  // namespace

advice advise_gemm(const machine_profile& on, const gemms::product_size& p) {
  for (const auto& [what, value] : {std::pair{"m", p.m}, {"n", p.n}, {"k", p.k}, {"count", p.count}})
    require(value >= 1 && value < largest_extent, what, value, "1 to 2^31 - 1");
  advice a = advice_on(on);
  a.about = fmt::format("product of {} x {} x {}{}", p.m, p.n, p.k,
                        p.count == 1 ? "" : fmt::format(", {} of them", p.count));
  const context where = simulated(on);
  const gemm_choice chosen = explain(where, imagined(p), options_of(p));
  for (const gemm_choice::candidate& c : chosen.considered) {
    const std::string refusal = c.kernel + ": ";
    if (std::ranges::none_of(chosen.refused,
                             [&](const std::string& why) { return why.starts_with(refusal); }) &&
        runs(where, p, c.kernel))
      a.others.push_back(
          {c.kernel, gemms::explained(on, gemms::find_policy(c.kernel)->work, p, c.predicted)});
  }
  a.pick = {chosen.kernel,
            gemms::explained(on, gemms::find_policy(chosen.kernel)->work, p, chosen.predicted)};
  a.compared = a.others.size();
  std::vector<advised_policy> steps;
  for (const gemms::step& s : gemms::steps) {
    if (first_missing(features_of(on.limits), gemms::needs_of(s)) != nullptr) continue;
    const gemms::plan plan = gemms::prepare(target::cpu, s, imagined(p));
    if (const prediction takes = gemms::predict(on, plan.instance.policy, p); std::isfinite(takes.seconds))
      steps.push_back({s.name, takes});
  }
  sort(steps);
  for (const advised_policy& s : steps)
    if (s.name == a.pick.name) a.pick = s;  // a ladder step: its cost model has more parts
  a.others.insert(a.others.end(), steps.begin(), steps.end());

  const double bytes = 4. * (static_cast<double>(p.m) + static_cast<double>(p.n)) * static_cast<double>(p.k);
  const gemms::policy& how = gemms::find_step(ladder_kernel).policy;
  a.pipelined = fmt::format("ladder step {}", ladder_kernel);
  for (int stages = 1; stages <= most_stages; ++stages)
    a.stages.push_back(stages_of(on, how, stages, p, bytes));
  find_gains(a.stages);
  gemms::policy one = how;
  one.stages = 1;
  const pipeline_step step = gemms::shape_of(on, one, bytes).step;
  const double load = step.latency * on.clock.value, both = step_clocks(on, step, 1).seconds;
  a.textbook_gain = textbook_times{load, both - load}.gain();
  a.textbook = textbook_tiles(on);

  a.limits.push_back(limit_text(a.pick));
  a.recommends.push_back(
      fmt::format("policy {}: {}", a.pick.name, chosen.why.empty() ? "" : chosen.why.front()));
  say_stages(a);
  say_changes(a, where, p);
  constexpr double much = 1.1;
  if (!steps.empty() && much * steps.front().takes.seconds < a.pick.takes.seconds)
    a.changes.push_back(fmt::format("{} would take {} with a weaker bound, {} instead of {}",
                                    steps.front().name, seconds_text(steps.front().takes.seconds),
                                    to_text(gemms::find_policy(steps.front().name)->promise(on.limits, p.k)),
                                    to_text(chosen.bound)));
  return a;
}

advice advise_scan(const machine_profile& on, std::int64_t count, std::size_t size) {
  require(count >= 1 && count <= std::int64_t{1} << 40, "count", count, "1 to 2^40 elements");
  require(size == 1 || size == 2 || size == 4 || size == 8, "size", static_cast<std::int64_t>(size),
          "1, 2, 4 or 8 bytes of an element");
  advice a = advice_on(on);
  a.about = fmt::format("inclusive sums of {} elements of {} bytes", count, size);
  const device_features has = features_of(on.limits);
  const auto fits = [&](const scans::step& s) {
    return first_missing(has, scans::candidate_of(s).needs) == nullptr;
  };
  for (const scans::step& s : scans::steps)
    if (const prediction takes = scans::predict(on, s, count, size); fits(s) && std::isfinite(takes.seconds))
      a.others.push_back({s.name, takes});
  sort(a.others);
  a.pick = a.others.front();

  a.pipelined = "ring of single-pass";
  const scans::ring_policy& ring = scans::find_step("single-pass").ring;
  for (int stages = 1; fits(scans::find_step("single-pass")) && stages <= ring.stages; ++stages) {
    scans::step with = scans::find_step("single-pass");
    with.ring.stages = stages;
    const prediction takes = scans::predict(on, with, count, size);
    const auto bytes = static_cast<std::size_t>(ring.tile_bytes() * stages);
    a.stages.push_back(
        {.stages = stages,
         .fits = bytes <= on.limits.shared_opt_in,
         .shared_bytes = bytes,
         .resident = 1,
         .occupancy = static_cast<double>(ring.threads()) / on.limits.threads_per_multiprocessor,
         .bytes_in_flight = static_cast<double>(std::min(stages, ring.in_flight) * ring.tile_bytes()),
         .bandwidth = 2 * static_cast<double>(count) * static_cast<double>(size) / takes.seconds /
                      on.memory_bytes.value,
         .seconds = takes.seconds,
         .largest = takes.largest()});
  }
  find_gains(a.stages);
  const scans::step one = scans::find_step("single-pass-1");
  const prediction single = scans::predict(on, one, count, size);
  if (fits(one)) a.textbook_gain = textbook_times{single.of(limit::memory), single.of(limit::latency)}.gain();
  a.limits.push_back(limit_text(a.pick));
  a.recommends.push_back(fmt::format("policy {}: {}", a.pick.name, scans::find_step(a.pick.name).adds));
  if (!a.stages.empty()) say_stages(a);
  const auto best_of = [&](std::int64_t other) {
    const scans::step* best = nullptr;
    double least = std::numeric_limits<double>::infinity();
    for (const scans::step& s : scans::steps)
      if (const double takes = scans::predict(on, s, other, size).seconds; fits(s) && takes < least)
        best = &s, least = takes;
    return best->name;
  };
  for (const bool up : {false, true})
    for (std::int64_t other = up ? count * 2 : count / 2; other >= 1 && other <= std::int64_t{1} << 32;
         other = up ? other * 2 : other / 2)
      if (const std::string best = best_of(other); best != a.pick.name) {
        a.changes.push_back(fmt::format("with {} elements it would be {}", other, best));
        break;
      }
  return a;
}

namespace {
std::string_view form_text(const own_kernel& k) {
  using enum pipeline_step::next_loads;
  if (k.by_roles)
    return k.asynchronous
               ? "roles (some warps load, a channel): S buffers have S loads in flight"
               : "roles (some warps load, through registers): one load is in flight, however many buffers";
  if (k.next == blocking)
    return "pipeline (all warps load and compute) that waits for the next slot's loads before it computes: "
           "nothing overlaps within a warp, however many buffers";
  if (k.asynchronous)
    return k.next == before ? "pipeline (all warps load and compute) whose copies begin before the wait for "
                              "the slot in use: S buffers have S loads in flight"
                            : "pipeline (all warps load and compute): S buffers have S - 1 loads in flight";
  return k.next == before
             ? "pipeline (all warps load, through registers, and compute): the next slot's data "
               "wait in registers, so one load is in flight with one buffer, too"
             : "pipeline (all warps load, through registers, and compute): one load is in flight, "
               "however many buffers";
}

// What a step is known to take replaces its prediction, and scales the others where as many blocks are
// resident. With a buffer more it takes no longer, and a block alone no less than it computes.
void know_step(advice& a, const own_kernel& k) {
  if (k.slots == 0 || !a.stages[static_cast<std::size_t>(k.slots - 1)].fits) return;
  const advised_stages predicted = a.stages[static_cast<std::size_t>(k.slots - 1)];
  const double known = k.step / predicted.resident;
  for (advised_stages& s : a.stages) {
    if (!s.fits || s.resident != predicted.resident) continue;
    double takes = known;
    if (s.stages != k.slots) takes *= s.seconds / predicted.seconds;
    if (s.stages > k.slots)
      takes = std::clamp(takes, s.resident == 1 ? std::min(k.compute, known) : 0, known);
    a.others[static_cast<std::size_t>(s.stages - 1)].takes.scale(takes / s.seconds);
    s.bandwidth *= s.seconds / takes;
    s.seconds = takes;
  }
}
}  // namespace

advice advise_kernel(const machine_profile& on, const own_kernel& k) {
  require(k.threads >= 1 && k.threads <= on.limits.threads_per_block, "threads", k.threads,
          fmt::format("1 to {}", on.limits.threads_per_block));
  require(k.registers >= 1 && k.registers <= 255, "regs", k.registers, "1 to 255");
  require(k.blocks >= 0, "blocks", k.blocks, "1 or more, or 0 for as many as fit");
  if (k.smem == 0 || k.smem > std::size_t{1} << 30)
    throw bad_request("smem: expected the bytes of a slot, 1 to 2^30");
  if (!(k.compute > 0)) throw bad_request("compute: expected the time that a block computes from a slot");
  require(k.slots >= 0 && k.slots <= most_stages, "slots", k.slots,
          fmt::format("1 to {}, the buffers with which a step takes step=", most_stages));
  if ((k.slots > 0) != (k.step > 0))
    throw bad_request("slots and step: expected both, or none: a step takes so long with so many buffers");
  if (k.by_roles && k.next != pipeline_step::next_loads::after)
    throw bad_request("next: expected form=pipeline: with roles, a slot is loaded as soon as it is free");
  const double clock = on.clock.value,
               bytes = k.load_bytes.value_or(k.load_seconds ? 0 : static_cast<double>(k.smem));
  const double latency =
      k.load_seconds.value_or((k.in_cache ? on.cache_latency : on.memory_latency).value +
                              bytes / ((k.in_cache ? on.cache_bytes : on.memory_bytes).value /
                                       std::max(1, on.limits.multiprocessors)));
  advice a = advice_on(on);
  a.about = fmt::format("a kernel of {} threads, {} registers, {} bytes a slot; its form: {}", k.threads,
                        k.registers, k.smem, form_text(k));
  a.pipelined = "this kernel";
  a.textbook_gain = textbook_times{latency, k.compute}.gain();
  a.in_cache = k.in_cache;
  a.bytes_needed_in_flight = in_flight_wanted(on, k.in_cache);
  const double barriers = k.by_roles ? 0 : fitted::barrier_of_warp * std::ceil(k.threads / 32.) / clock;
  for (int stages = 1; stages <= most_stages; ++stages) {
    kernel code{};
    code.threads = k.threads;
    code.shared_bytes = k.fixed + k.smem * static_cast<std::size_t>(stages);
    code.shared = shared_kind::dynamic;
    advised_stages one{.stages = stages, .shared_bytes = code.shared_bytes};
    one.resident =
        shortage_of(on.limits, code) == shortage::none ? resident_blocks(on.limits, code, k.registers) : 0;
    if (k.blocks > 0) one.resident = std::min(one.resident, k.blocks);
    one.fits = one.resident > 0;
    if (one.fits) {
      pipeline_step s{.threads = k.threads,
                      .stages = stages,
                      .asynchronous = k.asynchronous,
                      .by_roles = k.by_roles,
                      .next = k.next,
                      .bytes = bytes,
                      .in_cache = k.in_cache,
                      .latency = latency};
      if (takes_turns(s))
        s.latency = std::max(0., latency - k.issue);  // which passes while the loads come
      else if (!s.asynchronous || s.next != pipeline_step::next_loads::before)
        s.latency += barriers;  // the next load begins after the barrier that ends a step
      s.arithmetic = 1;
      const double alone =
          1 / step_clocks(on, {.threads = k.threads, .stages = 2, .meets = true, .arithmetic = 1}, 1)
                  .of(limit::arithmetic);
      // busy clocks within it, without the stalls of a block's few warps
      s.arithmetic = std::max(0., k.compute - barriers) * clock * alone;
      const prediction takes = step_clocks(on, s, one.resident);
      one.seconds = takes.seconds / one.resident / clock;
      one.bandwidth = bytes / one.seconds * std::max(1, on.limits.multiprocessors) /
                      (k.in_cache ? on.cache_bytes : on.memory_bytes).value;
      one.largest = takes.largest();
      one.occupancy = static_cast<double>(one.resident * k.threads) / on.limits.threads_per_multiprocessor;
      one.bytes_in_flight =
          one.resident * std::max(1, loads_ahead(s)) * (bytes > 0 ? bytes : static_cast<double>(k.smem));
      a.others.push_back({fmt::format("{} stage{}", stages, stages == 1 ? "" : "s"), takes});
    }
    a.stages.push_back(one);
  }
  know_step(a, k);
  find_gains(a.stages);
  find_least_gains(a.stages);
  for (advised_policy& p : a.others) p.takes.scale(1 / clock);
  const advised_stages* const best = fewest_of(a.stages);
  a.stages_that_fit =
      static_cast<int>((on.limits.shared_opt_in - std::min(on.limits.shared_opt_in, k.fixed)) / k.smem);
  if (best != nullptr) {
    for (const int tiles : {1, 2, 3, 4, 8, 16, 64}) {
      // the first tile takes what it takes with one buffer, each further one a step
      const auto gain = [&](double one, double more) { return tiles * one / (one + (tiles - 1) * more) - 1; };
      const textbook_times times{latency, k.compute};
      a.by_tiles.push_back({.tiles = tiles,
                            .textbook_gain = gain(times.one_buffer(), times.two_buffers()),
                            .gain = gain(a.stages.front().seconds, best->seconds)});
    }
    a.pick = a.others[static_cast<std::size_t>(best->stages - 1)];
    std::string_view why = meaning(best->largest);
    if (best->largest == limit::arithmetic) why = "computation: what a block does with a slot";
    if (best->largest == limit::latency && !k.asynchronous)
      why = "latency: one load is in flight at a time; asynchronous copies or more blocks help";
    a.limits.push_back(fmt::format("with {}: {}", a.pick.name, why));
    if (best->largest == limit::memory || best->largest == limit::latency) {
      const double has = best->bytes_in_flight, wants = a.bytes_needed_in_flight;
      const char* const what = k.in_cache ? "the L2 cache" : "memory";
      a.limits.push_back(
          has < wants
              ? fmt::format("{} in flight on a multiprocessor, and {} wants {} to be busy (bandwidth x "
                            "latency under load): {}larger slots help",
                            kib_text(has), what, kib_text(wants), k.asynchronous ? "more or " : "")
              : fmt::format("{} in flight on a multiprocessor are enough for {}, which is busy with "
                            "{} (bandwidth x latency under load)",
                            kib_text(has), what, kib_text(wants)));
    }
    const double ratio = latency / k.compute;
    a.changes.push_back(ratio > 1 ? fmt::format("a load takes {:.2g} times as long as the computation: a "
                                                "slot that is computed from for longer would hide it "
                                                "with fewer buffers",
                                                ratio)
                                  : fmt::format("the computation takes {:.2g} times as long as a load: the "
                                                "most that buffers can hide is {:.0f} % of a step",
                                                1 / ratio, 100 * ratio / (1 + ratio)));
    if (best->resident > 1)
      a.changes.push_back(
          fmt::format("{} blocks on a multiprocessor already compute while others wait: with one, buffers "
                      "would gain more",
                      best->resident));
  }
  say_stages(a);
  return a;
}

}  // namespace antiphase
