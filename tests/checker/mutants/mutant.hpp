// SPDX-License-Identifier: Apache-2.0
// The mutants by which the checker, compute-sanitizer and a comparison of numbers are compared, and how to
// run each.
#pragma once
#include <antiphase/core/portable.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/mutant.hpp"

namespace antiphase::mutants {

// How a kernel is run: its params, its input and its expected output. See programs.cpp.
enum class program {
  numbers,                // numbers in, numbers out
  ring,                   // tests/channel/ring_kernels.hpp
  bulk_copy,              // examples/bulk_copy.hpp
  product,                // a matrix product of five tiles along K, the last one partial
  product_of_two_tiles,   // of two
  scan,                   // of several tiles
  two_streams,            // `what` twice, each on its own stream, the second after the first
  two_streams_unordered,  // the same without a wait
  read_back_unordered,    // the host copies the output without waiting
  host_pointer,           // the input is host memory
  input_given_back,       // the input is deallocated before the launch
  output_too_small,       // by one element
};
// Meaningless on a GPU, or with streams that only the checker can do without.
constexpr bool needs_checker(program p) {
  return p == program::two_streams || p == program::two_streams_unordered ||
         p == program::read_back_unordered || p == program::host_pointer;
}

struct use {
  const char* family;
  mutants::program program = program::numbers;
  kernel totals = {};  // program::scan: the other kernel, and the tile
  int tile = 0;
  int blocks = 1;  // program::numbers, and the host's: with numbers_per_thread, the size
  int numbers_per_thread = 1;
  std::uint32_t (*expected)(int i) = nullptr;  // program::numbers: element i of the output
};
using mutant = test::mutant<use>;

// The params of program::numbers and of the host's mutants. Blocks of `threads` threads; the last one is
// partial.
constexpr int threads = 64;
constexpr int size_of(int blocks, int per_thread = 1) { return blocks * threads * per_thread - 28; }
struct numbers {
  const std::uint32_t* in;
  std::uint32_t* out;
  std::uint32_t* flag;  // 4 of them, zero
  int size;             // of `in` and `out`
};
AP_FN constexpr std::uint32_t input(int i) { return static_cast<std::uint32_t>(i) * 40503u + 77u; }

// Runs the mutant once; returns a description of wrong numbers, or an empty string.
std::string run(const context& where, const mutant& m);

}  // namespace antiphase::mutants
