// SPDX-License-Identifier: Apache-2.0
// The host's part of a source whose kernels nvcc has compiled.
#pragma once
#include <string>
#include <string_view>

namespace antiphase::plain {

// The bodies of kernels become calls of what nvcc has made of them; those of device functions go, and so does
// what would keep names of kernels and variables within the source. `anonymous`: stands for its anonymous
// namespaces.
std::string host_part(std::string_view preprocessed, std::string_view anonymous);

}  // namespace antiphase::plain
