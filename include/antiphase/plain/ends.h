// SPDX-License-Identifier: Apache-2.0
// Included before the standard headers: redirects ways to end a program, which are results of a run, and the
// heap of kernels.
#pragma once

extern "C" {
[[noreturn]] void exit(int) noexcept __asm__("antiphase_plain_exit");
[[noreturn]] void _Exit(int) noexcept __asm__("antiphase_plain_exit");
[[noreturn]] void abort() noexcept __asm__("antiphase_plain_abort");
// in kernels: device memory
void* malloc(decltype(sizeof 0)) noexcept __asm__("antiphase_plain_malloc");
void free(void*) noexcept __asm__("antiphase_plain_free");
[[noreturn]] void __assert_fail(const char*, const char*, unsigned, const char*) noexcept
    __asm__("antiphase_plain_assert");
}

// CUDA programs are C++17 and may define lerp; C++20's is renamed out of the way.
#define lerp antiphase_plain_std_lerp
#include <math.h>

#include <cmath>
#undef lerp
