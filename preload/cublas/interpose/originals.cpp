// SPDX-License-Identifier: Apache-2.0
#include "preload/cublas/interpose/originals.hpp"

#include <dlfcn.h>

#include <array>
#include <atomic>
#include <mutex>
#include <new>
#include <unordered_map>

#include "core/per_process.hpp"
#include "preload/cublas/interpose/libraries.hpp"

namespace antiphase::cublas {
namespace {

#define AP_NAME(entry, ...) #entry,
constexpr std::array<const char*, functions> names = {AP_CUBLAS_ENTRIES(AP_NAME, AP_NAME, AP_NAME)};

// A function, with the address that calls it, or the load address of the library that does.
struct place {
  cublas::function function;
  const void* called_from;
  bool operator==(const place&) const = default;
};
struct hash {
  std::size_t operator()(const place& p) const {
    return std::hash<const void*>()(p.called_from) * functions + static_cast<std::size_t>(p.function);
  }
};
template <class T> using table = std::unordered_map<place, T, hash>;
struct originals {
  std::mutex change;
  table<original> all;
};
constinit lasting<per_process<originals>> of_process;

// A child needs both tables consistent. While this lock is held no thread calls the dynamic linker, as fork()
// takes the lock.
constinit std::mutex change_of_ends;
table<void*>& ends_of_slots() {
  static constinit made_once<table<void*>> known;
  return known.get([] { return table<void*>(); });
}
// Functions that dlsym() found, by the library that asked; asked_for_last: the last of all.
table<void*>& asked_for() {
  static constinit made_once<table<void*>> known;
  return known.get([] { return table<void*>(); });
}
std::array<std::atomic<void*>, functions> asked_for_last{};

void* found_in(const table<void*>& in, function which, const void* called_from) {
  const place at{which, beginning_of(called_from)};
  const std::scoped_lock lock(change_of_ends);
  const auto known = in.find(at);
  return known == in.end() ? nullptr : known->second;
}
void enter(table<void*>& in, function which, const void* called_from, void* end) {
  const place at{which, beginning_of(called_from)};
  const std::scoped_lock lock(change_of_ends);
  in[at] = end;
}

void* search(function which, const void* called_from) {
  const char* const name = name_of(which);
  if (void* const end = found_in(ends_of_slots(), which, called_from)) return end;
  if (void* const found = function_in(loaded(file_of(called_from)), name)) return found;
  if (void* const asked = found_in(asked_for(), which, called_from)) return asked;
  if (void* const asked = asked_for_last[static_cast<std::size_t>(which)]) return asked;
  // for the main program, which is loaded without a name
  if (void* const next = function_in(RTLD_NEXT, name)) return next;
  static constexpr const char* files[][2] = {{"libcublas.so.13", "libcublasLt.so.13"},
                                             {"libcublas.so.12", "libcublasLt.so.12"},
                                             {"libcublas.so.11", "libcublasLt.so.11"}};
  for (const auto& version : files)
    if (void* const found = function_in(loaded(version[which == function::cublasLtMatmul]), name))
      return found;
  return nullptr;
}

original made_of(void* found) {
  original all{.function = found};
  if (found == nullptr) return all;
  void* const library = loaded(file_of(found));
  const auto find = [&]<class Function>(Function*& to, const char* name) {
    to = reinterpret_cast<Function*>(function_in(library, name));
  };
  find(all.stream, "cublasGetStream_v2");
  find(all.pointer_mode, "cublasGetPointerMode_v2");
  find(all.math_mode, "cublasGetMathMode");
  find(all.product, "cublasSgemm_v2");
  find(all.of_product, "cublasLtMatmulDescGetAttribute");
  find(all.of_layout, "cublasLtMatrixLayoutGetAttribute");
  return all;
}

const original& find_original(const place& p) {
  auto& [change, all] = of_process.value.get();
  {
    const std::scoped_lock lock(change);
    if (const auto known = all.find(p); known != all.end()) return known->second;
  }
  // Not under our lock: the dynamic linker has a lock of its own, whose holder may be waiting for ours.
  const original found = made_of(search(p.function, p.called_from));
  const std::scoped_lock lock(change);
  return all.try_emplace(p, found).first->second;
}

}  // namespace

const char* name_of(function which) { return names[static_cast<std::size_t>(which)]; }

const original& original_of(function which, const void* called_from) {
  // Last look-ups of the thread, so that most calls take no lock.
  constexpr std::size_t kept = 64;
  struct last {
    place key;
    const original* found;
  };
  static thread_local std::array<last, kept> recently{};
  last& here =
      recently[(reinterpret_cast<std::uintptr_t>(called_from) / 4 + static_cast<std::size_t>(which)) % kept];
  if (here.found == nullptr || !(here.key == place{which, called_from}))
    here = {{which, called_from}, &find_original({which, called_from})};
  return *here.found;
}

void lead_back(function which, const void* in_library, void* to) {
  enter(ends_of_slots(), which, in_library, to);
}
void lock_ends() { change_of_ends.lock(); }
void unlock_ends() { change_of_ends.unlock(); }

bool remember(function which, void* found, const void* asked_from) {
  if (!is_cublas(found)) return false;
  asked_for_last[static_cast<std::size_t>(which)] = found;
  try {
    enter(asked_for(), which, asked_from, found);
  } catch (const std::bad_alloc&) {  // callers of dlsym() expect no exception
  }
  return true;
}

}  // namespace antiphase::cublas
