// SPDX-License-Identifier: Apache-2.0
// Charts of the report as inline SVG; the page's style sheet colours it by class, light or dark.
#pragma once
#include <antiphase/trace.hpp>
#include <optional>
#include <string>
#include <vector>

namespace antiphase::tool {

// Escapes text for use between tags and in quoted attributes.
std::string escaped(std::string_view text);

struct bar {
  std::string label;
  double value = 0;   // of the bar
  double marked = 0;  // position of a line across the bar; 0: none
  std::string text;   // next to it
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
// Both axes are logarithmic; points that are not positive are dropped.
std::string scatter_svg(const std::vector<dot>& dots, const std::vector<curve>& curves, const plane& axes);

// A timeline, step by step: freshly recorded or read from a file.
struct drawn_timeline {
  int stages = 1;
  std::vector<step_times> steps{};
  std::string unit{};
  double step_time = 0, hidden = 0;
  std::optional<double> waiting{};  // share of the computing warps' time
  std::string limited_by{};         // empty: not known
};

// Timelines of one kernel with different numbers of buffers, below each other on a common time scale: a lane
// per buffer (loading, in use) and one for the computing warps. Draws `steps` steps of each.
std::string timelines_svg(const std::vector<drawn_timeline>& timelines, int steps, const std::string& name);

}  // namespace antiphase::tool
