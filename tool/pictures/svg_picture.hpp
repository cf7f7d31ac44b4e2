// SPDX-License-Identifier: Apache-2.0
// Elements of SVG pictures that show lanes over time.
#pragma once
#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "xml_text.hpp"

namespace antiphase::tool {

// Colours that colour-blind readers can distinguish: M. Okabe and K. Ito, Color Universal Design, 2008.
inline constexpr const char* load_colour = "#56b4e9";
inline constexpr const char* compute_colour = "#e69f00";
inline constexpr const char* look_colour = "#cc79a7";
inline constexpr const char* store_colour = "#009e73";
inline constexpr const char* wait_colour = "#d9d9d9";
inline constexpr const char* ink = "#222222";

inline constexpr std::string_view svg_style = R"(<style>
text { font-family: "DejaVu Sans", "Segoe UI", Helvetica, Arial, sans-serif; fill: #222222; }
.title { font-size: 22px; font-weight: bold; }
.panel { font-size: 16px; font-weight: bold; }
.small { font-size: 13px; fill: #5f5f5f; }
.figure { font-size: 13px; font-weight: bold; text-anchor: end; }
.row { font-size: 13px; text-anchor: end; }
.bar { font-size: 12px; text-anchor: middle; }
.tick { font-size: 12px; text-anchor: middle; }
.unit { font-size: 13px; text-anchor: end; fill: #5f5f5f; }
@media (prefers-color-scheme: dark) {
  text { fill: #ececec; }
  .small, .unit { fill: #a9a9a9; }
  .bar { fill: #111111; }
  [fill="#ffffff"] { fill: #161616; }
  [fill="#d9d9d9"] { fill: #7a7a7a; }
  [stroke="#ffffff"] { stroke: #161616; }
  [stroke="#222222"] { stroke: #ececec; }
  [stroke="#ececec"] { stroke: #3a3a3a; }
}
@media print { * { print-color-adjust: exact; } }
</style>
)";

// Smallest distance of 1, 2 or 5 times a power of ten at which at most `most` ticks fit into the range.
inline double tick_distance(double range, int most) {
  const double rough = range / most, power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= rough) return factor * power;
  return 10 * power;
}

class picture {
 public:
  static constexpr double row_height = 26;

  void text(double x, double y, std::string_view style, std::string_view content) {
    out_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>\n", x, y, style, xml_text(content));
  }
  void line(double x1, double y1, double x2, double y2, const char* colour) {
    out_ += fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"/>\n", x1,
                        y1, x2, y2, colour);
  }
  // A bar with its label inside, as far as it fits; the tooltip has the full text.
  void bar(double from, double to, double y, const char* colour, std::string_view label,
           std::string_view number, std::string_view hint) {
    const double w = std::max(to - from, 0.5);
    out_ += fmt::format(
        "<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.0f}\" rx=\"2\" fill=\"{}\" "
        "stroke=\"#ffffff\" "
        "stroke-width=\"0.8\"><title>{}</title></rect>\n",
        from, y, w, row_height, colour, xml_text(hint));
    const std::string full = label.empty() ? std::string() : fmt::format("{} {}", label, number);
    const std::string_view shown = !full.empty() && fits(full, w) ? std::string_view(full)
                                   : fits(number, w)              ? number
                                                                  : std::string_view();
    if (!shown.empty()) text(from + w / 2, y + row_height / 2 + 4.5, "class=\"bar\"", shown);
  }
  // An unfilled frame around a bar.
  void frame(double from, double to, double y, const char* colour) {
    out_ += fmt::format(
        "<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.0f}\" rx=\"3\" fill=\"none\" "
        "stroke=\"{}\" stroke-width=\"2.4\"/>\n",
        from - 1, y - 1.5, to - from + 2, row_height + 3, colour);
  }
  void append(const picture& more) { out_ += more.out_; }
  // The complete SVG, on a white background, or dark where the reader's system is; no wider than its page.
  std::string whole(double width, double height, std::string_view title) const {
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
        "height=\"{1:.0f}\" "
        "style=\"max-width:100%;height:auto\" role=\"img\">\n<title>{2}</title>\n{3}<rect width=\"100%\" "
        "height=\"100%\" "
        "fill=\"#ffffff\"/>\n{4}</svg>\n",
        width, height, xml_text(title), svg_style, out_);
  }

 private:
  static bool fits(std::string_view s, double w) {
    return !s.empty() && static_cast<double>(s.size()) * 7.2 + 6 < w;
  }
  std::string out_;
};

}  // namespace antiphase::tool
