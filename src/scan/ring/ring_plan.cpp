#include "src/scan/ring/ring_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <antiphase/core/tile.hpp>
#include <antiphase/scan/operators.hpp>
#include <antiphase/scan/detail/single_pass.hpp>
#include <bit>
#include <cstring>
#include <limits>

#include "src/scan/choice.hpp"
#include "src/scan/registry.hpp"
#include "src/scan/request.hpp"

namespace antiphase::scans {

std::span<const single_pass_instance> single_pass_instances(target where) { return instances_of<single_pass_instance>(where); }

namespace {

// Bits of an element of `type`, the lowest ones of the word.
std::uint64_t sign_bit(element type) { return std::uint64_t{1} << (8 * size_of(type) - 1); }
std::uint64_t all_bits(element type) { return sign_bit(type) * 2 - 1; }
bool is_signed(element type) { return !is_floating(type) && !is_unsigned(type); }
bool picks_extremes(const problem& p) { return p.operation == scan_operation::min || p.operation == scan_operation::max; }

// What changes nothing: of a sum of floats -0, since +0 would turn -0 into +0.
std::uint64_t neutral_bits(element type, scan_operation operation) {
  return operation == scan_operation::sum && is_floating(type) ? sign_bit(type) : identity_bits(type, operation);
}

// See element_values.cuh.
std::uint64_t flip_of(const problem& p) {
  const bool widens = result_type(p) != p.type;
  switch (p.operation) {
    case scan_operation::sum: return widens && is_signed(p.type) ? sign_bit(p.type) : 0;
    case scan_operation::product: return 0;
    case scan_operation::min: return is_signed(p.type) ? sign_bit(p.type) : 0;
    case scan_operation::max: break;
  }
  if (is_floating(p.type)) return sign_bit(p.type);
  return is_signed(p.type) ? all_bits(p.type) ^ sign_bit(p.type) : all_bits(p.type);
}

// Of what stands before the first element, as the kernel computes with it.
std::uint64_t initial_bits(const problem& p, element value) {
  const element type = result_type(p);
  std::uint64_t bits = p.kind == scan_kind::inclusive ? neutral_bits(type, p.operation) : first_of_exclusive(p);
  if (picks_extremes(p)) bits ^= flip_of(p);
  if (type == element::f16 && value == element::f32) return std::bit_cast<std::uint32_t>(to_float(f16{static_cast<std::uint16_t>(bits)}));
  if (type == element::bf16 && value == element::f32) return std::bit_cast<std::uint32_t>(to_float(bf16{static_cast<std::uint16_t>(bits)}));
  return bits;
}

std::int64_t elements_of(const problem& p) { return p.outer * p.length; }

const single_pass_instance* find(std::span<const single_pass_instance> all, const problem& p, const scan_keys* keys,
                                 std::string_view step) {
  const lines_kind over = keys != nullptr || (p.outer > 1 && p.length > 0) ? lines_kind::segments : lines_kind::one;
  const scan_operation operation = p.operation == scan_operation::max ? scan_operation::min : p.operation;
  for (const single_pass_instance& i : all)
    if (i.step == step && i.in == unsigned_of(p.type) && i.out == unsigned_of(result_type(p)) && i.operation == operation && i.over == over)
      return &i;
  return nullptr;
}

segment_arguments segments_of(const problem& p, const scan_keys* keys, int tile) {
  if (keys == nullptr) return rows_of(std::max<std::int64_t>(p.length, 1), tile);
  segment_arguments by = rows_of(tile, tile);
  by.from = keys->by == segments_by::keys ? segment_source::keys : segment_source::head_flags;
  by.keys = keys->data;
  const bool flags = keys->by == segments_by::head_flags;
  by.key_bytes = flags ? 1 : static_cast<int>(size_of(keys->type));
  by.floating_keys = !flags && is_floating(keys->type);
  return by;
}

}  // namespace

bool has_single_pass(target where, element type, scan_operation operation, std::string_view step) {
  return find(single_pass_instances(where), {.type = type, .operation = operation}, nullptr, step) != nullptr;
}

std::string single_pass_refuses(const executor& on, const problem& p, const scan_keys* keys, const step& how) {
  const device_limits& limits = on.limits();
  if (how.ring.mover == tile_mover::threads) {
    if (limits.major < 8) return fmt::format("{} has no asynchronous copies (compute capability 8.0)", limits.name);
  } else {
    if (limits.major < 9) return fmt::format("{} has no bulk copies (compute capability 9.0)", limits.name);
    if (limits.major > 9) return fmt::format("{} is newer than what it is compiled for (compute capability 9.0)", limits.name);
  }
  if (p.inner != 1) return fmt::format("{} x {} lines: those that it scans are contiguous", p.outer, p.inner);
  if (find(single_pass_instances(on.kind()), p, keys, how.name) == nullptr)
    return fmt::format("{}: this build has no such kernel", description(p, keys));
  return {};
}

tile_ring single_pass_ring(const executor& on, const problem& p, const scan_keys* keys, const step& how) {
  const single_pass_instance& i = *find(single_pass_instances(on.kind()), p, keys, how.name);
  const bool of_short_rings = how.ring != ring_scan_policy && how.ring.mover == tile_mover::copy_engine;
  const ring_policy ring = ring_for(size_of(i.in), size_of(i.out), !is_floating(i.in), i.over, how.ring.mover);
  return {i.tile, of_short_rings ? how.ring.stages : ring.stages};
}

std::size_t single_pass_workspace(const problem& p, const scan_keys* keys, const step& how) {
  // Totals are the same whoever moves the tiles, and the CPU executor has kernels for all of them whose tiles the copy engine moves.
  const bool by_threads = how.ring.mover == tile_mover::threads;
  const single_pass_instance* const i = find(single_pass_instances(target::cpu), p, keys, by_threads ? "single-pass" : how.name);
  if (i == nullptr || is_empty(p)) return 0;
  const std::size_t in = size_of(i->in), out = size_of(i->out);
  const int tile = by_threads ? ring_for(in, out, !is_floating(i->in), i->over, how.ring.mover).tile_of(in, out) : i->tile;
  return single_pass_bytes(i->total_bytes, static_cast<std::uint64_t>(ceil_div<std::int64_t>(elements_of(p), tile)));
}
std::size_t most_single_pass_workspace(const problem& p, const scan_keys* keys) {
  return std::max(single_pass_workspace(p, keys, find_step("single-pass")), single_pass_workspace(p, keys, find_step("single-pass-async")));
}

std::vector<launchable> prepare_single_pass(const executor& on, const problem& p, const scan_keys* keys, std::span<std::byte> workspace,
                                            const step& how) {
  if (is_empty(p)) return {};
  if (const std::string why = single_pass_refuses(on, p, keys, how); !why.empty())
    throw not_supported(fmt::format("scan policy {} does not take this problem: {}", how.name, why));
  const single_pass_instance& i = *find(single_pass_instances(on.kind()), p, keys, how.name);
  const std::int64_t tiles = ceil_div<std::int64_t>(elements_of(p), i.tile);
  if (tiles > std::numeric_limits<int>::max())
    throw not_supported(fmt::format("{} elements are {} tiles: the single-pass scan takes at most 2^31 - 1", elements_of(p), tiles));
  const tile_words words = words_in(workspace);
  const single_pass_arguments all{.in = p.in,
                                  .out = p.out,
                                  .length = elements_of(p),
                                  .tiles = static_cast<std::uint32_t>(tiles),
                                  .kind = p.kind,
                                  .direction = p.direction,
                                  .neutral = neutral_bits(p.type, p.operation),
                                  .initial = initial_bits(p, i.value),
                                  .flip = flip_of(p),
                                  .segments = segments_of(p, keys, i.tile),
                                  .control = words.control,
                                  .states = words.states,
                                  .state_words = words.state_words};
  const auto blocks = static_cast<unsigned>(std::min<std::int64_t>(tiles, std::max(1, on.limits().multiprocessors)));
  launchable l{.code = i.code, .grid = {blocks, 1, 1}, .arguments = {}};
  l.arguments.resize(sizeof all);
  std::memcpy(l.arguments.data(), &all, sizeof all);
  return {l};
}

}  // namespace antiphase::scans
