// SPDX-License-Identifier: Apache-2.0
// The CPU executor of one checked run: its memory and its launches go through a model.
#pragma once
#include <antiphase/executor/cpu/cpu_executor.hpp>
#include <memory>
#include <vector>

namespace antiphase::checker_detail {

class model;

// `options` must have one worker. The model belongs to the OS thread that uses the executor and outlives it.
std::shared_ptr<executor> make_checking_executor(const cpu_options& options, model& m);
void schedule_as(executor& on, const cpu_options& options);  // its launches from now on
model& model_of(const executor& on);
unsigned seed_of(const executor& on);
// Which blocks the launches from now on run, in this order, by index in the grid; none named: all, in theirs.
// After so many accesses of a launch that the model follows (0: never) no more blocks begin.
void choose_blocks(const executor& on, std::vector<std::uint64_t> chosen, std::uint64_t most_accesses);
std::uint64_t blocks_begun(const executor& on);  // of the last launch

}  // namespace antiphase::checker_detail
