// SPDX-License-Identifier: Apache-2.0
// Finds uses of values shuffled from lanes that do not take part. CUDA leaves them undefined: a program may
// discard one, as at the end of a row, but not use it. Registers are not tracked, so two forked processes go
// on with other values. If one of them leaves different memory at the end of the launch, the value was used.
#pragma once
#include <sys/types.h>
#include <functional>
#include <string>
#include <vector>

#include "src/checker/model.hpp"

namespace antiphase::plain {

class missing_lanes {
 public:
  // Gives the running thread such a value of `bytes` bytes. `mask_of`: where __activemask() gave the mask.
  void bring(checker_detail::model& m, checker_detail::place_number at, void* value, std::size_t bytes,
             const std::string& mask_of);
  // this process was forked with another value, and ends with the launch
  bool is_other() const { return answer_ >= 0; }
  // The launch has ended, or a finding has ended it; `outcome`: what differs if a value made a difference.
  void launch_ended(checker_detail::model& m, const std::string& kernel,
                    const std::function<std::uint64_t()>& outcome);
  void launch_failed();  // without an outcome

 private:
  struct reading {
    checker_detail::place_number at;
    finding_side by;
    std::string mask_of;
    std::vector<std::pair<pid_t, int>> others;  // and the pipes their outcome comes through
  };
  void begin(reading& r, unsigned char byte);

  std::vector<reading> readings_;  // of this launch
  int left_ = 6;                   // values that a run may still fork for
  int answer_ = -1;
  unsigned char byte_ = 0;  // at `place_`, in a process that is_other()
  checker_detail::place_number place_ = 0;
};

}  // namespace antiphase::plain
