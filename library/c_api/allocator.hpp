// SPDX-License-Identifier: Apache-2.0
// An executor that takes its working memory from the caller's allocator.
#pragma once
#include <antiphase.h>

#include <antiphase/executor/executor.hpp>
#include <memory>

namespace antiphase::c_api {

// The latest arguments of antiphase_set_allocator().
struct allocator {
  antiphase_allocate allocate = nullptr;
  antiphase_deallocate deallocate = nullptr;
  void* user = nullptr;
};
void set_allocator(const allocator& to);

// The executor `of`, with borrowed memory from the allocator, if one is set. `device` is passed on to the
// allocator.
std::shared_ptr<const executor> with_allocator(std::shared_ptr<const executor> of, int device);

}  // namespace antiphase::c_api
