// SPDX-License-Identifier: Apache-2.0
// The CPU executor of one checked run: reports its memory and launches to a model.
#pragma once
#include <antiphase/executor/cpu/cpu_executor.hpp>
#include <memory>
#include <span>
#include <vector>

namespace antiphase::checker_detail {

class model;

// `options` must have one worker. The model belongs to the OS thread that uses the executor, and outlives it.
std::shared_ptr<executor> make_checking_executor(const cpu_options& options, model& m);
void schedule_as(executor& on, const cpu_options& options);  // for launches from now on
model& model_of(const executor& on);
// Writes these bytes over and over, as one copy in the order of the stream.
void fill(const executor& on, void* to, std::span<const unsigned char> value, std::size_t bytes, stream s);
unsigned seed_of(const executor& on);
// From now on launches run these blocks only (linear index in the grid), in this order; empty: all, in grid
// order. No more blocks begin once a launch has made `most_accesses` accesses that the model follows (0: no
// limit).
void choose_blocks(const executor& on, std::vector<std::uint64_t> chosen, std::uint64_t most_accesses);
std::uint64_t blocks_begun(const executor& on);  // by the last launch

}  // namespace antiphase::checker_detail
