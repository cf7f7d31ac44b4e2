// SPDX-License-Identifier: Apache-2.0
#include "lists.hpp"

#include <mutex>

namespace antiphase::checker_detail {

void enter_checked_kernels() {
  static std::once_flag once;
  std::call_once(once, [] {
    gemms::fp32_lists::enter_checked();
    gemms::f16_lists::enter_checked();
    gemms::fp64_lists::enter_checked();
    gemms::fp16_lists::enter_checked();
    gemms::tf32_lists::enter_checked();
    gemms::finish_lists::enter_checked();
    scans::scan_lists::enter_checked();
  });
}

}  // namespace antiphase::checker_detail
