// SPDX-License-Identifier: Apache-2.0
// Validation of scan problems.
#include "library/scan/request.hpp"

#include <fmt/format.h>

#include <antiphase/core/error.hpp>
#include <antiphase/core/names.hpp>
#include <antiphase/scan/detail/passes.hpp>
#include <antiphase/scan/ladder.hpp>
#include <antiphase/scan/operators.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <tuple>
#include <utility>

namespace antiphase::scans {
namespace {

template <class T> std::uint64_t bits_of(const T& value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

// A number converted to T; nothing if an integer T cannot represent it exactly, or if it overflows a floating
// T.
template <class T> std::optional<T> exactly(const scan_value& value) {
  return value.visit([]<class From>(From x) -> std::optional<T> {
    if constexpr (std::is_floating_point_v<T>) {
      const T result = static_cast<T>(x);
      if constexpr (std::is_floating_point_v<From>)
        if (std::isinf(result) && !std::isinf(x)) return std::nullopt;
      return result;
    } else if constexpr (std::is_integral_v<From>) {
      if (!std::in_range<T>(x)) return std::nullopt;
      return static_cast<T>(x);
    } else {
      // T's range, half open: both ends are exact doubles.
      const double below = static_cast<double>(std::numeric_limits<T>::lowest()),
                   end = std::ldexp(1.0, std::numeric_limits<T>::digits);
      if (!(x >= below && x < end) || x != std::trunc(x)) return std::nullopt;
      return static_cast<T>(x);
    }
  });
}
std::optional<std::uint64_t> bits_in(element type, const scan_value& value) {
  return with_stored_element(type, [&]<class T>() -> std::optional<std::uint64_t> {
    if constexpr (std::is_same_v<T, f16> || std::is_same_v<T, bf16>) {
      const auto wide = exactly<float>(value);
      if (!wide) return std::nullopt;
      T half;
      if constexpr (std::is_same_v<T, f16>)
        half = to_f16(*wide);
      else
        half = to_bf16(*wide);
      if (std::isinf(to_float(half)) && !std::isinf(*wide)) return std::nullopt;
      return bits_of(half);
    } else {
      const auto number = exactly<T>(value);
      return number ? std::optional(bits_of(*number)) : std::nullopt;
    }
  });
}

std::string text(const scan_value& value) {
  return value.visit([](auto x) { return fmt::format("{}", x); });
}

bool overlap(std::uintptr_t a, std::int64_t a_bytes, std::uintptr_t b, std::int64_t b_bytes) {
  return a < b ? b - a < static_cast<std::uintptr_t>(a_bytes) : a - b < static_cast<std::uintptr_t>(b_bytes);
}

// Throws bad_request if the address is misaligned or the range wraps around.
void require_memory(const char* name, const char* verb, std::uintptr_t address, std::int64_t bytes,
                    std::size_t alignment, std::string_view of) {
  if (address % alignment != 0)
    throw bad_request(fmt::format("{} {} at address {:#x}: expected a multiple of {}{}", name, verb, address,
                                  alignment, of));
  if (std::numeric_limits<std::uintptr_t>::max() - address < static_cast<std::uintptr_t>(bytes))
    throw bad_request(
        fmt::format("{} {} at address {:#x}: {} bytes from there reach beyond the end of memory", name, verb,
                    address, bytes));
}

void require_memory(const char* name, const char* verb, std::uintptr_t address, std::int64_t bytes,
                    element type) {
  const std::string of =
      address % size_of(type) == 0 ? "" : fmt::format(", the size of {}", antiphase::name(type));
  require_memory(name, verb, address, bytes, size_of(type), of);
}
void require_same_or_apart(std::uintptr_t in, std::int64_t in_bytes, std::uintptr_t out,
                           std::int64_t out_bytes) {
  const bool same_size = in_bytes == out_bytes;
  if ((in == out && same_size) || !overlap(in, in_bytes, out, out_bytes)) return;
  const std::string begins = in == out  ? "where in does, with another size,"
                             : in < out ? fmt::format("{} bytes after in", out - in)
                                        : fmt::format("{} bytes before in", in - out);
  throw bad_request(fmt::format("out begins {} and overlaps it: expected {}{} bytes apart", begins,
                                same_size ? "the same address, or " : "", in < out ? in_bytes : out_bytes));
}

// Size of a problem's array with elements of that type.
std::int64_t bytes_of(const problem& p, element type) {
  if (is_empty(p)) return 0;
  auto bytes = static_cast<std::int64_t>(size_of(type));
  for (std::int64_t extent : {p.outer, p.length, p.inner})
    if (__builtin_mul_overflow(bytes, extent, &bytes))
      throw bad_request(fmt::format(
          "outer x length x inner is {} x {} x {} elements of {}: expected less than 2^63 bytes in all",
          p.outer, p.length, p.inner, antiphase::name(type)));
  return bytes;
}

}  // namespace

bool is_empty(const problem& p) { return p.outer == 0 || p.length == 0 || p.inner == 0; }

element unsigned_of(element type) {
  switch (type) {
    case element::i8: return element::u8;
    case element::i16: return element::u16;
    case element::i32: return element::u32;
    case element::i64: return element::u64;
    default: return type;
  }
}

element computed_as(const problem& p) { return is_ordered(p.operation) ? p.type : unsigned_of(p.type); }

std::uint64_t identity_bits(element type, scan_operation operation) {
  return with_stored_element(type, [&]<class T>() { return bits_of(identity_of<T>(operation)); });
}

std::uint64_t first_of_exclusive(const problem& p) {
  return p.initial ? bits_in(result_type(p), *p.initial).value() : identity_bits(result_type(p), p.operation);
}

std::string description(const problem& p, const scan_keys* keys) {
  std::string out = fmt::format("{} of {}", name(p.operation), antiphase::name(p.type));
  if (result_type(p) != p.type) out += fmt::format(" into {}", antiphase::name(result_type(p)));
  if (keys != nullptr) return out + (keys->segments == segments_by::keys ? ", by key" : ", by head flags");
  return is_empty(p) || p.outer * p.inner == 1 ? out : out + fmt::format(", {} lines", p.outer * p.inner);
}

void require_arrays(const lines& over, const array_at& in, const array_at& out) {
  const std::pair<const char*, std::int64_t> extents[] = {
      {"outer", over.outer}, {"length", over.length}, {"inner", over.inner}};
  for (const auto& [argument, extent] : extents)
    if (extent < 0) throw bad_request(fmt::format("{} is {}: expected 0 or more", argument, extent));
  if (over.direction != scan_direction::forward && over.direction != scan_direction::reverse)
    throw bad_request(
        fmt::format("direction is {}: expected forward or reverse", static_cast<int>(over.direction)));
  if (is_empty(over)) return;
  const auto bytes_of = [&](const array_at& array) {
    auto bytes = static_cast<std::int64_t>(array.element_bytes);
    for (const auto& [argument, extent] : extents)
      if (__builtin_mul_overflow(bytes, extent, &bytes))
        throw bad_request(
            fmt::format("outer x length x inner elements are too many, {} x {} x {} of {} bytes: expected "
                        "less than 2^63 bytes",
                        over.outer, over.length, over.inner, array.element_bytes));
    return bytes;
  };
  const std::int64_t bytes[] = {bytes_of(in), bytes_of(out)};
  for (const auto& [argument, array, size] :
       {std::tuple{"in", in, bytes[0]}, std::tuple{"out", out, bytes[1]}}) {
    if (array.data == nullptr)
      throw bad_request(fmt::format("{} is a null pointer: expected {} bytes", argument, size));
    require_memory(argument, "is", reinterpret_cast<std::uintptr_t>(array.data), size, array.alignment, "");
  }
  require_same_or_apart(reinterpret_cast<std::uintptr_t>(in.data), bytes[0],
                        reinterpret_cast<std::uintptr_t>(out.data), bytes[1]);
}

void require_sensible_sizes(const problem& p) {
  const auto in_range = [](auto value, auto last) {
    return static_cast<int>(value) >= 0 && static_cast<int>(value) <= static_cast<int>(last);
  };
  const auto require = [](bool fine, const char* argument, auto value, const char* expected) {
    if (!fine)
      throw bad_request(
          fmt::format("{} is {}: expected {}", argument, static_cast<std::int64_t>(value), expected));
  };
  require(in_range(p.type, last_element), "type", p.type, "one of the element types");
  if (!is_operation(p.operation))
    throw bad_request(fmt::format("operation is {}: expected {}", static_cast<int>(p.operation),
                                  listed({std::begin(operators::names), std::end(operators::names)})));
  require(in_range(p.kind, scan_kind::exclusive), "kind", p.kind, "inclusive or exclusive");
  require(in_range(p.direction, scan_direction::reverse), "direction", p.direction, "forward or reverse");
  require(p.outer >= 0, "outer", p.outer, "0 or more");
  require(p.length >= 0, "length", p.length, "0 or more");
  require(p.inner >= 0, "inner", p.inner, "0 or more");
  if (p.accumulate) {
    require(in_range(*p.accumulate, last_element), "accumulate", *p.accumulate, "one of the element types");
    if (*p.accumulate != p.type && p.operation != scan_operation::sum)
      throw bad_request(fmt::format(
          "accumulate is {}: expected the elements' type {} for operation {}, only sums are taken in another",
          antiphase::name(*p.accumulate), antiphase::name(p.type), name(p.operation)));
    if (*p.accumulate != p.type && !accumulates(p.type, *p.accumulate))
      throw bad_request(fmt::format("accumulate is {}: elements of {} are added up in {} or {}",
                                    antiphase::name(*p.accumulate), antiphase::name(p.type),
                                    antiphase::name(p.type),
                                    is_half(p.type)          ? "f32"
                                    : p.type == element::f32 ? "f64"
                                    : is_floating(p.type)    ? "nothing else"
                                                             : "wider integers of at least 32 bits"));
  }
  if (p.initial) {
    if (p.kind == scan_kind::inclusive)
      throw bad_request(fmt::format("initial is {}: an inclusive scan has none", text(*p.initial)));
    if (!bits_in(result_type(p), *p.initial))
      throw bad_request(fmt::format("initial is {}: expected a number that {} holds", text(*p.initial),
                                    antiphase::name(result_type(p))));
  }
  for (const element type : {p.type, result_type(p)}) bytes_of(p, type);
}

void require_sensible(const problem& p) {
  require_sensible_sizes(p);
  if (is_empty(p)) return;
  const std::int64_t bytes[] = {bytes_of(p, p.type), bytes_of(p, result_type(p))};
  if (p.in == nullptr) throw bad_request(fmt::format("in is a null pointer: expected {} bytes", bytes[0]));
  if (p.out == nullptr) throw bad_request(fmt::format("out is a null pointer: expected {} bytes", bytes[1]));
  const auto in = reinterpret_cast<std::uintptr_t>(p.in), out = reinterpret_cast<std::uintptr_t>(p.out);
  for (const auto& [argument, address, type] :
       {std::tuple{"in", in, p.type}, std::tuple{"out", out, result_type(p)}})
    require_memory(argument, "is", address, bytes_of(p, type), type);
  require_same_or_apart(in, bytes[0], out, bytes[1]);
}

namespace {

// Checks the keys of a valid problem.
void require_sensible(const problem& p, const scan_keys& keys) {
  if (!is_empty(p) && p.outer * p.inner != 1)
    throw bad_request(
        fmt::format("outer x inner is {} x {}: expected 1 x 1, keys tell the segments of one line apart",
                    p.outer, p.inner));
  const bool flags = keys.segments == segments_by::head_flags;
  if (!flags && keys.segments != segments_by::keys)
    throw bad_request(
        fmt::format("segments_by is {}: expected keys or head_flags", static_cast<int>(keys.segments)));
  if (!flags) {
    const bool known = static_cast<int>(keys.type) >= 0 && keys.type <= last_element;
    if (!known || is_half(keys.type))
      throw bad_request(
          fmt::format("the type of keys is {}: expected an integer type, f32 or f64",
                      known ? std::string(name(keys.type)) : std::to_string(static_cast<int>(keys.type))));
  }
  if (is_empty(p)) return;
  const char* const what = flags ? "head flags" : "keys";
  const element type = flags ? element::u8 : keys.type;
  const auto at = reinterpret_cast<std::uintptr_t>(keys.data), out = reinterpret_cast<std::uintptr_t>(p.out);
  if (at == 0) throw bad_request(fmt::format("{} are a null pointer: expected {} elements", what, p.length));
  require_memory(what, "are", at, bytes_of(p, type), type);
  if (overlap(at, bytes_of(p, type), out, bytes_of(p, result_type(p))))
    throw bad_request(fmt::format("out overlaps the {}", what));
}

}  // namespace

request validated(const executor& on, const problem& p, const scan_keys* keys) {
  require_sensible(p);
  if (keys != nullptr) require_sensible(p, *keys);
  return {on, p, keys};
}

void require_workspace(std::span<std::byte> given, std::size_t bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(given.data());
  if (given.size() < bytes)
    throw bad_request(fmt::format("workspace has {} bytes: expected {} or more", given.size(), bytes));
  if (address == 0 && !given.empty())
    throw bad_request(fmt::format("workspace is a null pointer: expected {} bytes", given.size()));
  if (address % 16 != 0)
    throw bad_request(fmt::format("workspace is at address {:#x}: expected a multiple of 16", address));
}

void require_own_memory(const problem& p, const scan_keys* keys, std::span<std::byte> workspace) {
  if (is_empty(p)) return;
  const auto require = [&](const char* name, const void* data, std::int64_t bytes) {
    if (overlap(reinterpret_cast<std::uintptr_t>(workspace.data()),
                static_cast<std::int64_t>(workspace.size()), reinterpret_cast<std::uintptr_t>(data), bytes))
      throw bad_request(fmt::format("the workspace of {} bytes overlaps {}: expected memory of its own",
                                    workspace.size(), name));
  };
  require("in", p.in, bytes_of(p, p.type));
  require("out", p.out, bytes_of(p, result_type(p)));
  if (keys == nullptr) return;
  const bool flags = keys->segments == segments_by::head_flags;
  require(flags ? "the head flags" : "the keys", keys->data, bytes_of(p, flags ? element::u8 : keys->type));
}

}  // namespace antiphase::scans
