// SPDX-License-Identifier: Apache-2.0
// Interposes dlsym(): clients that look up cuBLAS functions by name, as XLA does, get ours. All other
// look-ups go to the C library unchanged.
#include <cstring>

#include "preload/cublas/interpose/libraries.hpp"
#include "preload/cublas/interpose/originals.hpp"

// Under another name here: a declaration in <dlfcn.h> would conflict.
extern "C" void* antiphase_dlsym(void* library, const char* name) __asm__("dlsym");

namespace {

using namespace antiphase::cublas;

// Our function if `name` is a cuBLAS function found in a library; else null.
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

// The last call must be a tail call (preload/cublas/CMakeLists.txt sees to it): for RTLD_NEXT the C library
// looks at its caller's address.
void* antiphase_dlsym(void* library, const char* name) {
  if (void* const ours = ours_instead(library, name, __builtin_return_address(0))) return ours;
  return address_of_real_dlsym()(library, name);
}
