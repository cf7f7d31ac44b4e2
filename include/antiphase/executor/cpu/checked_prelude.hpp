// SPDX-License-Identifier: Apache-2.0
// Included first in every instrumented unit (-include). The compiler instruments accesses of the code, but
// not those of the C library. With these declarations every call of the four functions, explicit or
// generated, goes to the checker. Headers of the standard library call the builtins, which no option turns
// into calls.
#pragma once
#include <stddef.h>

extern "C" {
void* memcpy(void*, const void*, size_t) noexcept __asm__("antiphase_checked_memcpy");
void* memmove(void*, const void*, size_t) noexcept __asm__("antiphase_checked_memmove");
void* memset(void*, int, size_t) noexcept __asm__("antiphase_checked_memset");
int memcmp(const void*, const void*, size_t) noexcept __asm__("antiphase_checked_memcmp");
}
#define __builtin_memcpy ::memcpy
#define __builtin_memmove ::memmove
#define __builtin_memset ::memset
#define __builtin_memcmp ::memcmp
