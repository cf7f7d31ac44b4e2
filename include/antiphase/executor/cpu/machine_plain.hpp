// SPDX-License-Identifier: Apache-2.0
// The CPU executor's functions for plain CUDA alone: products of a warp (mma.sync and wmma) of any shape and
// type of number, and operations on mbarriers that few programs use.
#pragma once
#include <antiphase/executor/cpu/machine.hpp>
#include <cstdint>
#include <optional>

namespace antiphase::machine {

enum class matrix_number : unsigned char { f16, bf16, tf32, f32, f64, e4m3, e5m2, s8, u8, s4, u4, s32 };

// D = A B + C: A has `rows`, B has `columns`, both multiples of 8; the sum is taken over `depth`. Of a
// sparse A half of the numbers are there, and after them a word of metadata, in lanes that `selector` names.
struct warp_product {
  int rows, columns, depth;
  matrix_number a, b, c, d;
  bool saturates;
  std::optional<int> selector = {};
};

// Which element a lane holds (PTX ISA, mma). `together`: elements of A or B in a register, 1 for f64.
struct matrix_place {
  int row, column;
};
constexpr matrix_place place_in_a(int rows, int together, int lane, int i) {
  const int word = i / together, of_rows = rows / 8;
  return {lane / 4 + word % of_rows * 8, (word / of_rows * 4 + lane % 4) * together + i % together};
}
constexpr matrix_place place_in_b(int depth, int together, int lane, int i) {
  const int word = i / together, of_depth = depth / (4 * together);
  return {(word % of_depth * 4 + lane % 4) * together + i % together, lane / 4 + word / of_depth * 8};
}
constexpr matrix_place place_in_c(int rows, int lane, int i) {
  return {lane / 4 + i / 2 % (rows / 8) * 8, i / 2 / (rows / 8) * 8 + lane % 4 * 2 + i % 2};
}

// The 32 lanes meet. Each brings its elements, dense in order of their places; products of floating numbers
// are added in float in the order of k (f64: fused, in double).
void warp_multiply_of(const warp_product& what, void* d, const void* a, const void* b, const void* c,
                      place where);

// A loop that the thread is in, around block barriers, and the round it is in.
struct loop_rounds {
  const loop_rounds* around = nullptr;
  unsigned number = 0;
};

// Before an aligned instruction that does not wait for the warp's other lanes (barrier.cluster): fails if the
// warp's other lanes have come to the same arrival, or wait, at another place.
void require_aligned(bool waits, place where);

// `count` parties arrive, and the phases after this one have as many less.
void mbarrier_arrive_and_drop(std::uint64_t* word, int count, place where, mbarrier_semantics how = {});

// Operations on another block of the cluster, whose shared memory has `to` and the mbarrier: a bulk copy from
// this block's shared memory, a store of a value, arrivals. The mbarrier counts the bytes.
void bulk_copy_to(int rank, void* to, const void* from, std::uint32_t bytes, std::uint64_t* word,
                  place where);
void store_async_to(int rank, void* to, const void* value, std::uint32_t bytes, std::uint64_t* word,
                    place where);
void mbarrier_arrive_at(int rank, std::uint64_t* word, int count, int bytes_expected, place where,
                        mbarrier_semantics how);
void mbarrier_expect_at(int rank, std::uint64_t* word, int bytes, place where);

}  // namespace antiphase::machine
