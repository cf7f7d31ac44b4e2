// SPDX-License-Identifier: Apache-2.0
// Splitting both operands of a product in one launch: what is asked, the values that select a kernel, and the
// launch.
#pragma once
#include <antiphase/executor/kernel.hpp>
#include <cstdint>
#include <vector>
#include "library/gemm/fp16/split_operand.hpp"

namespace antiphase::gemms {

// A thread holds `pieces` times eight neighbours along k in registers. Where neighbours along k lie side by
// side, a power of two of threads works on a line; otherwise a cluster of blocks works on `strip` lines. What
// does not fit is read twice.
struct split_policy {
  int threads = 256;
  int pieces = 4;
  int strip = 16;          // 8, 16 or 32
  int blocks = 3;          // per multiprocessor, which bounds the registers of a thread
  bool clusters = true;    // sm_90; otherwise every block is on its own
  int least_threads = 32;  // of a line

  constexpr bool operator==(const split_policy&) const = default;
  constexpr int line_threads(std::int64_t k) const {  // that work on a line
    int n = least_threads;
    while (n < threads && std::int64_t{n} * 8 * pieces < k) n *= 2;
    return n;
  }
  // k of a strip that a block holds
  constexpr int block_depth() const { return threads * 8 * pieces / strip; }
};
constexpr bool valid(const split_policy& p) {
  const auto power_of_two = [](int n) { return n > 0 && (n & (n - 1)) == 0; };
  return (p.strip == 8 || p.strip == 16 || p.strip == 32) && p.threads >= 128 && p.threads <= 1024 &&
         power_of_two(p.threads) && p.pieces > 0 && power_of_two(p.least_threads) && p.least_threads >= 2 &&
         p.least_threads <= 32;
}
// As measured on an H200; the last is for devices without clusters.
constexpr split_policy split_brief{.pieces = 2, .least_threads = 4}, split_thirds{.pieces = 3, .blocks = 4},
    split_short{}, split_medium{.threads = 128, .pieces = 8, .strip = 8, .blocks = 4},
    split_long{.pieces = 8, .strip = 8, .blocks = 2}, split_alone{.clusters = false};
constexpr std::int64_t split_brief_k = 256;
// The one for lines of k. `strips`: of one operand at least they do not lie along k.
constexpr const split_policy& split_policy_for(std::int64_t k, bool strips) {
  // 3 pieces hold it, and 4 would be a quarter empty
  const auto are_thirds = [k](std::int64_t of) { return k > 4 * of && k <= 6 * of; };
  if (k <= split_brief_k) return split_brief;
  if (strips ? are_thirds(128) || are_thirds(256) || are_thirds(512) : k <= 1536 || are_thirds(512))
    return split_thirds;
  if (k <= 2048) return split_short;
  return k <= (strips ? 8192 : 4096) ? split_medium : split_long;
}

struct split_arguments {
  operand_lines sources[2];
  split_operand targets[2];
  // of the second operand in the clusters, in 2^-32: cluster q is its, if q share / 2^32 changes from there
  // to q + 1
  std::uint64_t share;
  int line_threads;  // policy.line_threads(k)
  float lost;        // mean_loss(k), of the second operand alone, as a pass over both takes longer
};
// About what Tensor Cores cut off of a sum on average, which makes it smaller in magnitude, as a share of it
// (docs/use/accuracy.md). A power of two, so that its product with an element is exact.
constexpr float mean_loss(std::int64_t k) {
  return k >= 64 ? 0x1p-23f : k >= 32 ? 0x1p-24f : k >= 16 ? 0x1p-25f : 0;
}

struct split_pass_instance {
  split_policy policy;
  antiphase::kernel kernel;
};
struct split_launch {
  antiphase::kernel kernel;
  extent3 grid;
  split_arguments arguments;
};

// Both operands have the same k. `clusters`: whether the device has them. Throws bad_request if an operand
// cannot be, not_supported if it is too large.
split_launch plan_split(target where, const operand_lines& a, const operand_lines& b,
                        const split_operand& to_a, const split_operand& to_b, bool clusters = true);

// The same with a certain kernel and a certain number of blocks to a cluster, for tests and measurements.
const std::vector<split_pass_instance>& split_pass_instances(target where);
split_launch plan_split(const split_pass_instance& with, int cluster, const operand_lines& a,
                        const operand_lines& b, const split_operand& to_a, const split_operand& to_b);

}  // namespace antiphase::gemms
