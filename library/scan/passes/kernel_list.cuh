// SPDX-License-Identifier: Apache-2.0
// Adds scan kernels to a list.
#pragma once
#include <antiphase/core/element.hpp>
#include <antiphase/scan/detail/device_wide.cuh>
#include <antiphase/scan/ladder.hpp>
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/joined_name.hpp"
#include "library/scan/element_bits.hpp"

namespace antiphase::scans {
inline namespace AP_TARGET {

// Names of a step and its kernels, in static storage.
struct names {
  const char *step, *totals, *scan;
};
// Names of the kernels of Steps[I], where Steps is a list such as `steps`.
template <const auto& Steps, std::size_t I> struct totals_name {
  static constexpr std::array<std::string_view, 3> parts{"scan.", Steps[I].name, ".totals"};
};
template <const auto& Steps, std::size_t I> struct scan_name {
  static constexpr std::array<std::string_view, 2> parts{"scan.", Steps[I].name};
};
template <const auto& Steps, std::size_t I>
constexpr names names_of_kernels{Steps[I].name, joined<totals_name<Steps, I>>, joined<scan_name<Steps, I>>};

template <class T, class Op, policy P>
void add(std::vector<instance>& list, const names& called, scan_operation operation) {
  const auto add_as = [&]<class Value, class Ends>() {
    using block = block_scan_of<Value, Op, P>;
    list.push_back(
        {.step = called.step,
         .type = element_of<T>,
         .operation = operation,
         .policy = P,
         .kernels = {kernel_of<tile_totals<Value, Op, P, block, Ends>>(called.totals),
                     kernel_of<tile_scan<Value, Op, P, block, Ends>>(called.scan), P.tile(sizeof(Value))}});
  };
  if constexpr (element_of<T> == element::f32 &&
                value_type(element::f32, element::f32, Op::operation) == element::f64)
    add_as.template operator()<double, converted<T, double>>();
  else
    add_as.template operator()<T, as_they_are<T>>();
}

// Kernels of every operator with or without order, of all types. Operators without order compute signed
// integers as unsigned ones.
template <policy P, bool Ordered> void add_operators(std::vector<instance>& list, const names& called) {
  operators::each([&](auto op) {
    using Op = decltype(op);
    const auto add_types = [&]<class... T>() { (add<T, Op, P>(list, called, Op::operation), ...); };
    if constexpr (Op::ordered && Ordered)
      add_types.template operator()<float, double, std::int8_t, std::int16_t, std::int32_t, std::int64_t,
                                    std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>();
    else if constexpr (Op::ordered == Ordered)
      add_types
          .template operator()<float, double, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>();
  });
}

constexpr names items_names{"items", "scan.items.totals", "scan.items"};

}  // namespace AP_TARGET
}  // namespace antiphase::scans
