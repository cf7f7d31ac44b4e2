// SPDX-License-Identifier: Apache-2.0
// Under AddressSanitizer, where kernels take ten times as long, long tests run only a part of their cases.
#pragma once

namespace antiphase::test {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

}  // namespace antiphase::test
