// SPDX-License-Identifier: Apache-2.0
// Operands of attention, and the check of its outputs.
#pragma once
#include <antiphase/attention.hpp>
#include <cstdint>
#include <vector>

#include "tool/measure/verify.hpp"

namespace antiphase::tool {

// Rows [member][head][query or key][depth] of random numbers, all heads with a K and V of their own.
class attention_operands {
 public:
  attention_operands(const context& where, std::int64_t members, std::int64_t heads, std::int64_t queries,
                     std::int64_t keys, std::int64_t depth, bool causal);
  const attention_problem& problem() const { return problem_; }
  // Fills O with NaN, so that an output that is not written cannot pass with the previous run's value.
  void forget_result();
  // Compares a sample of the rows of O, all of few, with FP64: every output has to be within the bound of
  // docs/use/accuracy.md#attention, that of FP16 parts where `by_parts`.
  verdict check(bool by_parts) const;

 private:
  std::int64_t rows_of_all() const { return problem_.members * problem_.heads * problem_.queries; }

  std::vector<float> host_q_, host_k_, host_v_;
  device_array<float> q_, k_, v_, out_;
  attention_problem problem_;
};

}  // namespace antiphase::tool
