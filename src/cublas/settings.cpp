// SPDX-License-Identifier: Apache-2.0
#include "src/cublas/settings.hpp"

#include <cstdlib>
#include <string_view>

namespace antiphase::cublas {
namespace {

// Empty if it is not set, and if it says no.
std::string_view value_of(const char* name) {
  const char* const value = std::getenv(name);
  const std::string_view text = value == nullptr ? "" : value;
  return text == "0" ? std::string_view() : text;
}

settings read() {
  settings s;
  s.disabled = !value_of("ANTIPHASE_DISABLE").empty();
  if (const char* const least = std::getenv("ANTIPHASE_LEAST")) s.least = std::strtod(least, nullptr);
  if (value_of("ANTIPHASE_DEVICE") == "cpu") s.device = ANTIPHASE_CPU;
  if (value_of("ANTIPHASE_PRECISION") == "strict") s.precision = ANTIPHASE_PRECISION_STRICT;
  s.reports = !value_of("ANTIPHASE_REPORT").empty();
  return s;
}

}  // namespace

const settings& said() {
  static const settings all = read();
  return all;
}

}  // namespace antiphase::cublas
