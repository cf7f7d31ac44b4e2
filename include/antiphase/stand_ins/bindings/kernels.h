// SPDX-License-Identifier: Apache-2.0
// Launches of kernels from Python: of CuPy, PyCUDA and NVRTC, and of languages that compile to PTX.
#pragma once
#include <antiphase/plain/cuda_runtime.h>

namespace antiphase::plain::python {

struct parameter_form {
  std::size_t bytes = 0;
  bool is_pointer = false, is_float = false;
};
// `entry`: the kernel's address, which address_of() has made known.
void add_kernel(const char* name, const void* entry, const parameter_form* forms, std::size_t count);
template <class... P> void add_kernel(const char* name, void (*kernel)(P...)) {
  const parameter_form forms[sizeof...(P) + 1] = {
      {sizeof(P), std::is_pointer_v<std::decay_t<P>>, std::is_floating_point_v<std::decay_t<P>>}..., {}};
  add_kernel(name, address_of(kernel), forms, sizeof...(P));
}

// main of such a program: makes the calls in the file argv[1]. The first run that gets there writes the
// results to argv[2], if it is given.
int serve(int argc, char** argv);

}  // namespace antiphase::plain::python
