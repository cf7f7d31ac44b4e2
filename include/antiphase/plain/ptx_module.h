// SPDX-License-Identifier: Apache-2.0
// What the checker's translation of a PTX module calls besides its instructions (ptx.h): parameters, and the
// functions that every module may call.
#pragma once
#include <cstdio>
#include <cstring>

#include "cooperative_groups.h"
#include "cuda_runtime.h"
#include "launch.h"
#include "mma.h"
#include "ptx.h"
#include "ptx_by_use.h"

namespace antiphase::plain {
void note_printed(const void* p, std::size_t bytes);  // a number that a kernel prints
}
namespace antiphase::plain::ptx {

// A parameter of 64 bits: an integer, or a pointer of any type.
struct word {
  unsigned long bits;
  word() = default;
  template <class T>
  requires(std::is_arithmetic_v<T> || std::is_enum_v<T>) word(T x) : bits(get<unsigned long>(x)) {}
  template <class T> word(T* p) : bits(reinterpret_cast<unsigned long>(p)) {}
  word(std::nullptr_t) : bits(0) {}
  template <stands_for_argument T> word(const T& x)
      : word(static_cast<typename T::kernel_argument>(const_cast<T&>(x))) {}
};
// A parameter that is an array of bytes, such as a struct.
template <std::size_t Count, std::size_t Align> struct alignas(Align) bytes {
  unsigned char x[Count];
  bytes() = default;
  template <class T>
  requires(sizeof(T) == Count && std::is_trivially_copyable_v<T>) bytes(const T& from) {
    std::memcpy(x, __builtin_addressof(from), Count);
  }
};

// Functions that nvcc's code calls and the driver has. Arguments and results by their addresses.
// vprintf(format, arguments): each argument at a multiple of its size.
inline void system_vprintf(unsigned char* result, unsigned char* format, unsigned char* arguments) {
  const char* at;
  const unsigned char* next;
  std::memcpy(&at, format, sizeof at);
  std::memcpy(&next, arguments, sizeof next);
  int count = 0;
  const auto take = [&](auto& x) {
    next = reinterpret_cast<const unsigned char*>((reinterpret_cast<unsigned long>(next) + sizeof x - 1) /
                                                  sizeof x * sizeof x);
    std::memcpy(&x, next, sizeof x);
    note_printed(next, sizeof x);
    next += sizeof x;
    ++count;
  };
  while (*at != 0) {
    const char* const percent = at;
    if (*at != '%' || at[1] == '%') {
      std::putchar(*at);
      at += *at == '%' ? 2 : 1;
      continue;
    }
    bool wide = false;
    int widths[2] = {}, stars = 0;
    for (++at; *at != 0 && std::strchr("diouxXcsfFeEgGaAp", *at) == nullptr; ++at) {
      wide |= *at == 'l' || *at == 'z' || *at == 'j' || *at == 't';
      if (*at == '*' && stars < 2) take(widths[stars++]);
    }
    if (*at == 0) break;
    char one[64] = {};
    std::memcpy(one, percent,
                std::min<std::size_t>(static_cast<std::size_t>(at + 1 - percent), sizeof one - 1));
    const auto print = [&](auto x) {
      take(x);
      if (stars == 0) std::printf(one, x);
      if (stars == 1) std::printf(one, widths[0], x);
      if (stars == 2) std::printf(one, widths[0], widths[1], x);
    };
    if (std::strchr("fFeEgGaA", *at) != nullptr)
      print(0.0);
    else if (wide || *at == 's' || *at == 'p')
      print(0ul);
    else
      print(0u);
    ++at;
  }
  std::memcpy(result, &count, sizeof count);
}
// __assertfail(expression, file, line, function, bytes of a character)
template <class... More> inline void system___assertfail(unsigned char* expression, unsigned char* file,
                                                         unsigned char* line, unsigned char* function,
                                                         More...) {
  const char *what, *in, *of;
  unsigned at;
  std::memcpy(&what, expression, sizeof what);
  std::memcpy(&in, file, sizeof in);
  std::memcpy(&at, line, sizeof at);
  std::memcpy(&of, function, sizeof of);
  __assert_fail(what, in, at, of);
}
// The change of the program that this run tries.
inline void system_antiphase_tried(unsigned char* result, unsigned char* number) {
  int n;
  std::memcpy(&n, number, sizeof n);
  const unsigned is = antiphase_tried(n) ? 1 : 0;
  std::memcpy(result, &is, sizeof is);
}
inline void system_malloc(unsigned char* result, unsigned char* size) {
  std::size_t bytes;
  std::memcpy(&bytes, size, sizeof bytes);
  void* const p = ::malloc(bytes);
  std::memcpy(result, &p, sizeof p);
}
inline void system_free(unsigned char* pointer) {
  void* p;
  std::memcpy(&p, pointer, sizeof p);
  ::free(p);
}
// Cooperative groups of the device's runtime library, as Numba calls them: of the grid alone.
inline void system_cudaCGGetIntrinsicHandle(unsigned char* result, unsigned char*) {
  const unsigned long grid = 1;
  std::memcpy(result, &grid, sizeof grid);
}
inline void system_cudaCGSynchronize(unsigned char* result, unsigned char*, unsigned char*,
                                     place where = place::current()) {
  std::memset(result, 0, 4);
  grid_barrier(where);
}

}  // namespace antiphase::plain::ptx
