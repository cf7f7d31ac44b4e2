// SPDX-License-Identifier: Apache-2.0
// The body of a PTX function as C++.
#pragma once
#include <map>
#include <set>
#include <string>

#include "checker/plain/ptx/instructions/ptx_instruction.hpp"
#include "module.hpp"

namespace antiphase::plain::ptx_module {

using symbols =
    std::map<std::string, std::string, std::less<>>;  // of the module: expressions of their addresses

struct function_text {
  std::string text;
  std::set<std::string> uses;  // symbols of the module
};
// Parameters are ap_x0, ap_x1 and so on; those of a .func are the addresses of results and parameters.
function_text body_of(const function& f, const symbols& known);

// What the source called a variable: s for _ZZ4tilePfE1s.
std::string name_in_source(const std::string& name);
std::string function_in_source(const std::string& name);  // sum for _Z3sumPKiPi
std::string symbol_of(std::string_view function);         // the C++ name of a .func

}  // namespace antiphase::plain::ptx_module
