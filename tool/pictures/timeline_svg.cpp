// SPDX-License-Identifier: Apache-2.0
// Timelines drawn as SVG.
#include "timeline_svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <cstddef>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "origin.hpp"
#include "svg_picture.hpp"

namespace antiphase::tool {
namespace {

constexpr double width = 1200, margin = 28, gutter = 96;
constexpr double left = margin + gutter, right = width - margin, plot = right - left;
constexpr double row_height = picture::row_height, row_gap = 5;
constexpr double panel_head = 28, panel_gap = 30;
constexpr double head = 100, foot = 98;

// Roles with rows of their own: those that compute in a kernel whose warps also wait for units.
std::vector<timeline_role> drawn_roles(const timeline& t) {
  std::vector<timeline_role> some;
  if (t.rings.size() > 1) std::ranges::copy_if(t.roles, std::back_inserter(some), &timeline_role::computes);
  return some;
}

// The drawn part of one timeline.
struct panel {
  const antiphase::timeline* timeline;
  std::vector<step_times> steps;
  overlap figures;
  double height() const {
    const std::size_t of_warps = std::max<std::size_t>(1, drawn_roles(*timeline).size());
    return panel_head + (timeline->stages + static_cast<int>(of_warps)) * (row_height + row_gap);
  }
};

// Maps time to x coordinates.
struct scale {
  std::int64_t end;
  std::string_view unit;
  double x(std::int64_t time) const {
    return left + plot * static_cast<double>(time) / static_cast<double>(end);
  }
};

scale scale_for(std::int64_t end, std::string_view unit) {
  return {end, unit == "cycles" ? "clock cycles" : unit};
}

std::string plural(int count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

bool has_later_phases(const timeline& t) { return !t.roles.empty() && t.phases.size() > 2; }

// Colour of a phase after the load, by its name.
const char* phase_colour(std::string_view phase) {
  if (phase == "look back") return look_colour;
  return phase == "store" ? store_colour : compute_colour;
}

void draw_legend(picture& p, double y, std::span<const timeline> all) {
  const timeline& first = all.front();
  const auto other = std::ranges::find_if(all, [](const timeline& t) { return t.rings.size() > 1; });
  double x = margin;
  const auto entry = [&](const char* colour, std::string_view what, double advance) {
    p.bar(x, x + 30, y, colour, "", "", what);
    p.text(x + 38, y + row_height / 2 + 4.5, "class=\"small\"", what);
    x += advance;
  };
  if (other != all.end()) {
    entry(load_colour, "load", 110);
    entry(compute_colour, "compute", 130);
    entry(look_colour, "wait for " + other->rings[1], 220);
    entry(wait_colour, "no warp computes", 190);
    p.text(right, y + row_height / 2 + 4.5, "class=\"unit\"", fmt::format("numbers: the {}", other->step_is));
    return;
  }
  entry(load_colour, "load: data on their way into the buffer", 340);
  if (has_later_phases(first)) {
    for (std::size_t e = 1; e < first.phases.size(); ++e)
      entry(phase_colour(first.phases[e]), first.phases[e], 132);
  } else {
    entry(compute_colour,
          first.kernel == "gemm" ? "compute: warps multiply from the buffer" : "compute: warps use it", 345);
    entry(wait_colour, "no warp computes", 190);
  }
  p.text(right, y + row_height / 2 + 4.5, "class=\"unit\"", fmt::format("numbers: the {}", first.step_is));
}

void draw_buffers(picture& p, const panel& of, const scale& s, double y) {
  for (int slot = 0; slot < of.timeline->stages; ++slot)
    p.text(left - 12, y + slot * (row_height + row_gap) + row_height / 2 + 4.5, "class=\"row\"",
           slot_name(*of.timeline, slot));
  for (const step_times& step : of.steps) {
    const double top = y + step.slot * (row_height + row_gap);
    const std::string number = std::to_string(step.step);
    const auto hint = [&](std::string_view what, std::int64_t from, std::int64_t to) {
      return fmt::format("step {}, {}: {} to {} {}", step.step, what, from, to, s.unit);
    };
    p.bar(s.x(step.issued), s.x(step.landed), top, load_colour, "", number,
          hint("load in flight", step.issued, step.landed));
    if (!has_later_phases(*of.timeline)) {
      p.bar(s.x(step.compute_begin), s.x(step.compute_end), top, compute_colour, "", number,
            hint("compute", step.compute_begin, step.compute_end));
      continue;
    }
    std::int64_t from = step.landed;
    for (std::size_t e = 1; e < step.events.size(); ++e) {
      const std::string& phase = of.timeline->phases[e];
      if (step.events[e] > from)
        p.bar(s.x(from), s.x(step.events[e]), top, phase_colour(phase), "", number,
              hint(phase, from, step.events[e]));
      from = std::max(from, step.events[e]);
    }
  }
}

// The compute spans of a kernel with warp roles: its warps may hold several slots at a time, so there is no
// bar per slot.
void draw_work(picture& p, const panel& of, const scale& s, double y) {
  std::vector<std::pair<std::int64_t, std::int64_t>> work;
  for (const span_record& span : of.timeline->spans)
    for (const timeline_role& r : of.timeline->roles)
      if (r.computes && span.agent >= r.first && span.agent < r.first + r.count &&
          span.kind == span_kind::compute && span.step <= of.steps.back().step)
        work.emplace_back(span.begin, span.end);
  std::ranges::sort(work);
  for (std::size_t i = 0; i < work.size();) {
    auto [begin, end] = work[i];
    for (; i < work.size() && work[i].first <= end; ++i) end = std::max(end, work[i].second);
    p.bar(s.x(begin), s.x(end), y, compute_colour, "", "",
          fmt::format("a warp computes: {} to {} {}", begin, end, s.unit));
  }
}

// A row for each role: computing, waiting for a unit that does what it has begun, or for data.
void draw_roles(picture& p, const panel& of, const scale& s, double y) {
  const std::int64_t end = of.steps.back().compute_end;
  for (const timeline_role& r : drawn_roles(*of.timeline)) {
    p.text(left - 12, y + row_height / 2 + 4.5, "class=\"row\"", r.name);
    p.bar(s.x(of.steps.front().issued), s.x(end), y, wait_colour, "", "", "no warp computes");
    for (const span_record& span : of.timeline->spans) {
      const bool computes = span.kind == span_kind::compute;
      if (span.agent != r.first || span.begin >= end || (!computes && span.ring == 0)) continue;
      const std::string what = computes ? r.name : r.name + ", wait for " + of.timeline->rings[1];
      p.bar(s.x(span.begin), s.x(std::min(span.end, end)), y, computes ? compute_colour : look_colour, "", "",
            fmt::format("{}: {} to {} {}", what, span.begin, span.end, s.unit));
    }
    y += row_height + row_gap;
  }
}

// All warps together: grey where none of them computes.
void draw_warps(picture& p, const panel& of, const scale& s, double y) {
  if (!drawn_roles(*of.timeline).empty()) return draw_roles(p, of, s, y);
  p.text(left - 12, y + row_height / 2 + 4.5, "class=\"row\"", "warps");
  p.bar(s.x(of.steps.front().issued), s.x(of.steps.back().compute_end), y, wait_colour, "", "",
        "no warp computes");
  if (!of.timeline->roles.empty()) return draw_work(p, of, s, y);
  for (const step_times& step : of.steps)
    p.bar(s.x(step.compute_begin), s.x(step.compute_end), y, compute_colour, "", std::to_string(step.step),
          fmt::format("the warps compute step {}", step.step));
}

void draw_panel(picture& p, const panel& of, const scale& s, double y, bool with_work) {
  const timeline& t = *of.timeline;
  p.text(margin, y + 15, "class=\"panel\"", t.rings.front() == "registers" ? "" : plural(t.stages, "stage"));
  const std::string_view story =
      t.rings.front() == "registers" ? "no buffers: loads go to registers, and their warps wait for them"
      : t.rings.front() == "results" ? "filled with what was computed, which is what load means here"
      : t.steps == 1                 ? "one step: there is no other that could be loaded meanwhile"
      : t.stages > 1 && of.figures.loads_block
          ? "loads block their warps: nothing is loaded while they compute"
      : t.stages == 1 ? "one buffer: load and compute take turns, the warps wait for every load"
      : t.stages == 2 ? "two buffers: one is loaded while the other is computed from"
                      : "more buffers: the loads run further ahead";
  p.text(left, y + 15, "class=\"small\"",
         with_work ? fmt::format("{} · {} · {}", t.policy, work_text(t, of.figures), story)
                   : fmt::format("{} · {}", t.policy, story));
  p.text(right, y + 15, "class=\"figure\"",
         fmt::format("load time hidden: {:.0f} % (in {} of {})", 100 * of.figures.hidden,
                     of.figures.steps_hidden, plural(of.figures.steps, "step")));
  draw_buffers(p, of, s, y + panel_head);
  draw_warps(p, of, s, y + panel_head + t.stages * (row_height + row_gap));
}

void draw_axis(picture& p, const scale& s, double top, double y) {
  const double range = static_cast<double>(s.end), distance = tick_distance(range, 10);
  for (int i = 0; i * distance <= range; ++i) {
    const double x = left + plot * i * distance / range;
    p.line(x, top, x, y, "#ececec");
    p.line(x, y, x, y + 5, ink);
    p.text(x, y + 19, "class=\"tick\"", fmt::format("{:.6g}", i * distance));
  }
  p.line(left, y, right, y, ink);
  p.text(right, y + 38, "class=\"unit\"", fmt::format("time in {}", s.unit));
}

std::vector<panel> panels_of(std::span<const timeline> timelines, int most_steps) {
  std::vector<panel> panels;
  for (const timeline& t : timelines) {
    panel p{.timeline = &t, .steps = by_step(t), .figures = measure(t)};
    if (p.steps.empty())
      throw bad_request(
          fmt::format("the timeline of {} has no complete step: expected at least one", t.policy));
    if (t.unit != timelines.front().unit)
      throw bad_request(
          fmt::format("timelines in {} and in {} cannot share a picture", timelines.front().unit, t.unit));
    if (most_steps > 0 && p.steps.size() > static_cast<std::size_t>(most_steps))
      p.steps.resize(static_cast<std::size_t>(most_steps));
    panels.push_back(std::move(p));
  }
  return panels;
}

}  // namespace

std::string timeline_svg(std::span<const timeline> timelines, const picture_options& options) {
  if (timelines.empty()) throw bad_request("there is no timeline to draw: expected at least one");
  const std::vector<panel> panels = panels_of(timelines, options.steps);
  std::int64_t end = 1;
  double height = head + foot - panel_gap;
  for (const panel& p : panels) {
    end = std::max(end, p.steps.back().compute_end);
    height += p.height() + panel_gap;
  }
  const scale s = scale_for(end, timelines.front().unit);

  const timeline& first = timelines.front();
  const std::string title =
      !options.title.empty()
          ? options.title
          : fmt::format("One block of {} {}, {}", first.kernel.find_first_of("aeiou") == 0 ? "an" : "a",
                        first.kernel == "kernel" ? first.kernel
                        : first.kernel == "gemm" ? "GEMM kernel"
                                                 : first.kernel + " kernel",
                        origin_of(timelines));
  picture p;
  p.text(margin, 38, "class=\"title\"", title);
  draw_legend(p, 54, timelines);
  draw_axis(p, s, head, height - foot + 14);
  double y = head + 8;
  for (const panel& of : panels) {
    draw_panel(p, of, s, y, !same_work(timelines));
    y += of.height() + panel_gap;
  }
  p.text(margin, height - 20, "class=\"small\"",
         fmt::format("Block {} of the running kernel. {}.", first.block, origin_sentence(timelines)));
  return p.whole(width, height, title);
}

}  // namespace antiphase::tool
