// SPDX-License-Identifier: Apache-2.0
// The heuristic: a table of candidates that a matrix product may run, and the choice among them.
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

// A valid problem, its options and its device: the input of all candidates.
struct request {
  const context& where;
  device_features has;
  problem what;  // without_idle_strides()
  batch of;
  epilogue after;
  bool invariant;  // reproducibility::batch_invariant
  // the epilogue is a gradient whose input is C: sums must not be stored in C before the epilogue reads it
  bool input_is_c = false;
  const tuning* tuned;   // corrects predictions; null: none
  ready_operands ready;  // prepared operands
  // caches, filled on first use: how fp64, tf32 and fp64-dots would divide K
  mutable std::optional<fp64_choice> division = {};
  mutable std::optional<tf32_choice> tf32 = {};
  mutable std::optional<dots_choice> inner = {};
  mutable std::shared_ptr<const machine_profile> machine_known = {};  // of machine()

  const device_limits& device() const { return where.limits(); }
  const machine_profile& machine() const;
  // False: C is only scaled and finished, or there is nothing to do.
  bool multiplies() const {
    return what.m() > 0 && what.n() > 0 && what.k() > 0 && what.alpha != 0 && of.count > 0;
  }
  // One product without an epilogue.
  bool is_alone() const { return of.count == 1 && !of.by_pointers() && after.is_plain(); }
  // Without the epilogue, which a finishing pass applies; and member n alone.
  request unfinished(std::int64_t first = 0) const;  // from member `first` on
  request member(std::int64_t n, bool with_epilogue) const;
  // Length of the sums; 0 if there is nothing to multiply.
  std::int64_t k() const { return what.m() == 0 || what.n() == 0 || what.alpha == 0 ? 0 : what.k(); }
};
// Expects valid arguments: see require_sensible().
request request_for(const context& where, const problem& p, const gemm_options& options = {});

// Why a candidate does not take a request; sentence() renders it as text.
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
  kernel code = {};  // does_not_fit: the kernel
};

using any_plan = std::variant<plan, product_plan, short_plan, fp64_plan, dots_plan, tf32_plan, finish_plan>;
using judged_plan = std::variant<objection, any_plan>;

// One entry of the table: a policy, its predicate, its cost model and its planner. Each function gets the
// entry itself as its first argument.
struct candidate {
  policy_info is;                                   // name, needed features, error bound
  bool (*suits)(const candidate&, const request&);  // whether auto considers it
  // Predicted seconds, from shape and device alone; auto takes the least.
  double (*cost)(const candidate&, const request&);
  // What it launches, or why not, on a device that has the features it needs.
  judged_plan (*plan)(const candidate&, const request&);
  std::string_view why;  // the reason that explain() gives if auto takes it
  // Takes a batch in one launch; else there is a launch for each member.
  bool batches = false;
  bool pointers = false;  // takes arrays of pointers
  // Whether its kernel applies the epilogue; else a finishing pass does.
  bool (*finishes)(const request&) = [](const request&) { return false; };
};
std::span<const candidate> candidates();  // in the order of policies()

// The outcome for a request: all that gemm(), gemm_workspace() and explain() read.
struct choice {
  request of;
  const candidate* chosen = nullptr;
  any_plan plan = {};
  gemm_bound bound, asked;  // error bounds: of the chosen candidate; of the precision
  precision accuracy = precision::fp32;
  bool by_name = false;           // options.policy asked for it
  const tuning* given = nullptr;  // options.tuning
  struct refused {
    const candidate* what;
    objection why;
  };
  static constexpr std::size_t beside_the_ladder = 6;  // candidates
  // predicted to be faster than the chosen one, but unable to run; in order
  refused refusals[beside_the_ladder];
  std::size_t refusal_count = 0;
  struct prediction {
    const candidate* what;
    double seconds;  // corrected by the tuning
    double factor;   // of the tuning
  };
  prediction considered[beside_the_ladder];  // by auto, the fastest first
  std::size_t considered_count = 0;

  bool by_members() const;       // a launch, or several, for each member of the batch
  bool finishes_behind() const;  // the epilogue is a finishing pass
  // Nothing to multiply, but a batch or an epilogue, which no step of the ladder takes.
  bool only_finishes() const;
  double seconds() const;  // predicted, for the whole call
  any_plan plan_of(std::int64_t member) const;
  std::size_t workspace() const;  // bytes that the call takes
  std::size_t offers() const;     // bytes that gemm_workspace() returns: monotonic in the problem's size
};
// Throws what gemm() throws for invalid or unsupported requests.
choice choose(const context& where, const problem& p, const gemm_options& options);

// Enqueues the launches. memory: at least workspace() bytes.
launch_counts run(const choice& c, const gemm_options& options, std::span<std::byte> memory);

std::string sentence(const candidate& c, const objection& o, const request& r);  // "it needs ..."
gemm_choice described(const choice& c);                                          // what explain() returns

}  // namespace antiphase::gemms
