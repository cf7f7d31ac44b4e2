// SPDX-License-Identifier: Apache-2.0
#include "tool/commands/scan/scan_job.hpp"

namespace antiphase::tool {

template <class T> T first_of_exclusive(const scan_job& job) {
  if (job.means == meaning::truths && job.operation == scan_operation::min) return T(1);
  return scans::identity_of<T>(job.operation);
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
