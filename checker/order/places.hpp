// SPDX-License-Identifier: Apache-2.0
// Source lines of addresses in the running program.
#pragma once
#include <antiphase/checker.hpp>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace antiphase::checker_detail {

// Name of the variable at the address, without its scopes; empty: unknown.
std::string symbol_at(const void* address);
std::vector<std::string> functions_with(const void* address);  // all of the same module, mangled
std::string mangled_at(const void* address);                   // the name of the function; empty: unknown
std::string function_at(const void* address);                  // without parameters; empty: unknown

// Lines of the code before a return address, innermost inlined function first. Empty without debug
// information.
std::vector<code_place> lines_of(const void* return_address);

// Return addresses on this stack, innermost first, from the caller of the function that `code` lies in. Empty
// if `code` is not on the stack.
std::vector<const void*> callers_of(const void* code);

// True if the program's own image holds these bytes, such as constants that kernels read.
bool program_holds(std::uintptr_t address, std::size_t bytes);

// A file's name in reports: relative to the include folder or the working directory; of the library's sources
// that are not on this machine, to their root.
std::string shown(const std::string& file);
// True if a file, as shown() names it, lies in a folder of antiphase's own sources, not in one of that name
// here.
bool lies_in_sources(const std::string& file, std::string_view folder);

// True for files that carry out a device function, such as the library's headers, rather than ask for it.
bool is_machinery(const code_place& p);

// Ends a run whose kernel left its memory; the finding has been reported.
struct stopped : std::runtime_error {
  using runtime_error::runtime_error;
};

}  // namespace antiphase::checker_detail
