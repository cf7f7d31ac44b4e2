// SPDX-License-Identifier: Apache-2.0
#include "preload/cublas/interpose/libraries.hpp"

#include <dlfcn.h>

#include <atomic>
#include <string_view>

namespace antiphase::cublas {
namespace {

Dl_info library_of(const void* address) {
  Dl_info info{};
  if (address == nullptr || dladdr(address, &info) == 0) return {};
  return info;
}

}  // namespace

dlsym_function* address_of_real_dlsym() {
  static constinit std::atomic<dlsym_function*> known = nullptr;
  if (dlsym_function* const found = known) return found;
  void* address = nullptr;
  // glibc since 2.34; before that, on x86-64 and on aarch64.
  for (const char* const version : {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"})
    if (address == nullptr) address = dlvsym(RTLD_NEXT, "dlsym", version);
  return known = reinterpret_cast<dlsym_function*>(address);
}
void* real_dlsym(void* library, const char* name) { return address_of_real_dlsym()(library, name); }

const char* file_of(const void* address) { return library_of(address).dli_fname; }
const void* beginning_of(const void* address) { return library_of(address).dli_fbase; }
bool is_ours(const void* address) {
  return beginning_of(address) == beginning_of(reinterpret_cast<const void*>(&library_of));
}
bool is_cublas_file(const char* path) {
  const std::string_view file(path);
  return file.substr(file.rfind('/') + 1).starts_with("libcublas");
}
bool is_cublas(const void* address) {
  const char* const path = file_of(address);
  return path != nullptr && is_cublas_file(path);
}

void* loaded_program() { return dlopen(nullptr, RTLD_LAZY); }
void let_go(void* library) { dlclose(library); }
void* loaded(const char* file) { return file == nullptr ? nullptr : dlopen(file, RTLD_LAZY | RTLD_NOLOAD); }

void* function_in(void* library, const char* name) {
  if (library == nullptr) return nullptr;
  void* const found = real_dlsym(library, name);
  return found == nullptr || is_ours(found) ? nullptr : found;
}

}  // namespace antiphase::cublas
