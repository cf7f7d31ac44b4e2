#include "tool/scan_job.hpp"

#include <limits>
#include <type_traits>

namespace antiphase::tool {
namespace {

template <class To, class From> To number_of(const From& x) {
  if constexpr (std::is_same_v<From, f16> || std::is_same_v<From, bf16>)
    return static_cast<To>(to_float(x));
  else
    return static_cast<To>(x);
}

template <class T> T identity(scan_operation operation) {
  using limits = std::numeric_limits<T>;
  switch (operation) {
    case scan_operation::sum: return 0;
    case scan_operation::product: return 1;
    case scan_operation::min: return limits::has_infinity ? limits::infinity() : limits::max();
    case scan_operation::max: break;
  }
  return limits::has_infinity ? -limits::infinity() : limits::lowest();
}

}  // namespace

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

template <class T> T first_of_exclusive(const scan_job& job) {
  if (job.means == meaning::truths && job.operation == scan_operation::min) return T(1);
  return identity<T>(job.operation);
}
template float first_of_exclusive(const scan_job&);
template double first_of_exclusive(const scan_job&);
template std::int8_t first_of_exclusive(const scan_job&);
template std::int16_t first_of_exclusive(const scan_job&);
template std::int32_t first_of_exclusive(const scan_job&);
template std::int64_t first_of_exclusive(const scan_job&);
template std::uint8_t first_of_exclusive(const scan_job&);
template std::uint16_t first_of_exclusive(const scan_job&);
template std::uint32_t first_of_exclusive(const scan_job&);
template std::uint64_t first_of_exclusive(const scan_job&);

}  // namespace antiphase::tool
