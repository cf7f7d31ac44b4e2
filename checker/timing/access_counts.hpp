// SPDX-License-Identifier: Apache-2.0
// Counts what the lines of kernels ask memory for in a run.
#pragma once
#include <antiphase/checker.hpp>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "warp_streams.hpp"

namespace antiphase::checker_detail {

class access_counts final : public warp_listener {
 public:
  explicit access_counts(const place_table& places) : places_(places) {}

  void begin_launch(const std::string& kernel);
  void instruction(block_number block, int warp, const lane_event& first, const warp_request& lanes) override;

  std::vector<line_count> lines() const;  // by kernel, in the order of first launches, then by line

 private:
  const place_table& places_;
  std::vector<std::string> kernels_;
  std::size_t kernel_ = 0;  // in progress: launches follow each other, and their blocks end before the next
  std::map<std::tuple<std::size_t, place_number, line_memory, line_action>, line_count> counted_;
};

}  // namespace antiphase::checker_detail
