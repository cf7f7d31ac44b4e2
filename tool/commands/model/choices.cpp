// SPDX-License-Identifier: Apache-2.0
#include "tool/commands/model/choices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <antiphase/context.hpp>
#include <antiphase/core/error.hpp>
#include <antiphase/executor/cpu/cpu_executor.hpp>
#include <antiphase/executor/machine.hpp>
#include <antiphase/gemm.hpp>
#include <antiphase/gemm/policies.hpp>
#include <cstdint>
#include <memory>

#include "tool/base/errors.hpp"
#include "tool/commands/model/model_errors.hpp"
#include "tool/measure/products/product_memory.hpp"

namespace antiphase::tool {
namespace {

class reader {
 public:
  reader(const device_limits& on, std::vector<stored_choice>& to)
      : where_(make_cpu_executor({.limits = on})), to_(to) {}

  void read(std::size_t number, const json& r) {
    const std::string kernel = r.value("kernel", "");
    if ((kernel != "gemm.fp32" && kernel != "gemm.strict") || !r.contains("policy")) return;
    const listed_product p = product_of(r);
    const auto add = [&](std::string_view way, const std::string& then, const gemm_options& how) {
      to_.push_back({number, way, shape_text(p), then, taken(p, how)});
    };
    gemm_options how{.accuracy = kernel == "gemm.strict" ? precision::strict : precision::fp32};
    add("policy", r.at("policy"), how);
    how.reproducible = reproducibility::batch_invariant;
    if (r.contains("batch_invariant")) add("batch_invariant", r.at("batch_invariant").at("policy"), how);
  }

 private:
  context where_;
  std::vector<stored_choice>& to_;

  std::string taken(const listed_product& p, const gemm_options& how) const {
    try {
      return explain(where_, imagined(p), in_batches(p, how)).kernel;
    } catch (const not_supported&) {
      return "none";
    }
  }
};

}  // namespace

std::vector<stored_choice> choices_of(const json& file, const std::string& name) {
  std::vector<stored_choice> all;
  try {
    if (file.at("command") != "bench gemm") return all;
    const std::string machine = file.at("machine").at("name");
    const auto named = [](const machine_profile& p) -> std::string_view { return p.limits.name; };
    const auto on = std::ranges::find(shipped_profiles(), std::string_view(machine), named);
    if (on == shipped_profiles().end()) return all;
    reader read(on->limits, all);
    std::size_t number = 0;
    for (const json& r : file.at("records")) read.read(number++, r);
  } catch (const json::exception& e) {
    throw bad_input(
        fmt::format("'{}': a record is not as docs/project/measuring.md says: {}", name, e.what()));
  }
  return all;
}

}  // namespace antiphase::tool
