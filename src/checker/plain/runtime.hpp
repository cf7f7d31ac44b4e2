// SPDX-License-Identifier: Apache-2.0
// One run of a plain CUDA program: its main on the checker's executor.
#pragma once
#include <antiphase/context.hpp>
#include <antiphase/plain_cuda.hpp>

#include "src/checker/model.hpp"

namespace antiphase::plain {

using main_function = int (*)(int, char**, char**);
// Initialises the program's variables too, which may call CUDA, and may crash: in the process of a run.
// Throws bad_source.
main_function load(const std::string& object);

// Shared memory of a block, for what lies between its variables; what a device has is judged here.
void allow_more_shared(device_limits& limits);

// In a process of its own. Throws what the program did wrong.
void run_main(const std::string& object, const plain_program& of, const context& where);

}  // namespace antiphase::plain
