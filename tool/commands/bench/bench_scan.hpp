// SPDX-License-Identifier: Apache-2.0
// Subject of `bench scan`: an array, the call that scans it, and its rivals.
#pragma once
#include <antiphase/context.hpp>
#include <antiphase/core/element.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tool/commands/bench/bench.hpp"
#include "tool/measure/verify.hpp"

namespace antiphase::tool {

struct scan_request : bench_options {
  std::vector<std::int64_t> sizes;
  std::vector<std::string> types, own, against{"cub", "memcpy"};
  std::string policy = "auto", accumulate;
  std::int64_t rows = 1, segment = 0;  // elements per segment, if sums are by key; else 0

  bool beside(std::string_view rival) const;
};

class scan_subject {
 public:
  virtual ~scan_subject() = default;
  virtual std::string policy() = 0;          // the one that runs
  virtual double bytes() const = 0;          // that a call must move
  virtual launch_counts run(stream on) = 0;  // queues a call
  // Runs the work on an output filled with wrong values and checks the result.
  virtual verdict assess(const work& by) = 0;
  virtual std::vector<rival> rivals() = 0;  // those that compute results of their own
  virtual rival copy() = 0;                 // of the same number of bytes
};

// Sums of an array as requested. Throws bad_request for combinations that are not measured. The subject keeps
// both references: they must outlive it.
std::unique_ptr<scan_subject> sums_of(const scan_request& r, const context& where, element type,
                                      std::int64_t count);
// A scan of elements of `size` bytes with a user-defined operator.
std::unique_ptr<scan_subject> custom_scan_of(const context& where, int size, std::int64_t count);

std::vector<int> custom_sizes_of(const scan_request& r);

}  // namespace antiphase::tool
