// SPDX-License-Identifier: Apache-2.0
// The cuBLAS functions that calls are passed on to.
#pragma once
#include <antiphase.h>

#include "preload/cublas/abi.hpp"
#include "preload/cublas/interpose/entry_points.h"

namespace antiphase::cublas {

#define AP_ENUMERATOR(entry, ...) entry,
#define AP_ONE_MORE(...) +1
enum class function { AP_CUBLAS_ENTRIES(AP_ENUMERATOR, AP_ENUMERATOR, AP_ENUMERATOR) };
constexpr int functions = 0 AP_CUBLAS_ENTRIES(AP_ONE_MORE, AP_ONE_MORE, AP_ONE_MORE);
// True for functions of a triangle, which triangles.hpp splits.
#define AP_TRUE(...) true,
#define AP_FALSE(...) false,
constexpr bool splits_a_triangle(function which) {
  constexpr bool of_entries[] = {AP_CUBLAS_ENTRIES(AP_FALSE, AP_TRUE, AP_FALSE)};
  return of_entries[static_cast<int>(which)];
}
#undef AP_ENUMERATOR
#undef AP_ONE_MORE
#undef AP_TRUE
#undef AP_FALSE
const char* name_of(function which);
// Our own replacement.
void* entry_of(function which);

// Functions of one cuBLAS library; a process may have several.
struct original {
  void* function = nullptr;
  int (*stream)(handle, antiphase_stream* on) = nullptr;
  int (*pointer_mode)(handle, int* mode) = nullptr;
  int (*math_mode)(handle, int* mode) = nullptr;
  // cublasSgemm_v2, for parts of other functions
  int (*product)(handle, int op_a, int op_b, int m, int n, int k, const float* alpha, const float* a, int lda,
                 const float* b, int ldb, const float* beta, float* c, int ldc) = nullptr;

  attribute_function* of_product = nullptr;  // cuBLASLt: its functions need no others
  attribute_function* of_layout = nullptr;

  bool is_whole_lt() const { return function != nullptr && of_product != nullptr && of_layout != nullptr; }
  bool is_whole() const {
    return function != nullptr && stream != nullptr && pointer_mode != nullptr && math_mode != nullptr;
  }
};

// The function that a call from that address would have reached without the interposer. It is searched for
// through the calling library: neither the global order of libraries nor RTLD_NEXT covers what Python loads
// privately. `function` is null if the call would have reached nothing. The reference stays valid for ever.
const original& original_of(function which, const void* called_from);

// Calls of that library end at `to`, whatever else is found for it.
void lead_back(function which, const void* in_library, void* to);
// Held around fork(), so that the child finds the table of ends consistent.
void lock_ends();
void unlock_ends();

// Remembers a function that dlsym() found, if it is cuBLAS's: as the original for the library that asks from
// there, and for libraries of which nothing else is known. False: not cuBLAS's.
bool remember(function which, void* found, const void* asked_from);

}  // namespace antiphase::cublas
