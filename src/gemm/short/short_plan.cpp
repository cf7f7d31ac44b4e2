#include "short_plan.hpp"

#include <fmt/format.h>

#include <antiphase/core/tile.hpp>
#include <limits>
#include <vector>

#include "src/gemm/registry.hpp"
#include "src/gemm/request.hpp"

namespace antiphase::gemms {

namespace {

const short_instance* instance_of(target where) {
  const std::vector<short_instance>& all = instances_of<short_instance>(where);
  return all.empty() ? nullptr : &all.front();
}

std::int64_t tiles_of(const problem& p) {
  return ceil_div<std::int64_t>(p.m(), short_tile.m) * ceil_div<std::int64_t>(p.n(), short_tile.n);
}

}  // namespace

std::optional<std::string> refuses_short(const context& where, const problem& p) {
  if (p.m() == 0 || p.n() == 0 || p.k() == 0 || p.alpha == 0) return "there is nothing to multiply";
  if (p.k() > short_k) return fmt::format("it is for K up to {}, K is {}", short_k, p.k());
  const device_limits& device = where.limits();
  // Half as many FP64 multiply-adds as FP32 ones; other GPUs have a 32nd or a 64th.
  const bool fast = (device.major >= 8 && device.major <= 10) && device.minor == 0;
  if (!fast) return fmt::format("{} (compute capability {}.{}) is slow in FP64", device.name, device.major, device.minor);
  const short_instance* const with = instance_of(where.kind());
  if (with == nullptr) return "this build has no kernel for it";
  if (auto why = refusal(device, with->code)) return why;
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  if (p.m() > most || p.n() > most || tiles_of(with_rows_together(p)) > most)
    return fmt::format("C is {} x {}: more than {} tiles", p.m(), p.n(), most);
  return std::nullopt;
}

short_plan plan_short(const context& where, const problem& p) {
  const problem what = with_rows_together(p);
  return {what, instance_of(where.kind())->code, {static_cast<unsigned>(tiles_of(what)), 1, 1}};
}

}  // namespace antiphase::gemms
