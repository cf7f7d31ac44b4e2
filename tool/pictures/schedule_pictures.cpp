// SPDX-License-Identifier: Apache-2.0
#include "schedule_pictures.hpp"

#include <fmt/format.h>

#include <antiphase/core/error.hpp>
#include <nlohmann/json.hpp>

#include "schedule_data.hpp"
#include "svg_picture.hpp"
#include "timeline_page.hpp"

namespace antiphase::tool {
namespace {

using json = nlohmann::ordered_json;

constexpr const char* about =
    "The schedule that shows each finding: the threads that take part, in the order in which the checker ran "
    "them on the CPU executor.";
constexpr const char* counted =
    "Time counts the events of the lanes that are drawn. What a thread does in one line, between two waits, "
    "is one event. Nothing is "
    "measured: the order is one that the kernel allows.";

void require_some(std::span<const drawn_finding> findings) {
  if (findings.empty()) throw bad_request("there is no finding to draw: expected at least one");
}

std::string place(const code_place& p) { return p.line == 0 ? p.file : fmt::format("{}:{}", p.file, p.line); }

std::string in_full(const schedule_event& e) {
  return fmt::format("{}{}{}{}", e.action, e.place.file.empty() ? "" : ", at ", place(e.place),
                     e.times > 1 ? fmt::format(", {} times", e.times) : "");
}

}  // namespace

nlohmann::ordered_json schedule_data(const drawn_finding& f) {
  json lanes = json::array();
  for (const schedule_lane& l : f.schedule.lanes) {
    json events = json::array();
    for (const schedule_event& e : l.events)
      events.push_back({static_cast<int>(e.kind), e.action, place(e.place), e.times, e.begin, e.end,
                        static_cast<int>(e.mark), e.open});
    lanes.push_back({{"name", l.name}, {"events", events}});
  }
  json data{{"title", f.title},       {"note", f.memory},      {"now", f.now},
            {"earlier", f.earlier},   {"missing", f.missing},  {"replay", f.replay},
            {"lines", json::array()}, {"end", f.schedule.end}, {"lanes", lanes}};
  if (!f.without.empty()) data["without"] = f.without;
  for (const auto& [at, text] : f.lines) data["lines"].push_back({place(at), text});
  return data;
}

std::string schedule_page(std::span<const drawn_finding> findings) {
  require_some(findings);
  json all = json::array();
  for (const drawn_finding& f : findings) all.push_back(schedule_data(f));
  const json data{{"unit", "events"}, {"about", about}, {"clock", counted}, {"timelines", all}};
  return filled_page(data.dump(-1, ' ', false, json::error_handler_t::replace),
                     "Schedules that show what the checker found");
}

namespace {

constexpr double width = 1200, margin = 28, left = 224, right = width - margin, row = picture::row_height + 8;
constexpr const char* flight_colour = "#7fb2d9";
constexpr const char* order_colour = "#b5b5b5";

const char* colour_of(event_kind kind) {
  switch (kind) {
    case event_kind::read: return load_colour;
    case event_kind::write: return compute_colour;
    case event_kind::atomic: return store_colour;
    case event_kind::copy: return "#f0e442";
    case event_kind::wait: return look_colour;
    case event_kind::flight: return flight_colour;
    case event_kind::order: break;
  }
  return order_colour;
}

struct middle {
  double x = 0, y = 0;
  std::int64_t length = 0;  // of the event; 0: none
};

double draw_finding(picture& p, const drawn_finding& f, double y) {
  p.text(margin, y + 18, "class=\"panel\"", f.title);
  p.text(margin, y + 37, "class=\"small\"",
         f.missing.empty() ? f.memory : fmt::format("{} · missing: {}", f.memory, f.missing));
  y += 50;
  const auto x = [&](std::int64_t at) {
    return left + (right - left) * static_cast<double>(at) / static_cast<double>(f.schedule.end);
  };
  middle sides[2];
  picture frames;
  for (const schedule_lane& l : f.schedule.lanes) {
    p.text(left - 12, y + picture::row_height / 2 + 4.5, "class=\"row\"", l.name);
    for (const schedule_event& e : l.events) {
      p.bar(x(e.begin), x(e.end), y, colour_of(e.kind), e.action,
            e.place.line > 0 ? fmt::format(":{}", e.place.line) : "", in_full(e));
      if (e.mark == event_mark::none) continue;
      frames.frame(x(e.begin), x(e.end), y, ink);
      middle& side = sides[e.mark == event_mark::now ? 0 : 1];
      if (side.length == 0)
        side = {(x(e.begin) + x(e.end)) / 2, y + picture::row_height / 2, e.end - e.begin};
    }
    y += row;
  }
  p.append(frames);
  if (sides[0].length > 0 && sides[1].length > 0) {
    const middle &up = sides[0].y < sides[1].y ? sides[0] : sides[1],
                 &down = sides[0].y < sides[1].y ? sides[1] : sides[0];
    if (up.y < down.y)
      p.line(up.x, up.y + picture::row_height / 2, down.x, down.y - picture::row_height / 2, ink);
  }
  for (const int i : {0, 1})
    if (sides[i].length > 0) p.text(sides[i].x, y + 8, "class=\"tick\"", i == 0 ? "now" : "earlier");
  return y + 30;
}

}  // namespace

std::string schedule_svg(std::span<const drawn_finding> findings) {
  require_some(findings);
  picture p;
  constexpr const char* title = "Schedules that show what the checker found";
  p.text(margin, 38, "class=\"title\"", title);
  double x = margin;
  for (const auto& [kind, what] : {std::pair{event_kind::read, "reads"},
                                   {event_kind::write, "writes"},
                                   {event_kind::atomic, "atomic"},
                                   {event_kind::copy, "starts a copy"},
                                   {event_kind::flight, "copies in flight"},
                                   {event_kind::wait, "waits"},
                                   {event_kind::order, "arrives, commits, fences"}}) {
    p.bar(x, x + 30, 54, colour_of(kind), "", "", what);
    p.text(x + 38, 54 + picture::row_height / 2 + 4.5, "class=\"small\"", what);
    x += 62 + 7.2 * static_cast<double>(std::string_view(what).size());
  }
  double y = 100;
  for (const drawn_finding& f : findings) y = draw_finding(p, f, y);
  p.text(margin, y + 10, "class=\"small\"",
         "From left to right: the events of these lanes in the order in which they ran. Framed: the two "
         "sides of the finding.");
  return p.whole(width, y + 28, title);
}

std::string schedule_json(std::span<const drawn_finding> findings) {
  require_some(findings);
  json events = json::array();
  int process = 0;
  for (const drawn_finding& f : findings) {
    events.push_back({{"name", "process_name"},
                      {"ph", "M"},
                      {"pid", ++process},
                      {"tid", 0},
                      {"args", {{"name", f.title}}}});
    int thread = 0;
    for (const schedule_lane& l : f.schedule.lanes) {
      events.push_back({{"name", "thread_name"},
                        {"ph", "M"},
                        {"pid", process},
                        {"tid", ++thread},
                        {"args", {{"name", l.name}}}});
      for (const schedule_event& e : l.events) {
        constexpr const char* marks[] = {"", "now", "earlier"};
        events.push_back(
            {{"name", e.action},
             {"cat", e.kind == event_kind::flight ? "flight"
                     : e.kind == event_kind::wait ? "wait"
                                                  : "event"},
             {"ph", "X"},
             {"ts", e.begin},
             {"dur", e.end - e.begin},
             {"pid", process},
             {"tid", thread},
             {"args",
              {{"at", place(e.place)}, {"times", e.times}, {"finding", marks[static_cast<int>(e.mark)]}}}});
      }
    }
  }
  return json{{"displayTimeUnit", "ms"},
              {"otherData", {{"about", about}, {"time", counted}}},
              {"traceEvents", events}}
             .dump(-1, ' ', false, json::error_handler_t::replace) +
         "\n";
}

}  // namespace antiphase::tool
