// SPDX-License-Identifier: Apache-2.0
#include "tool/commands/report/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <antiphase/advise.hpp>
#include <cctype>
#include <cmath>
#include <optional>

#include "tool/base/errors.hpp"
#include "tool/commands/model/judged_model.hpp"
#include "tool/commands/report/charts.hpp"
#include "tool/pictures/origin.hpp"

namespace antiphase::tool {
namespace {

constexpr const char* style = R"(
:root{color-scheme:light dark;--back:#fff;--text:#1b1b1b;--dim:#666;--line:#ddd;--s0:#0072b2;--s1:#d55e00;--s2:#009e73;--s3:#aa5f8f;--curve:#444}
@media screen and (prefers-color-scheme:dark){:root{--back:#16181c;--text:#e8e8e8;--dim:#a0a0a0;--line:#34373d;--s0:#56b4e9;--s1:#e69f00;--s2:#4cc9a0;--s3:#d98cc0;--curve:#bbb}}
body{background:var(--back);color:var(--text);font:15px/1.5 system-ui,sans-serif;max-width:1080px;margin:0 auto;padding:24px 16px}
h1{font-size:26px;margin:0}h2{font-size:20px;margin:36px 0 6px}p{margin:6px 0 12px}p,figure,pre{max-width:750px}
.dim,figcaption{color:var(--dim);font-size:13px}figure{margin:12px 0;overflow-x:auto}
svg{width:100%;min-width:560px;height:auto;font:12px system-ui,sans-serif}svg text{fill:var(--text)}.end{text-anchor:end}.middle{text-anchor:middle}
.s0{fill:var(--s0)}.s1{fill:var(--s1)}.s2{fill:var(--s2)}.s3{fill:var(--s3)}circle,path.s1,path.s2,path.s3{fill-opacity:.7}
.grid{stroke:var(--line);fill:none}.curve{stroke:var(--curve);stroke-width:1.6;fill:none}.marked{stroke:var(--s1);stroke-width:3}
table{border-collapse:collapse;font-size:13px;font-variant-numeric:tabular-nums}td,th{padding:2px 8px;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}
td:first-child,th:first-child{text-align:left}.wide{overflow-x:auto}.loss{color:var(--s1)}
pre{background:color-mix(in srgb,var(--line) 40%,transparent);padding:10px;overflow-x:auto;font-size:12px}
.key i{display:inline-block;width:10px;height:10px;margin:0 4px 0 12px}.key i.s0{background:var(--s0)}.key i.s1{background:var(--s1)}.key i.s2{background:var(--s2)}.key i.s3{background:var(--s3)}
@media screen{td:first-child,th:first-child{position:sticky;left:0;background:var(--back)}}
@media(max-width:640px){svg{min-width:0;font-size:16px}td[style]{min-width:15rem}}
@media print{*{print-color-adjust:exact}:root{color-scheme:light}body{padding:0}figure,.wide,pre{overflow:visible}svg{min-width:0}table{font-size:9px}td,th{padding:2px 4px}
pre{white-space:pre-wrap}figure,table,tr,pre{break-inside:avoid}h2,h2+p{break-after:avoid}}
)";

using cells = std::vector<std::string>;
std::string table_html(const std::vector<cells>& rows) {
  std::string html = "<div class=\"wide\"><table>\n";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    html += "<tr>";
    for (std::size_t j = 0; j < rows[i].size(); ++j) {
      const std::string& cell = rows[i][j];
      const bool loss = i > 0 && rows[0][j] == "gain" && cell.starts_with('-');
      html += fmt::format("<{0}{1}>{2}</{0}>", i == 0 ? "th" : "td", loss ? " class=\"loss\"" : "",
                          escaped(cell));
    }
    html += "</tr>\n";
  }
  return html + "</table></div>\n";
}
std::string figure(const std::string& svg, const std::string& caption) {
  return fmt::format("<figure>\n{}<figcaption>{}</figcaption></figure>\n", svg, caption);
}
std::string section(std::string_view name, std::string_view text) {
  return fmt::format("<h2>{}</h2>\n<p>{}</p>\n", name, text);
}
std::string percent(double share) {
  const double rounded = std::round(1000 * share) / 10;
  return fmt::format("{:+.1f} %", rounded == 0 ? 0 : rounded);  // avoids -0.0
}
std::string rate_text(double rate) {
  return rate < 1000 ? fmt::format("{:.3g}", rate) : fmt::format("{:.0f}", rate);
}

// A measured step; its prediction is found by the step's name and time.
struct step_time {
  std::string step, kind;
  const json* record = nullptr;
  double us = 0;
  prediction takes;
};
std::vector<step_time> steps_of(const machine_profile& on, const named_result& r) {
  std::vector<judged_time> judged;
  add_times(on, r.content, r.name, judged);
  std::vector<step_time> all;
  for (const json& record : r.content.at("records")) {
    if (!record.contains("time_us")) continue;
    step_time s{.step = record.at("policy"),
                .kind = record.at("kernel"),
                .record = &record,
                .us = record.at("time_us").at("ours"),
                .takes = {}};
    for (const judged_time& t : judged)
      if (t.policy == s.step && std::fabs(t.measured * 1e6 - s.us) < 1e-6 * s.us) s.takes = t.takes;
    all.push_back(s);
  }
  return all;
}

// Section of a ladder: chart of rates by step, from which gains can be read, and a table.
std::string ladder_section(const machine_profile& on, const named_result& r) {
  const std::vector<step_time> steps = steps_of(on, r);
  if (steps.empty()) return {};
  const bool product = r.content.at("command") == "ladder gemm";
  const json& shape = steps.front().record->at("shape");
  const double work = product ? 2 * shape.at("m").get<double>() * shape.at("n").get<double>() *
                                    shape.at("k").get<double>() * 1e-6
                              : 8 * shape.at("n").get<double>() * 1e-3;  // TFLOP/s, GB/s
  const auto rate = [&](double us) { return work / us; };
  std::vector<std::vector<bar>> charts;  // one per kind of operand
  std::vector<cells> rows{{"step", "us", product ? "TFLOP/s" : "GB/s", "gain",
                           product ? "texts promise" : "of a copy", "predicted us", "off", "limit", "blocks",
                           "occupancy", "shared B", "registers", "error"}};
  double before = 0;
  std::string kind;
  for (const step_time& s : steps) {
    const std::string of = s.kind.substr(0, s.kind.rfind('.'));
    if (of != kind) before = 0, charts.emplace_back();
    kind = of;
    const std::string gain = before > 0 ? percent(before / s.us - 1) : "";
    charts.back().push_back({s.step, rate(s.us), s.takes.seconds > 0 ? rate(s.takes.seconds * 1e6) : 0,
                             rate_text(rate(s.us)) + (gain.empty() ? "" : "  " + gain)});
    std::string beside;
    if (product && s.record->contains("overlap"))
      beside = percent(s.record->at("overlap").at("formula").get<double>() - 1);
    if (!product)
      beside = fmt::format("{:.0f} %", 100 * s.record->at("time_us").at("memcpy").get<double>() / s.us);
    rows.push_back({s.step, fmt::format("{:.1f}", s.us), rate_text(rate(s.us)), gain, beside,
                    s.takes.seconds > 0 ? fmt::format("{:.1f}", s.takes.seconds * 1e6) : "",
                    s.takes.seconds > 0 ? percent(s.takes.seconds * 1e6 / s.us - 1) : "",
                    s.takes.seconds > 0 ? std::string(name(s.takes.largest())) : "",
                    fmt::format("{}", s.record->at("blocks_per_multiprocessor").get<int>()),
                    fmt::format("{:.0f} %", 100 * s.record->at("occupancy").get<double>()),
                    fmt::format("{}", s.record->at("shared_bytes").get<std::int64_t>()),
                    fmt::format("{}", s.record->value("registers", 0)),
                    fmt::format("{:.1e}", s.record->at("error").at("ours").get<double>())});
    before = s.us;
  }
  const std::string head = product ? fmt::format("Products, step by step: {} x {} x {}", shape.at("m").dump(),
                                                 shape.at("n").dump(), shape.at("k").dump())
                                   : fmt::format("Scans, step by step: {} sums of f32", shape.at("n").dump());
  const std::string text =
      product ? "Each step adds one idea. <i>gain</i> is in speed over the step before; a loss is a result. "
                "<i>texts predict</i>: "
                "(Tl + Tc) / max(Tl, Tc) from the measured times of its loads and its computation alone."
              : "Each step adds one idea; the single passes add buffers. A copy of as many bytes is the "
                "roofline.";
  std::string figures;
  for (std::size_t i = 0; i < charts.size(); ++i)
    figures += figure(
        bars_svg(charts[i], head),
        fmt::format(
            "{} measured ({}){}; the line across a bar is what the <a href=\"#model\">model</a> predicts.",
            product ? "TFLOP/s" : "GB/s", escaped(steps.front().record->value("protocol", "")),
            i == 0 ? "" : ", f16 operands on Tensor Cores"));
  return section(head, text) + figures + table_html(rows);
}

struct product_point {
  double m, n, k, count, us, cublas_us, units, cublas_units, allowed;
  std::string policy;
};
std::vector<product_point> products_of(const std::vector<named_result>& results) {
  std::vector<product_point> all;
  for (const named_result& r : results)
    for (const json& record : r.content.at("records")) {
      if (record.value("kernel", "") != "gemm.fp32" || record.value("data", "normal") != "normal" ||
          record.value("set", "").starts_with("prepared"))
        continue;
      const json &s = record.at("shape"), &t = record.at("time_us");
      const json component = record.value("component", json::object());
      all.push_back({s.at("m"), s.at("n"), s.at("k"), record.value("count", 1.), t.at("ours"),
                     t.value("cublas_fp32", 0.), component.value("ours", 0.),
                     component.value("cublas_fp32", 0.), component.value("allowed", 0.),
                     record.contains("policy") ? record.at("policy").get<std::string>()
                                               : record.at("choice").at("kernel").get<std::string>()});
    }
  return all;
}
std::string shape_text(const product_point& p) {
  return fmt::format("{:.0f} x {:.0f} x {:.0f}{}, {}: ", p.m, p.n, p.k,
                     p.count > 1 ? fmt::format(" ({:.0f} of them)", p.count) : "", p.policy);
}

std::string roofline_section(const machine_profile& on, const std::vector<product_point>& products) {
  if (products.empty()) return {};
  std::vector<dot> dots;
  double least = 1e9, most = 0;
  for (const product_point& p : products) {
    const double operations = 2 * p.m * p.n * p.k * p.count,
                 x = operations / (4 * p.count * (p.m * p.k + p.k * p.n + p.m * p.n));
    least = std::min(least, x), most = std::max(most, x);
    if (p.cublas_us > 0)
      dots.push_back({x, operations / p.cublas_us * 1e-6, 1,
                      shape_text(p) + fmt::format("cuBLAS {:.1f} us", p.cublas_us)});
    dots.push_back({x, operations / p.us * 1e-6, 0, shape_text(p) + fmt::format("{:.1f} us", p.us)});
  }
  const auto roof = [&](double peak, std::string label) {
    const double knee = peak * 1e12 / on.memory_bytes.value;
    curve c{.points = {}, .label = std::move(label)};
    if (least < knee) c.points.emplace_back(least, least * on.memory_bytes.value * 1e-12);
    c.points.emplace_back(std::max(knee, least), peak);
    c.points.emplace_back(std::max(most, knee * 1.5), peak);
    return c;
  };
  const double fp32 = 2 * on.multiply_adds.value * on.limits.multiprocessors * on.clock.value * 1e-12,
               split = 2 * on.tensor_fp16.value / 3 * 1e-12;
  return section(
             "Roofline",
             "What products reach, by how often they use a byte that they have to move. The rooflines are "
             "memory, FP32 multiply-adds, and "
             "three products of FP16 parts on Tensor Cores, which is how precision <i>fp32</i> multiplies.") +
         figure(scatter_svg(dots, {roof(fp32, "FP32 multiply-adds"), roof(split, "Tensor Cores, a third")},
                            {"Roofline", "operations per byte that has to be moved", "TFLOP/s"}),
                "<span class=\"key\"><i class=\"s0\"></i>antiphase<i class=\"s1\"></i>cuBLAS FP32</span>. "
                "What the L2 cache holds may be "
                "above the memory's roofline.");
}

std::string model_section(const machine_profile& on, const std::vector<named_result>& results) {
  std::vector<judged_time> times;
  for (const named_result& r : results) add_times(on, r.content, r.name, times);
  if (times.empty()) return {};
  std::vector<dot> dots;
  double least = 1e9, most = 0;
  for (const judged_time& t : times) {
    const int series = t.family.ends_with("ladder") ? (t.family.starts_with("scan") ? 1 : 0)
                       : t.family == "scan"         ? 1
                                                    : 2;
    dots.push_back({t.measured * 1e6, t.takes.seconds * 1e6, series,
                    fmt::format("{} {}: {:.1f} us, predicted {:.1f}, {}", t.policy, t.shape, t.measured * 1e6,
                                t.takes.seconds * 1e6, name(t.takes.largest()))});
    least = std::min(least, t.measured * 1e6), most = std::max(most, t.measured * 1e6);
  }
  std::vector<cells> rows{
      {"kernels", "times", "unseen", "median error", "90 % within", "rank", "picks within 5 %"}};
  for (const family_error& f : errors_of(times))
    rows.push_back({f.name, fmt::format("{}", f.times), fmt::format("{}", f.times - f.fitted_times),
                    f.times > f.fitted_times ? fmt::format("{:.1f} %", 100 * f.median)
                                             : fmt::format("{:.1f} % (fitted)", 100 * f.fitted_median),
                    f.times > f.fitted_times ? fmt::format("{:.1f} %", 100 * f.p90) : "",
                    f.ranked == 0 ? "" : fmt::format("{:.2f}", f.rank),
                    f.ranked == 0 ? "" : fmt::format("{} of {}", f.picks, f.ranked)});
  return "<a id=\"model\"></a>" +
         section("Model against measurement",
                 "Times predicted from the machine's figures below, next to those measured. Errors are of "
                 "times that nothing was fitted to.") +
         figure(scatter_svg(dots, {{.points = {{least, least}, {most, most}}, .label = "right"}},
                            {"Model against measurement", "measured us", "predicted us"}),
                "<span class=\"key\"><i class=\"s0\"></i>steps of the GEMM ladders<i "
                "class=\"s1\"></i>scans<i class=\"s2\"></i>products by "
                "the library's choice</span>") +
         table_html(rows);
}

std::string accuracy_section(const std::vector<product_point>& products) {
  std::vector<dot> dots;
  double most_k = 1, worst = 0;
  for (const product_point& p : products) {
    if (p.allowed <= 0) continue;
    dots.push_back({p.k, p.cublas_units, 1, shape_text(p) + fmt::format("cuBLAS {:.2g} u", p.cublas_units)});
    dots.push_back({p.k, p.units, 0, shape_text(p) + fmt::format("{:.2g} of {:.4g} u", p.units, p.allowed)});
    most_k = std::max(most_k, p.k), worst = std::max(worst, p.units / p.allowed);
  }
  if (dots.empty()) return {};
  curve bound{.points = {}, .label = "80 + K/59"};
  for (double k = 1; k <= most_k * 1.01; k *= 1.5) bound.points.emplace_back(k, 80 + k / 59);
  return section("Accuracy", fmt::format("The largest error of an output, in units of 2<sup>-24</sup> "
                                         "|A||B|. Policies on FP16 and TF32 parts guarantee to stay "
                                         "below the line, those that add up in FP64 below 1; the largest "
                                         "share of what a policy guarantees was {:.0f} %.",
                                         100 * worst)) +
         figure(scatter_svg(dots, {bound}, {"Accuracy", "K", "largest error, units"}),
                "<span class=\"key\"><i class=\"s0\"></i>antiphase<i class=\"s1\"></i>cuBLAS FP32</span>");
}

// The gain that the textbooks' formula predicts for register-tile and a cube: from measured times of its
// loads and computation, if known, as in the ladder's table; else from the model's.
std::string promise_to(const advice& predicted, std::int64_t size, const std::vector<named_result>& results) {
  for (const named_result& r : results)
    for (const json& record : r.content.at("records")) {
      const json& s = record.at("shape");
      if (record.value("policy", "") == "register-tile" && record.contains("overlap") && s.at("m") == size &&
          s.at("n") == size && s.at("k") == size)
        return fmt::format("{} at {} (measured Tl and Tc)",
                           percent(record.at("overlap").at("formula").get<double>() - 1), size);
    }
  return fmt::format("{} at {} (the model's Tl and Tc)", percent(predicted.textbook_gain - 1), size);
}

std::string stages_section(const machine_profile& on, const std::vector<named_result>& results) {
  constexpr std::int64_t size = 4096;
  const advice product = advise_gemm(on, {.m = size, .n = size, .k = size}),
               one = advise_gemm(on, {.m = 1024, .n = 1024, .k = 1024});
  std::vector<cells> rows{{"stages", "at 4096: us", "gain", "limit", "at 1024: us", "gain", "limit",
                           "shared B", "blocks", "in flight KiB"}};
  for (std::size_t i = 0; i < product.stages.size(); ++i) {
    const advised_stages &a = product.stages[i], &b = one.stages[i];
    if (!a.fits) continue;
    rows.push_back({fmt::format("{}", a.stages), fmt::format("{:.1f}", a.seconds * 1e6),
                    i == 0 ? "" : percent(a.gain), std::string(name(a.largest)),
                    fmt::format("{:.1f}", b.seconds * 1e6), i == 0 ? "" : percent(b.gain),
                    std::string(name(b.largest)), fmt::format("{}", a.shared_bytes),
                    fmt::format("{}", a.resident), fmt::format("{:.0f}", a.bytes_in_flight / 1024)});
  }
  return section("How many buffers",
                 fmt::format("Predicted for the ladder's step <i>register-tile</i>. With enough tiles two "
                             "blocks share a multiprocessor, and one "
                             "computes while the other waits; with few each is alone, and buffers pay. The "
                             "texts' formula predicts two buffers {} "
                             "and {}.",
                             promise_to(product, size, results), promise_to(one, 1024, results))) +
         table_html(rows);
}

drawn_timeline drawn(const timeline& t) {
  const overlap o = measure(t);
  return {.stages = t.stages,
          .steps = by_step(t),
          .unit = t.unit,
          .step_time = o.step_time,
          .hidden = o.hidden,
          .waiting = o.waiting,
          .limited_by = o.limited_by};
}
// A timeline as written by `trace --json`.
drawn_timeline drawn(const json& t) {
  drawn_timeline d{.stages = t.at("stages"), .unit = t.at("unit"), .hidden = t.at("hidden_share")};
  d.limited_by = t.value("limited_by", "");
  if (t.contains("waiting_share")) d.waiting = t.at("waiting_share");
  for (const json& s : t.at("step_times")) {
    const auto n = [&](std::size_t i) { return s.at(i).get<std::int64_t>(); };
    if (n(0) < 0 || n(0) >= d.stages)
      throw bad_input(fmt::format("a step lies in slot {} of {}: expected one of them", n(0), d.stages));
    d.steps.push_back({.step = static_cast<int>(d.steps.size()),
                       .slot = static_cast<int>(n(0)),
                       .issued = n(1),
                       .landed = n(2),
                       .compute_begin = n(3),
                       .compute_end = n(4)});
  }
  if (!d.steps.empty()) d.step_time = t.at("duration").get<double>() / static_cast<double>(d.steps.size());
  return d;
}

std::string timelines_section(const std::vector<named_result>& recorded,
                              const std::vector<timeline>& just_made) {
  std::vector<drawn_timeline> all;
  std::string origin, about;
  for (const named_result& r : recorded) {
    for (const json& t : r.content.at("timelines"))
      if (t.contains("step_times")) all.push_back(drawn(t));
    if (all.empty()) continue;
    const json& first = r.content.at("timelines").front();
    origin = first.value(
        "origin", fmt::format("recorded on {}", r.content.at("machine").at("name").get<std::string>()));
    about =
        fmt::format("{}, in {}: block {} of the running kernel, {}", origin,
                    first.at("unit") == "cycles" ? "clock cycles" : "ticks of a model, nothing was measured",
                    first.at("block").dump(), r.content.value("date", "").substr(0, 10));
    if (r.content.contains("shape") && r.content["shape"].contains("k"))
      about += fmt::format(", {} x {} x {}", r.content["shape"].at("m").dump(),
                           r.content["shape"].at("n").dump(), r.content["shape"].at("k").dump());
    break;
  }
  if (all.empty() && !just_made.empty()) {
    for (const timeline& t : just_made) all.push_back(drawn(t));
    origin = origin_of(just_made);
    about = fmt::format("{}, block {}, in {}", origin, just_made.front().block,
                        just_made.front().runs_on == target::cuda ? "clock cycles"
                                                                  : "ticks of a model: nothing was measured");
  }
  if (all.empty()) return {};
  std::vector<cells> rows{{"buffers", "a step takes", "load time hidden", "warps wait", "what limits"}};
  for (const drawn_timeline& d : all)
    rows.push_back({fmt::format("{}", d.stages), fmt::format("{:.0f} {}", d.step_time, d.unit),
                    fmt::format("{:.0f} %", 100 * d.hidden),
                    d.waiting ? fmt::format("{:.0f} %", 100 * *d.waiting) : "", d.limited_by});
  const auto drop = [&](std::size_t column) {  // empty in older recordings
    if (std::ranges::any_of(rows.begin() + 1, rows.end(),
                            [&](const cells& row) { return !row[column].empty(); }))
      return;
    for (cells& row : rows) row.erase(row.begin() + static_cast<std::ptrdiff_t>(column));
  };
  drop(4), drop(3);
  constexpr int steps = 8;
  const std::string title = fmt::format("Timelines, {}", origin);
  about.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(about.front())));
  return section(
             escaped(title),
             "The same kernel with one buffer and with more: with one, loading and computing take turns.") +
         figure(timelines_svg(all, steps, title),
                fmt::format("<span class=\"key\"><i class=\"s0\"></i>being loaded<i class=\"s1\"></i>in use, "
                            "computing</span>. {}.",
                            escaped(about))) +
         table_html(rows);
}

std::string profile_table(const profile& p) {
  if (!p.why_not.empty())
    return fmt::format("<p class=\"dim\">ncu is here, but gives no figures: {}</p>\n", escaped(p.why_not));
  if (p.figures.empty()) return {};
  std::vector<cells> rows{{"metric", "value", "unit"}};
  for (const profile_figure& f : p.figures) rows.push_back({f.metric, f.value, f.unit});
  return table_html(rows);
}

std::string machine_section(const machine_profile& on) {
  std::vector<cells> rows{{"figure", "value", "unit"}};
  std::string html =
      "<div class=\"wide\"><table>\n<tr><th>figure</th><th>value</th><th>unit</th><th "
      "style=\"text-align:left\">source</th></tr>\n";
  for (const machine_member& m : machine_members())
    html += fmt::format(
        "<tr><td>{}</td><td>{:.4g}</td><td>{}</td><td "
        "style=\"text-align:left;white-space:normal\">{}</td></tr>\n",
        m.name, (on.*m.figure).value, m.unit, escaped((on.*m.figure).source));
  return section("The machine",
                 fmt::format("{}, compute capability {}, {} multiprocessors.", escaped(on.limits.name),
                             compute_capability(on.limits), on.limits.multiprocessors)) +
         html + "</table></div>\n";
}

}  // namespace

std::string report_page(const machine_profile& on, const std::vector<named_result>& results,
                        const std::string& from, const std::vector<named_result>& recorded,
                        const std::vector<timeline>& overlap, const profile& counted) {
  try {
    std::string body = fmt::format("<h1>antiphase on {}</h1>\n<p class=\"dim\">{}</p>\n",
                                   escaped(on.limits.name), escaped(from));
    for (const char* command : {"ladder gemm", "ladder scan"})
      for (const named_result& r : results)
        if (r.content.at("command") == command) body += ladder_section(on, r);
    const std::vector<product_point> products = products_of(results);
    body += timelines_section(recorded, overlap) + stages_section(on, results) +
            roofline_section(on, products) + model_section(on, results) + accuracy_section(products);
    body += section("Profiling",
                    "What the hardware's counters say of a step, with Nsight Compute: multiply-add pipe high "
                    "means loads are hidden; "
                    "<i>long scoreboard</i> "
                    "is load time that is not.") +
            fmt::format("<pre>{}</pre>\n", escaped(profiling_recipe("antiphase"))) + profile_table(counted) +
            machine_section(on);
    return fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
        "content=\"width=device-width\">\n<title>antiphase on "
        "{}</title>\n<style>{}</style>\n</head>\n<body>\n{}</body>\n</html>\n",
        escaped(on.limits.name), style, body);
  } catch (const json::exception& e) {
    throw bad_input(fmt::format("a record is not as docs/measuring.md says: {}", e.what()));
  }
}

}  // namespace antiphase::tool
