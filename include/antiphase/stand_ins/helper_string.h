// SPDX-License-Identifier: Apache-2.0
// Stands in for the header of CUDA's samples of this name, for plain CUDA under the checker.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace antiphase::plain {
// What follows an option's name and a =, or "" without one; null: there is no such option.
inline const char* option_of(int argc, const char** argv, const char* name) {
  for (int i = 1; i < argc; ++i) {
    const char* is = argv[i];
    while (*is == '-') ++is;
    const std::size_t n = std::strlen(name);
    if (is == argv[i] || strncasecmp(is, name, n) != 0) continue;
    if (is[n] == '=') return is + n + 1;
    if (is[n] == '\0') return is + n;
  }
  return nullptr;
}
}  // namespace antiphase::plain
#ifndef EXIT_WAIVED
#define EXIT_WAIVED 2
#endif
inline bool checkCmdLineFlag(int argc, const char** argv, const char* name) {
  return antiphase::plain::option_of(argc, argv, name) != nullptr;
}
inline int getCmdLineArgumentInt(int argc, const char** argv, const char* name) {
  const char* is = antiphase::plain::option_of(argc, argv, name);
  return is != nullptr ? std::atoi(is) : 0;
}
inline float getCmdLineArgumentFloat(int argc, const char** argv, const char* name) {
  const char* is = antiphase::plain::option_of(argc, argv, name);
  return is != nullptr ? static_cast<float>(std::atof(is)) : 0;
}
inline bool getCmdLineArgumentString(int argc, const char** argv, const char* name, char** to) {
  const char* is = antiphase::plain::option_of(argc, argv, name);
  *to = const_cast<char*>(is);
  return is != nullptr;
}
