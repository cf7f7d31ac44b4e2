#include "tool/commands/scan/scan_job.hpp"

#include <limits>

namespace antiphase::tool {
namespace {

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
