// SPDX-License-Identifier: Apache-2.0
// The choice of a matrix product: what is special for products, next to library/choice.
#pragma once
#include <antiphase/gemm.hpp>
#include <antiphase/gemm/policies.hpp>
#include <cstddef>
#include <span>

#include "library/gemm/candidate.hpp"

namespace antiphase::gemms {

// The row that the name stands for, null for auto; see find_policy().
const candidate* find_candidate(std::string_view name);

// Expects valid arguments: see require_sensible().
request request_for(const context& where, const problem& p, const gemm_options& options = {});

// All that gemm(), gemm_workspace() and explain() read.
struct choice : choices::choice<request> {
  gemm_bound bound, asked;  // error bounds: of the chosen candidate; of the precision
  precision accuracy = precision::fp32;
  const gemms::tuning* given = nullptr;  // options.tuning
  // Nothing to multiply, but a batch or an epilogue, which no step of the ladder takes.
  bool only_finishes = false;

  bool by_members() const;          // a launch, or several, for each member of the batch
  bool has_finishing_pass() const;  // the epilogue is a launch of its own
  bool runs_several_plans() const { return by_members() || has_finishing_pass(); }
  double seconds() const;  // predicted, for the whole call
  choices::plan plan_of(std::int64_t member) const;
  std::size_t offers() const;  // bytes that gemm_workspace() returns: monotonic in the problem's size
};
// Throws what gemm() throws for invalid or unsupported requests.
choice choose(const context& where, const problem& p, const gemm_options& options);

// Enqueues the launches. memory: at least runs.workspace bytes.
launch_counts run(const choice& c, const gemm_options& options, std::span<std::byte> memory);

gemm_choice described(const choice& c);  // what explain() returns

}  // namespace antiphase::gemms
