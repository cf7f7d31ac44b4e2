// SPDX-License-Identifier: Apache-2.0
// The compiled kernels of the scan of columns, and what a request becomes for them.
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

// One kernel; signed integers share those of unsigned ones, and maxima those of minima.
struct columns_instance {
  element in, out;
  scan_operation operation;
  kernel code;
};
std::span<const columns_instance> columns_instances(target where);

// The columns of the table (choose.hpp), of the step `columns`. The workspace is that of single_pass.hpp, its
// words as columns.cuh has them.
misfit columns_suit(const step& how, const request& r);
std::string columns_words(misfit why, const step& how, const request& r);
std::size_t columns_workspace(const step& how, const problem& p, const scan_keys* keys);
plan plan_columns(const step& how, const request& r);

}  // namespace antiphase::scans
