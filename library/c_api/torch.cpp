// SPDX-License-Identifier: Apache-2.0
// Predictions about torch's own operators for C.
#include <antiphase.h>

#include <antiphase/torch_comparison.hpp>

#include "library/c_api/arguments.hpp"
#include "library/c_api/devices.hpp"
#include "library/c_api/status.hpp"

using namespace antiphase;
using namespace antiphase::c_api;

namespace {

void hand_out(const torch_comparison& j, double* seconds, double* torch_seconds, int* wins) {
  required(seconds, "seconds") = j.seconds;
  required(torch_seconds, "torch_seconds") = j.torch_seconds;
  required(wins, "wins") = j.wins ? 1 : 0;
}

}  // namespace

antiphase_status antiphase_torch_attention_compare(int device, int backward, int64_t members, int64_t heads,
                                                   int64_t queries, int64_t keys, int64_t depth, int causal,
                                                   int biased, int launches, double predicted,
                                                   double* seconds, double* torch_seconds, int* wins) {
  return guarded([&] {
    const torch_attention_call call{.backward = backward != 0,
                                    .members = members,
                                    .heads = heads,
                                    .queries = queries,
                                    .keys = keys,
                                    .depth = depth,
                                    .causal = causal != 0,
                                    .biased = biased != 0,
                                    .launches = launches};
    hand_out(compare(where(device), call, predicted), seconds, torch_seconds, wins);
  });
}

antiphase_status antiphase_torch_scan_compare(int device, int operation, int64_t outer, int64_t length,
                                              int64_t inner, int read, int written, double* seconds,
                                              double* torch_seconds, int* wins) {
  return guarded([&] {
    using kind = torch_scan_call::kind;
    static_assert(ANTIPHASE_SUM == 0 && ANTIPHASE_PRODUCT == 1 && ANTIPHASE_MIN == 2 && ANTIPHASE_MAX == 3 &&
                  ANTIPHASE_LOG_SUM_EXP == 4);
    const torch_scan_call call{.operation = one_of("operation", operation,
                                                   {kind::arithmetic, kind::arithmetic, kind::extremes,
                                                    kind::extremes, kind::log_sum_exp}),
                               .outer = outer,
                               .length = length,
                               .inner = inner,
                               .read = read,
                               .written = written};
    hand_out(compare(where(device), call), seconds, torch_seconds, wins);
  });
}
