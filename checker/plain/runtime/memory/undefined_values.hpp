// SPDX-License-Identifier: Apache-2.0
// Finds uses of values that CUDA leaves undefined: those shuffled from lanes that do not take part, and what
// an exchange has found in memory that no thread had written. A program may discard one, as at the end of a
// row, but not use it. Registers are not tracked, so two forked processes go on with other values. If one of
// them leaves different memory at the end of the launch, the value was used. The same shows what becomes of a
// kernel whose __restrict__ parameter is read once, at its beginning.
#pragma once
#include <sys/types.h>
#include <array>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "checker/runs/model.hpp"

namespace antiphase::plain {

class undefined_values {
 public:
  using bytes_of_value = std::array<unsigned char, machine::exchange_bytes>;
  using others = std::array<bytes_of_value, 2>;
  static others extreme();  // values that no program expects
  // Gives the running thread such a value; the processes go on with those `instead`. `if_unused`: what is
  // found if it makes no difference.
  void bring(checker_detail::place_number at, void* value, std::size_t bytes, const others& instead,
             const std::function<finding()>& if_used, const std::function<finding()>& if_unused = {});
  // False: too many values have been followed, and none of this place.
  bool decides(checker_detail::place_number at) const { return left_ > 0 || decided_.contains(at); }
  bool follows(checker_detail::place_number at) const;  // the same, in this launch
  // Goes on twice, and is true in the other process, which ends with the launch. A number other than this
  // process's is `if_other` then, the same number `if_same`; 0 says nothing.
  bool parts(checker_detail::place_number at, const finding& if_other, const finding& if_same);
  // this process was forked with another value, and ends with the launch
  bool is_other() const { return answer_ >= 0; }
  // The launch has ended, or a finding has ended it; `outcome`: what differs if a value made a difference,
  // or, called with true, what processes that have parted compare.
  void launch_ended(checker_detail::model& m, const std::string& kernel,
                    const std::function<std::uint64_t(bool has_parted)>& outcome);
  void launch_failed();  // without an outcome

 private:
  struct reading {
    checker_detail::place_number place;
    finding if_used;
    std::optional<finding> if_same, if_unused;
    std::vector<std::pair<pid_t, int>> others;  // and the pipes their outcome comes through
  };
  bool begin(reading& r);  // true in the other process

  std::vector<reading> readings_;  // of this launch
  std::set<checker_detail::place_number> decided_;
  int left_ = 6;  // values that a run may still fork for
  int answer_ = -1;
  bool has_parted_ = false;
  bytes_of_value value_{};  // at `place_`, in a process that is_other()
  checker_detail::place_number place_ = 0;
};

}  // namespace antiphase::plain
