// The public matrix product.
#include <antiphase/gemm.hpp>

#include <antiphase/core/error.hpp>
#include <iterator>
#include <optional>

namespace antiphase {

const mm::step& select_step(const context& where, const mm::problem& p) {
  for (auto s = std::rbegin(mm::steps); s != std::rend(mm::steps); ++s)
    if (!refusal(where.limits(), mm::prepare(where.kind(), *s, p).what.code)) return *s;
  return mm::steps[0];
}

launch_counts gemm(const context& where, const mm::problem& p, const gemm_options& options) {
  const mm::step& how = options.policy == "auto" ? select_step(where, p) : mm::find_step(options.policy);
  const mm::plan plan = mm::prepare(where.kind(), how, p);
  return where.runs_on().launch(plan.what.code, plan.grid, &plan.arguments, options.on);
}

}  // namespace antiphase
