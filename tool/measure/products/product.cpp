// SPDX-License-Identifier: Apache-2.0
// Texts and JSON about matrix products, shared by several subcommands.
#include "tool/measure/products/product.hpp"

#include <fmt/format.h>

#include <antiphase/core/error.hpp>
#include <cmath>
#include <utility>

#include "tool/program/text/names.hpp"

namespace antiphase::tool {

double tflops(const extents& e, double us) {
  return 2 * static_cast<double>(e.m) * static_cast<double>(e.n) * static_cast<double>(e.k) / us * 1e-6;
}

json to_json(const extents& e) { return {{"m", e.m}, {"n", e.n}, {"k", e.k}}; }

std::string shape_text(const extents& e) {
  return e.m == e.n && e.n == e.k ? fmt::format("{}^3", e.m) : fmt::format("{} x {} x {}", e.m, e.n, e.k);
}

void require_sensible(const extents& e) {
  constexpr std::int64_t most = std::int64_t{1} << 40;
  std::int64_t elements = 0;
  for (const auto& [height, width] : {std::pair{e.m, e.k}, {e.k, e.n}, {e.m, e.n}})
    if (__builtin_mul_overflow(height, width, &elements) || elements > most)
      throw bad_request(fmt::format(
          "a matrix of {} x {} elements is too large: expected at most 2^40 elements", height, width));
}

std::string_view name(precision p) { return p == precision::fp32 ? "fp32" : "strict"; }

precision parse_precision(std::string_view text) {
  constexpr precision all[] = {precision::fp32, precision::strict};
  return all[choice_of("--precision", text, {std::string(name(all[0])), std::string(name(all[1]))})];
}

weaker_bound parse_weaker_bound(std::string_view text) {
  if (text == "take") return weaker_bound::take;
  if (text == "refuse") return weaker_bound::refuse;
  throw bad_request(fmt::format("--if-weaker '{}': expected take or refuse", text));
}

json bound_json(const gemm_choice& chosen) {
  // JSON writes infinities as null.
  const auto numbers = [](const gemm_bound& b) { return json{{"units", b.units}, {"absolute", b.absolute}}; };
  return {{"bound", numbers(chosen.bound)},
          {"asked_bound", numbers(chosen.asked)},
          {"bound_kept", keeps(chosen.bound, chosen.asked)}};
}

std::string bound_text(const gemm_choice& chosen, precision asked) {
  const std::string bound = to_text(chosen.bound),
                    holds = std::isinf(chosen.bound.units) ? bound
                                                           : fmt::format("|C - AB| <= {}, u = 2^-24", bound);
  if (keeps(chosen.bound, chosen.asked)) return holds;
  return fmt::format("{}; precision {} stands for {}", holds, name(asked), to_text(chosen.asked));
}

std::string predicted_text(const gemm_choice& chosen) {
  std::string text = fmt::format("about {:.2g} us on a GPU of this size", chosen.predicted * 1e6);
  for (const gemm_choice::candidate& c : chosen.considered)
    if (c.kernel != chosen.kernel) text += fmt::format("; {} {:.2g} us", c.kernel, c.predicted * 1e6);
  return text;
}

json to_json(const gemm_choice& chosen) {
  json value{{"kernel", chosen.kernel},
             {"tile", {{"m", chosen.tile.m}, {"n", chosen.tile.n}, {"k", chosen.tile_k}}},
             {"stages", chosen.stages},
             {"blocks", chosen.blocks},
             {"cluster", chosen.cluster},
             {"parts", chosen.parts},
             {"workspace", chosen.workspace},
             {"why", chosen.why},
             {"refused", chosen.refused},
             {"predicted_us", chosen.predicted * 1e6}};
  json considered = json::array();
  for (const gemm_choice::candidate& c : chosen.considered)
    considered.push_back({{"kernel", c.kernel}, {"predicted_us", c.predicted * 1e6}, {"factor", c.factor}});
  value["considered"] = considered;
  value["tuning"] = chosen.tuning;
  value.update(bound_json(chosen));
  return value;
}

std::string choice_text(const gemm_choice& chosen) {
  return fmt::format("{}: tiles of {} x {} x {}, {} stage{}, {} block{}{}, {} bytes of workspace",
                     chosen.kernel, chosen.tile.m, chosen.tile.n, chosen.tile_k, chosen.stages,
                     chosen.stages == 1 ? "" : "s", chosen.blocks, chosen.blocks == 1 ? "" : "s",
                     chosen.cluster > 1 ? fmt::format(" in clusters of {}", chosen.cluster) : "",
                     chosen.workspace);
}

}  // namespace antiphase::tool
