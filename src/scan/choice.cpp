// Which step scans a problem, why, and what that means in numbers.
#include "src/scan/choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <antiphase/core/tile.hpp>
#include <antiphase/executor/executor.hpp>
#include <antiphase/scan.hpp>
#include <antiphase/scan/ladder.hpp>
#include <cstdint>
#include <span>

#include "src/scan/wave/wave_plan.hpp"
#include "src/scan/request.hpp"
#include "src/scan/ring/ring_plan.hpp"

namespace antiphase {
namespace scans {
namespace {

constexpr std::int64_t few_bytes = 1 << 16;  // up to these the ring does not pay on a GPU

std::string refusal_of(const step& s, const std::string& why) { return fmt::format("{}: {}", s.name, why); }

// What neither one wave nor blocks for short lines have taken.
const step& once_or_twice(const executor& on, const problem& p, reasons* tell) {
  const step &once = select_single_pass(on), &twice = find_step("items");
  const std::string no_passes = passes_refuse(p), no_single_pass = single_pass_refuses(on, p, nullptr, once);
  const std::int64_t bytes = p.outer * p.length * static_cast<std::int64_t>(size_of(p.type));
  const bool on_gpu = on.kind() == target::cuda;
  const bool preferred = (on_gpu && bytes > few_bytes) || !no_passes.empty();
  const step& how = preferred && no_single_pass.empty() ? once : twice;
  if (tell == nullptr) return how;
  if (!no_passes.empty()) tell->refused.push_back(refusal_of(twice, no_passes));
  if (&how == &once) {
    tell->why.push_back(no_passes.empty() ? "it reads the array once" : "no other step has kernels for this");
    return how;
  }
  if (!no_single_pass.empty())
    tell->refused.push_back(refusal_of(once, no_single_pass));
  else
    tell->refused.push_back(
        refusal_of(once, on_gpu ? fmt::format("lines of {} bytes in all are too few for its ring to pay", bytes)
                                : "on the CPU executor reading twice costs nothing that counts, and the ring's many threads do"));
  tell->why.push_back("it takes lines of any length and any axis, in several kernels that read the array twice");
  return how;
}

}  // namespace

const step* select_short_lines(const executor& on, const problem& p) {
  if (on.kind() != target::cpu || p.outer * p.inner < 2 || !passes_refuse(p).empty()) return nullptr;
  for (const step& s : short_line_steps)
    if (p.length <= s.how.tile(size_of(p.type))) return &s;
  return nullptr;
}

const step& select(const executor& on, const problem& p, reasons* tell) {
  require_sensible(p);
  if (is_empty(p)) {
    if (tell != nullptr) tell->why.push_back("there is nothing to scan");
    return find_step("items");
  }
  if (on.kind() == target::cuda) {
    const step& wave = find_step("one-wave");
    const std::string why_not = one_wave_refuses(on, p);
    if (why_not.empty()) {
      if (tell != nullptr) tell->why.push_back("the line is short enough for the registers of blocks that run all at once");
      return wave;
    }
    if (tell != nullptr) tell->refused.push_back(refusal_of(wave, why_not));
  }
  if (const step* const small = select_short_lines(on, p)) {
    if (tell != nullptr)
      tell->why.push_back(
          fmt::format("{} lines of {} elements, and on the CPU executor every thread of a block costs time: {} is enough for a line",
                      p.outer * p.inner, p.length, small->how.threads == 1 ? "one" : "a warp"));
    return *small;
  }
  return once_or_twice(on, p, tell);
}

const step& select_step(const executor& on, const problem& p) { return select(on, p, nullptr); }

void require_has_segments(const step& how) {
  if (how.name != std::string_view("single-pass") && how.name != std::string_view("single-pass-async"))
    throw not_supported(fmt::format("scan policy {} has no segments: expected auto, single-pass or single-pass-async", how.name));
}

namespace {

scan_choice described(const executor& on, const problem& p, const scan_keys* keys, const step& how, reasons told) {
  scan_choice c{.kernel = how.name, .why = std::move(told.why), .refused = std::move(told.refused)};
  c.workspace = keys != nullptr ? single_pass_workspace(p, keys, how) : workspace_bytes(how, p);
  // Any address will do: nothing runs, and a large problem's workspace would be large.
  const std::span<std::byte> memory(reinterpret_cast<std::byte*>(std::uintptr_t{256}), c.workspace);
  const auto launches = keys != nullptr ? prepare_single_pass(on, p, keys, memory, how) : prepare(on, how, p, memory);
  for (const launchable& l : launches) {
    if (const auto why = refusal(on.limits(), l.code)) throw not_supported(*why);
    c.threads = l.code.threads;
    c.blocks = std::max(c.blocks, l.grid.count());
  }
  c.launches = static_cast<int>(launches.size());
  if (launches.empty()) return c;
  if (is_one_wave(how)) {
    const wave_tiles wave = one_wave_tiles(p);
    c.tile = wave.elements;
    c.tiles = wave.count;
  } else if (is_single_pass(how)) {
    const tile_ring ring = single_pass_ring(on, p, keys, how);
    c.tile = ring.tile;
    c.stages = ring.stages;
    c.tiles = ceil_div(p.outer * p.length, c.tile);
  } else {
    c.tile = how.how.tile(size_of(p.type));
    c.tiles = p.outer * p.inner * ceil_div(p.length, c.tile);
  }
  return c;
}

const step& as_asked(std::string_view policy, reasons& tell) {
  tell.why.push_back(fmt::format("policy {} was asked for", policy));
  return find_policy(policy);
}

}  // namespace
}  // namespace scans

scan_choice explain(const context& where, const scans::problem& p, const scan_options& options) {
  const executor& on = where.runs_on();
  scans::reasons told;
  const scans::step& how = options.policy == "auto" ? scans::select(on, p, &told) : scans::as_asked(options.policy, told);
  return scans::described(on, p, nullptr, how, std::move(told));
}

scan_choice explain(const context& where, const scans::problem& p, const scans::scan_keys& keys, const scan_options& options) {
  const executor& on = where.runs_on();
  scans::require_sensible(p, keys);
  scans::reasons told;
  if (options.policy == "auto") told.why.push_back("segments are scanned in a single pass only");
  const scans::step& how = options.policy == "auto" ? scans::select_single_pass(on) : scans::as_asked(options.policy, told);
  scans::require_has_segments(how);
  return scans::described(on, p, &keys, how, std::move(told));
}

}  // namespace antiphase
