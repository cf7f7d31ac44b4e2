// SPDX-License-Identifier: Apache-2.0
// Conversion of array elements to another type.
#include "tool/files/convert.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <type_traits>

#include "tool/base/parallel.hpp"

namespace antiphase::tool {
namespace {

template <class To, class From> To number_of(const From& x) {
  if constexpr (std::is_same_v<From, f16> || std::is_same_v<From, bf16>)
    return static_cast<To>(to_float(x));
  else
    return static_cast<To>(x);
}

// Exact for every element type: it has 64 bits of precision; integers and f8 need no more.
using exact = long double;
static_assert(std::numeric_limits<exact>::digits >= 64);

void add(cast_loss& loss, exact before, float after) {
  ++loss.elements;
  if (!std::isfinite(before) || before == static_cast<exact>(after)) return;
  ++loss.changed;
  if (std::isinf(after))
    ++loss.infinite;
  else if (after == 0)
    ++loss.zero;
  else if (!std::isnormal(after))
    ++loss.denormal;
  else
    loss.largest_relative_error =
        std::max(loss.largest_relative_error,
                 static_cast<double>(std::abs((static_cast<exact>(after) - before) / before)));
}

void add(cast_loss& loss, const cast_loss& more) {
  loss.elements += more.elements;
  loss.changed += more.changed;
  loss.infinite += more.infinite;
  loss.zero += more.zero;
  loss.denormal += more.denormal;
  loss.largest_relative_error = std::max(loss.largest_relative_error, more.largest_relative_error);
}

}  // namespace

cast_floats cast_to_floats(std::span<const std::byte> bytes, element from, meaning means) {
  cast_floats result{.values = std::vector<float>(bytes.size() / size_of(from)), .loss = {}};
  std::mutex of_the_loss;
  with_stored_element(from, [&]<class From>() {
    const From* const in = reinterpret_cast<const From*>(bytes.data());
    in_parallel(result.values.size(), [&](std::size_t first, std::size_t last) {
      cast_loss here;
      for (std::size_t i = first; i < last; ++i) {
        const exact value = means == meaning::truths ? static_cast<exact>(number_of<exact>(in[i]) != 0)
                                                     : number_of<exact>(in[i]);
        result.values[i] = static_cast<float>(value);
        add(here, value, result.values[i]);
      }
      const std::lock_guard guard(of_the_loss);
      add(result.loss, here);
    });
  });
  return result;
}

std::string loss_text(const cast_loss& loss) {
  if (loss.changed == 0) return "exact";
  std::string text = fmt::format("{} of {} elements are not the same", loss.changed, loss.elements);
  if (loss.largest_relative_error > 0)
    text += fmt::format(", rounded by {:.2g} of their size at most", loss.largest_relative_error);
  if (loss.infinite > 0) text += fmt::format(", {} TOO LARGE, infinite now", loss.infinite);
  if (loss.zero > 0) text += fmt::format(", {} too small, zero now", loss.zero);
  if (loss.denormal > 0) text += fmt::format(", {} denormal now, with fewer bits", loss.denormal);
  return text;
}

std::vector<std::byte> converted(std::span<const std::byte> bytes, element from, element to) {
  const std::size_t count = bytes.size() / size_of(from);
  std::vector<std::byte> result(count * size_of(to));
  with_stored_element(from, [&]<class From>() {
    with_stored_element(to, [&]<class To>() {
      const From* const in = reinterpret_cast<const From*>(bytes.data());
      To* const out = reinterpret_cast<To*>(result.data());
      for (std::size_t i = 0; i < count; ++i) {
        if constexpr (std::is_same_v<From, To>)
          out[i] = in[i];
        else if constexpr (std::is_same_v<To, f16>)
          out[i] = to_f16(number_of<float>(in[i]));
        else if constexpr (std::is_same_v<To, bf16>)
          out[i] = to_bf16(number_of<float>(in[i]));
        else
          out[i] = number_of<To>(in[i]);
      }
    });
  });
  return result;
}

}  // namespace antiphase::tool
