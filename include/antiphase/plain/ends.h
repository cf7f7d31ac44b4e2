// SPDX-License-Identifier: Apache-2.0
// Included before the standard headers, in C too: redirects ways to end a program, which are results of a
// run, and the heap of kernels.
#pragma once

#ifdef __cplusplus
#define AP_THROWS_NOTHING noexcept
extern "C" {
#else
#define AP_THROWS_NOTHING
#endif
__attribute__((noreturn)) void exit(int) AP_THROWS_NOTHING __asm__("antiphase_plain_exit");
__attribute__((noreturn)) void _Exit(int) AP_THROWS_NOTHING __asm__("antiphase_plain_exit");
__attribute__((noreturn)) void quick_exit(int) AP_THROWS_NOTHING __asm__("antiphase_plain_exit");
__attribute__((noreturn)) void _exit(int) __asm__("antiphase_plain_exit");
__attribute__((noreturn)) void abort(void) AP_THROWS_NOTHING __asm__("antiphase_plain_abort");
// in kernels: device memory; the host's is known by its size, for copies
void* malloc(__SIZE_TYPE__) AP_THROWS_NOTHING __asm__("antiphase_plain_malloc");
void* realloc(void*, __SIZE_TYPE__) AP_THROWS_NOTHING __asm__("antiphase_plain_realloc");
void free(void*) AP_THROWS_NOTHING __asm__("antiphase_plain_free");
__attribute__((noreturn)) void __assert_fail(const char*, const char*, unsigned,
                                             const char*) AP_THROWS_NOTHING __asm__("antiphase_plain_assert");
#undef AP_THROWS_NOTHING

#ifdef __cplusplus
}
// CUDA programs are C++17 and may define lerp; C++20's is renamed out of the way.
#define lerp antiphase_plain_std_lerp
#include <math.h>

#include <cmath>
#undef lerp
#endif
