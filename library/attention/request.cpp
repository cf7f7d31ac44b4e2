// SPDX-License-Identifier: Apache-2.0
#include "library/attention/request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <antiphase/core/names.hpp>
#include <cmath>
#include <iterator>
#include <string_view>
#include <type_traits>
#include <vector>

#include "library/attention/members.hpp"
#include "library/attention/row_set.hpp"

namespace antiphase::attentions {
namespace {

constexpr std::int64_t most_bytes = std::int64_t{1} << 52;  // that an operand may span

// An array of the call: its name, and where its rows lie.
struct array_of_call {
  std::string_view name;
  row_set rows;
  std::size_t alignment;  // bytes
};

// A stride in bytes; 0 along an extent that has no second element, whose stride is not used.
row_dimension dimension_of(std::string_view name, std::int64_t extent, std::int64_t stride,
                           std::int64_t size) {
  if (extent <= 1) return {extent, 0};
  if (stride < 0 || stride > most_bytes / size / extent)
    throw bad_request(
        fmt::format("{} has a stride of {} elements along an extent of {}: expected 0 or more, and "
                    "less than 2^52 bytes in all",
                    name, stride, extent));
  return {extent, stride * size};
}

template <class T> array_of_call rows_of(std::string_view name, const request& r, const heads<T>& x,
                                         std::int64_t count, bool of_keys) {
  constexpr std::int64_t size = sizeof(T);
  const problem& p = r.problem;
  const std::int64_t rows = !r.packed() ? (of_keys ? p.keys : p.queries)
                            : of_keys   ? p.lengths.key_rows
                                        : p.lengths.query_rows;
  return {name,
          {reinterpret_cast<std::uintptr_t>(x.data),
           {dimension_of(name, r.packed() ? std::min<std::int64_t>(1, p.members) : p.members, x.member_stride,
                         size),
            dimension_of(name, count, x.head_stride, size), dimension_of(name, rows, x.row_stride, size)},
           p.depth * size},
          alignof(T)};
}
template <class Pairs> array_of_call pairs_of(std::string_view name, const problem& p, const Pairs& x) {
  using T = std::remove_cvref_t<decltype(*x.data)>;
  constexpr std::int64_t size = sizeof(T);
  return {
      name,
      {reinterpret_cast<std::uintptr_t>(x.data),
       {dimension_of(name, p.members, x.member_stride, size),
        dimension_of(name, p.heads, x.head_stride, size), dimension_of(name, p.queries, x.query_stride, size),
        dimension_of(name, p.keys, x.key_stride, size)},
       size},
      alignof(T)};
}
array_of_call numbers(std::string_view name, const void* data, std::int64_t count, std::size_t size) {
  return {name, {reinterpret_cast<std::uintptr_t>(data), {}, count * static_cast<std::int64_t>(size)}, size};
}

std::int64_t lines_of_logsumexp(const problem& p) {
  return p.lengths.query_offsets != nullptr ? p.heads : p.members * p.heads;
}
// A forward also writes what lies after the last query of each head.
array_of_call logsumexp_of(const request& r) {
  const problem& p = r.problem;
  const std::int64_t rows = rows_of_head(p), lines = lines_of_logsumexp(p),
                     last = r.back.has_value() ? rows : p.logsumexp_stride,
                     count = lines == 0 || rows == 0 ? 0 : (lines - 1) * p.logsumexp_stride + last;
  return numbers("logsumexp", p.logsumexp, count, sizeof(float));
}

struct arrays {
  std::vector<array_of_call> read, written;
};
arrays arrays_of(const request& r) {
  const problem& p = r.problem;
  arrays all;
  const std::int64_t stored = p.heads * r.query_rows();
  all.read = {rows_of("q", r, p.q, p.heads, false), rows_of("k", r, p.k, p.kv_heads, true),
              rows_of("v", r, p.v, p.kv_heads, true)};
  if (p.bias.data != nullptr) all.read.push_back(pairs_of("bias", p, p.bias));
  if (p.visible.data != nullptr) all.read.push_back(pairs_of("visible", p, p.visible));
  if (r.packed()) {
    all.read.push_back(numbers("the offsets of queries", p.lengths.query_offsets, p.members + 1, 4));
    all.read.push_back(numbers("the offsets of keys", p.lengths.key_offsets, p.members + 1, 4));
  }
  const array_of_call out = rows_of("out", r, p.out, p.heads, false),
                      softmax = numbers("softmax", p.softmax, 2 * stored, sizeof(float));
  if (r.back.has_value()) {
    const gradients& g = *r.back;
    const array_of_call stored_as = r.from_logsumexp() ? logsumexp_of(r) : softmax;
    for (const array_of_call& a : {out, stored_as, rows_of("the gradient of out", r, g.out, p.heads, false)})
      all.read.push_back(a);
    all.written = {rows_of("the gradient of q", r, g.q, p.heads, false),
                   rows_of("the gradient of k", r, g.k, p.kv_heads, true),
                   rows_of("the gradient of v", r, g.v, p.kv_heads, true)};
    if (g.bias.data != nullptr) all.written.push_back(pairs_of("the gradient of the bias", p, g.bias));
    return all;
  }
  all.written = {out};
  if (p.logsumexp != nullptr) all.written.push_back(logsumexp_of(r));
  if (p.softmax != nullptr) all.written.push_back(softmax);
  return all;
}

void require_extents(const problem& p) {
  const auto require = [](std::string_view name, std::int64_t value, std::int64_t least, std::int64_t most) {
    if (value < least || value > most)
      throw bad_request(fmt::format("{} is {}: expected {} to {}", name, value, least, most));
  };
  require("members", p.members, 0, extent_limit - 1);
  require("heads", p.heads, 0, extent_limit - 1);
  require("queries", p.queries, 0, extent_limit - 1);
  require("keys", p.keys, 0, extent_limit - 1);
  require("depth", p.depth, 1, most_depth);
  if (p.kv_heads < 0 || (p.kv_heads > 0 && p.heads % p.kv_heads != 0))
    throw bad_request(
        fmt::format("kv_heads is {}: expected a divisor of heads, which is {}, or 0", p.kv_heads, p.heads));
  if (p.scale.has_value() && !std::isfinite(*p.scale))
    throw bad_request(fmt::format("scale is {}: expected a finite number", *p.scale));
  if (static_cast<std::size_t>(p.mask) >= std::size(causal_names))
    throw bad_request(fmt::format("mask is {}: expected causal::{}", static_cast<int>(p.mask),
                                  listed({std::begin(causal_names), std::end(causal_names)})));
  if ((p.lengths.query_offsets == nullptr) != (p.lengths.key_offsets == nullptr))
    throw bad_request(
        fmt::format("there are offsets of {} alone: expected those of queries and keys, or none",
                    p.lengths.query_offsets != nullptr ? "queries" : "keys"));
  if (p.lengths.query_offsets == nullptr) return;
  require("query_rows", p.lengths.query_rows, 0, extent_limit - 1);
  require("key_rows", p.lengths.key_rows, 0, extent_limit - 1);
  const auto require_longest = [&](std::string_view name, std::int64_t longest, std::int64_t rows) {
    if (longest * p.members < rows)
      throw bad_request(
          fmt::format("{} is {}: {} packed members have {} rows in all, expected the length of the "
                      "longest",
                      name, longest, p.members, rows));
  };
  require_longest("queries", p.queries, p.lengths.query_rows);
  require_longest("keys", p.keys, p.lengths.key_rows);
}

void require_memory(const array_of_call& a) {
  if (a.rows.empty()) return;
  if (a.rows.address == 0)
    throw bad_request(fmt::format("{} is a null pointer: expected {} bytes", a.name, a.rows.span()));
  if (a.rows.address % a.alignment != 0)
    throw bad_request(fmt::format("{} is at address {:#x}: expected a multiple of {}", a.name, a.rows.address,
                                  a.alignment));
}

// Strides of extents of 0 or 1 are not used; they are made 0, so that no address overflows.
template <class T> void forget_idle(heads<T>& x, const problem& p, bool of_keys) {
  if (p.members <= 1 || p.lengths.query_offsets != nullptr) x.member_stride = 0;
  if (p.heads <= 1 || (of_keys && p.kv_heads <= 1)) x.head_stride = 0;
  if (p.lengths.query_offsets == nullptr && (of_keys ? p.keys : p.queries) <= 1) x.row_stride = 0;
}
template <class Pairs> void forget_idle(Pairs& x, const problem& p) {
  if (p.members <= 1) x.member_stride = 0;
  if (p.heads <= 1) x.head_stride = 0;
  if (p.queries <= 1) x.query_stride = 0;
  if (p.keys <= 1) x.key_stride = 0;
}

}  // namespace

member request::average() const {
  const std::int64_t members = std::max<std::int64_t>(1, problem.members);
  return {0, static_cast<int>(query_rows() / members), static_cast<int>(key_rows() / members), 0, 0};
}
walked_call request::walked(bool owns_keys) const {
  const attentions::member one = average();
  const std::int64_t heads = owns_keys ? problem.kv_heads : problem.heads;
  return {
      .heads = static_cast<double>(problem.members) * static_cast<double>(heads),
      .queries = one.queries,
      .keys = one.keys,
      .sees = reach_of(problem, one),
      .depth = static_cast<double>(problem.depth),
      .biased = problem.bias.data != nullptr || problem.visible.data != nullptr,
      .group = static_cast<double>(problem.heads) / static_cast<double>(std::max<std::int64_t>(1, heads))};
}
double request::pairs() const {
  const member one = average();
  const reach see = reach_of(problem, one);
  // of long members from some of the queries
  const int step = std::max(1, one.queries / 4096);
  double all = 0;
  for (int i = 0; i < one.queries; i += step) all += std::max(0, see.end(i) - see.begin(i));
  return all * step * static_cast<double>(problem.members) * static_cast<double>(problem.heads);
}

std::string request::text() const {
  const std::string grouped =
      problem.kv_heads == problem.heads ? "" : fmt::format(" ({} of K and V)", problem.kv_heads);
  if (packed())
    return fmt::format("{} packed members x {} heads{} of {} queries and {} keys in all, depth {}",
                       problem.members, problem.heads, grouped, query_rows(), key_rows(), problem.depth);
  return fmt::format("{} x {} heads{} of {} queries and {} keys, depth {}", problem.members, problem.heads,
                     grouped, problem.queries, problem.keys, problem.depth);
}

request validated(const executor& on, const problem& p, const gradients* back) {
  require_extents(p);
  request r{on, p, {}};
  if (back != nullptr) r.back = *back;
  if (p.kv_heads == 0) r.problem.kv_heads = p.heads;
  if (!p.scale.has_value()) r.problem.scale = static_cast<float>(1 / std::sqrt(static_cast<double>(p.depth)));
  for (const std::int64_t rows : {r.query_rows(), r.key_rows()})
    if (rows > 0 && p.heads > most_bytes / 8 / rows)
      throw bad_request(fmt::format("{}: expected less than 2^52 bytes of numbers for all rows", r.text()));
  std::int64_t& stride = r.problem.logsumexp_stride;
  if (stride == 0) stride = rows_of_head(p);
  if (stride < rows_of_head(p) || stride > most_bytes / 8 / std::max<std::int64_t>(1, lines_of_logsumexp(p)))
    throw bad_request(
        fmt::format("logsumexp_stride is {}: expected 0, or at least the {} queries of a head, and less than "
                    "2^52 bytes in all",
                    stride, rows_of_head(p)));
  if (back != nullptr && back->bias.data != nullptr && p.bias.data == nullptr)
    throw bad_request("there is a gradient of the bias, but no bias: expected both");
  const arrays all = arrays_of(r);
  for (const array_of_call& a : all.read) require_memory(a);
  for (const array_of_call& a : all.written) {
    require_memory(a);
    if (!a.rows.empty() && !rows_nest(a.rows))
      throw bad_request(fmt::format(
          "{} has rows that overlap each other: expected strides of at least what the smaller ones span, {}",
          a.name, r.text()));
  }
  problem& q = r.problem;
  forget_idle(q.q, p, false), forget_idle(q.out, p, false);
  forget_idle(q.k, q, true), forget_idle(q.v, q, true);
  forget_idle(q.bias, p), forget_idle(q.visible, p);
  if (r.back.has_value()) {
    forget_idle(r.back->out, p, false), forget_idle(r.back->q, p, false);
    forget_idle(r.back->k, q, true), forget_idle(r.back->v, q, true);
    forget_idle(r.back->bias, p);
  }
  return r;
}

void require_offsets(const request& r) {
  if (!r.packed() || r.where() != target::cpu) return;
  const auto require = [&](std::string_view of, const std::int32_t* offsets, std::int64_t longest,
                           std::int64_t rows) {
    const std::int64_t last = r.problem.members;
    if (offsets[0] != 0 || offsets[last] != rows)
      throw bad_request(fmt::format("the offsets of {} go from {} to {}: expected from 0 to {}", of,
                                    offsets[0], offsets[last], rows));
    for (std::int64_t b = 0; b < last; ++b)
      if (const std::int64_t length = std::int64_t{offsets[b + 1]} - offsets[b];
          length < 0 || length > longest)
        throw bad_request(fmt::format("by the offsets of {}, member {} has {} of them: expected 0 to {}", of,
                                      b, length, longest));
  };
  require("queries", r.problem.lengths.query_offsets, r.problem.queries, r.query_rows());
  require("keys", r.problem.lengths.key_offsets, r.problem.keys, r.key_rows());
}

void require_own_memory(const request& r, std::span<const std::byte> workspace) {
  const arrays all = arrays_of(r);
  const array_of_call own =
      numbers("the workspace", workspace.data(), static_cast<std::int64_t>(workspace.size()), 1);
  const auto require_apart = [](const array_of_call& a, const array_of_call& from) {
    if (overlap(a.rows, from.rows))
      throw bad_request(fmt::format("{} overlaps {}: expected memory of its own", a.name, from.name));
  };
  for (auto a = all.written.begin(); a != all.written.end(); ++a) {
    for (const array_of_call& of : all.read) require_apart(*a, of);
    for (auto b = all.written.begin(); b != a; ++b) require_apart(*a, *b);
    require_apart(own, *a);
  }
  for (const array_of_call& of : all.read) require_apart(own, of);
}

}  // namespace antiphase::attentions
