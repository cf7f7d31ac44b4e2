// SPDX-License-Identifier: Apache-2.0
#include "tool/commands/model/model_errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <antiphase/context.hpp>
#include <antiphase/core/error.hpp>
#include <antiphase/executor/cpu/cpu_executor.hpp>
#include <antiphase/gemm.hpp>
#include <antiphase/gemm/cost.hpp>
#include <antiphase/gemm/policies.hpp>
#include <antiphase/scan/cost.hpp>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

#include "tool/base/errors.hpp"
#include "tool/measure/products/product_list.hpp"
#include "tool/measure/products/product_memory.hpp"
#include "tool/program/text/names.hpp"

namespace antiphase::tool {
namespace {

// Shapes that the constants of the cost models were fitted to (docs/learn/model.md), rested; hot times of the
// same shapes are not independent either. Policies outside the ladder were fitted to products that are not in
// bench/results.
bool is_fitted_product(const extents& e) { return e.m == e.n && e.n == e.k && (e.m == 1024 || e.m == 4096); }
bool is_fitted_scan(std::int64_t n) { return n == 1 << 16 || n == 1 << 24 || n == 1 << 28; }

gemms::product_size size_of(const listed_product& p) {
  return {p.size.m, p.size.n, p.size.k, p.count, p.beta != 0};
}

prediction predict_step(const machine_profile& on, std::string_view step, const listed_product& p) {
  const gemms::plan plan = gemms::prepare(target::cpu, gemms::find_step(step), imagined(p));
  return gemms::predict(on, plan.instance.policy, size_of(p));
}
// Prediction of the library's own cost model for the policy, corrected by its tuning; nothing if the policy
// does not take the product.
std::optional<prediction> predict_policy(const machine_profile& on, const context& where,
                                         std::string_view policy, const listed_product& p) {
  try {
    const gemm_choice c = explain(where, imagined(p), in_batches(p, {.policy = policy}));
    return gemms::explained(on, gemms::find_policy(policy)->work, size_of(p), c.predicted);
  } catch (const not_supported&) {
    return std::nullopt;
  }
}

bool is_beside_the_ladder(std::string_view policy) {
  for (const gemms::policy_info& p : gemms::policies())
    if (p.name == policy) return p.ladder == nullptr;
  return false;
}

class reader {
 public:
  reader(const machine_profile& on, const json& file, std::vector<compared_time>& to)
      : on_(on), where_(make_cpu_executor({.limits = on.limits})), file_(file), to_(to) {}

  void read(const json& r, const std::string& name) {
    const std::string command = file_.at("command");
    if (command == "tune") return read_contest(r);
    if (!r.contains("time_us") || !r.contains("kernel")) return;
    const std::string kernel = r.at("kernel"), protocol = r.value("protocol", "");
    const double seconds = r.at("time_us").at("ours").get<double>() * 1e-6;
    if (command == "ladder gemm") return read_step(r, kernel, protocol, seconds, name);
    if (command == "ladder scan") {
      const std::int64_t n = r.at("shape").at("n");
      const std::string policy = r.at("policy");
      return add({"scan ladder", policy, fmt::format("{} {}", n, protocol), name, is_fitted_scan(n), seconds,
                  scans::predict(on_, scans::find_step(policy), n, 4)});
    }
    if (kernel == "gemm.fp32") return read_product(r, protocol, seconds);
    if (kernel == "scan.sum" && protocol == "rested") read_scan(r, seconds);
  }

 private:
  const machine_profile& on_;
  context where_;
  const json& file_;
  std::vector<compared_time>& to_;

  void add(compared_time t) {
    if (std::isfinite(t.takes.seconds) && t.measured > 0) to_.push_back(std::move(t));
  }
  void read_step(const json& r, const std::string& kernel, const std::string& protocol, double seconds,
                 const std::string& name) {
    const listed_product p = product_of(r);
    const std::string policy = r.at("policy");
    const bool halves = kernel.starts_with("gemm.ladder-f16."), fitted = is_fitted_product(p.size);
    const std::string shape = fmt::format("{} {}", shape_text(p), protocol);
    const prediction takes = halves ? gemms::predict(on_, gemms::find_tensor_core_step(policy), size_of(p))
                                    : predict_step(on_, policy, p);
    add({halves ? "tensor-core ladder" : "gemm ladder", policy, shape, name, fitted, seconds, takes});
  }
  // Other data than normal change the times.
  void read_product(const json& r, const std::string& protocol, double seconds) {
    if (r.value("data", "normal") != "normal") return;
    const listed_product p = product_of(r);
    const std::string policy = r.contains("policy") ? r.at("policy") : r.at("choice").at("kernel");
    if (!is_beside_the_ladder(policy)) return;
    if (const auto takes = predict_policy(on_, where_, policy, p))
      add({policy, policy, fmt::format("{} {}", shape_text(p), protocol), {}, false, seconds, *takes});
  }
  void read_scan(const json& r, double seconds) {
    const std::string policy = r.at("policy"), type = r.at("type");
    const std::size_t size = type.ends_with("64")   ? 8
                             : type.ends_with("32") ? 4
                             : type.ends_with("16") ? 2
                                                    : 1;
    const std::int64_t n = r.at("shape").at("n");
    add({"scan",
         policy,
         fmt::format("{} {}", n, type),
         {},
         false,
         seconds,
         scans::predict(on_, scans::find_step(policy), n, size)});
  }
  void read_contest(const json& r) {
    const listed_product p = product_of(r);
    const std::string shape = fmt::format("{} {}", shape_text(p), to_.size());
    for (const json& t : r.at("times")) {
      const std::string policy = t.at("policy");
      if (const auto takes = predict_policy(on_, where_, policy, p))
        add({"gemm, by every policy", policy, shape, "tune", false, t.at("measured_us").get<double>() * 1e-6,
             *takes});
    }
  }
};

constexpr const char* every_kernel = "all";

double quantile(std::vector<double> of, double share) {
  if (of.empty()) return 0;
  std::ranges::sort(of);
  return of[std::min(of.size() - 1, static_cast<std::size_t>(share * static_cast<double>(of.size())))];
}
double median(std::vector<double> of) {
  if (of.empty()) return 0;
  std::ranges::sort(of);
  return (of[(of.size() - 1) / 2] + of[of.size() / 2]) / 2;
}

std::vector<double> ranks(const std::vector<double>& of) {
  std::vector<std::size_t> order(of.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t i, std::size_t j) { return of[i] < of[j]; });
  std::vector<double> rank(of.size());
  for (std::size_t i = 0; i < order.size();) {  // ties share the mean of their ranks
    std::size_t end = i;
    while (end < order.size() && of[order[end]] == of[order[i]]) ++end;
    for (std::size_t j = i; j < end; ++j) rank[order[j]] = static_cast<double>(i + end - 1) / 2;
    i = end;
  }
  return rank;
}

}  // namespace

listed_product product_of(const json& record) {
  const json& s = record.at("shape");
  listed_product p{.name = {}, .group = {}, .size = {s.at("m"), s.at("n"), s.at("k")}};
  p.layout = record.value("layout", "nn");
  p.beta = record.value("beta", 0.0F);
  p.count = record.value("count", std::int64_t{1});
  return p;
}
std::string shape_text(const listed_product& p) {
  return fmt::format("{}x{}x{}{} {}{}", p.size.m, p.size.n, p.size.k,
                     p.count == 1 ? "" : fmt::format(" x{}", p.count), p.layout, p.beta == 0 ? "" : " +C");
}

double rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() < 2) return 1;
  const std::vector<double> x = ranks(a), y = ranks(b);
  const double mean = static_cast<double>(a.size() - 1) / 2;
  double both = 0, of_x = 0, of_y = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    both += (x[i] - mean) * (y[i] - mean);
    of_x += (x[i] - mean) * (x[i] - mean);
    of_y += (y[i] - mean) * (y[i] - mean);
  }
  return of_x * of_y == 0 ? 0 : both / std::sqrt(of_x * of_y);
}

void add_times(const machine_profile& on, const json& file, const std::string& name,
               std::vector<compared_time>& to) {
  reader read(on, file, to);
  try {
    for (const json& r : file.at("records")) read.read(r, name);
  } catch (const json::exception& e) {
    throw bad_input(
        fmt::format("'{}': a record is not as docs/project/measuring.md says: {}", name, e.what()));
  }
}

std::vector<family_error> errors_of(const std::vector<compared_time>& times) {
  std::vector<family_error> all{{.name = every_kernel}};
  const auto family = [&](const std::string& name) -> family_error& {
    const auto found = std::ranges::find(all, name, &family_error::name);
    return found != all.end() ? *found : all.emplace_back(family_error{.name = name});
  };
  struct contest {
    std::vector<double> measured, predicted;
  };
  std::map<std::string, std::map<std::string, contest>> contests;
  std::map<std::string, std::vector<double>> fitted, unseen;
  for (const compared_time& t : times)
    for (const std::string& name : {t.family, std::string(every_kernel)}) {
      family_error& f = family(name);
      ++f.times;
      f.fitted_times += t.fitted ? 1 : 0;
      (t.fitted ? fitted : unseen)[name].push_back(std::fabs(t.takes.seconds / t.measured - 1));
      if (t.contest.empty()) continue;
      contest& c = contests[name][t.contest + t.shape + t.family];
      c.measured.push_back(t.measured);
      c.predicted.push_back(t.takes.seconds);
    }
  constexpr std::size_t least = 3;
  for (family_error& f : all) {
    f.fitted_median = median(fitted[f.name]);
    f.median = median(unseen[f.name]);
    f.p90 = quantile(unseen[f.name], 0.9);
    for (const auto& [shape, c] : contests[f.name]) {
      if (c.measured.size() < least) continue;
      ++f.ranked;
      f.rank += rank_correlation(c.measured, c.predicted);
      const auto pick = static_cast<std::size_t>(std::ranges::min_element(c.predicted) - c.predicted.begin());
      f.picks += c.measured[pick] <= 1.05 * std::ranges::min(c.measured) ? 1 : 0;
    }
    if (f.ranked > 0) f.rank /= static_cast<double>(f.ranked);
  }
  std::rotate(all.begin(), all.begin() + 1, all.end());  // the total goes last
  return all;
}

}  // namespace antiphase::tool
