// SPDX-License-Identifier: Apache-2.0
// The CPU executor of one checked run: its memory and its launches go through a model.
#pragma once
#include <memory>

#include "model.hpp"

namespace antiphase::checker_detail {

// `options` must have one worker. The model belongs to the OS thread that uses the executor and outlives it.
std::shared_ptr<const executor> make_checking_executor(const cpu_options& options, model& m);
model& model_of(const executor& on);
unsigned seed_of(const executor& on);
// Which blocks the launches from now on run, by index in the grid; none named: all.
void choose_blocks(const executor& on, std::vector<std::uint64_t> chosen);

}  // namespace antiphase::checker_detail
