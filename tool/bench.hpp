// The subcommands of bench.
#pragma once
#include "tool/command.hpp"

namespace antiphase::tool {

void add_bench_gemm(CLI::App& bench, action& chosen);
void add_bench_scan(CLI::App& bench, action& chosen);

}  // namespace antiphase::tool
