// SPDX-License-Identifier: Apache-2.0
// One split of two operands, against plain host code, byte for byte.
#pragma once
#include <gtest/gtest.h>
#include <antiphase/context.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include "library/gemm/fp16/pass/split_pass.hpp"

namespace antiphase::gemms {

enum class lies { along_k, along_lines, apart };
// An operand in memory: `gap` more floats from line to line (or from k to k) than needed, `offset` floats
// past a multiple of 16 bytes.
struct split_shape {
  int lines;
  lies how = lies::along_k;
  int gap = 0, offset = 0;
};
struct split_case {
  int k;
  split_shape a, b;
};
inline std::string to_text(const split_case& c) {
  const auto shape = [](const split_shape& s) {
    const char* how[] = {"along k", "along lines", "apart"};
    return std::to_string(s.lines) + " lines " + how[static_cast<int>(s.how)] + ", gap " +
           std::to_string(s.gap) + ", offset " + std::to_string(s.offset);
  };
  return "k " + std::to_string(c.k) + "; A: " + shape(c.a) + "; B: " + shape(c.b);
}

// Every kind of line comes up, one after the other.
inline float split_value(int line, int k, int lines_of_k, unsigned seed) {
  const unsigned mixed =
      (static_cast<unsigned>(line) * 2654435761u + static_cast<unsigned>(k) * 40503u + seed) * 2246822519u;
  const float unit = static_cast<float>(mixed >> 8) * 0x1p-24f,
              ordinary = (unit + 0x1p-10f) * (mixed & 128 ? 1.f : -1.f);
  const int period = lines_of_k / 3 + 1;
  const bool here = k % period == line % period;
  switch (line % 20) {
    case 0: return k % 7 == 3 ? 0.f : ordinary;
    case 1: return mixed & 64 ? 0.f : -0.f;
    case 2: return static_cast<float>(static_cast<int>(mixed >> 20) - 2048) * 0x1p-149f;  // denormal
    case 3: return here ? static_cast<float>((k & 1) - 0.5) * 0x1p-148f : 0.f;            // the smallest, few
    case 4: return k == lines_of_k / 2 ? std::numeric_limits<float>::infinity() : ordinary;
    case 5: return k == lines_of_k - 1 ? std::numeric_limits<float>::quiet_NaN() : k % 2 ? 0.f : ordinary;
    case 6: return k % 3 == 0 ? 1.5f : k % 3 == 1 ? 0x1p-27f : 0x1p-28f;  // both sides of tiny
    case 7: return k % 3 == 0 ? 0x1p100f : k % 3 == 1 ? 0x1.fffffep72f : -0x1p73f;
    case 8: return here ? ordinary : 0.f;  // three, or four
    case 9: return k == line % lines_of_k ? ordinary : 0.f;
    case 10: return k % (lines_of_k / 5 + 1) == 0 ? ordinary : 0.f;  // five, or fewer
    case 11: return ordinary * 0x1p127f;
    case 12: return ordinary * 0x1p-120f;
    case 13: return std::ldexp(ordinary, static_cast<int>(mixed >> 4 & 255) - 140);  // everything
    case 14: return k % 4 == 1 ? ordinary * 0x1p-60f : ordinary;
    // scaled, they are nothing
    case 15: return k == 0 ? std::numeric_limits<float>::max() : k % 2 ? 0x1p-149f : ordinary;
    // around scales of two factors
    case 16: return k == 2 ? 0x1p-112f : ordinary * 0x1p-114f;
    case 17: return k % 5 ? 1.f : 0x1.0008p0f * static_cast<float>(1 + k % 3);
    case 18: return ordinary * (line % 40 < 20 ? 0x1p46f : 0x1p-47f);  // around plain_exponent
    default: return std::ldexp(ordinary, -(k % 31));
  }
}

// What an operand's memory, all of it and a bit around it, is to look like.
constexpr unsigned char untouched = 0xA5;
constexpr std::size_t split_guard = 256;

inline float not_below(std::uint64_t n) {
  const float near = static_cast<float>(n);
  return static_cast<double>(near) < static_cast<double>(n)
             ? std::nextafter(near, std::numeric_limits<float>::infinity())
             : near;
}
inline std::vector<unsigned char> expected_split(const operand_lines& host, bool second) {
  const split_layout at{host.lines, host.k};
  std::vector<unsigned char> image(at.bytes() + 2 * split_guard, untouched);
  const auto put = [&](std::size_t offset, const auto& value) {
    std::memcpy(image.data() + split_guard + offset, &value, sizeof value);
  };
  const std::int64_t k16 = (host.k + 15) / 16 * 16;
  const float of_depth = host.k >= 64 ? 0x1p-23f : host.k >= 32 ? 0x1p-24f : host.k >= 16 ? 0x1p-25f : 0;
  for (std::int64_t l = 0; l < host.lines; ++l) {
    const auto x = [&](std::int64_t k) {
      return k < host.k ? host.data[l * host.line_stride + k * host.k_stride] : 0.f;
    };
    double largest = 0;
    bool finite = true;
    std::int64_t all_nonzeros = 0;
    for (std::int64_t k = 0; k < host.k; ++k) {
      finite = finite && std::isfinite(x(k));
      all_nonzeros += x(k) != 0;
      largest = std::max(largest, std::abs(static_cast<double>(x(k))));
    }
    const float mean_loss = second && 8 * all_nonzeros >= host.k ? of_depth : 0;
    const bool scales = finite && largest > 0;
    const int exponent = scales ? 14 - std::ilogb(largest) : 0;
    std::uint64_t size = 0, tiny = 0;
    sparse_indices indices{{-1, -1, -1, -1}};
    int nonzeros = 0;
    for (std::int64_t k = 0; k < k16; ++k) {
      const double scaled = std::ldexp(static_cast<double>(x(k)), exponent);
      const float near = static_cast<float>(scaled);
      const f16 hi = to_f16(near);
      const float rest = near - to_float(hi);
      const bool is_long = std::bit_cast<std::uint32_t>(near) % 4 != 0;
      const f16 lo = to_f16(std::fma(near, is_long ? mean_loss : 0, rest) * 2048);
      const auto to = static_cast<std::size_t>(l * 2 * k16 + k / 16 * 32 + k % 16) * 2;
      put(to, finite ? hi : f16{0});
      put(to + 32, finite ? lo : f16{0});
      if (k >= host.k || (finite && x(k) == 0)) continue;
      if (nonzeros < sparse_nonzeros) indices.k[nonzeros] = static_cast<std::int32_t>(k);
      ++nonzeros;
      if (!finite) continue;
      size += static_cast<std::uint64_t>(std::ceil(std::abs(scaled)));
      tiny += std::ilogb(x(k)) < std::ilogb(largest) - 27;
    }
    const float infinite = std::numeric_limits<float>::infinity();
    const split_line line{finite ? not_below(tiny) : infinite,
                          finite ? not_below(size > 0 ? size : 1) / 32768 : infinite, exponent, nonzeros};
    put(at.line() + static_cast<std::size_t>(l) * sizeof line, line);
    if (nonzeros <= sparse_nonzeros) put(at.sparse() + static_cast<std::size_t>(l) * sizeof indices, indices);
    const bool in_line = !finite || std::abs(exponent) > 60;
    const float mark = nonzeros > 0 && nonzeros <= sparse_nonzeros ? -line_scale::sparse_mark
                       : tiny == 0                                 ? 1.f
                                                                   : -1.f;
    put(at.scale() + static_cast<std::size_t>(l) * 4, in_line ? 0.f : std::ldexp(mark, -exponent));
  }
  for (std::int64_t l = host.lines; l % split_tile != 0; ++l)
    put(at.scale() + static_cast<std::size_t>(l) * 4, 1.f);
  return image;
}

// What lies around the elements is NaN: a kernel that reads it shows.
struct split_source {
  std::vector<float> all;
  operand_lines lies_at;  // data: null
  std::size_t offset;
};
inline split_source make_source(const split_shape& s, int k, unsigned seed) {
  const std::int64_t lines = s.lines, depth = k;
  const operand_lines at = s.how == lies::along_k ? operand_lines{nullptr, lines, depth, depth + s.gap, 1}
                           : s.how == lies::along_lines
                               ? operand_lines{nullptr, lines, depth, 1, lines + s.gap}
                               : operand_lines{nullptr, lines, depth, 2, 2 * lines + 3 + s.gap};
  const auto size = static_cast<std::size_t>(lines * at.line_stride + depth * at.k_stride + s.offset + 8);
  split_source source{std::vector<float>(size, std::numeric_limits<float>::quiet_NaN()), at,
                      static_cast<std::size_t>(s.offset)};
  for (int l = 0; l < s.lines; ++l)
    for (int i = 0; i < k; ++i)
      source.all[source.offset + static_cast<std::size_t>(l * at.line_stride + i * at.k_stride)] =
          split_value(l, i, k, seed);
  return source;
}

// The first byte that is wrong, in words, or nothing. `plan` makes a launch of two operands and where they
// go.
template <class Plan> std::string wrong_split(const context& where, const split_case& c, Plan plan) {
  struct side {
    split_source source;
    device_array<float> device;
    device_array<unsigned char> image;
    operand_lines from;
    split_operand to;
  };
  const auto make = [&](const split_shape& s, unsigned seed) {
    split_source source = make_source(s, c.k, seed);
    const split_layout at{s.lines, c.k};
    const std::vector<unsigned char> blank(at.bytes() + 2 * split_guard, untouched);
    side made{source,
              {where, std::span<const float>(source.all)},
              {where, std::span<const unsigned char>(blank)},
              source.lies_at,
              {}};
    made.from.data = made.device.data() + source.offset;
    made.to = lay_out_split(reinterpret_cast<std::byte*>(made.image.data() + split_guard), at);
    return made;
  };
  const side sides[2] = {make(c.a, 1), make(c.b, 77)};
  const split_launch l = plan(sides[0].from, sides[1].from, sides[0].to, sides[1].to);
  where.runs_on().launch(l.kernel, l.grid, &l.arguments, nullptr);
  where.runs_on().synchronize(nullptr);
  for (const side& s : sides) {
    operand_lines host = s.from;
    host.data = s.source.all.data() + s.source.offset;
    const auto expected = expected_split(host, &s == sides + 1), got = s.image.to_host();
    const auto differ = std::mismatch(expected.begin(), expected.end(), got.begin());
    if (differ.first == expected.end()) continue;
    const split_layout at{host.lines, host.k};
    const auto byte = differ.first - expected.begin() - static_cast<std::ptrdiff_t>(split_guard);
    const auto beyond = [&](std::size_t part) { return byte >= static_cast<std::ptrdiff_t>(part); };
    const std::int64_t per_line = beyond(at.sparse()) || beyond(at.line()) ? 16
                                  : beyond(at.scale())                     ? 4
                                                       : std::max<std::int64_t>(1, at.line_elements() * 2);
    const std::size_t part = beyond(at.sparse())  ? at.sparse()
                             : beyond(at.line())  ? at.line()
                             : beyond(at.scale()) ? at.scale()
                                                  : 0;
    const std::int64_t in_part = byte - static_cast<std::int64_t>(part);
    return std::string(l.kernel.name) + ", cluster " + std::to_string(l.kernel.cluster) + ", " + to_text(c) +
           ": " + (&s == sides ? "A" : "B") + ", " +
           (beyond(at.sparse())  ? "sparse"
            : beyond(at.line())  ? "line"
            : beyond(at.scale()) ? "scale"
                                 : "parts") +
           ", line " + std::to_string(in_part / per_line) + ", byte " + std::to_string(in_part % per_line) +
           " is " + std::to_string(*differ.second) + ", expected " + std::to_string(*differ.first);
  }
  return {};
}

}  // namespace antiphase::gemms
