// Comes first in every instrumented unit (-include): the compiler instruments accesses that it sees, but not what the C library does for
// it. With these declarations every call of the three, written or made up by the compiler, goes to the checker.
#pragma once
#include <stddef.h>

extern "C" {
void* memcpy(void*, const void*, size_t) noexcept __asm__("antiphase_checked_memcpy");
void* memmove(void*, const void*, size_t) noexcept __asm__("antiphase_checked_memmove");
void* memset(void*, int, size_t) noexcept __asm__("antiphase_checked_memset");
}
