// SPDX-License-Identifier: Apache-2.0
// Names of symbols as in their sources.
#pragma once
#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <string>

namespace antiphase {

// The name as it is if it is not mangled.
inline std::string demangled(const std::string& symbol) {
  if (!symbol.starts_with("_Z")) return symbol;  // s alone would be short
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, nullptr), &std::free);
  return name != nullptr ? name.get() : symbol;
}

}  // namespace antiphase
