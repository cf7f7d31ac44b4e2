// SPDX-License-Identifier: Apache-2.0
// What a matrix product may run, as one table, and the one judgement of a request.
#pragma once
#include <antiphase/executor/machine.hpp>
#include <antiphase/gemm.hpp>
#include <antiphase/gemm/policies.hpp>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>

#include "src/gemm/fp16/split_plan.hpp"
#include "src/gemm/fp64/dots_plan.hpp"
#include "src/gemm/fp64/fp64_plan.hpp"
#include "src/gemm/fp64/short_plan.hpp"
#include "src/gemm/operands/finish_plan.hpp"
#include "src/gemm/tf32/tf32_plan.hpp"

namespace antiphase::gemms {

// A sensible problem and the device that it is for, as all candidates are asked about it.
struct request {
  const context& where;
  device_features has;
  problem what;  // its idle strides are small
  batch of;
  epilogue after;
  bool invariant;  // reproducibility::batch_invariant
  // of a gradient: whoever stores sums in C before the epilogue has lost it
  bool input_is_c = false;
  const tuning* tuned;   // that corrects predictions; null: none
  ready_operands ready;  // that were prepared
  // how stream would divide K, once somebody has asked
  mutable std::optional<fp64_choice> division = {};
  mutable std::optional<tf32_choice> tf32 = {};                       // and tf32
  mutable std::optional<dots_choice> inner = {};                      // and dots
  mutable std::shared_ptr<const machine_profile> machine_known = {};  // what machine() has found

  const device_limits& device() const { return where.limits(); }
  const machine_profile& machine() const;
  // If not, there is only C to write, if anything.
  bool multiplies() const {
    return what.m() > 0 && what.n() > 0 && what.k() > 0 && what.alpha != 0 && of.count > 0;
  }
  // one product, and nothing behind it
  bool is_alone() const { return of.count == 1 && !of.by_pointers() && after.is_plain(); }
  // Without the epilogue, which a pass behind it does; and member n by itself.
  request unfinished(std::int64_t first = 0) const;  // from that member on
  request member(std::int64_t n, bool with_epilogue) const;
  // values of it that are multiplied
  std::int64_t k() const { return what.m() == 0 || what.n() == 0 || what.alpha == 0 ? 0 : what.k(); }
};
// which are sensible
request request_for(const context& where, const problem& p, const gemm_options& options = {});

// Why a candidate does not take a request. A value; sentence() makes words of it when somebody wants to read
// them.
struct objection {
  enum class reason {
    lacks_feature,
    no_kernel,
    does_not_fit,
    long_k,
    many_lines,
    many_tiles,
    many_parts,
    pointers,
    input_is_c,
    unknown_sums
  };
  reason why;
  kernel code = {};  // that does not fit
};

using any_plan = std::variant<plan, product_plan, short_plan, fp64_plan, dots_plan, tf32_plan, finish_plan>;
using judged_plan = std::variant<objection, any_plan>;

// One entry of the table: a policy and how it is judged. The functions are also handed the entry.
struct candidate {
  policy_info is;                                   // with its name, what it needs and what it promises
  bool (*suits)(const candidate&, const request&);  // whether auto considers it
  // predicted seconds, from shape and device alone; auto takes the least
  double (*cost)(const candidate&, const request&);
  // what it launches, or why not, on a device that has what it needs
  judged_plan (*plan)(const candidate&, const request&);
  std::string_view why;  // auto takes it
  // takes a batch in one launch; else members are computed one after the other
  bool batches = false;
  bool pointers = false;  // takes arrays of pointers
  // Whether it does the epilogue itself; else a pass behind it does.
  bool (*finishes)(const request&) = [](const request&) { return false; };
};
std::span<const candidate> candidates();  // in the order of policies()

// A request, judged: all that gemm(), gemm_workspace() and explain() read.
struct choice {
  request of;
  const candidate* chosen = nullptr;
  any_plan plan = {};
  gemm_bound bound, asked;  // what holds, what the precision stands for
  precision accuracy = precision::fp32;
  bool by_name = false;           // options.policy asked for it
  const tuning* given = nullptr;  // options.tuning
  struct refused {
    const candidate* what;
    objection why;
  };
  static constexpr std::size_t beside_the_ladder = 6;  // candidates
  refused refusals[beside_the_ladder];                 // those that auto would have taken before, in order
  std::size_t refusal_count = 0;
  struct prediction {
    const candidate* what;
    double seconds;  // corrected
    double factor;   // by which
  };
  prediction considered[beside_the_ladder];  // by auto, the fastest first
  std::size_t considered_count = 0;

  bool by_members() const;       // whether members of the batch are computed one after the other
  bool finishes_behind() const;  // whether the epilogue takes a pass of its own
  // whether there is nothing to multiply, but more to do than a step of the ladder knows
  bool only_finishes() const;
  double seconds() const;  // predicted, for all of it
  any_plan plan_of(std::int64_t member) const;
  std::size_t workspace() const;  // bytes that the call takes
  std::size_t offers() const;     // that gemm_workspace() tells: it grows with the problem
};
// Throws what gemm() throws of a request.
choice choose(const context& where, const problem& p, const gemm_options& options);

// Queues it, with as much memory as workspace() says.
launch_counts run(const choice& c, const gemm_options& options, std::span<std::byte> memory);

std::string sentence(const candidate& c, const objection& o, const request& r);  // "it needs ..."
gemm_choice described(const choice& c);                                          // what explain() returns

}  // namespace antiphase::gemms
