// SPDX-License-Identifier: Apache-2.0
// A checked call of attention: defaults resolved, arguments sensible.
#pragma once
#include <antiphase/attention/problem.hpp>
#include <antiphase/executor/executor.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "library/attention/walk.hpp"

namespace antiphase::attentions {

// Extents of a member are below this.
constexpr std::int64_t extent_limit = std::int64_t{1} << 30;
constexpr std::int64_t most_depth = 256;

struct step;
struct no_traits {};

struct request {
  using ladder_step = attentions::step;
  using traits = no_traits;

  const antiphase::executor& executor;
  attentions::problem problem;    // with kv_heads and a scale
  std::optional<gradients> back;  // asked for: attention_backward()

  target where() const { return executor.kind(); }
  const device_limits& device() const { return executor.limits(); }
  // The call is a backward without softmax, which has to be made first.
  bool from_logsumexp() const {
    return back.has_value() && problem.softmax == nullptr && problem.logsumexp != nullptr;
  }
  bool packed() const { return problem.lengths.query_offsets != nullptr; }
  // Rows of Q, and of K and V, of all members but of one head.
  std::int64_t query_rows() const {
    return packed() ? problem.lengths.query_rows : problem.members * problem.queries;
  }
  std::int64_t key_rows() const {
    return packed() ? problem.lengths.key_rows : problem.members * problem.keys;
  }
  // Nothing is written.
  bool empty() const {
    return problem.members == 0 || problem.heads == 0 ||
           (query_rows() == 0 && (!back.has_value() || key_rows() == 0));
  }
  // Pairs of a query and a key that mask and window let it see, of all members and heads; of packed members
  // as if each were the average one.
  double pairs() const;
  // The call as predictions take it: heads of K if blocks own keys, and a member as pairs() takes it.
  walked_call walked(bool owns_keys) const;
  // The average member, by the rows of all.
  member average() const;
  // "8 x 12 heads of 1024 queries and 1024 keys, depth 64"
  std::string text() const;
};

// Throws bad_request, which names the first argument that is wrong.
request validated(const executor& on, const problem& p, const gradients* back);

// Throws bad_request if a result overlaps an operand, another result or the workspace, or an operand the
// workspace. Called before launches only: who asks for a plan may not have allocated memory yet.
void require_own_memory(const request& r, std::span<const std::byte> workspace);
// Throws bad_request if offsets of packed members that the host can read do not rise from 0 to the number of
// rows, or a member is longer than the problem says. Called before launches only.
void require_offsets(const request& r);

}  // namespace antiphase::attentions
