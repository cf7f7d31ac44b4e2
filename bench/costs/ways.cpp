// SPDX-License-Identifier: Apache-2.0
#include "bench/costs/ways.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "src/gemm/fp16/split_plan.hpp"
#include "src/gemm/fp64/dots_plan.hpp"
#include "src/gemm/fp64/fp64_plan.hpp"
#include "src/gemm/fp64/short_plan.hpp"
#include "src/gemm/tf32/tf32_plan.hpp"

namespace antiphase::fit {
namespace {

const gemms::fp64_form& form_of(const way& w) {
  return gemms::fp64_forms()[static_cast<std::size_t>(w.form)];
}
gemms::dots_division division_of(const way& w) { return {.slots = w.second, .square = w.first}; }
gemms::multiplier multiplier_of(const way& w) {
  return w.by == family::fp16 ? gemms::multiplier::warpgroups : gemms::multiplier::warps;
}

}  // namespace

std::string name_of(const way& w) {
  switch (w.by) {
    case family::fp64_short: return "fp64-short";
    case family::fp64: return fmt::format("fp64/{}/{}/{}", form_of(w).name, w.first, w.second);
    case family::fp64_dots: return fmt::format("fp64-dots/{}/{}", w.first, w.second);
    case family::tf32: return fmt::format("tf32/{}/{}", w.first, w.second);
    case family::fp16: return "fp16";
    case family::fp16_mma: break;
  }
  return "fp16-mma";
}

double seconds_of(const costs::models& l, const gemms::product_shape& p, const device_limits& device,
                  const way& w) {
  switch (w.by) {
    case family::fp64_short: return gemms::short_seconds(l, p, device);
    case family::fp64:
      return gemms::fp64_seconds(l, p, device, form_of(w), {form_of(w).slabs, w.first, w.second});
    case family::fp64_dots: return gemms::dots_seconds(l, p, device, division_of(w), false);
    case family::tf32: return gemms::tf32_seconds(l, p, device, {w.first, w.second});
    case family::fp16:
    case family::fp16_mma: break;
  }
  const gemms::product_shape member{p.m, p.n, p.k, 1, p.reads_c};
  return static_cast<double>(p.count) * gemms::split_seconds(l, member, device, multiplier_of(w));
}

std::vector<predicted_way> ways_of(const costs::models& l, const gemms::product_shape& p,
                                   const device_limits& device) {
  std::vector<predicted_way> all;
  const auto add = [&](const way& w) { all.push_back({w, seconds_of(l, p, device, w)}); };
  if (p.k <= gemms::short_k) add({family::fp64_short});
  gemms::each_fp64_division(
      l, p, device, ~0u, [&](const gemms::fp64_form& f, const gemms::fp64_division& d, double) {
        const bool holds = (f.kind != gemms::kernel_kind::kept_lines || p.k <= 32) &&
                           (f.kind != gemms::kernel_kind::warp_tile || p.k <= gemms::most_warp_tile_k);
        if (holds) add({family::fp64, static_cast<int>(&f - gemms::fp64_forms().data()), d.cluster, d.parts});
      });
  const double work = static_cast<double>(p.count * p.m * p.n) * static_cast<double>(p.k);
  if (std::min(p.m, p.n) == 1 || (p.k <= gemms::dots_lanes_most_k && work <= gemms::dots_lanes_most_work))
    gemms::each_dots_division(l, p, device, false, [&](const gemms::dots_division& d, double) {
      add({family::fp64_dots, 0, d.square, d.slots});
    });
  if (p.k > gemms::sparse_nonzeros) {
    gemms::each_tf32_division(l, p, device, [&](const gemms::tf32_division& d, double) {
      add({family::tf32, 0, d.cluster, d.parts});
    });
    add({family::fp16});
    add({family::fp16_mma});
  }
  std::ranges::sort(all, {}, &predicted_way::seconds);
  return all;
}

std::optional<planned_way> plan(const context& where, const gemms::problem& p, const gemms::batch& of,
                                const way& w) {
  switch (w.by) {
    case family::fp64_short: {
      if (!gemms::short_tiles_fit(p, of)) return std::nullopt;
      const gemms::short_plan made = gemms::plan_short(where.kind(), p, of, {});
      return planned_way{0, [&where, made](std::span<std::byte>, stream on) {
                           where.runs_on().launch(made.code, made.grid, &made.arguments, on);
                         }};
    }
    case family::fp64: {
      const auto made = gemms::plan_fp64(where, p, of, {},
                                         {.form = &form_of(w), .how = {form_of(w).slabs, w.first, w.second}});
      if (!made) return std::nullopt;
      return planned_way{made->workspace(), [&where, made](std::span<std::byte> memory, stream on) {
                           gemms::run(where, *made, memory, on);
                         }};
    }
    case family::fp64_dots: {
      const auto made = gemms::plan_dots(where, p, of, {}, division_of(w));
      if (!made) return std::nullopt;
      return planned_way{0,
                         [&where, made](std::span<std::byte>, stream on) { gemms::run(where, *made, on); }};
    }
    case family::tf32: {
      const auto made =
          gemms::tf32_tiles_fit(p, of) ? gemms::plan_tf32(where, p, of, {w.first, w.second}) : std::nullopt;
      if (!made) return std::nullopt;
      return planned_way{made->workspace(), [&where, made](std::span<std::byte> memory, stream on) {
                           gemms::run(where, *made, memory, nullptr, on);
                         }};
    }
    case family::fp16:
    case family::fp16_mma: break;
  }
  if (of.count != 1) return std::nullopt;  // members run in turn: one's cost model suffices
  const gemms::product_plan made = gemms::plan_product(where, p, multiplier_of(w));
  return planned_way{made.workspace(), [&where, made](std::span<std::byte> memory, stream on) {
                       gemms::run(where, made, memory, nullptr, on);
                     }};
}

}  // namespace antiphase::fit
