// SPDX-License-Identifier: Apache-2.0
// Counts arithmetic in the assembly of a program that is to be timed.
#pragma once
#include <string>
#include <string_view>

namespace antiphase::plain {

// `assembly`: of g++ with -fsanitize-coverage=trace-pc, which calls a function at the begin of each basic
// block. Where a block computes with floating-point numbers, the call becomes one of
// antiphase_checked_arithmetic, with the instructions that a GPU would execute; elsewhere it is removed.
//
// The rule: a multiplication and an addition are one instruction together, others one each, a division, a
// square root or a function such as expf eight; in double precision they count twice.
std::string with_counted_arithmetic(std::string_view assembly);

}  // namespace antiphase::plain
