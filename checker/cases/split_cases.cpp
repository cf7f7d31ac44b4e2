// SPDX-License-Identifier: Apache-2.0
// Cases of products of split operands, multiplied by every compiled kernel, and of the split pass.
#include <algorithm>
#include <antiphase/gemm/policies.hpp>
#include <span>

#include "checker/cases/product_cases.hpp"
#include "library/gemm/fp16/pass/split_pass.hpp"
#include "library/gemm/fp16/split_plan.hpp"

namespace antiphase::checker_detail {
namespace {

// Rows whose later stages are larger, each than the one before: what was summed so far has to be scaled down.
product growing(product p) {
  for (std::int64_t i = 0; i < p.a.rows; ++i)
    for (std::int64_t k = 0; k < p.a.columns; ++k)
      p.a(i, k) = std::ldexp(p.a(i, k), static_cast<int>(i % 3 * std::min<std::int64_t>(k / 32, 9)));
  return p;
}
// Rows of 1, -1 and next to nothing cancel on columns that start with two equal elements: none of their
// outputs is certified.
product cancelling(std::int64_t rows, product p) {
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t k = 0; k < p.a.columns; ++k) p.a(i, k) *= 0x1p-40f;
    p.a(i, 0) = 1, p.a(i, 1) = -1;
  }
  for (std::int64_t j = 0; j < p.b.columns; ++j) p.b(0, j) = p.b(1, j) = 1;
  return p;
}
// One launch of the kernel for all tiles, by as many blocks at most, or by a cluster for each. How many
// outputs were computed again.
std::uint64_t multiply(const context& where, const gemms::product_instance& with, const product& p,
                       std::int64_t most_blocks = 2) {
  on_device d(where, p);
  gemms::product_plan plan = gemms::plan_product(where, d.problem, with.policy.multiplier);
  const std::int32_t tiles = plan.rows * plan.columns;
  const std::int64_t blocks =
      with.policy.cluster > 1 ? tiles * with.policy.cluster : std::min<std::int64_t>(tiles, most_blocks);
  plan.waves = {{with, 0, tiles, {static_cast<unsigned>(blocks), 1, 1}}};
  plan.multiprocessors = static_cast<int>(blocks);  // there is room for what each block notes
  device_array<std::byte> workspace(where, plan.workspace());
  device_array<std::uint64_t> recomputed(where, std::vector<std::uint64_t>(1));
  gemms::run(where, plan, {workspace.data(), workspace.size()}, recomputed.data(), nullptr);
  where.runs_on().synchronize(nullptr);
  require_kept(where, with.code.name, p, d.c.to_host());
  return recomputed.to_host()[0];
}
void require_recomputed(const gemms::product_instance& with, std::uint64_t found, std::int64_t expected) {
  if (found != static_cast<std::uint64_t>(expected))
    throw std::runtime_error(
        fmt::format("{}: {} outputs were computed again, expected {}", with.code.name, found, expected));
}

// Every way to store a tile, with the ring going around, then what is rare: more uncertain outputs than there
// is room for, a few of them in a block's every tile, and lines that are looked at one by one. Blocks that
// share a tile store as others do: of them, less at once.
void multiply_by(const context& where, const gemms::product_instance& with) {
  using enum storage_order;
  const int blocks = with.policy.cluster;
  const std::int64_t around = blocks * (with.policy.stages * gemms::split_step + 39),
                     once = std::max(2, blocks) * gemms::split_chunk + 7;
  const storage_order of_a = columns, of_b = columns;
  multiply(where, with, growing({128, 45, around, 1, 0}));
  require_recomputed(with, multiply(where, with, cancelling(33, {35, 31, once, 1, 1})), 33 * 31);
  // Outputs of sparse lines are stored and computed again where beta is 0.
  multiply(where, with, with_odd_lines({37, 31, once, 1, 0, of_a, of_b, 1}));
  if (blocks > 1) {
    multiply(where, with, cancelling(3, with_odd_lines({37, 31, once, -1.5f, 0.5f, of_a, of_b, 1})));
    return;
  }
  multiply(where, with, {128, 131, once, 1, 0, of_a, of_b, 1});
  multiply(where, with, with_odd_lines({37, 31, once, -1.5f, 0.5f, of_a, of_b, 1}));
  require_recomputed(with, multiply(where, with, cancelling(3, {19, 262, 39, 1, -1, rows, columns}), 1),
                     3 * 262);
}
const char* policy_of(gemms::multiplier by) {
  return by == gemms::multiplier::warpgroups ? "fp16" : "fp16-mma";
}

// Split pass
// -----------------------------------------------------------------------------------------------------------
struct to_split {
  placed source;
  bool along_k;  // its lines' neighbours in memory
};
to_split lines_of_digits(std::int64_t lines, std::int64_t k, bool along_k, int offset) {
  to_split s{placed(lines, k, along_k ? storage_order::rows : storage_order::columns, offset, 1), along_k};
  s.source.fill_with_digits(5);
  // one of few nonzeros
  for (std::int64_t at = 0; at < k; ++at) s.source(lines - 1, at) = at == k / 2 ? 3.f : 0.f;
  return s;
}
// Digits are split without a rest: scale, high and low part give them back.
void require_split(const char* kernel, const to_split& s, const gemms::split_operand& o,
                   const std::vector<std::byte>& memory, std::byte* base) {
  const auto on_host = [&](auto* device) {
    return reinterpret_cast<decltype(device)>(const_cast<std::byte*>(memory.data()) +
                                              (reinterpret_cast<std::byte*>(device) - base));
  };
  const std::int64_t stride = gemms::split_layout{o.lines, o.k}.line_elements();
  for (std::int64_t l = 0; l < o.lines; ++l) {
    const gemms::split_line& line = on_host(o.line)[l];
    int nonzeros = 0;
    for (std::int64_t k = 0; k < o.k; ++k) {
      const f16* const part = on_host(o.parts) + l * stride + k / 16 * 32 + k % 16;
      const float x = s.source(l, k),
                  found = std::ldexp(to_float(part[0]) + to_float(part[16]) * 0x1p-11f, -line.exponent);
      nonzeros += x != 0;
      if (found != x)
        throw std::runtime_error(
            fmt::format("{}: element ({}, {}) is {}, expected {}", kernel, l, k, found, x));
    }
    if (line.nonzeros != nonzeros)
      throw std::runtime_error(
          fmt::format("{}: line {} has {} nonzeros, expected {}", kernel, l, line.nonzeros, nonzeros));
  }
}
void split(const context& where, const gemms::split_pass_instance& with, int cluster, const to_split& a,
           const to_split& b) {
  const device_array<float> da(where, a.source.memory), db(where, b.source.memory);
  const gemms::split_layout left{a.source.rows, a.source.columns}, right{b.source.rows, b.source.columns};
  device_array<std::byte> memory(where, left.bytes() + right.bytes());
  const gemms::split_operand to_a = gemms::lay_out_split(memory.data(), left),
                             to_b = gemms::lay_out_split(memory.data() + left.bytes(), right);
  const auto lines = [](const to_split& s, const float* data) {
    return gemms::operand_lines{data + s.source.origin, s.source.rows, s.source.columns, s.source.row_stride,
                                s.source.column_stride};
  };
  const gemms::split_launch l =
      gemms::plan_split(with, cluster, lines(a, da.data()), lines(b, db.data()), to_a, to_b);
  where.runs_on().launch(l.kernel, l.grid, &l.arguments, nullptr);
  where.runs_on().synchronize(nullptr);
  const std::vector<std::byte> result = memory.to_host();
  require_split(l.kernel.name, a, to_a, result, memory.data());
  require_split(l.kernel.name, b, to_b, result, memory.data());
}
// Lines and strips that blocks hold in registers, and longer ones, which they read twice; by one block and by
// two.
void split_all(const context& where, const std::vector<gemms::split_pass_instance>& instances) {
  for (const gemms::split_pass_instance& i : instances)
    for (const int cluster : {1, 2}) {
      if (cluster > 1 && !i.policy.clusters) continue;
      const std::int64_t held = std::int64_t{8} * i.policy.pieces * i.policy.threads,
                         depth = std::int64_t{cluster} * i.policy.block_depth();
      split(where, i, cluster, lines_of_digits(19, 71, true, 0), lines_of_digits(21, 71, false, 1));
      split(where, i, cluster, lines_of_digits(3, depth + 37, false, 0),
            lines_of_digits(2, depth + 37, true, 1));
      if (cluster == 1)
        split(where, i, cluster, lines_of_digits(2, held + 21, true, 0),
              lines_of_digits(1, held + 21, true, 1));
    }
}

}  // namespace

std::string case_of(const gemms::product_policy& how) {
  return fmt::format("gemm/{}{}", policy_of(how.multiplier),
                     how.ordered        ? "-ordered"
                     : how.cluster == 1 ? ""
                                        : fmt::format("-{}", how.cluster));
}

std::vector<checked_case> split_cases() {
  std::vector<checked_case> cases;
  for (const gemms::policy_info& n : gemms::policies()) {
    for (const gemms::product_instance& i : gemms::product_instances(target::checked))
      if (n.name == policy_of(i.policy.multiplier))
        cases.push_back({case_of(i.policy),
                         i.policy.ordered ? "the same, outputs computed again in an order of their own"
                         : i.policy.cluster == 1
                             ? std::string(n.adds)
                             : fmt::format("the same, {} blocks share a tile", i.policy.cluster),
                         [i](const context& where) { multiply_by(where, i); }});
  }
  cases.push_back({"gemm/fp16-pass",
                   "what splits the operands: lines of different length, and devices without clusters",
                   [all = gemms::split_pass_instances(target::checked)](const context& where) {
                     split_all(where, all);
                   }});
  return cases;
}

}  // namespace antiphase::checker_detail
