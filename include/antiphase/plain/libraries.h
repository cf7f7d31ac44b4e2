// SPDX-License-Identifier: Apache-2.0
// Operations of libraries (cuBLAS, cuRAND, CUB, Thrust) on a stream, under the checker: each is a kernel of
// one thread, which runs the library's code as the host's.
#pragma once
#include "cuda_runtime.h"

#include "letters.h"

namespace antiphase::plain {

enum class after_it { host_goes_on, host_waits };
// Runs body(params) in stream order. The finding's place is the caller's, so callers are always inlined.
void run_library(const char* name, cudaStream_t on, after_it then, std::size_t bytes,
                 void (*body)(const void*), const void* params);
template <class F> [[gnu::always_inline]] inline void library_kernel(const char* name, cudaStream_t on,
                                                                     after_it then, const F& f) {
  run_library(
      name, on, then, sizeof f, [](const void* p) { (*static_cast<const F*>(p))(); }, &f);
}
void wait_for_stream(cudaStream_t on);
// In such a kernel: judged as accesses of that thread. Accesses of user code called there are judged as in
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
