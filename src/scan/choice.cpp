// Which step scans a problem, why, and what that means in numbers.
#include "src/scan/choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <antiphase/core/tile.hpp>
#include <antiphase/executor/executor.hpp>
#include <antiphase/scan.hpp>
#include <antiphase/scan/short_lines.hpp>
#include <cstdint>
#include <span>

#include "src/scan/one_wave.hpp"
#include "src/scan/request.hpp"
#include "src/scan/single_pass.hpp"

namespace antiphase {
namespace prefix {
namespace {

constexpr std::int64_t few_bytes = 1 << 16;  // up to these the ring does not pay on a GPU

std::string refusal_of(const step& s, const std::string& why) { return fmt::format("{}: {}", s.name, why); }

// What neither one wave nor blocks for short lines have taken.
selection once_or_twice(const executor& on, const problem& p, selection s) {
  const step &once = select_single_pass(on), &twice = find_step("items");
  const std::string no_passes = passes_refuse(p), no_single_pass = single_pass_refuses(on, p, nullptr, once);
  const std::int64_t bytes = p.outer * p.length * static_cast<std::int64_t>(size_of(p.type));
  const bool on_gpu = on.kind() == target::cuda;
  const bool preferred = (on_gpu && bytes > few_bytes) || !no_passes.empty();
  s.how = preferred && no_single_pass.empty() ? &once : &twice;
  if (!no_passes.empty()) s.refused.push_back(refusal_of(twice, no_passes));
  if (s.how == &once) {
    s.why.push_back(no_passes.empty() ? "it reads the array once" : "no other step has kernels for this");
    return s;
  }
  if (!no_single_pass.empty())
    s.refused.push_back(refusal_of(once, no_single_pass));
  else
    s.refused.push_back(
        refusal_of(once, on_gpu ? fmt::format("lines of {} bytes in all are too few for its ring to pay", bytes)
                                : "on the CPU executor reading twice costs nothing that counts, and the ring's many threads do"));
  s.why.push_back("it takes lines of any length and any axis, in several kernels that read the array twice");
  return s;
}

}  // namespace

const step* select_short_lines(const executor& on, const problem& p) {
  if (on.kind() != target::cpu || p.outer * p.inner < 2 || !passes_refuse(p).empty()) return nullptr;
  for (const step& s : short_line_steps)
    if (p.length <= s.how.tile(size_of(p.type))) return &s;
  return nullptr;
}

selection select(const executor& on, const problem& p) {
  require_sensible(p);
  if (is_empty(p)) return {&find_step("items"), {"there is nothing to scan"}, {}};
  selection s{};
  if (on.kind() == target::cuda) {
    const step& wave = find_step("one-wave");
    const std::string why = one_wave_refuses(on, p);
    if (why.empty()) return {&wave, {"the line is short enough for the registers of blocks that run all at once"}, {}};
    s.refused.push_back(refusal_of(wave, why));
  }
  if (const step* const small = select_short_lines(on, p))
    return {small,
            {fmt::format("{} lines of {} elements, and on the CPU executor every thread of a block costs time: {} is enough for a line",
                         p.outer * p.inner, p.length, small->how.threads == 1 ? "one" : "a warp")},
            {}};
  return once_or_twice(on, p, std::move(s));
}

const step& select_step(const executor& on, const problem& p) { return *select(on, p).how; }

void require_has_segments(const step& how) {
  if (how.name != std::string_view("single-pass") && how.name != std::string_view("single-pass-async"))
    throw not_supported(fmt::format("scan policy {} has no segments: expected auto, single-pass or single-pass-async", how.name));
}

namespace {

scan_choice described(const executor& on, const problem& p, const scan_keys* keys, selection s) {
  const step& how = *s.how;
  scan_choice c{.kernel = how.name, .why = std::move(s.why), .refused = std::move(s.refused)};
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

selection as_asked(std::string_view policy) { return {&find_policy(policy), {fmt::format("policy {} was asked for", policy)}, {}}; }

}  // namespace
}  // namespace prefix

scan_choice explain(const context& where, const prefix::problem& p, const scan_options& options) {
  const executor& on = where.runs_on();
  return prefix::described(on, p, nullptr, options.policy == "auto" ? prefix::select(on, p) : prefix::as_asked(options.policy));
}

scan_choice explain(const context& where, const prefix::problem& p, const prefix::scan_keys& keys, const scan_options& options) {
  const executor& on = where.runs_on();
  prefix::require_sensible(p, keys);
  prefix::selection s = options.policy == "auto"
                            ? prefix::selection{&prefix::select_single_pass(on), {"segments are scanned in a single pass only"}, {}}
                            : prefix::as_asked(options.policy);
  prefix::require_has_segments(*s.how);
  return prefix::described(on, p, &keys, std::move(s));
}

}  // namespace antiphase
