// SPDX-License-Identifier: Apache-2.0
// Operations of libraries (cuBLAS, cuRAND, CUB, Thrust) on a stream, under the checker: each is a kernel of
// one thread, which runs the library's code as the host's.
#pragma once
#include "cuda_runtime.h"

#include <memory>

#include "letters.h"

// Functions of libraries are inlined, so that findings name the lines of their callers. Those that host code
// of nvcc calls in C (toolkit_libraries.h) find the line by their return address.
#ifndef AP_C_OR_INLINE
#define AP_C_OR_INLINE AP_VERB
#define AP_LINE_OF_CALLER , AP_AT
#define AP_CALLER ap_at
#define AP_V2(name) name  // what the toolkit's headers call name_v2
#endif

namespace antiphase::plain {

enum class after_it { host_goes_on, host_waits };
// A copy of what an operation is given, for the graph that it goes into while its stream is captured.
using kept_operation = std::shared_ptr<const void> (*)(const void* params);
// Runs body(params) in stream order. The finding's place is the caller's, so callers are always inlined.
// `keep`: null if the operation refers to what is gone when its call has returned.
void run_library(const char* name, cudaStream_t on, after_it then, std::size_t bytes,
                 void (*body)(const void*), const void* params, kept_operation keep = nullptr);
template <class F> [[gnu::always_inline]] inline void library_kernel(const char* name, cudaStream_t on,
                                                                     after_it then, const F& f) {
  run_library(
      name, on, then, sizeof f, [](const void* p) { (*static_cast<const F*>(p))(); }, &f);
}
// The same for an f that holds all that it uses.
template <class F>
[[gnu::always_inline]] inline void kept_kernel(const char* name, cudaStream_t on, const F& f) {
  run_library(
      name, on, after_it::host_goes_on, sizeof f,
      [](const void* p) {
        auto own = *static_cast<const F*>(p);
        own();
      },
      &f,
      [](const void* p) -> std::shared_ptr<const void> {
        return std::make_shared<F>(*static_cast<const F*>(p));
      });
}
void wait_for_stream(cudaStream_t on);
// In such a kernel: checked as accesses of that thread. Accesses of user code called there are checked as in
// any kernel.
bool in_library() noexcept;
void library_reads(const void* p, std::size_t bytes);
void library_writes(const void* p, std::size_t bytes);
void library_load(void* to, const void* from, std::size_t bytes);
void library_store(void* to, const void* from, std::size_t bytes);

void refuse_use(const char* what, const char* instead);  // ends the run: not supported
void owned_by_library(void* p);                          // device memory that an object frees

}  // namespace antiphase::plain

#include "letters.h"
