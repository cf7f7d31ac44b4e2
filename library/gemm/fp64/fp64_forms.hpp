// SPDX-License-Identifier: Apache-2.0
// Forms in which an fp64 product can be computed, and the predicted time of each.
#pragma once
#include <antiphase/executor/limits.hpp>
#include <antiphase/gemm/policy.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "library/gemm/fp64/kernel_kind.hpp"
#include "library/gemm/operands/cost_terms.hpp"

namespace antiphase::gemms {

// How a sum over k is divided: over the slabs of a block, the blocks of a cluster, and clusters (parts). The
// order of all additions follows from these numbers, so a form gives the same bits with any loader and any
// tile.
struct fp64_division {
  int slabs = 1, cluster = 1, parts = 1;
  constexpr bool operator==(const fp64_division&) const = default;
};

// A form: the tile, resident blocks per multiprocessor, whether blocks share tiles, and the kind of kernel. A
// ring has a kernel for each loader.
struct fp64_form {
  std::string_view name;  // fp64_kernels.hpp has its kernels, library/costs its cost model's constants
  std::size_t index;      // index of these numbers among those of its kind
  extent2 tile;           // warp_tile: rows and columns of C
  int resident;
  int slabs;
  bool shares;
  kernel_kind kind;
};
// The most rows of 16 bytes, in all tiles, that are left to TMA: it takes 0.1 ns for each, as measured,
// however many blocks issue copies.
constexpr std::int64_t most_brief_rows = std::int64_t{1} << 15;
// Tiles per walk of the form `kept`: the number with which all walks together end the soonest. C has
// tiles_down tiles in a column and, over all members, that many columns of tiles. Walks begin in waves of one
// per place on the device.
int kept_rounds(std::int64_t tiles_down, std::int64_t columns, std::int64_t places);
std::span<const fp64_form> fp64_forms();

struct fp64_choice {
  const fp64_form* form = nullptr;
  fp64_division division = {};
  double seconds = 0;               // predicted
  const fp64_form* next = nullptr;  // the best of the other forms, null if there is none
  double next_seconds = 0;
};
// The form with the least predicted time. It depends on the shape and the device alone, never on layouts, so
// the prediction is for the mean layout of densely packed matrices, with C by rows. `available`: a bit for
// each form that has a kernel; without any, `seconds` is infinite.
fp64_choice choose_division(const product_shape& p, const device_limits& device, unsigned available = ~0u);

// All candidates with their predicted seconds, and the seconds of one: for fitting the cost model.
void each_fp64_division(const costs::models& l, const product_shape& p, const device_limits& device,
                        unsigned available,
                        const std::function<void(const fp64_form&, const fp64_division&, double)>& use);
double fp64_seconds(const costs::models& l, const product_shape& p, const device_limits& device,
                    const fp64_form& f, const fp64_division& d);

}  // namespace antiphase::gemms
