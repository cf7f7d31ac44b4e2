// SPDX-License-Identifier: Apache-2.0
// Request of the subcommand bench gemm.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "tool/commands/bench/bench.hpp"
#include "tool/commands/bench/list/bench_gemm_list.hpp"

namespace antiphase::tool {

struct bench_gemm_request : bench_options {
  std::vector<std::int64_t> sizes, m, n, k;
  std::vector<std::string> layouts, data, precisions;
  std::string policy = "auto";
  std::string against = "cublas";
  product_list_options list;
};
void run_bench_gemm(const bench_gemm_request& r);

}  // namespace antiphase::tool
