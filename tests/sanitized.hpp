// SPDX-License-Identifier: Apache-2.0
// Whether tests run under AddressSanitizer, where kernels take ten times as long: long ones are content with
// a part of their cases there.
#pragma once

namespace antiphase::test {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

}  // namespace antiphase::test
