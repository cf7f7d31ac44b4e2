// What one thread multiplies: its outputs in registers and the pieces of the tiles it needs for them.
#pragma once
#include <antiphase/core/cursor.hpp>
#include <antiphase/device/index.cuh>
#include <antiphase/device/math.cuh>
#include <antiphase/device/vector.cuh>
#include <antiphase/gemm/tile_loader.cuh>

namespace antiphase::mm {
inline namespace AP_TARGET {

// Where a thread's outputs lie in the tile: index i of it at first + (i / width) * repeat + i % width.
template <policy P> struct thread_outputs {
  static constexpr extent2 region = region_of(P), across = threads_of(P);
  static constexpr int width = P.read_width == 1 ? 0 : P.read_width;  // 0: a thread's outputs are one block
  int row, column;                                                    // of the first one, in the tile

  AP_DEV thread_outputs() {
    const int thread = thread_index();
    const int members = across.m * across.n;
    const int member = thread % members, group = thread / members;
    const int groups_n = P.tile.n / region.n;
    row = group / groups_n * region.m + member / across.n * (width > 0 ? width : P.thread.m);
    column = group % groups_n * region.n + member % across.n * (width > 0 ? width : P.thread.n);
  }
  AP_DEV static constexpr int row_offset(int i) { return width > 0 ? i / width * (across.m * width) + i % width : i; }
  AP_DEV static constexpr int column_offset(int j) { return width > 0 ? j / width * (across.n * width) + j % width : j; }
};

// The sums of a thread. With two fragments, the pieces for step k are read while those for step k - 1 are multiplied, also across the edge of
// a tile: the last fragment of a tile is used in the first step of the next, and finish() uses the very last.
template <policy P> struct accumulator {
  thread_outputs<P> outputs;
  float sum[P.thread.m][P.thread.n];
  float a[P.fragments][P.thread.m];
  float b[P.fragments][P.thread.n];

  AP_DEV accumulator() : sum{}, a{}, b{} {}

  AP_DEV void multiply(tile_a<P>& ta, tile_b<P>& tb) {
    if constexpr (P.fragments == 1) {
      AP_UNROLL for (int k = 0; k < P.tile_k; ++k) {
        read(ta, tb, k, 0);
        multiply(0);
      }
    } else {
      static_assert(P.tile_k % 2 == 0, "a tile must end in the fragment it began before");
      cursor<2> next, now{1, 0};  // folded to constants by the unrolled loop
      AP_UNROLL for (int k = 0; k < P.tile_k; ++k, ++next, ++now) {
        read(ta, tb, k, next.index);
        multiply(now.index);  // before the very first fragment: zeros
      }
    }
  }
  AP_DEV void finish() {
    if constexpr (P.fragments == 2) multiply(1);
  }

 private:
  AP_DEV void read(tile_a<P>& ta, tile_b<P>& tb, int k, int fragment) {
    constexpr int width = P.read_width;
    AP_UNROLL for (int i = 0; i < P.thread.m; i += width) {
      const auto p = load_pack<width>(&ta.at(outputs.row + outputs.row_offset(i), k));
      AP_UNROLL for (int j = 0; j < width; ++j) a[fragment][i + j] = p.element[j];
    }
    AP_UNROLL for (int i = 0; i < P.thread.n; i += width) {
      const auto p = load_pack<width>(&tb.at(outputs.column + outputs.column_offset(i), k));
      AP_UNROLL for (int j = 0; j < width; ++j) b[fragment][i + j] = p.element[j];
    }
  }
  AP_DEV void multiply(int fragment) {
    AP_UNROLL for (int i = 0; i < P.thread.m; ++i)
      AP_UNROLL for (int j = 0; j < P.thread.n; ++j) sum[i][j] = multiply_add(a[fragment][i], b[fragment][j], sum[i][j]);
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::mm
