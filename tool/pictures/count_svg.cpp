// SPDX-License-Identifier: Apache-2.0
#include "count_svg.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "xml_text.hpp"

namespace antiphase::tool {
namespace {

constexpr double width = 900, left = 24, bars = 500, row = 42, head = 34;
constexpr std::size_t most_of_source = 58;

// Colours that colour-blind readers can distinguish: M. Okabe and K. Ito, Color Universal Design, 2008.
constexpr const char* style = R"(<style>
text { font-family: system-ui, "Segoe UI", "DejaVu Sans", Helvetica, Arial, sans-serif; font-size: 13px; fill: #1f2430; }
.kernel { font-size: 16px; font-weight: bold; }
.source { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: 12px; fill: #5b6270; }
.back { fill: #ffffff; }
.ideal { fill: #0072b2; }
.more { fill: #d55e00; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6e8ee; } .source { fill: #a7adba; } .back { fill: #14171e; } .ideal { fill: #56b4e9; } .more { fill: #f0884a; }
}
</style>
)";

std::string text(double x, double y, const char* of, std::string_view content) {
  return fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" class=\"{}\">{}</text>\n", x, y, of, xml_text(content));
}
std::string bar(double x, double y, double wide, const char* of) {
  return fmt::format("<rect x=\"{:.1f}\" y=\"{:.0f}\" width=\"{:.1f}\" height=\"18\" class=\"{}\"/>\n", x, y,
                     std::max(wide, 0.), of);
}
std::string said(const drawn_request& r) {
  return fmt::format("{:.4g} {}{}{}", r.each, r.unit, r.each == 1 ? "" : "s",
                     r.each > r.ideal ? fmt::format(", ideal {:.4g}", r.ideal) : "");
}

}  // namespace

std::string count_svg(std::span<const drawn_kernel> kernels) {
  double most = 1;
  for (const drawn_kernel& k : kernels)
    for (const drawn_request& r : k.requests) most = std::max(most, r.each);
  const double unit = (width - bars - 160) / most;
  std::string drawn = text(left, 32, "", "What one request of a warp takes:") +
                      bar(left + 240, 19, 18, "ideal") + text(left + 264, 32, "", "ideal") +
                      bar(left + 320, 19, 18, "more") +
                      text(left + 344, 32, "", "more: bank conflicts, sectors that are moved without need");
  double y = 48;
  for (const drawn_kernel& k : kernels) {
    drawn += text(left, y + 20, "kernel", k.name);
    y += head;
    for (const drawn_request& r : k.requests) {
      const std::string source =
          r.source.size() > most_of_source ? r.source.substr(0, most_of_source - 3) + "..." : r.source;
      drawn += text(left, y + 12, "", r.text) + text(left, y + 28, "source", source) +
               bar(bars, y + 5, unit * r.ideal, "ideal") +
               bar(bars + unit * r.ideal, y + 5, unit * (r.each - r.ideal), "more") +
               text(bars + unit * std::max(r.each, r.ideal) + 8, y + 19, "", said(r));
      y += row;
    }
    y += 10;
  }
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\" "
      "role=\"img\">\n<title>Bank conflicts and coalescing</title>\n{2}<rect width=\"100%\" height=\"100%\" "
      "class=\"back\"/>\n{3}</svg>\n",
      width, y, style, drawn);
}

}  // namespace antiphase::tool
