// SPDX-License-Identifier: Apache-2.0
// Whether antiphase_cublas_enable() has redirected calls while the program runs.
#pragma once

namespace antiphase::cublas {

bool has_been_enabled();

}  // namespace antiphase::cublas
