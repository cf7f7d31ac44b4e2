// SPDX-License-Identifier: Apache-2.0
// A library that the program opens on demand, so that commands that do not use it start without its cost and
// work where it is not installed.
#pragma once
#include <initializer_list>
#include <string>

namespace antiphase::tool {

// The library stays loaded until the program ends: such libraries cannot be unloaded safely.
class shared_library {
 public:
  // Opens the first of these names that the dynamic loader finds. Messages call the library `called`.
  shared_library(std::string called, std::initializer_list<const char*> names);

  // Empty while the library and every requested function have been found; else the reason, a sentence without
  // its full stop.
  const std::string& why_not() const { return why_not_; }

  // Sets `function` to null, and why_not() to the reason, if the library or the function was not found.
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
