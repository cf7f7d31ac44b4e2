// SPDX-License-Identifier: Apache-2.0
// In which forms a streaming product can be computed, and how long each takes.
#pragma once
#include <antiphase/executor/limits.hpp>
#include <antiphase/gemm/policy.hpp>
#include <cstdint>
#include <span>

namespace antiphase::gemms {

// How a sum over k is divided: the slabs of a block, the blocks of a cluster, clusters. The order of all additions follows from these
// numbers, so whoever brings the operands, and whatever the tile, a form has the same bits.
struct stream_division {
  int slabs = 1, cluster = 1, parts = 1;
  constexpr bool operator==(const stream_division&) const = default;
};

// Of a kernel that a ring feeds, measured on an H200 in graphs (scripts/fit_laws.py), in microseconds: a round of blocks takes `round` and
// `step` for every stage of k; `start` comes once, `cluster` if a pair of blocks shares a tile, and parts take `part` and `each_part`.
// A step takes so many times longer where the long operand, or the short one, is copied by four bytes.
struct stream_times {
  double start = 0, round = 0, step = 0, cluster = 0, part = 0, each_part = 0, long_by_four = 0, short_by_four = 0;
};
// Of a kernel whose warps read straight into registers, in microseconds: a block alone on a multiprocessor, one of two there, each further
// round over k, and how many times as long that takes for one of two.
struct direct_times {
  double block = 0, block_of_two = 0, round = 0, two = 0;
};
// Of a kernel whose warps have tiles of their own, in microseconds: a block alone, each further 16 k of it, and what a block among others
// adds, and each 8 k of it.
struct alone_times {
  double block = 0, round = 0, tile = 0, step = 0;
};
// A form of the table: the tile, blocks of a multiprocessor, whether blocks share tiles, and who brings the operands. `ring`: the copy
// engine or copying warps, each by a kernel of its own.
enum class stream_feed : unsigned char { ring, lanes, kept, direct, alone };
struct stream_form {
  extent2 tile;
  int resident;
  int slabs;
  bool shares;
  stream_feed feed = stream_feed::ring;
  stream_times engine = {}, copiers = {};  // of `ring`
  direct_times direct = {};                // of `direct`
  alone_times alone = {};                  // of `alone`; its tile has rows of C and columns
};
// Rows of 16 bytes, in all tiles, that the copy engine is left to bring: they take it 0.1 ns each, as measured, however many blocks ask.
constexpr std::int64_t most_brief_rows = std::int64_t{1} << 15;
// Over how many tiles a walk of the form `kept` goes, of tiles_down in a column of C and of so many columns, those of all members: as many
// as let all walks together end the soonest. They begin in waves, one walk for every place on the device.
int kept_rounds(std::int64_t tiles_down, std::int64_t columns, std::int64_t places);
std::span<const stream_form> stream_forms();

struct stream_division_choice {
  const stream_form* form;
  stream_division how;
  double seconds;  // predicted
};
// The form that is predicted to be the fastest for a product of that shape: of the shape and the device alone, never of how operands lie.
// `available`: by bit, the forms of the table that there are kernels for; of no form the seconds are infinite.
stream_division_choice choose_division(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch, bool reads_c,
                                       const device_limits& device, unsigned available = ~0u);

}  // namespace antiphase::gemms
