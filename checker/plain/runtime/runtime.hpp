// SPDX-License-Identifier: Apache-2.0
// One run of a plain CUDA program: its main on the checker's executor.
#pragma once
#include <antiphase/context.hpp>
#include <antiphase/plain_cuda.hpp>

#include "checker/runs/model.hpp"

namespace antiphase::plain {

using main_function = int (*)(int, char**, char**);
// Loads a program, which initialises its variables: that may call CUDA, or crash, so it belongs in the
// process of a run. Throws bad_source. `driven`: functions of sources that are not here may be missing, as
// long as nothing calls them.
main_function load(const std::string& object, bool driven);

// Raises the limit of shared memory: the stand-in needs gaps between variables. The device's own limit is
// checked in the runtime.
void allow_more_shared(device_limits& limits);

// The change of the program that this process's run is tried with; 0: none. See find_fixes().
void try_change(int number);
// Runs main; call it in a process of its own. Throws for what the program did wrong.
void run_main(const std::string& object, const plain_program& of, const context& where);

// From now on, stacks of this process's kernels have room for 512 KiB of local memory, and one that overflows
// is a finding. Again after handlers of signals have changed.
void take_larger_stacks(bool larger);  // before follow_stacks()
void follow_stacks();
void forget_textures();       // of an earlier run
void forget_tensor_memory();  // the same

}  // namespace antiphase::plain
