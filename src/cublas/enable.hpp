// SPDX-License-Identifier: Apache-2.0
// Whether calls have been led here while the program runs, by antiphase_cublas_enable().
#pragma once

namespace antiphase::cublas {

bool has_been_enabled();

}  // namespace antiphase::cublas
