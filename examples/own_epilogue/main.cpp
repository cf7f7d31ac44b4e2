// SPDX-License-Identifier: Apache-2.0
// Causal attention scores of 300 queries and keys of 64 elements: a query sees the keys up to its own.
#include <antiphase/context.hpp>

#include <cmath>
#include <cstdio>
#include <vector>

#include "masked.hpp"

int main() {
  constexpr int tokens = 300, width = 64;
  std::vector<float> queries, keys;
  for (int i = 0; i < tokens * width; ++i) {
    queries.push_back(static_cast<float>(i * 7 % 19 - 9));
    keys.push_back(static_cast<float>(i * 5 % 17 - 8));
  }
  const auto where = antiphase::context::best();
  antiphase::device_array<float> q(where, queries), k(where, keys), c(where, tokens * tokens);
  const antiphase::gemm_problem scores{.a = antiphase::row_major<const float>(q.data(), tokens, width),
                                       .b = antiphase::column_major<const float>(k.data(), width, tokens),
                                       .c = antiphase::row_major(c.data(), tokens, tokens)};
#if ON_GPUS_TOO
  if (where.kind() == antiphase::target::cuda)
    own::cuda::masked_scores(where, scores, 0.125f);
  else
#endif
    own::cpu::masked_scores(where, scores, 0.125f);

  const std::vector<float> found = c.to_host();
  int wrong = 0, hidden = 0;
  for (int i = 0; i < tokens; ++i)
    for (int j = 0; j < tokens; ++j) {
      float sum = 0;  // of small integers: exact
      for (int at = 0; at < width; ++at)
        sum += queries[static_cast<std::size_t>(i * width + at)] *
               keys[static_cast<std::size_t>(j * width + at)];
      const float is = found[static_cast<std::size_t>(i * tokens + j)];
      hidden += std::isinf(is) ? 1 : 0;
      wrong += j <= i ? is != 0.125f * sum : !(std::isinf(is) && is < 0);
    }
  std::printf("%d of %d scores are hidden, %d are wrong, on %s\n", hidden, tokens * tokens, wrong,
              where.limits().name.c_str());
  return wrong == 0 ? 0 : 1;
}
