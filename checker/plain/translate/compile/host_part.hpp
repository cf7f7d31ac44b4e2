// SPDX-License-Identifier: Apache-2.0
// The host's part of a source whose kernels nvcc has compiled.
#pragma once
#include <string>
#include <string_view>

namespace antiphase::plain {

// The bodies of kernels become calls of what nvcc has compiled; those of device functions are left out, as is
// `static` of kernels and variables, which others find by name. `anonymous`: the name of the namespace that
// takes the place of anonymous ones.
std::string host_part(std::string_view preprocessed, std::string_view anonymous);

}  // namespace antiphase::plain
