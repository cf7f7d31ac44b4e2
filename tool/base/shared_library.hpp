// SPDX-License-Identifier: Apache-2.0
// A library that the program loads when it needs it: what does not need it works without it, and starts
// without its cost.
#pragma once
#include <initializer_list>
#include <string>

namespace antiphase::tool {

// Stays loaded for as long as the program runs: such libraries cannot be unloaded safely.
class shared_library {
 public:
  // The first of these names that the dynamic loader finds. `called` is what messages call the library.
  shared_library(std::string called, std::initializer_list<const char*> names);

  // Empty as long as the library and all functions asked for were found; else a sentence without its full
  // stop.
  const std::string& why_not() const { return why_not_; }

  // Null, and why_not() says so, if the library was not found or does not have the function.
  template <class F> void find(F*& function, const char* name) {
    function = reinterpret_cast<F*>(address(name));
  }

 private:
  void* address(const char* name);

  std::string called_;
  void* handle_ = nullptr;
  std::string why_not_;
};

}  // namespace antiphase::tool
