// SPDX-License-Identifier: Apache-2.0
// Comes before the standard headers: how a program ends is a result of its run.
#pragma once

extern "C" {
[[noreturn]] void exit(int) noexcept __asm__("antiphase_plain_exit");
[[noreturn]] void _Exit(int) noexcept __asm__("antiphase_plain_exit");
[[noreturn]] void abort() noexcept __asm__("antiphase_plain_abort");
[[noreturn]] void __assert_fail(const char*, const char*, unsigned, const char*) noexcept __asm__("antiphase_plain_assert");
}
