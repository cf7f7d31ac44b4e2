// SPDX-License-Identifier: Apache-2.0
// The compiled kernels of the scan of columns, and the plan of a request for them.
#pragma once
#include <antiphase/executor/kernel.hpp>
#include <antiphase/scan/ladder.hpp>
#include <antiphase/scan/problem.hpp>
#include <span>
#include <string>

namespace antiphase::scans {

struct request;
struct plan;
enum class misfit;

// One kernel. Signed integers share the kernels of unsigned ones, and maxima those of minima.
struct columns_instance {
  element in, out;
  scan_operation operation;
  kernel code;
};
std::span<const columns_instance> columns_instances(target where);

// Columns of the table in choose.hpp, for the step `columns`. The workspace begins as in single_pass.hpp;
// columns.cuh lays out its state words.
misfit columns_suit(const step& how, const request& r);
std::string columns_words(misfit why, const step& how, const request& r);
std::size_t columns_workspace(const step& how, const problem& p, const scan_keys* keys);
plan plan_columns(const step& how, const request& r);

}  // namespace antiphase::scans
