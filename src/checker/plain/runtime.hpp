// SPDX-License-Identifier: Apache-2.0
// One run of a plain CUDA program: its main on the checker's executor.
#pragma once
#include <antiphase/context.hpp>
#include <antiphase/plain_cuda.hpp>

#include "src/checker/model.hpp"

namespace antiphase::plain {

struct loaded {
  int (*main)(int, char**, char**) = nullptr;
  char* sections[6] = {};                                       // of the device's variables: device, constant, managed; each from, to
  checker_detail::model::address_range* passed_over = nullptr;  // accesses there do not leave the program
};

// Shared memory of a block, for what lies between its variables; what a device has is judged here.
void allow_more_shared(device_limits& limits);

// In a process of its own. Throws what the program did wrong.
void run_main(const loaded& program, const plain_program& of, const context& where);

}  // namespace antiphase::plain
