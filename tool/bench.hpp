// The subcommands of bench.
#pragma once
#include "tool/command.hpp"

namespace antiphase::tool {

void add_bench_gemm(arguments bench);
void add_bench_scan(arguments bench);

}  // namespace antiphase::tool
