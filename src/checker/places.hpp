// SPDX-License-Identifier: Apache-2.0
// From addresses in the running program to lines of its source.
#pragma once
#include <antiphase/checker.hpp>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace antiphase::checker_detail {

// The variable of the program that lies there, without the scopes that it is in; empty: not known.
std::string symbol_at(const void* address);
std::string function_at(const void* address);  // its name without parameters; empty: nobody knows

// Where the code before a return address comes from: the innermost inlined function first. Empty if the
// program has no debug information.
std::vector<code_place> lines_of(const void* return_address);

// The functions that are under way on this stack, from the one that called the function in which `code` lies
// on: each as the address behind its call. Empty if `code` is not on the stack.
std::vector<const void*> callers_of(const void* code);

// Whether the program's own image holds these bytes: constants that kernels read.
bool program_holds(std::uintptr_t address, std::size_t bytes);

// How a file of this project or a user's is shown: from the include folder, or the working directory, on.
std::string shown(const std::string& file);

// The library's own headers are where a verb is carried out, not where it was asked for.
bool is_machinery(const code_place& p);

// Ends a run in which a kernel left its memory; the finding has been reported.
struct stopped : std::runtime_error {
  using runtime_error::runtime_error;
};

}  // namespace antiphase::checker_detail
