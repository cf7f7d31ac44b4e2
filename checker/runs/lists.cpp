// SPDX-License-Identifier: Apache-2.0
#include "lists.hpp"

#include <mutex>

namespace antiphase::checker_detail {

void enter_checked_kernels() {
  static std::once_flag once;
  std::call_once(once, [] {
#define AP_ENTER_LIST(type, list) append_list(checked_list<gemms::type>(), &gemms::checked::list);
    AP_GEMM_LISTS(AP_ENTER_LIST)
#undef AP_ENTER_LIST
#define AP_ENTER_LIST(type, list) append_list(checked_list<attentions::type>(), &attentions::checked::list);
    AP_ATTENTION_LISTS(AP_ENTER_LIST)
#undef AP_ENTER_LIST
#define AP_ENTER_LIST(type, list) append_list(checked_list<linears::type>(), &linears::checked::list);
    AP_LINEAR_LISTS(AP_ENTER_LIST)
#undef AP_ENTER_LIST
#define AP_ENTER_LIST(type, list) append_list(checked_list<scans::type>(), &scans::checked::list);
    AP_SCAN_LISTS(AP_ENTER_LIST)
#undef AP_ENTER_LIST
  });
}

}  // namespace antiphase::checker_detail
