// SPDX-License-Identifier: Apache-2.0
// Cases of the products beside the ladder: split operands, multiplied by every compiled kernel, the split pass, streams, and few values of
// K.
#include <algorithm>
#include <antiphase/gemm.hpp>
#include <antiphase/gemm/policies.hpp>
#include <limits>
#include <span>

#include "src/checker/cases/cases.hpp"
#include "src/gemm/narrow/narrow_plan.hpp"
#include "src/gemm/split/split_pass.hpp"
#include "src/gemm/split/split_plan.hpp"
#include "src/gemm/stream/stream_plan.hpp"

namespace antiphase::checker_detail {
namespace {

// A product of 24-bit numbers and where its operands lie. C begins as NaN if beta is 0: then nobody may read it.
struct product {
  placed a, b, c;
  float alpha, beta;

  product(std::int64_t m, std::int64_t n, std::int64_t k, float of_product, float of_c, storage_order of_a = storage_order::rows,
          storage_order of_b = storage_order::rows, std::int64_t packet_of_c = 4, int offset_by_columns = 1)
      : a(m, k, of_a, 0),
        b(k, n, of_b, of_b == storage_order::rows ? 0 : offset_by_columns),
        c(m, n, storage_order::rows, packet_of_c == 4 ? 0 : 1, packet_of_c),
        alpha(of_product),
        beta(of_c) {
    a.fill([](std::uint64_t place) { return real(1, place); });
    b.fill([](std::uint64_t place) { return real(2, place); });
    if (beta != 0) c.fill([](std::uint64_t place) { return real(3, place); });
  }
};
// Rows whose later stages are larger, each than the one before: what was summed so far has to be scaled down.
product growing(product p) {
  for (std::int64_t i = 0; i < p.a.rows; ++i)
    for (std::int64_t k = 0; k < p.a.columns; ++k)
      p.a(i, k) = std::ldexp(p.a(i, k), static_cast<int>(i % 3 * std::min<std::int64_t>(k / 32, 9)));
  return p;
}
// Rows of 1, -1 and next to nothing cancel on columns that start with two equal elements: none of their outputs is certified.
product cancelling(std::int64_t rows, product p) {
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t k = 0; k < p.a.columns; ++k) p.a(i, k) *= 0x1p-40f;
    p.a(i, 0) = 1, p.a(i, 1) = -1;
  }
  for (std::int64_t j = 0; j < p.b.columns; ++j) p.b(0, j) = p.b(1, j) = 1;
  return p;
}
// Lines of up to four nonzeros, an infinity and a NaN.
product with_odd_lines(product p) {
  for (std::int64_t i = 0; i < p.a.rows; i += 5)
    for (std::int64_t k = 0; k < p.a.columns; ++k)
      if (k % 13 != i % 13 || k > 13 * (i / 5 % 5)) p.a(i, k) = 0;
  for (std::int64_t k = 2; k < p.b.rows; ++k) p.b(k, 3) = 0;
  p.a(1, 1) = std::numeric_limits<float>::infinity();
  p.b(p.b.rows - 1, p.b.columns - 1) = std::numeric_limits<float>::quiet_NaN();
  return p;
}

struct on_device {
  device_array<float> a, b, c;
  gemms::problem what;

  on_device(const context& where, const product& p) : a(where, p.a.memory), b(where, p.b.memory), c(where, p.c.memory) {
    what = {.a = p.a.view(a.data()), .b = p.b.view(b.data()), .c = p.c.view(c.data()), .alpha = p.alpha, .beta = p.beta};
  }
};
// Within the contract; what lies between C's rows is as it was.
void require_kept(const context& where, const char* kernel, const product& p, const std::vector<float>& result) {
  const gemm_bound bound = bound_of(precision::fp32, where.limits(), p.a.columns);
  std::vector<bool> inside(result.size());
  for (std::int64_t i = 0; i < p.c.rows; ++i)
    for (std::int64_t j = 0; j < p.c.columns; ++j) {
      double sum = 0, size = 0;
      for (std::int64_t k = 0; k < p.a.columns; ++k) {
        sum += static_cast<double>(p.a(i, k)) * p.b(k, j);
        size += std::fabs(static_cast<double>(p.a(i, k)) * p.b(k, j));
      }
      const double c = p.beta != 0 ? static_cast<double>(p.beta) * p.c(i, j) : 0, expected = p.alpha * sum + c;
      constexpr double u = 0x1p-24;
      const double off = std::fabs(p.alpha) * (bound.units * u * size + bound.absolute) + 3 * u * (std::fabs(p.alpha * sum) + std::fabs(c));
      const float found = result[p.c.at(i, j)];
      inside[p.c.at(i, j)] = true;
      const bool right = std::isfinite(expected) ? std::fabs(found - expected) <= off
                         : std::isnan(expected)  ? std::isnan(found)
                                                 : found == expected;
      if (!right) throw std::runtime_error(fmt::format("{}: C({}, {}) is {}, expected {} within {}", kernel, i, j, found, expected, off));
    }
  for (std::size_t i = 0; i < result.size(); ++i)
    if (!inside[i] && !std::isnan(result[i])) throw std::runtime_error(fmt::format("{}: wrote between the rows of C", kernel));
}

// One launch of the kernel for all tiles, by as many blocks at most, or by a cluster for each. How many outputs were computed again.
std::uint64_t multiply(const context& where, const gemms::product_instance& with, const product& p, std::int64_t most_blocks = 2) {
  on_device d(where, p);
  gemms::product_plan plan = gemms::plan_product(where, d.what, with.how.by);
  const std::int32_t tiles = plan.rows * plan.columns;
  const bool tile_each = with.how.cluster > 1 || with.how.by == gemms::multiplier::split_inside;
  const std::int64_t blocks = tile_each ? tiles * with.how.cluster : std::min<std::int64_t>(tiles, most_blocks);
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
    throw std::runtime_error(fmt::format("{}: {} outputs were computed again, expected {}", with.code.name, found, expected));
}

// Every way to store a tile, with the ring going around, then what is rare: more uncertain outputs than there is room for, a few of them in
// a block's every tile, and lines that are looked at one by one. Blocks that share a tile store as others do: of them, less at once.
void multiply_by(const context& where, const gemms::product_instance& with) {
  using enum storage_order;
  const int blocks = with.how.cluster;
  const bool inside = with.how.by == gemms::multiplier::split_inside;
  const std::int64_t around = blocks * (with.how.stages * gemms::split_step + 39), once = std::max(2, blocks) * gemms::split_chunk + 7;
  const storage_order of_a = inside ? rows : columns, of_b = inside ? rows : columns;
  multiply(where, with, growing({128, 45, around, 1, 0}));
  require_recomputed(with, multiply(where, with, cancelling(33, {35, 31, once, 1, 1})), 33 * 31);
  if (blocks > 1) {
    multiply(where, with, cancelling(3, with_odd_lines({37, 31, once, -1.5f, 0.5f, of_a, of_b, 1})));
    return;
  }
  multiply(where, with, {128, 131, once, 1, 0, of_a, of_b, 1});
  multiply(where, with, with_odd_lines({37, 31, once, -1.5f, 0.5f, of_a, of_b, 1}));
  require_recomputed(with, multiply(where, with, cancelling(3, {19, 262, 39, 1, -1, rows, columns}), 1), 3 * 262);
}
const char* policy_of(gemms::multiplier by) {
  return by == gemms::multiplier::split ? "split" : by == gemms::multiplier::split_mma ? "split-mma" : "split-inside";
}

// Split pass ---------------------------------------------------------------------------------------------------------------------------
struct to_split {
  placed from;
  bool along_k;  // its lines' neighbours in memory
};
to_split lines_of_digits(std::int64_t lines, std::int64_t k, bool along_k, int offset) {
  to_split s{placed(lines, k, along_k ? storage_order::rows : storage_order::columns, offset, 1), along_k};
  s.from.fill_with_digits(5);
  for (std::int64_t at = 0; at < k; ++at) s.from(lines - 1, at) = at == k / 2 ? 3.f : 0.f;  // one of few nonzeros
  return s;
}
// Digits are split without a rest: scale, high and low part give them back.
void require_split(const char* kernel, const to_split& s, const gemms::split_operand& o, const std::vector<std::byte>& memory,
                   std::byte* base) {
  const auto on_host = [&](auto* device) {
    return reinterpret_cast<decltype(device)>(const_cast<std::byte*>(memory.data()) + (reinterpret_cast<std::byte*>(device) - base));
  };
  const std::int64_t stride = gemms::split_layout{o.lines, o.k}.line_elements();
  for (std::int64_t l = 0; l < o.lines; ++l) {
    const gemms::split_line& line = on_host(o.line)[l];
    int nonzeros = 0;
    for (std::int64_t k = 0; k < o.k; ++k) {
      const f16* const part = on_host(o.parts) + l * stride + k / 16 * 32 + k % 16;
      const float x = s.from(l, k), found = std::ldexp(to_float(part[0]) + to_float(part[16]) * 0x1p-11f, -line.exponent);
      nonzeros += x != 0;
      if (found != x) throw std::runtime_error(fmt::format("{}: element ({}, {}) is {}, expected {}", kernel, l, k, found, x));
    }
    if (line.nonzeros != nonzeros)
      throw std::runtime_error(fmt::format("{}: line {} has {} nonzeros, expected {}", kernel, l, line.nonzeros, nonzeros));
  }
}
void split(const context& where, const gemms::split_pass_instance& with, int cluster, const to_split& a, const to_split& b) {
  const device_array<float> da(where, a.from.memory), db(where, b.from.memory);
  const gemms::split_layout left{a.from.rows, a.from.columns}, right{b.from.rows, b.from.columns};
  device_array<std::byte> memory(where, left.bytes() + right.bytes());
  const gemms::split_operand to_a = gemms::lay_out_split(memory.data(), left),
                             to_b = gemms::lay_out_split(memory.data() + left.bytes(), right);
  const auto lines = [](const to_split& s, const float* data) {
    return gemms::operand_lines{data + s.from.origin, s.from.rows, s.from.columns, s.from.row_stride, s.from.column_stride};
  };
  const gemms::split_launch l = gemms::plan_split(with, cluster, lines(a, da.data()), lines(b, db.data()), to_a, to_b);
  where.runs_on().launch(l.what, l.grid, &l.arguments, nullptr);
  where.runs_on().synchronize(nullptr);
  const std::vector<std::byte> result = memory.to_host();
  require_split(l.what.name, a, to_a, result, memory.data());
  require_split(l.what.name, b, to_b, result, memory.data());
}
// Lines and strips that blocks hold in registers, and longer ones, which they read twice; by one block and by two.
void split_all(const context& where, const std::vector<gemms::split_pass_instance>& instances) {
  for (const gemms::split_pass_instance& i : instances)
    for (const int cluster : {1, 2}) {
      if (cluster > 1 && !i.policy.clusters) continue;
      const std::int64_t held = std::int64_t{8} * i.policy.pieces * i.policy.threads,
                         depth = std::int64_t{cluster} * i.policy.block_depth();
      split(where, i, cluster, lines_of_digits(19, 71, true, 0), lines_of_digits(21, 71, false, 1));
      split(where, i, cluster, lines_of_digits(3, depth + 37, false, 0), lines_of_digits(2, depth + 37, true, 1));
      if (cluster == 1) split(where, i, cluster, lines_of_digits(2, held + 21, true, 0), lines_of_digits(1, held + 21, true, 1));
    }
}

// A workspace that may hold anything: parts look there for a number that is not there yet.
std::vector<std::byte> anything(std::size_t bytes) { return std::vector<std::byte>(bytes, std::byte{0x5A}); }

// Streams ------------------------------------------------------------------------------------------------------------------------------
void stream_by(const context& where, const gemms::stream_instance& with, const product& p, bool turned, int cluster, int parts) {
  on_device d(where, p);
  const gemms::stream_plan plan = gemms::plan_stream(where, d.what, {}, with, turned, {with.how.slabs, cluster, parts});
  device_array<std::byte> workspace(where, anything(plan.workspace()));
  gemms::run(where, plan, {workspace.data(), plan.workspace()}, nullptr);
  where.runs_on().synchronize(nullptr);
  require_kept(where, with.code.name, p, d.c.to_host());
}
// Whole tiles and edges, stored along either operand and one by one, with the ring going around, lines of few nonzeros, and tiles that
// clusters and parts share.
void stream_by(const context& where, const gemms::stream_instance& with) {
  using enum storage_order;
  const gemms::stream_policy& how = with.how;
  const std::int64_t stage = gemms::stream_step * how.slabs, around = (how.stages + 1) * stage + 19, once = stage + 7;
  stream_by(where, with, {how.tile.m, how.tile.n, around, 1, 0}, false, 1, 1);
  const storage_order of_b = how.by == gemms::stream_loader::engine ? rows : columns;  // which does not lie at a multiple of 16 bytes
  stream_by(where, with, {how.tile.n + 3, how.tile.m + 5, once, -1.5f, 0.5f, columns, of_b, 1}, true, 1, 1);
  if (!how.shares) return;
  stream_by(where, with, {how.tile.m, how.tile.n, 4 * once, 1, 0.5f}, false, 2, 2);
  stream_by(where, with, with_odd_lines({37, 31, 4 * once, 1, 0}), false, 2, 1);
}

// TF32 parts ----------------------------------------------------------------------------------------------------------------------------
std::uint64_t narrow_by(const context& where, const gemms::narrow_instance& with, const product& p, bool turned, int cluster, int parts,
                        unsigned most_blocks = 2) {
  on_device d(where, p);
  gemms::narrow_plan plan = gemms::plan_narrow(where, d.what, {}, with, turned, {cluster, parts});
  if (cluster * parts == 1) plan.grid.x = std::min(plan.grid.x, most_blocks);
  device_array<std::byte> workspace(where, anything(plan.workspace() + 1));
  device_array<std::uint64_t> recomputed(where, std::vector<std::uint64_t>(1));
  gemms::run(where, plan, {workspace.data(), plan.workspace()}, recomputed.data(), nullptr);
  where.runs_on().synchronize(nullptr);
  require_kept(where, with.code.name, p, d.c.to_host());
  return recomputed.to_host()[0];
}
// The ring going around from tile to tile, edges, lines of few nonzeros, outputs that are computed again, and tiles that clusters and parts
// share.
void narrow_by(const context& where, const gemms::narrow_instance& with) {
  using enum storage_order;
  const auto along = [](bool k, storage_order otherwise) { return k ? otherwise : otherwise == rows ? columns : rows; };
  const storage_order of_long = along(with.how.long_along_k, rows), of_short = along(with.how.short_along_k, columns);
  const std::int64_t around = with.how.stages() * gemms::narrow_step + 39;
  narrow_by(where, with, {132, 68, around, 1, 0, of_long, of_short, 4, 0}, false, 1, 1, 1);
  narrow_by(where, with, with_odd_lines({36, 32, 71, -1.5f, 0.5f, of_long, of_short, 1, 0}), false, 1, 1);
  product small(20, 12, 70, 1, 1, of_long, of_short, 4, 0);
  for (std::int64_t k = 0; k < 70; ++k) small.a(3, k) *= 0x1p-120f;
  if (const auto again = narrow_by(where, with, small, false, 1, 1); again != 12)
    throw std::runtime_error(fmt::format("{}: {} outputs were computed again, expected 12", with.code.name, again));
  narrow_by(where, with, with_odd_lines({36, 32, 300, 1, 0.5f, of_long, of_short, 4, 0}), false, 2, 2);
}

void multiply_short(const context& where) {
  using enum storage_order;
  for (const product& p : {product(71, 133, 9, 1, 0), with_odd_lines({71, 133, 16, -1.5f, 0.5f, columns, columns, 1}),
                           product(64, 128, 5, 1, 2, neither, neither)}) {
    on_device d(where, p);
    gemm(where, d.what, {.policy = "short"});
    where.runs_on().synchronize(nullptr);
    require_kept(where, "gemm.short", p, d.c.to_host());
  }
}

}  // namespace

std::string case_of(const gemms::product_policy& how) {
  return fmt::format("gemm/{}{}", policy_of(how.by), how.cluster == 1 ? "" : fmt::format("-{}", how.cluster));
}

std::string case_of(const gemms::stream_policy& how) {
  return how.by == gemms::stream_loader::engine ? "gemm/stream" : "gemm/stream-async";
}

std::string case_of(const gemms::narrow_policy& how) {
  return how.by == gemms::stream_loader::engine ? "gemm/narrow" : "gemm/narrow-async";
}

std::vector<checked_case> split_cases() {
  std::vector<checked_case> cases;
  for (const gemms::policy_info& n : gemms::policies()) {
    if (n.name == "short") cases.push_back({"gemm/short", std::string(n.adds), multiply_short});
    for (const gemms::product_instance& i : gemms::product_instances(target::checked))
      if (n.name == policy_of(i.how.by))
        cases.push_back({case_of(i.how),
                         i.how.cluster == 1 ? std::string(n.adds) : fmt::format("the same, {} blocks share a tile", i.how.cluster),
                         [i](const context& where) { multiply_by(where, i); }});
  }
  for (const gemms::stream_loader by : {gemms::stream_loader::engine, gemms::stream_loader::threads}) {
    std::vector<gemms::stream_instance> all;
    for (const gemms::stream_instance& i : gemms::stream_instances(target::checked))
      if (i.how.by == by) all.push_back(i);
    cases.push_back(
        {case_of(all.front().how),
         by == gemms::stream_loader::engine ? "sums in FP64 on Tensor Cores, fed by the copy engine" : "the same, fed by threads",
         [all](const context& where) {
           for (const gemms::stream_instance& i : all) stream_by(where, i);
         }});
  }
  for (const gemms::stream_loader by : {gemms::stream_loader::engine, gemms::stream_loader::threads}) {
    std::vector<gemms::narrow_instance> all;
    for (const gemms::narrow_instance& i : gemms::narrow_instances(target::checked))
      if (i.how.by == by) all.push_back(i);
    cases.push_back(
        {case_of(all.front().how),
         by == gemms::stream_loader::engine ? "three products of TF32 parts, fed by the copy engine" : "the same, fed by threads",
         [all](const context& where) {
           for (const gemms::narrow_instance& i : all) narrow_by(where, i);
         }});
  }
  cases.push_back({"gemm/split-pass", "what splits the operands: lines of different length, and devices without clusters",
                   [all = gemms::split_pass_instances(target::checked)](const context& where) { split_all(where, all); }});
  return cases;
}

}  // namespace antiphase::checker_detail
