// SPDX-License-Identifier: Apache-2.0
#include "tool/commands/report/charts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace antiphase::tool {
namespace {

constexpr double width = 720, left = 150, right = 150, row = 22;  // of bars
constexpr double plane_width = 720, plane_height = 400, margin_x = 64, margin_y = 46;

struct scale {
  double low = 0, high = 1;    // logarithms to base 10
  double first = 0, last = 1;  // pixels
  double operator()(double value) const {
    return first + (std::log10(value) - low) / (high - low) * (last - first);
  }
};
scale scale_of(double least, double most, double from, double to) {
  if (!(least > 0) || !(most > 0)) least = 1, most = 10;
  const double low = std::log10(least), high = std::log10(most), room = std::max(0.05, 0.04 * (high - low));
  return {low - room, high + room, from, to};
}
std::string number(double value) {
  return value >= 0.001 && value < 1e5 ? fmt::format("{:g}", value)
                                       : fmt::format("1e{:.0f}", std::log10(value));
}
std::vector<double> ticks(const scale& s) {
  std::vector<double> all;
  for (int power = static_cast<int>(std::floor(s.low)); power <= static_cast<int>(std::ceil(s.high)); ++power)
    for (const double step : s.high - s.low < 2.5 ? std::vector<double>{1, 2, 5} : std::vector<double>{1})
      if (const double value = step * std::pow(10., power);
          std::log10(value) >= s.low && std::log10(value) <= s.high)
        all.push_back(value);
  return all;
}
// Circle, square, triangle, diamond: distinguishable without colour.
std::string mark(const dot& d, double x, double y) {
  const std::string title = fmt::format("<title>{}</title>", escaped(d.title));
  switch (d.series) {
    case 0:
      return fmt::format("<circle class=\"s0\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\">{}</circle>", x, y, title);
    case 1:
      return fmt::format("<path class=\"s1\" d=\"M{:.1f} {:.1f}h5v5h-5z\">{}</path>", x - 2.5, y - 2.5,
                         title);
    case 2:
      return fmt::format("<path class=\"s2\" d=\"M{:.1f} {:.1f}l3.4 6h-6.8z\">{}</path>", x, y - 3.5, title);
    default:
      return fmt::format("<path class=\"s3\" d=\"M{:.1f} {:.1f}l3.5 3.5l-3.5 3.5l-3.5-3.5z\">{}</path>", x,
                         y - 3.5, title);
  }
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string to;
  for (const char c : text) switch (c) {
      case '&': to += "&amp;"; break;
      case '<': to += "&lt;"; break;
      case '>': to += "&gt;"; break;
      case '"': to += "&quot;"; break;
      default: to += c;
    }
  return to;
}

std::string bars_svg(const std::vector<bar>& bars, const std::string& title) {
  double most = 0;
  for (const bar& b : bars) most = std::max({most, b.value, b.marked});
  const double height = row * static_cast<double>(bars.size()) + 8, room = width - left - right;
  std::string svg = fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n", width, height,
                                escaped(title));
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const bar& b = bars[i];
    const double y = 4 + row * static_cast<double>(i), length = most > 0 ? room * b.value / most : 0,
                 at = most > 0 ? room * b.marked / most : 0;
    svg += fmt::format("<text class=\"end\" x=\"{}\" y=\"{}\">{}</text>", left - 8, y + 15, escaped(b.label));
    svg += fmt::format("<rect class=\"s0\" x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\"/>", left, y + 3,
                       length, row - 6);
    if (b.marked > 0) svg += fmt::format("<path class=\"marked\" d=\"M{:.1f} {}v{}\"/>", left + at, y, row);
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\">{}</text>\n", left + std::max(length, at) + 8, y + 15,
                       escaped(b.text));
  }
  return svg + "</svg>\n";
}

std::string scatter_svg(const std::vector<dot>& dots, const std::vector<curve>& curves, const plane& axes) {
  constexpr double far = std::numeric_limits<double>::infinity();
  double x_low = far, x_high = 0, y_low = far, y_high = 0;
  const auto see = [&](double x, double y) {
    if (!(x > 0) || !(y > 0)) return;
    x_low = std::min(x_low, x), x_high = std::max(x_high, x), y_low = std::min(y_low, y),
    y_high = std::max(y_high, y);
  };
  for (const dot& d : dots) see(d.x, d.y);
  for (const curve& c : curves)
    for (const auto& [x, y] : c.points) see(x, y);
  const scale x = scale_of(x_low, x_high, margin_x, plane_width - 12),
              y = scale_of(y_low, y_high, plane_height - margin_y, 12);
  std::string svg = fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n", plane_width,
                                plane_height, escaped(axes.title));
  for (const double value : ticks(x))
    svg += fmt::format(
        "<path class=\"grid\" d=\"M{:.1f} {:.1f}V{:.1f}\"/><text class=\"middle\" x=\"{:.1f}\" "
        "y=\"{:.1f}\">{}</text>",
        x(value), y.first, y.last, x(value), y.first + 16, number(value));
  for (const double value : ticks(y))
    svg += fmt::format(
        "<path class=\"grid\" d=\"M{:.1f} {:.1f}H{:.1f}\"/><text class=\"end\" x=\"{:.1f}\" "
        "y=\"{:.1f}\">{}</text>",
        x.first, y(value), x.last, x.first - 6, y(value) + 4, number(value));
  svg += fmt::format(
      "\n<text class=\"middle\" x=\"{}\" y=\"{}\">{}</text><text class=\"middle\" transform=\"translate(14 "
      "{}) rotate(-90)\">{}</text>\n",
      plane_width / 2, plane_height - 8, escaped(axes.x), plane_height / 2 - 20, escaped(axes.y));
  for (const dot& d : dots)
    if (d.x > 0 && d.y > 0) svg += mark(d, x(d.x), y(d.y)) + "\n";
  for (const curve& c : curves) {
    std::string path;
    for (const auto& [px, py] : c.points)
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x(px), y(py));
    if (path.empty()) continue;
    const auto& [px, py] = c.points.back();
    svg += fmt::format(
        "<path class=\"curve\" d=\"{}\"/><text class=\"end\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", path,
        x(px) - 2, y(py) - 6, escaped(c.label));
  }
  return svg + "</svg>\n";
}

std::string timelines_svg(const std::vector<drawn_timeline>& timelines, int steps, const std::string& name) {
  constexpr double lane = 15, gap = 3, head = 22, from = 84;
  std::vector<std::vector<step_times>> shown;
  std::int64_t end = 1;
  double height = 4;
  for (const drawn_timeline& t : timelines) {
    std::vector<step_times>& of = shown.emplace_back(t.steps);
    if (of.size() > static_cast<std::size_t>(steps)) of.resize(static_cast<std::size_t>(steps));
    for (const step_times& s : of) end = std::max(end, s.compute_end);
    height += head + (t.stages + 1) * (lane + gap) + 8;
  }
  const auto x = [&](std::int64_t time) {
    return from + (width - from - 4) * static_cast<double>(time) / static_cast<double>(end);
  };
  std::string svg = fmt::format("<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\">\n", width,
                                height, escaped(name));
  const auto bar = [&](std::int64_t begin, std::int64_t until, double y, int series,
                       const std::string& title) {
    svg += fmt::format(
        "<rect class=\"s{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
        "height=\"{:.0f}\"><title>{}</title></rect>\n",
        series, x(begin), y, std::max(0.5, x(until) - x(begin) - 0.6), series == 0 ? lane * 0.6 : lane,
        escaped(title));
  };
  double y = 4;
  for (std::size_t i = 0; i < timelines.size(); ++i) {
    const drawn_timeline& t = timelines[i];
    svg += fmt::format("<text x=\"0\" y=\"{:.0f}\" font-weight=\"bold\">{} buffer{}</text>\n", y + 14,
                       t.stages, t.stages == 1 ? "" : "s");
    y += head;
    for (int slot = 0; slot < t.stages; ++slot)
      svg += fmt::format("<text class=\"end\" x=\"{:.0f}\" y=\"{:.0f}\">buffer {}</text>\n", from - 8,
                         y + slot * (lane + gap) + 12, slot);
    const double work = y + t.stages * (lane + gap);
    svg += fmt::format("<text class=\"end\" x=\"{:.0f}\" y=\"{:.0f}\">warps</text>\n", from - 8, work + 12);
    svg += fmt::format("<path class=\"grid\" d=\"M{:.0f} {:.1f}h{:.0f}\"/>\n", from, work + lane,
                       width - from - 4);
    for (const step_times& s : shown[i]) {
      const double at = y + s.slot * (lane + gap);
      bar(s.issued, s.landed, at + lane * 0.4, 0,
          fmt::format("step {}: loaded, {} to {}", s.step, s.issued, s.landed));
      bar(s.compute_begin, s.compute_end, at, 1,
          fmt::format("step {}: in use, {} to {}", s.step, s.compute_begin, s.compute_end));
      bar(s.compute_begin, s.compute_end, work, 1, fmt::format("the warps compute step {}", s.step));
    }
    y = work + lane + gap + 8;
  }
  return svg + "</svg>\n";
}

}  // namespace antiphase::tool
