// Which step scans a problem, and why.
#pragma once
#include <antiphase/scan/ladder.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace antiphase::scans {

// Sentences about a choice.
struct reasons {
  std::vector<std::string> why, refused;
};
// The fastest step that takes the lines of a problem. Sentences are made only if somebody wants them: `tell` is null in every call that
// scans. Throws bad_request if the problem makes no sense.
const step& select(const executor& on, const problem& p, reasons* tell);

// Throws not_supported if the step cannot tell segments apart.
void require_has_segments(const step& how);

// Why the steps of several passes cannot do it; empty: they can.
std::string passes_refuse(const problem& p);

// The ring of the single-pass kernel that scans what is not refused; `keys` may be null.
struct tile_ring {
  int tile;  // elements
  int stages;
};
tile_ring single_pass_ring(const executor& on, const problem& p, const scan_keys* keys, const step& how);
// Elements of a tile of the one-wave kernel, and how many tiles there are, of what is not refused.
struct wave_tiles {
  std::int64_t elements;
  std::uint32_t count;
};
wave_tiles one_wave_tiles(const problem& p);

}  // namespace antiphase::scans
