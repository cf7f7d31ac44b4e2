// SPDX-License-Identifier: Apache-2.0
// Results of bench gemm for a list of products: records, table, geometric means.
#include "tool/commands/bench/list/bench_gemm_list_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "tool/program/text/table.hpp"

namespace antiphase::tool {
namespace {

using cells = std::vector<std::string>;
using outcomes = std::vector<const product_outcome*>;

constexpr std::size_t worst_shown = 5;

struct roofline_time {
  double us;
  const char* limit;
};
// Lower bound on the device's time, from memory bandwidth, arithmetic rate or launch time.
std::optional<roofline_time> roofline_time_of(const listed_product& p, const device_roofline* roofline) {
  if (roofline == nullptr) return std::nullopt;
  const auto c = static_cast<double>(p.of_c());
  const double bytes = 4 * (static_cast<double>(p.of_a() + p.of_b()) + (p.beta == 0 ? c : 2 * c));
  const double operations = 2 * c * static_cast<double>(p.size.k);
  return std::max({roofline_time{bytes / roofline->terabytes * 1e-6, "memory"},
                   {operations / roofline->fp32 * 1e-6, "arithmetic"},
                   {roofline->shortest_launch, "launch"}},
                  [](const roofline_time& x, const roofline_time& y) { return x.us < y.us; });
}

std::optional<double> times_cublas(const product_outcome& o) {
  const auto* const rival = o.fastest_rival();
  if (rival == nullptr) return std::nullopt;
  return rival->time.median_us / o.time.median_us;
}
// Ratio of the batch_invariant time to the ordinary one.
std::optional<double> price_of_invariance(const product_outcome& o) {
  if (!o.invariant) return std::nullopt;
  return o.invariant->time.median_us / o.time.median_us;
}
std::optional<double> share_of_roofline(const product_outcome& o, const timing& t,
                                        const device_roofline* roofline) {
  const auto least = roofline_time_of(o.product, roofline);
  if (!least) return std::nullopt;
  return least->us / t.median_us;
}
std::optional<double> share_of_roofline(const product_outcome& o, const device_roofline* roofline) {
  return share_of_roofline(o, o.time, roofline);
}
std::optional<double> rivals_share_of_roofline(const product_outcome& o, const device_roofline* roofline) {
  const auto* const rival = o.fastest_rival();
  return rival == nullptr ? std::nullopt : share_of_roofline(o, rival->time, roofline);
}

// Geometric mean of the known values; nothing if there are none.
std::optional<double> mean(const outcomes& of, const auto& value) {
  double sum = 0;
  int count = 0;
  for (const product_outcome* o : of)
    if (const std::optional<double> one = value(*o)) {
      sum += std::log(*one);
      ++count;
    }
  if (count == 0) return std::nullopt;
  return std::exp(sum / count);
}

struct summary {
  std::size_t products;
  std::optional<double> times_cublas, slower, of_roofline, cublas_of_roofline;
};
summary summary_of(const outcomes& of, const device_roofline* roofline) {
  summary s{.products = of.size(),
            .times_cublas = mean(of, times_cublas),
            .slower = {},
            .of_roofline = {},
            .cublas_of_roofline = {}};
  if (s.times_cublas) {
    const auto compared = static_cast<double>(
        std::ranges::count_if(of, [](const auto* o) { return times_cublas(*o).has_value(); }));
    s.slower = static_cast<double>(std::ranges::count_if(
                   of, [](const auto* o) { return times_cublas(*o).value_or(1) < 1; })) /
               compared;
  }
  s.of_roofline = mean(of, [&](const product_outcome& o) { return share_of_roofline(o, roofline); });
  s.cublas_of_roofline =
      mean(of, [&](const product_outcome& o) { return rivals_share_of_roofline(o, roofline); });
  return s;
}

outcomes all_of(const std::vector<product_outcome>& all) {
  outcomes list;
  for (const product_outcome& o : all) list.push_back(&o);
  return list;
}
std::vector<std::string> groups_of(const std::vector<product_outcome>& all) {
  std::vector<std::string> groups;
  for (const product_outcome& o : all)
    if (std::ranges::find(groups, o.product.group) == groups.end()) groups.push_back(o.product.group);
  return groups;
}
outcomes group_of(const std::vector<product_outcome>& all, const std::string& group) {
  outcomes list = all_of(all);
  std::erase_if(list, [&](const product_outcome* o) { return o->product.group != group; });
  return list;
}
// The slowest relative to cuBLAS, slowest first.
outcomes worst_of(const std::vector<product_outcome>& all) {
  outcomes list = all_of(all);
  std::erase_if(list, [](const product_outcome* o) { return !times_cublas(*o); });
  std::ranges::stable_sort(list, {}, [](const product_outcome* o) { return *times_cublas(*o); });
  list.resize(std::min(list.size(), worst_shown));
  return list;
}

std::string shape_of(const listed_product& p) {
  return fmt::format("{}{} {}{}", p.count == 1 ? "" : fmt::format("{} of ", p.count), shape_text(p.size),
                     p.layout,
                     p.beta == 0   ? ""
                     : p.beta == 1 ? " + C"
                                   : fmt::format(" + {} C", p.beta));
}

std::string or_dash(const char* format, std::optional<double> value, double factor = 1) {
  return value ? fmt::format(fmt::runtime(format), *value * factor) : "-";
}
std::string percent(std::optional<double> share) { return or_dash("{:.0f} %", share, 100); }

cells row_of(const product_outcome& o, const device_roofline* roofline, bool timed) {
  cells row{o.product.name, o.product.group, shape_of(o.product), o.chosen.kernel};
  if (timed) {
    const auto least = roofline_time_of(o.product, roofline);
    const auto* const rival = o.fastest_rival();
    row.push_back(fmt::format("{:.1f}", o.time.median_us));
    row.push_back(spread_text(o.time));
    if (o.invariant) {
      row.push_back(fmt::format("{:.1f}", o.invariant->time.median_us));
      row.push_back(or_dash("x{:.2f}", price_of_invariance(o)));
    }
    row.push_back(rival != nullptr ? fmt::format("{:.1f}", rival->time.median_us) : "-");
    row.emplace_back(rival != nullptr ? rival->rival.name : "-");
    row.push_back(or_dash("x{:.2f}", times_cublas(o)));
    row.push_back(least ? fmt::format("{:.1f}", least->us) : "-");
    row.push_back(percent(share_of_roofline(o, roofline)));
    row.push_back(percent(rivals_share_of_roofline(o, roofline)));
  }
  row.push_back(fmt::format("{:.2f}", o.error.component));
  row.push_back(fmt::format("{:.0f}", o.chosen.bound.units));
  row.emplace_back(o.verified() ? "yes" : "NO");
  return row;
}

cells row_of(const std::string& group, const summary& s) {
  return {group,
          fmt::format("{}", s.products),
          or_dash("x{:.2f}", s.times_cublas),
          percent(s.slower),
          percent(s.of_roofline),
          percent(s.cublas_of_roofline)};
}

std::string summary_text(const std::vector<product_outcome>& all, const device_roofline* roofline) {
  std::vector<cells> rows{{"geometric means", "products", "cuBLAS", "slower", "roof", "cuBLAS's roof"}};
  const std::vector<std::string> groups = groups_of(all);
  for (const std::string& group : groups)
    if (groups.size() > 1) rows.push_back(row_of(group, summary_of(group_of(all, group), roofline)));
  rows.push_back(row_of("all", summary_of(all_of(all), roofline)));
  std::string text = "\n" + table_text(rows);
  const outcomes worst = worst_of(all);
  if (!worst.empty()) text += "\nThe slowest compared with cuBLAS\n";
  for (const product_outcome* o : worst)
    text += fmt::format("  x{:.2f}  {}, by {}: {:.1f} us, cuBLAS {:.1f}\n", *times_cublas(*o),
                        text_of(o->product), o->chosen.kernel, o->time.median_us,
                        o->fastest_rival()->time.median_us);
  return text;
}

void set_if_known(json& to, const char* key, std::optional<double> value) {
  if (value) to[key] = *value;
}
json to_json(const summary& s) {
  json value{{"products", s.products}};
  set_if_known(value, "times_cublas", s.times_cublas);
  set_if_known(value, "slower", s.slower);
  set_if_known(value, "of_roof", s.of_roofline);
  set_if_known(value, "cublas_of_roof", s.cublas_of_roofline);
  return value;
}

// Adds the measured times.
void add_times(json& record, const product_outcome& o, const device_roofline* roofline) {
  record["protocol"] = "graph";
  add_time(record, "ours", o.time);
  for (const product_outcome::opponent& one : o.rivals) record["time_us"][one.rival.key] = one.time.median_us;
  if (const auto* const rival = o.fastest_rival()) {
    add_time(record, "cublas_fp32", rival->time);
    record["times_cublas"] = *times_cublas(o);
  }
  if (o.invariant) {
    add_time(record, "ours_batch_invariant", o.invariant->time);
    record["batch_invariant"]["price"] = *price_of_invariance(o);
  }
  record["tflops"] = static_cast<double>(o.product.count) * tflops(o.product.size, o.time.median_us);
  const auto least = roofline_time_of(o.product, roofline);
  if (!least) return;
  record["roof"] = {{"us", least->us},
                    {"by", least->limit},
                    {"tflops", roofline->fp32},
                    {"tb_per_s", roofline->terabytes},
                    {"share", *share_of_roofline(o, roofline)}};
  set_if_known(record["roof"], "cublas_share", rivals_share_of_roofline(o, roofline));
}

json record_of(const product_outcome& o, const std::string& set, const device_roofline* roofline,
               bool timed) {
  const auto* const rival = o.fastest_rival();
  const auto of_both = [&](double accuracy::*which, const char* unit) {
    json value{{"ours", o.error.*which}};
    if (rival != nullptr) value["cublas_fp32"] = rival->error.*which;
    value["unit"] = unit;
    return value;
  };
  json record{
      {"kernel", "gemm.fp32"},      {"policy", o.chosen.kernel}, {"set", set},
      {"name", o.product.name},     {"group", o.product.group},  {"shape", tool::to_json(o.product.size)},
      {"count", o.product.count},   {"beta", o.product.beta},    {"type", "f32"},
      {"layout", o.product.layout}, {"data", "normal"}};
  if (o.invariant)
    record["batch_invariant"] = {{"policy", o.invariant->chosen.kernel},
                                 {"component", o.invariant->error.component},
                                 {"allowed", o.invariant->chosen.bound.units}};
  if (timed) add_times(record, o, roofline);
  record["predicted_us"] = o.chosen.predicted * 1e6;
  record["error"] = of_both(&accuracy::norm, "relative Frobenius");
  record["component"] = of_both(&accuracy::component, "2^-24 |A||B|");
  record["component"]["allowed"] = o.chosen.bound.units;
  record["sample"] = o.sample;
  record["recomputed"] = {
      {"outputs", o.recomputed},
      {"share", static_cast<double>(o.recomputed) / std::max(1., static_cast<double>(o.product.of_c()))}};
  record["verified"] = o.verified();
  record["code"] = o.code;
  return record;
}

}  // namespace

const product_outcome::opponent* product_outcome::fastest_rival() const {
  const auto found =
      std::ranges::min_element(rivals, {}, [](const opponent& one) { return one.time.median_us; });
  return found == rivals.end() ? nullptr : &*found;
}

std::string text_of(const listed_product& p) {
  return fmt::format("{} {}: {}", p.group, p.name, shape_of(p));
}

json records_of_products(const std::vector<product_outcome>& all, const std::string& set,
                         const device_roofline* roofline, bool timed) {
  json records = json::array();
  for (const product_outcome& o : all) records.push_back(record_of(o, set, roofline, timed));
  return records;
}

json rivals_of_products(const std::vector<product_outcome>& all) {
  json value = json::object();
  for (const product_outcome& o : all)
    for (const product_outcome::opponent& one : o.rivals) add_rival(value, one.rival.key, one.rival);
  return value.value("rivals", json::object());
}

json summary_of_products(const std::vector<product_outcome>& all, const device_roofline* roofline) {
  json groups = json::object(), worst = json::array();
  for (const std::string& group : groups_of(all))
    groups[group] = to_json(summary_of(group_of(all, group), roofline));
  for (const product_outcome* o : worst_of(all))
    worst.push_back(
        {{"name", o->product.name}, {"group", o->product.group}, {"times_cublas", *times_cublas(*o)}});
  return {{"all", to_json(summary_of(all_of(all), roofline))}, {"groups", groups}, {"worst", worst}};
}

std::string text_of_products(const std::vector<product_outcome>& all, const device_roofline* roofline,
                             bool timed) {
  cells heads{"product", "group", "shape", "kernel"};
  const bool invariant = !all.empty() && all.front().invariant;
  if (timed) heads.insert(heads.end(), {"time us", "spread"});
  if (timed && invariant) heads.insert(heads.end(), {"batch_invariant us", "price"});
  if (timed) heads.insert(heads.end(), {"cuBLAS us", "by", "cuBLAS", "roof us", "roof", "cuBLAS's roof"});
  heads.insert(heads.end(), {"component", "allowed", "verified"});
  std::vector<cells> rows{heads};
  for (const product_outcome& o : all) rows.push_back(row_of(o, roofline, timed));
  return table_text(rows) + (timed ? summary_text(all, roofline) : "");
}

void require_verified(const std::vector<product_outcome>& all) {
  std::string wrong;
  for (const product_outcome& o : all)
    if (!o.verified()) wrong += fmt::format("{}{}", wrong.empty() ? "" : ", ", text_of(o.product));
  if (!wrong.empty())
    throw verification_failed(fmt::format("verification failed: the result of {} is wrong", wrong));
}

}  // namespace antiphase::tool
