// SPDX-License-Identifier: Apache-2.0
// Libraries opened on demand with the dynamic loader.
#include "tool/base/shared_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <utility>

namespace antiphase::tool {

shared_library::shared_library(std::string called, std::initializer_list<const char*> names)
    : called_(std::move(called)) {
  for (const char* name : names) {
    handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) return;
    why_not_ += (why_not_.empty() ? fmt::format("{} was not found: ", called_) : "; ") + dlerror();
  }
}

void* shared_library::address(const char* name) {
  if (handle_ == nullptr) return nullptr;
  void* const found = dlsym(handle_, name);
  if (found == nullptr && why_not_.empty())
    why_not_ = fmt::format("the {} that was found has no {}", called_, name);
  return found;
}

}  // namespace antiphase::tool
