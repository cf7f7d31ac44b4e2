// SPDX-License-Identifier: Apache-2.0
// In which forms a streaming product can be computed, and how long each takes.
#pragma once
#include <antiphase/executor/limits.hpp>
#include <antiphase/gemm/policy.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "src/gemm/cost.hpp"

namespace antiphase::gemms {

// How a sum over k is divided: the slabs of a block, the blocks of a cluster, clusters. The order of all
// additions follows from these numbers, so whoever brings the operands, and whatever the tile, a form has the
// same bits.
struct stream_division {
  int slabs = 1, cluster = 1, parts = 1;
  constexpr bool operator==(const stream_division&) const = default;
};

// A form: the tile, blocks of a multiprocessor, whether blocks share tiles, and who brings the operands.
// `ring`: the copy engine or copying warps, each by a kernel of its own.
enum class stream_feed : unsigned char { ring, lanes, kept, direct, alone };
struct stream_form {
  std::string_view name;  // stream_kernels.hpp has its kernels, laws.hpp the numbers of its law
  std::size_t law;        // its place among those of its feed
  extent2 tile;           // of `alone`, rows of C and columns
  int resident;
  int slabs;
  bool shares;
  stream_feed feed;
};
// Rows of 16 bytes, in all tiles, that the copy engine is left to bring: they take it 0.1 ns each, as
// measured, however many blocks ask.
constexpr std::int64_t most_brief_rows = std::int64_t{1} << 15;
// Over how many tiles a walk of the form `kept` goes, of tiles_down in a column of C and of so many columns,
// those of all members: as many as let all walks together end the soonest. They begin in waves, one walk for
// every place on the device.
int kept_rounds(std::int64_t tiles_down, std::int64_t columns, std::int64_t places);
std::span<const stream_form> stream_forms();

struct stream_division_choice {
  const stream_form* form = nullptr;
  stream_division how = {};
  double seconds = 0;                 // predicted
  const stream_form* next = nullptr;  // the best of the other forms, null if there is none
  double next_seconds = 0;
};
// The form that is predicted to be the fastest: of the shape and the device alone, never of how operands lie,
// so the prediction is that of the mean layout of densely packed matrices, with C by rows. `available`: by
// bit, the forms that there are kernels for; of no form the seconds are infinite.
stream_division_choice choose_division(const product_shape& p, const device_limits& device,
                                       unsigned available = ~0u);

// What it chooses among, and how long one takes, for those who fit the law.
void each_stream_division(const laws& l, const product_shape& p, const device_limits& device,
                          unsigned available,
                          const std::function<void(const stream_form&, const stream_division&, double)>& use);
double stream_seconds(const laws& l, const product_shape& p, const device_limits& device,
                      const stream_form& f, const stream_division& d);

}  // namespace antiphase::gemms
