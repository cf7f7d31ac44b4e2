// SPDX-License-Identifier: Apache-2.0
// An executor whose callers bring memory for its work.
#pragma once
#include <antiphase.h>

#include <antiphase/executor/executor.hpp>
#include <memory>

namespace antiphase::c_api {

// What antiphase_set_allocator() was given last.
struct allocator {
  antiphase_allocate allocate = nullptr;
  antiphase_deallocate deallocate = nullptr;
  void* user = nullptr;
};
void set_allocator(const allocator& to);

// As `of`, but what is borrowed comes from the allocator, if there is one. `device` is what the allocator is
// told.
std::shared_ptr<const executor> with_allocator(std::shared_ptr<const executor> of, int device);

}  // namespace antiphase::c_api
