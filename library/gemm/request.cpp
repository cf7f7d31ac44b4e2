// SPDX-License-Identifier: Apache-2.0
#include "library/gemm/request.hpp"

#include <algorithm>

#include "library/costs/models.hpp"
#include "library/gemm/operands/finish/ending.hpp"

namespace antiphase::gemms {

const machine_profile& request::machine() const {
  // The thread's last device: looking up a profile takes as long as choosing.
  static thread_local std::shared_ptr<const machine_profile> last;
  if (machine_known != nullptr) return *machine_known;
  if (!last || last->limits.name != device().name || numbers_of(last->limits) != numbers_of(device()))
    last = std::make_shared<const machine_profile>(profile_of(device()));
  return *(machine_known = last);
}

request request::unfinished(std::int64_t first) const {
  request one = *this;
  one.epilogue = {};
  if (epilogue.residual.data != nullptr) one.problem.beta = 0;
  one.problem.a.data += first * batch.a_stride;
  one.problem.b.data += first * batch.b_stride;
  one.problem.c.data += first * batch.c_stride;
  return one;
}
request request::member(std::int64_t n, bool with_epilogue) const {
  request one = unfinished(n);
  if (with_epilogue) {
    one.problem.beta = problem.beta;
    one.epilogue = member_of(epilogue, n);
  }
  one.batch = {};
  return one;
}

product_size request::size() const {
  const bool shares = batch.by_pointers() || batch.a_stride == 0 || batch.b_stride == 0;
  return {problem.m(), problem.n(), k(), batch.count, problem.beta != 0, shares && batch.count != 1};
}

division_memo<int>::key division_key(const request& r) {
  const auto word = [](auto x) { return static_cast<std::uint64_t>(x); };
  division_memo<int>::key all{word(r.problem.m()), word(r.problem.n()), word(r.problem.k()),
                              word(r.batch.count), word(r.problem.beta != 0), word(r.invariant),
                              word(r.context.kind()), word(r.epilogue.is_plain()),
                              // stands for the device's name, on which the choice of cost models depends
                              reinterpret_cast<std::uintptr_t>(&costs::models_of(r.device()))};
  std::ranges::copy(numbers_of(r.device()), all.begin() + request_words);
  return all;
}

}  // namespace antiphase::gemms
