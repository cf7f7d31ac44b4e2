// SPDX-License-Identifier: Apache-2.0
// Charts of the report as SVG that lies within a page, whose style sheet colours it by class: light or dark.
#pragma once
#include <antiphase/trace.hpp>
#include <optional>
#include <string>
#include <vector>

namespace antiphase::tool {

// For text between tags, and in quoted attributes.
std::string escaped(std::string_view text);

struct bar {
  std::string label;
  double value = 0;   // of the bar
  double marked = 0;  // where a line stands across it; 0: none
  std::string text;   // beside it
};
// Horizontal bars from 0, one below the other.
std::string bars_svg(const std::vector<bar>& bars, const std::string& title);

struct dot {
  double x = 0, y = 0;
  int series = 0;  // colour and shape, 0 to 3
  std::string title;
};
struct curve {
  std::vector<std::pair<double, double>> points;
  std::string label;  // at its last point
};
struct plane {
  std::string title, x, y;  // of the axes
};
// Both axes logarithmic; what is not positive is left out.
std::string scatter_svg(const std::vector<dot>& dots, const std::vector<curve>& curves, const plane& axes);

// A timeline, step by step: just made, or read from a file.
struct drawn_timeline {
  int stages = 1;
  std::vector<step_times> steps{};
  std::string unit{};
  double step_time = 0, hidden = 0;
  std::optional<double> waiting{};  // share of the computing warps' time
  std::string limited_by{};         // empty: not known
};

// Timelines of one kernel with other numbers of buffers, below each other on one scale: a lane for each
// buffer, loading and in use, and one for the warps that compute. So many steps of each.
std::string timelines_svg(const std::vector<drawn_timeline>& timelines, int steps, const std::string& name);

}  // namespace antiphase::tool
