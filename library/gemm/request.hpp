// SPDX-License-Identifier: Apache-2.0
// A valid product, its options and its device: the input of all candidates.
#pragma once
#include <antiphase/executor/machine.hpp>
#include <antiphase/gemm.hpp>
#include <antiphase/gemm/cost.hpp>
#include <array>
#include <cstdint>
#include <memory>
#include <tuple>

#include "core/memo.hpp"

namespace antiphase::gemms {

struct product_traits;

struct request {
  using ladder_step = gemms::step;
  using traits = product_traits;

  const antiphase::context& context;
  device_features features;
  gemms::problem problem;  // without_idle_strides()
  gemms::batch batch;
  gemms::epilogue epilogue;
  bool invariant;  // reproducibility::batch_invariant
  // the epilogue is a gradient whose input is C: sums must not be stored in C before the epilogue reads it
  bool input_is_c = false;
  const gemms::tuning* tuning;                                        // corrects predictions; null: none
  mutable std::shared_ptr<const machine_profile> machine_known = {};  // cache of machine()

  const device_limits& device() const { return context.limits(); }
  const machine_profile& machine() const;
  // False: C is only scaled and finished, or there is nothing to do.
  bool multiplies() const {
    return problem.m() > 0 && problem.n() > 0 && problem.k() > 0 && problem.alpha != 0 && batch.count > 0;
  }
  // One product without an epilogue.
  bool is_alone() const { return batch.count == 1 && !batch.by_pointers() && epilogue.is_plain(); }
  // Without the epilogue, which a finishing pass applies; and member n alone.
  request unfinished(std::int64_t first = 0) const;  // from member `first` on
  request member(std::int64_t n, bool with_epilogue) const;
  // Length of the sums; 0 if there is nothing to multiply.
  std::int64_t k() const {
    return problem.m() == 0 || problem.n() == 0 || problem.alpha == 0 ? 0 : problem.k();
  }
  product_size size() const;
};

// Divisions of K depend on these words alone. Searching for one is the longest part of checking a call, so
// each thread caches 64 results for each policy.
constexpr std::size_t request_words = 9,
                      device_words = std::tuple_size_v<decltype(numbers_of(device_limits{}))>;
template <class Division> using division_memo = memo<request_words + device_words, Division, 64>;
division_memo<int>::key division_key(const request& r);

}  // namespace antiphase::gemms
