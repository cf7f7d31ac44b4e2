// SPDX-License-Identifier: Apache-2.0
// What `bench scan` measures: an array, the call that scans it, and who does the same.
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
  std::int64_t rows = 1, segment = 0;  // of how many elements a segment is, if sums are by key

  bool beside(std::string_view rival) const;
};

class scan_subject {
 public:
  virtual ~scan_subject() = default;
  virtual std::string policy() = 0;          // that runs
  virtual double bytes() const = 0;          // that a call has to move
  virtual launch_counts run(stream on) = 0;  // queues a call
  // runs the work, and looks at the result, which was something wrong before
  virtual verdict judge(const work& by) = 0;
  virtual std::vector<rival> rivals() = 0;  // those with results of their own
  virtual rival copy() = 0;                 // of as many bytes
};

// Sums of an array as the request asks for. Throws bad_request for what is not measured; neither reference
// may end before the subject.
std::unique_ptr<scan_subject> sums_of(const scan_request& r, const context& where, element type,
                                      std::int64_t count);
// A scan of elements of `size` bytes with an operator of their own.
std::unique_ptr<scan_subject> custom_scan_of(const context& where, int size, std::int64_t count);

std::vector<int> custom_sizes_of(const scan_request& r);

}  // namespace antiphase::tool
