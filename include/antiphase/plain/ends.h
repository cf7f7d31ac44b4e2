// SPDX-License-Identifier: Apache-2.0
// Comes before the standard headers: how a program ends is a result of its run, and kernels have a heap.
#pragma once

extern "C" {
[[noreturn]] void exit(int) noexcept __asm__("antiphase_plain_exit");
[[noreturn]] void _Exit(int) noexcept __asm__("antiphase_plain_exit");
[[noreturn]] void abort() noexcept __asm__("antiphase_plain_abort");
// in kernels, memory of the device
void* malloc(decltype(sizeof 0)) noexcept __asm__("antiphase_plain_malloc");
void free(void*) noexcept __asm__("antiphase_plain_free");
[[noreturn]] void __assert_fail(const char*, const char*, unsigned, const char*) noexcept
    __asm__("antiphase_plain_assert");
}

// Programs have a lerp of their own, as CUDA programs are C++17; C++20's is not to be in the way.
#define lerp antiphase_plain_std_lerp
#include <math.h>

#include <cmath>
#undef lerp
