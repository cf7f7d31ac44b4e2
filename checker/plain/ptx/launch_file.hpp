// SPDX-License-Identifier: Apache-2.0
// A launch described in JSON (antiphase check kernel.ptx --launch kernel.json) as a driver in CUDA C++.
#pragma once
#include <span>
#include <string>

#include "module.hpp"

namespace antiphase::plain::ptx_module {

// `file`: its name, for messages. Throws bad_request for what is not as it should be.
std::string driver_of(const std::string& json, const std::string& file, std::span<const module_text> modules);

}  // namespace antiphase::plain::ptx_module
