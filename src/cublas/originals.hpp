// SPDX-License-Identifier: Apache-2.0
// The functions of cuBLAS that calls are passed on to.
#pragma once
#include <antiphase.h>

#include "src/cublas/abi.hpp"
#include "src/cublas/entry_points.h"

namespace antiphase::cublas {

#define AP_ENUMERATOR(entry, ...) entry,
#define AP_ONE_MORE(...) +1
enum class function { AP_CUBLAS_ENTRIES(AP_ENUMERATOR, AP_ENUMERATOR) };
constexpr int functions = 0 AP_CUBLAS_ENTRIES(AP_ONE_MORE, AP_ONE_MORE);
#undef AP_ENUMERATOR
#undef AP_ONE_MORE
const char* name_of(function which);
// Ours.
void* entry_of(function which);

// One library of cuBLAS, of which a process may have several.
struct original {
  void* function = nullptr;
  int (*stream)(handle, antiphase_stream* on) = nullptr;
  int (*pointer_mode)(handle, int* mode) = nullptr;
  int (*math_mode)(handle, int* mode) = nullptr;

  attribute_function* of_product = nullptr;  // of cuBLASLt, whose functions need no more
  attribute_function* of_layout = nullptr;

  bool is_whole_lt() const { return function != nullptr && of_product != nullptr && of_layout != nullptr; }
  bool is_whole() const {
    return function != nullptr && stream != nullptr && pointer_mode != nullptr && math_mode != nullptr;
  }
};

// What a call from that address would have reached without the interposer, found through the calling library:
// neither the order of all libraries nor RTLD_NEXT knows what Python has loaded for itself. Nothing if it
// would have reached nothing. Lives for ever.
const original& original_of(function which, const void* called_from);

// The calls of a library end there, whatever else is found for it.
void lead_back(function which, const void* in_library, void* to);
// Around a fork(), whose child is to find whole what is known of ends.
void lock_ends();
void unlock_ends();

// What dlsym() has found under a name is the function of another library of ours: remembered as the original
// of the library that asks from there, and of others that nothing else is known of, if it is one of cuBLAS.
// Whether it is.
bool remember(function which, void* found, const void* asked_from);

}  // namespace antiphase::cublas
