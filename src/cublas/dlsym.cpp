// SPDX-License-Identifier: Apache-2.0
// Clients that ask for functions of cuBLAS by name, as XLA does, get ours; everybody else's question goes to
// the C library as it was asked.
#include <cstring>

#include "src/cublas/libraries.hpp"
#include "src/cublas/originals.hpp"

// By another name here, because <dlfcn.h> would declare it.
extern "C" void* antiphase_dlsym(void* library, const char* name) __asm__("dlsym");

namespace {

using namespace antiphase::cublas;

// Ours for a function of cuBLAS that has been found in a library; else nothing.
void* ours_instead(void* library, const char* name, const void* asked_from) {
  void* const next = reinterpret_cast<void*>(-1L);  // RTLD_NEXT; RTLD_DEFAULT is null
  if (library == nullptr || library == next || name == nullptr || std::strncmp(name, "cublas", 6) != 0)
    return nullptr;
  for (int i = 0; i < functions; ++i) {
    const auto which = static_cast<function>(i);
    if (std::strcmp(name, name_of(which)) != 0) continue;
    void* const found = real_dlsym(library, name);
    return found != nullptr && remember(which, found, asked_from) ? entry_of(which) : nullptr;
  }
  return nullptr;
}

}  // namespace

// The last call is a jump (src/cublas/CMakeLists.txt sees to that): for RTLD_NEXT the C library looks at who
// has called it.
void* antiphase_dlsym(void* library, const char* name) {
  if (void* const ours = ours_instead(library, name, __builtin_return_address(0))) return ours;
  return address_of_real_dlsym()(library, name);
}
