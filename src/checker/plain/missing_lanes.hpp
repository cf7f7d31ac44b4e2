// SPDX-License-Identifier: Apache-2.0
// Values that shuffles bring from lanes which do not take part. CUDA leaves them open: a program may drop
// one, as at the end of a row, but not use it. Registers are not followed, so the outcome tells: two more
// processes go on from there with other values, and if one of them leaves other numbers in memory at the end
// of the launch, the value has been used.
#pragma once
#include <sys/types.h>
#include <functional>
#include <string>
#include <vector>

#include "src/checker/model.hpp"

namespace antiphase::plain {

class missing_lanes {
 public:
  // The running thread reads such a value, of so many bytes.
  void bring(checker_detail::model& m, checker_detail::place_number at, void* value, std::size_t bytes);
  // this process is one of those that go on with other values, and ends with the launch
  bool is_other() const { return answer_ >= 0; }
  void launch_ended(checker_detail::model& m, const std::string& kernel,
                    const std::function<std::uint64_t()>& outcome);
  void launch_failed();

 private:
  struct reading {
    checker_detail::place_number at;
    finding_side by;
    std::vector<std::pair<pid_t, int>> others;  // and where their outcome comes from
  };
  void begin(reading& r, unsigned char byte);

  std::vector<reading> readings_;  // in this launch
  int left_ = 6;                   // that a run looks at
  int answer_ = -1;
  unsigned char byte_ = 0;  // of the one place where it brings another value
  checker_detail::place_number place_ = 0;
};

}  // namespace antiphase::plain
