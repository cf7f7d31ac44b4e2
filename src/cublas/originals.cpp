// SPDX-License-Identifier: Apache-2.0
#include "src/cublas/originals.hpp"

#include <dlfcn.h>

#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <string_view>
#include <unordered_map>

namespace antiphase::cublas {
namespace {

constexpr std::array<const char*, functions> names = {"cublasSgemm_v2",
                                                      "cublasSgemm_v2_64",
                                                      "cublasSgemmEx",
                                                      "cublasSgemmEx_64",
                                                      "cublasGemmEx",
                                                      "cublasGemmEx_64",
                                                      "cublasSgemmStridedBatched",
                                                      "cublasSgemmStridedBatched_64",
                                                      "cublasGemmStridedBatchedEx",
                                                      "cublasGemmStridedBatchedEx_64",
                                                      "cublasLtMatmul"};

// The library that an address belongs to; nothing if to none.
Dl_info library_of(const void* address) {
  Dl_info info{};
  if (dladdr(address, &info) == 0) return {};
  return info;
}
bool is_ours(const void* address) {
  static const void* const base = library_of(reinterpret_cast<const void*>(&library_of)).dli_fbase;
  return library_of(address).dli_fbase == base;
}
bool is_cublas(const void* address) {
  const char* const path = library_of(address).dli_fname;
  if (path == nullptr) return false;
  const std::string_view file(path);
  return file.substr(file.rfind('/') + 1).starts_with("libcublas");
}

// A library that is loaded already. It stays: its functions are remembered.
void* loaded(const char* file) { return file == nullptr ? nullptr : dlopen(file, RTLD_LAZY | RTLD_NOLOAD); }

void* function_in(void* library, const char* name) {
  if (library == nullptr) return nullptr;
  void* const found = real_dlsym(library, name);
  return found == nullptr || is_ours(found) ? nullptr : found;
}

std::array<std::atomic<void*>, functions> remembered{};  // what dlsym() was asked for last

void* search(function which, const void* called_from) {
  const char* const name = name_of(which);
  if (void* const found = function_in(loaded(library_of(called_from).dli_fname), name)) return found;
  if (void* const asked_for = remembered[static_cast<std::size_t>(which)]) return asked_for;
  if (void* const next = function_in(RTLD_NEXT, name)) return next;  // of programs, which are loaded under no name
  static constexpr const char* files[][2] = {
      {"libcublas.so.13", "libcublasLt.so.13"}, {"libcublas.so.12", "libcublasLt.so.12"}, {"libcublas.so.11", "libcublasLt.so.11"}};
  for (const auto& version : files)
    if (void* const found = function_in(loaded(version[which == function::lt_matmul]), name)) return found;
  return nullptr;
}

original made_of(void* found) {
  original all{.function = found};
  if (found == nullptr) return all;
  void* const library = loaded(library_of(found).dli_fname);
  const auto find = [&]<class Function>(Function*& to, const char* name) { to = reinterpret_cast<Function*>(function_in(library, name)); };
  find(all.stream, "cublasGetStream_v2");
  find(all.pointer_mode, "cublasGetPointerMode_v2");
  find(all.math_mode, "cublasGetMathMode");
  find(all.of_product, "cublasLtMatmulDescGetAttribute");
  find(all.of_layout, "cublasLtMatrixLayoutGetAttribute");
  return all;
}

struct place {
  function which;
  const void* called_from;
  bool operator==(const place&) const = default;
};
struct hash {
  std::size_t operator()(const place& p) const {
    return std::hash<const void*>()(p.called_from) * functions + static_cast<std::size_t>(p.which);
  }
};

}  // namespace

const char* name_of(function which) { return names[static_cast<std::size_t>(which)]; }

const original& original_of(function which, const void* called_from) {
  // Never destroyed: threads may still call while the program ends.
  static auto& change = *new std::mutex;
  static auto& all = *new std::unordered_map<place, original, hash>;
  {
    const std::scoped_lock lock(change);
    if (const auto known = all.find({which, called_from}); known != all.end()) return known->second;
  }
  // Not under the lock: the dynamic linker has one of its own, and may be waiting for us under it.
  const original found = made_of(search(which, called_from));
  const std::scoped_lock lock(change);
  return all.try_emplace({which, called_from}, found).first->second;
}

dlsym_function* address_of_real_dlsym() {
  static dlsym_function* const found = [] {
    void* address = nullptr;
    // Of glibc since 2.34, and before on either machine.
    for (const char* const version : {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"})
      if (address == nullptr) address = dlvsym(RTLD_NEXT, "dlsym", version);
    return reinterpret_cast<dlsym_function*>(address);
  }();
  return found;
}
void* real_dlsym(void* library, const char* name) { return address_of_real_dlsym()(library, name); }

bool remember(function which, void* found) {
  if (!is_cublas(found)) return false;
  remembered[static_cast<std::size_t>(which)] = found;
  return true;
}

}  // namespace antiphase::cublas
