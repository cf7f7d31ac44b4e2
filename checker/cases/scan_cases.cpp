// SPDX-License-Identifier: Apache-2.0
// Cases of scans: every compiled kernel of the ladder and of short lines, of single passes with all kinds of
// lines, and of one wave.
#include <algorithm>
#include <antiphase/scan.hpp>
#include <antiphase/scan/operators.hpp>
#include <cstring>
#include <limits>
#include <optional>
#include <span>

#include "checker/cases/cases.hpp"
#include "library/scan/columns/columns_plan.hpp"
#include "library/scan/request.hpp"
#include "library/scan/ring/ring_plan.hpp"
#include "library/scan/wave/wave_plan.hpp"

namespace antiphase::checker_detail {
namespace {

using scans::problem;

// What is computed with: halves as floats, and sums of integers modulo 2^64, from which every narrower type's
// are cut off.
template <class T> auto number(T x) {
  if constexpr (std::is_same_v<T, f16> || std::is_same_v<T, bf16>)
    return to_float(x);
  else
    return x;
}
template <class T> T stored(auto x) {
  if constexpr (std::is_same_v<T, f16>)
    return to_f16(static_cast<float>(x));
  else if constexpr (std::is_same_v<T, bf16>)
    return to_bf16(static_cast<float>(x));
  else
    return static_cast<T>(x);
}
template <class Number> using summed =
    std::conditional_t<std::is_floating_point_v<Number>, double, std::uint64_t>;
// Neither sums nor products leave what a floating type holds exactly.
template <class T> T element_at(scan_operation operation, std::uint64_t place) {
  if (operation == scan_operation::product)
    return stored<T>(place % 64 == 0 && random_bits(5, place) % 2 == 0 ? -1 : 1);
  return stored<T>(digit(4, place, 50));
}

// One scan: what the problem says, where arrays lie, and what tells segments apart; null: the lines do.
struct scan_of {
  scans::problem problem;
  std::size_t in_offset = 0, out_offset = 0;  // elements past a multiple of 16 bytes
  std::optional<scans::scan_keys> keys = {};  // without data: every third or so differs
};
using launching = std::function<void(const context&, const problem&, const scans::scan_keys*)>;

template <class Out, class N> Out after(scan_operation operation, N& running, N x) {
  running = scans::with_operator(operation, [&](auto op) {
    using S = std::conditional_t<decltype(op)::ordered, N, summed<N>>;
    return static_cast<N>(op(static_cast<S>(running), static_cast<S>(x)));
  });
  return stored<Out>(running);
}

// bool: whether segment borders lie between elements i - 1 and i, for every i but 0.
template <class In, class Out> void expect(std::vector<Out>& expected, std::size_t offset,
                                           const std::vector<In>& in, const problem& p,
                                           const std::vector<bool>& border) {
  using N = decltype(number(Out{}));
  const N first = p.initial ? static_cast<N>(p.initial->visit([](auto x) { return static_cast<double>(x); }))
                            : scans::identity_of<N>(p.operation);
  for (std::int64_t line = 0; line < p.outer * p.inner; ++line) {
    N running = p.kind == scan_kind::exclusive ? first : scans::identity_of<N>(p.operation);
    for (std::int64_t i = 0; i < p.length; ++i) {
      const bool forward = p.direction == scan_direction::forward;
      const std::int64_t along = forward ? i : p.length - 1 - i;
      const auto at =
          static_cast<std::size_t>((line / p.inner * p.length + along) * p.inner + line % p.inner);
      if (i > 0 && !border.empty() && border[forward ? at : at + 1])
        running = p.kind == scan_kind::exclusive ? first : scans::identity_of<N>(p.operation);
      const Out before = stored<Out>(running);
      const Out now = after<Out>(p.operation, running, static_cast<N>(number(in[at])));
      expected[offset + at] = p.kind == scan_kind::inclusive ? now : before;
    }
  }
}

template <class T> std::vector<T> keys_of(std::size_t count, scans::segments_by by) {
  std::vector<T> keys;
  for (std::size_t i = 0; i < count; ++i) {
    const bool begins = random_bits(7, i) % 100 == 0;
    if (by == scans::segments_by::head_flags)
      keys.push_back(stored<T>(begins ? 1 + static_cast<int>(i % 3) : 0));
    else
      keys.push_back(stored<T>(i == 0   ? 0
                               : begins ? static_cast<int>(i % 100)
                                        : static_cast<int>(number(keys.back()))));
  }
  return keys;
}

// Scans, and tells where segments begin. On its own: compiled once for each type of keys, not for each pair
// of types that are scanned as well.
std::vector<bool> scanned(const context& where, std::size_t count, scan_of& s, const launching& launch) {
  std::vector<bool> border;
  if (s.keys) {
    with_element(s.keys->type, [&]<class K>() {
      const std::vector<K> keys = keys_of<K>(count, s.keys->segments);
      const device_array<K> told(where, std::span<const K>(keys));
      for (std::size_t i = 0; i < count; ++i)
        border.push_back(s.keys->segments == scans::segments_by::head_flags
                             ? keys[i] != 0
                             : i > 0 && keys[i] != keys[i - 1]);
      s.keys->data = told.data();
      launch(where, s.problem, &*s.keys);
      where.runs_on().synchronize(nullptr);
    });
  } else {
    launch(where, s.problem, nullptr);
    where.runs_on().synchronize(nullptr);
  }
  return border;
}

template <class In, class Out>
void scan_and_verify(const context& where, const std::string& what, scan_of s, const launching& launch) {
  const auto count = static_cast<std::size_t>(s.problem.outer * s.problem.length * s.problem.inner);
  constexpr std::size_t guard = 16;  // before the results; nothing lies after them
  std::vector<In> in;
  for (std::size_t i = 0; i < count; ++i) in.push_back(element_at<In>(s.problem.operation, i));
  std::vector<In> memory(s.in_offset, in[0]);
  memory.insert(memory.end(), in.begin(), in.end());
  std::vector<Out> expected;
  for (std::size_t i = 0; i < guard + s.out_offset + count; ++i)
    expected.push_back(element_at<Out>(scan_operation::sum, i));
  const device_array<In> from(where, std::span<const In>(memory));
  device_array<Out> to(where, std::span<const Out>(expected));
  s.problem.type = element_of<In>;
  if (!std::is_same_v<In, Out>) s.problem.accumulate = element_of<Out>;
  s.problem.in = from.data() + s.in_offset;
  s.problem.out = to.data() + guard + s.out_offset;

  const std::vector<bool> border = scanned(where, count, s, launch);
  const std::vector<Out> result = to.to_host();
  expect(expected, guard + s.out_offset, in, s.problem, border);
  for (std::size_t i = 0; i < expected.size(); ++i)
    require_same(what, i, number(result[i]), number(expected[i]));
}
// The same for types that are known when it runs.
void scan_and_verify(const context& where, const std::string& what, element in, element out, const scan_of& s,
                     const launching& launch) {
  with_stored_element(in, [&]<class In>() {
    if (in == out) return scan_and_verify<In, In>(where, what, s, launch);
    with_element(out, [&]<class Out>() {
      if constexpr (scans::accumulates(element_of<In>, element_of<Out>))
        scan_and_verify<In, Out>(where, what, s, launch);
    });
  });
}

launching by_policy(std::string_view policy) {
  return [policy](const context& where, const problem& p, const scans::scan_keys* keys) {
    if (keys != nullptr)
      scan_by_key(where, p, *keys, {.policy = policy});
    else
      scan(where, p, {.policy = policy});
  };
}

// Passes
// -----------------------------------------------------------------------------------------------------------
// A line of several tiles, so that there are totals, and short ones side by side; half of the kernels with
// the other kind and direction.
void scan_in_passes(const context& where, std::string_view step,
                    const std::vector<scans::instance>& instances) {
  for (std::size_t n = 0; n < instances.size(); ++n) {
    const scans::instance& i = instances[n];
    const std::string what = fmt::format("{} of {}, policy {}", scans::name(i.operation), name(i.type), step);
    scan_of s{.problem = {.operation = i.operation, .length = 2 * i.policy.tile(size_of(i.type)) + 37}};
    if (n % 2 == 1) s.problem.kind = scan_kind::exclusive, s.problem.direction = scan_direction::reverse;
    scan_and_verify(where, what, i.type, i.type, s, by_policy(step));
    s.problem.outer = 2, s.problem.length = 41, s.problem.inner = 3;
    s.problem.kind = n % 2 == 0 ? scan_kind::exclusive : scan_kind::inclusive;
    if (s.problem.kind == scan_kind::exclusive) s.problem.initial = 7;
    s.in_offset = 1;
    scan_and_verify(where, what, i.type, i.type, s, by_policy(step));
  }
}

// Single passes
// -----------------------------------------------------------------------------------------------------------
// Kernels of unsigned integers scan signed ones as well, those of minima maxima: half of them do.
element signed_of(element type) {
  switch (type) {
    case element::u8: return element::i8;
    case element::u16: return element::i16;
    case element::u32: return element::i32;
    case element::u64: return element::i64;
    default: return type;
  }
}
struct ring_case {
  std::string name;
  element in, out;
  scan_operation operation;
};
ring_case turned(const scans::single_pass_instance& i, std::size_t n) {
  const bool other = n % 2 == 1;
  scan_operation operation = i.operation;
  if (other)
    for (const scan_operation sharing : scans::operators::operations)
      if (scans::one_pass_as(sharing) == i.operation) operation = sharing;
  const element in = other ? signed_of(i.in) : i.in, out = other ? signed_of(i.out) : i.out;
  return {fmt::format("{} of {} into {}, policy {}", scans::name(operation), name(in), name(out), i.step), in,
          out, operation};
}
using ring_instances = std::vector<scans::single_pass_instance>;
int tile_of(const scans::single_pass_instance& i) {
  return scans::ring_of(scans::find_step(i.step), i.in, i.out, i.operation, i.over)
      .tile_of(size_of(i.in), size_of(i.out));
}

// Of floats and bytes more tiles than two blocks have slots; of all, whole ones and one that is not.
void scan_one_line(const context& where, const ring_instances& instances) {
  for (std::size_t n = 0; n < instances.size(); ++n) {
    const scans::single_pass_instance& i = instances[n];
    const ring_case c = turned(i, n);
    const bool long_line =
        i.operation == scan_operation::sum && (i.in == element::f32 || i.in == element::u8) && i.in == i.out;
    const int tiles = long_line ? 2 * scans::find_step(i.step).ring.stages + 2 : 2;
    scan_and_verify(where, c.name, c.in, c.out,
                    {.problem = {.operation = c.operation, .length = std::int64_t{tiles} * tile_of(i) + 37}},
                    by_policy(i.step));
    scan_of anywhere{.problem = {.operation = c.operation,
                                 .kind = scan_kind::exclusive,
                                 .direction = scan_direction::reverse,
                                 .length = tile_of(i) + 3,
                                 .initial = 7},
                     .in_offset = 3,
                     .out_offset = 1};
    if (c.operation == scan_operation::product) anywhere.problem.initial = 1;
    scan_and_verify(where, c.name, c.in, c.out, anywhere, by_policy(i.step));
  }
}
// Rows that are shorter than a tile, and longer.
void scan_rows(const context& where, const ring_instances& instances) {
  for (std::size_t n = 0; n < instances.size(); ++n) {
    const scans::single_pass_instance& i = instances[n];
    const ring_case c = turned(i, n);
    scan_and_verify(where, c.name + ", short rows", c.in, c.out,
                    {.problem = {.operation = c.operation, .outer = tile_of(i) / 77 + 20, .length = 77}},
                    by_policy(i.step));
    scan_and_verify(where, c.name + ", long rows", c.in, c.out,
                    {.problem = {.operation = c.operation,
                                 .kind = scan_kind::exclusive,
                                 .direction = scan_direction::reverse,
                                 .outer = 2,
                                 .length = tile_of(i) + 101},
                     .in_offset = 1},
                    by_policy(i.step));
  }
}
// Keys of 1, 2, 4 and 8 bytes, and floats, which are compared as such.
void scan_segments(const context& where, const ring_instances& instances, scans::segments_by by) {
  constexpr element keys[] = {element::i32, element::u8,  element::f32,
                              element::i16, element::u64, element::f64};
  for (std::size_t n = 0; n < instances.size(); ++n) {
    const scans::single_pass_instance& i = instances[n];
    const ring_case c = turned(i, n);
    scan_of s{.problem = {.operation = c.operation, .length = tile_of(i) + 101}};
    s.keys = {.type = by == scans::segments_by::keys ? keys[n % std::size(keys)] : element::u8,
              .segments = by};
    if (n % 2 == 1)
      s.problem.direction = scan_direction::reverse, s.problem.kind = scan_kind::exclusive, s.in_offset = 1;
    scan_and_verify(where, c.name, c.in, c.out, s, by_policy(i.step));
  }
}
ring_instances ring_kernels(std::string_view step, auto wanted) {
  ring_instances found;
  for (const scans::single_pass_instance& i : scans::single_pass_instances(target::checked))
    if (i.step == step && wanted(i)) found.push_back(i);
  return found;
}
void add_single_pass(std::vector<checked_case>& cases, const scans::step& s) {
  using scans::lines_kind;
  const auto add = [&](const char* lines, const char* about, const ring_instances& kernels, auto scan_them) {
    if (!kernels.empty())
      cases.push_back({fmt::format("scan/{}{}", s.name, lines), about,
                       [kernels, scan_them](const context& where) { scan_them(where, kernels); }});
  };
  add("", s.adds, ring_kernels(s.name, [](auto& i) { return i.over == lines_kind::one && i.in == i.out; }),
      scan_one_line);
  add("-wide", "sums that are wider than the elements",
      ring_kernels(s.name, [](auto& i) { return i.in != i.out; }), scan_one_line);
  const ring_instances segments =
      ring_kernels(s.name, [](auto& i) { return i.over == lines_kind::segments; });
  add("-rows", "several lines, one after the other", segments, scan_rows);
  add("-by-key", "segments by key", segments, [](const context& where, const ring_instances& kernels) {
    scan_segments(where, kernels, scans::segments_by::keys);
  });
  add("-head-flags", "segments by head flags", segments,
      [](const context& where, const ring_instances& kernels) {
        scan_segments(where, kernels, scans::segments_by::head_flags);
      });
}

// One wave
// -----------------------------------------------------------------------------------------------------------
// Every policy, on lines that are shorter than those it is for: two tiles and a part, one alone, and launches
// that may overlap.
void scan_in_one_wave(const context& where, const std::vector<scans::wave_instance>& instances) {
  for (std::size_t n = 0; n < instances.size(); ++n) {
    const scans::wave_instance& i = instances[n];
    const std::string what =
        fmt::format("sum of {}, one-wave of {} x {}", name(i.type), i.policy.warps, i.policy.rows);
    const launching launch = [&](const context& on, const problem& p, const scans::scan_keys*) {
      device_array<std::byte> workspace(on, scans::one_wave_workspace(i, p));
      initialise_scan_workspace(on, {workspace.data(), workspace.size()});
      const scans::launchable l =
          scans::prepare_one_wave(i, p, p.kind == scan_kind::exclusive ? scans::first_of_exclusive(p) : 0,
                                  {workspace.data(), workspace.size()});
      for (int turn = 0; turn < 2; ++turn) on.runs_on().launch(l.code, l.grid, l.arguments.data(), nullptr);
      on.runs_on().synchronize(nullptr);
    };
    scan_of s{.problem = {.operation = i.operation, .length = 2 * std::int64_t{i.tile} + 37}};
    if (n % 2 == 1)
      s.problem.kind = scan_kind::exclusive, s.problem.direction = scan_direction::reverse,
      s.problem.initial = 7;
    scan_and_verify(where, what, i.type, i.type, s, launch);
    s.problem.length = i.tile / 2 + 3;
    s.in_offset = 1, s.out_offset = 2;
    scan_and_verify(where, what, i.type, i.type, s, launch);
  }
}

// Columns
// -----------------------------------------------------------------------------------------------------------
// Tiles of whole rows and of strips, one and two of them; of sums of floats more than a group.
void scan_columns(const context& where, const std::vector<scans::columns_instance>& instances) {
  for (std::size_t n = 0; n < instances.size(); ++n) {
    const scans::columns_instance& i = instances[n];
    const ring_case c = turned(
        {.step = "columns", .in = i.in, .out = i.out, .operation = i.operation, .over = {}, .code = i.code},
        n);
    const bool many = i.operation == scan_operation::sum && i.in == element::f32;
    const auto verify = [&](scan_of s, std::int64_t outer, std::int64_t length, std::int64_t inner) {
      s.problem.operation = c.operation;
      s.problem.outer = outer, s.problem.length = length, s.problem.inner = inner;
      scan_and_verify(where, c.name, c.in, c.out, s, by_policy("columns"));
    };
    verify({}, 1, many ? 6000 : 700, many ? 16 : 15);
    scan_of back;
    back.problem.kind = scan_kind::exclusive, back.problem.direction = scan_direction::reverse;
    back.problem.initial = c.operation == scan_operation::product ? 1 : 7;
    back.in_offset = 1, back.out_offset = 2;
    verify(back, 2, 40, 21);
    verify(back, 1, 530, 33);
  }
}

}  // namespace

std::vector<checked_case> scan_cases() {
  std::vector<checked_case> cases;
  const auto add_step = [&](const scans::step& s) {
    if (scans::is_one_wave(s)) {
      const std::span<const scans::wave_instance> all = scans::wave_instances(target::checked);
      const std::vector<scans::wave_instance> kernels(all.begin(), all.end());
      cases.push_back({fmt::format("scan/{}", s.name), s.adds,
                       [kernels](const context& where) { scan_in_one_wave(where, kernels); }});
      return;
    }
    if (scans::is_single_pass(s)) return add_single_pass(cases, s);
    std::vector<scans::instance> kernels;
    for (const scans::instance& i : scans::instances(target::checked))
      if (i.step == std::string_view(s.name)) kernels.push_back(i);
    cases.push_back({fmt::format("scan/{}", s.name), s.adds, [kernels, step = s.name](const context& where) {
                       scan_in_passes(where, step, kernels);
                     }});
  };
  for (const scans::step& s : scans::steps) add_step(s);
  for (const scans::step& s : scans::short_line_steps) add_step(s);
  const std::span<const scans::columns_instance> all = scans::columns_instances(target::checked);
  const std::vector<scans::columns_instance> columns(all.begin(), all.end());
  cases.push_back({"scan/columns", scans::find_step("columns").adds,
                   [columns](const context& where) { scan_columns(where, columns); }});
  return cases;
}

}  // namespace antiphase::checker_detail
