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

#include "src/gemm/fp64/kernel_kind.hpp"
#include "src/gemm/laws/cost.hpp"

namespace antiphase::gemms {

// How a sum over k is divided: the slabs of a block, the blocks of a cluster, clusters. The order of all
// additions follows from these numbers, so whoever brings the operands, and whatever the tile, a form has the
// same bits.
struct fp64_division {
  int slabs = 1, cluster = 1, parts = 1;
  constexpr bool operator==(const fp64_division&) const = default;
};

// A form: the tile, blocks of a multiprocessor, whether blocks share tiles, and the kind of kernel. A ring has
// a kernel for each loader.
struct fp64_form {
  std::string_view name;  // fp64_kernels.hpp has its kernels, laws.hpp the numbers of its law
  std::size_t law;        // its place among those of its kind
  extent2 tile;           // of warp_tile, rows of C and columns
  int resident;
  int slabs;
  bool shares;
  kernel_kind kind;
};
// Rows of 16 bytes, in all tiles, that the copy engine is left to bring: they take it 0.1 ns each, as
// measured, however many blocks ask.
constexpr std::int64_t most_brief_rows = std::int64_t{1} << 15;
// Over how many tiles a walk of the form `kept` goes, of tiles_down in a column of C and of so many columns,
// those of all members: as many as let all walks together end the soonest. They begin in waves, one walk for
// every place on the device.
int kept_rounds(std::int64_t tiles_down, std::int64_t columns, std::int64_t places);
std::span<const fp64_form> fp64_forms();

struct fp64_choice {
  const fp64_form* form = nullptr;
  fp64_division how = {};
  double seconds = 0;               // predicted
  const fp64_form* next = nullptr;  // the best of the other forms, null if there is none
  double next_seconds = 0;
};
// The form that is predicted to be the fastest: of the shape and the device alone, never of how operands lie,
// so the prediction is that of the mean layout of densely packed matrices, with C by rows. `available`: by
// bit, the forms that there are kernels for; of no form the seconds are infinite.
fp64_choice choose_division(const product_shape& p, const device_limits& device, unsigned available = ~0u);

// What it chooses among, and how long one takes, for those who fit the law.
void each_fp64_division(const laws& l, const product_shape& p, const device_limits& device,
                        unsigned available,
                        const std::function<void(const fp64_form&, const fp64_division&, double)>& use);
double fp64_seconds(const laws& l, const product_shape& p, const device_limits& device, const fp64_form& f,
                    const fp64_division& d);

}  // namespace antiphase::gemms
