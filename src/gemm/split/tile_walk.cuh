// The tiles that a persistent block, or a cluster of blocks, works on.
#pragma once
#include <antiphase/core/tile.hpp>
#include <antiphase/device/index.cuh>
#include "src/gemm/split/split_product.hpp"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// The first tile and then one a grid further each time. Of a cluster of more than one block there is only the first tile, or a block could
// write over what another one still reads. `Index`: the integer in which tiles are numbered.
template <class Index, int Cluster> struct tile_walk {
  AP_DEV static Index first_tile(const product_problem& p) { return p.first + static_cast<Index>(block_index().x / Cluster); }
  AP_DEV static Index tile_step() { return static_cast<Index>(grid_extent().x / Cluster); }
  AP_DEV static grouped_tiles tiles_of(const product_problem& p) { return {p.rows, p.columns, tile_group}; }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
