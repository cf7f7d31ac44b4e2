// SPDX-License-Identifier: Apache-2.0
// The subcommands of bench.
#pragma once
#include "tool/commands/common/record.hpp"

namespace antiphase::tool {

struct bench_options : measuring_options {
  int repeats = 9;  // samples of each time
};
void add_bench_options(arguments command, bench_options& options);

void add_bench_gemm(arguments bench);
void add_bench_scan(arguments bench);
void add_bench_linear(arguments bench);
void add_bench_overlap(arguments bench);

}  // namespace antiphase::tool
