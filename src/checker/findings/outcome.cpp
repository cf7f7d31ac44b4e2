// SPDX-License-Identifier: Apache-2.0
#include "outcome.hpp"

#include <antiphase/core/error.hpp>
#include <antiphase/plain_cuda.hpp>
#include <nlohmann/json.hpp>

namespace antiphase::checker_detail {
namespace {

using nlohmann::json;

json to_json(const code_place& p) { return {p.file, p.line}; }
code_place place_of(const json& j) { return {j.at(0), j.at(1)}; }
json to_json(const explanation& e) { return {static_cast<int>(e.row), e.values}; }
explanation explanation_of(const json& j) {
  return {static_cast<sentence>(j.at(0).get<int>()), j.at(1).get<std::vector<std::string>>()};
}
json to_json(const finding_side& s) {
  json through = json::array(), callers = json::array();
  for (const code_place& p : s.through) through.push_back(to_json(p));
  for (const code_place& p : s.callers) callers.push_back(to_json(p));
  return {s.action,  to_json(s.place), through,  s.block.x, s.block.y,
          s.block.z, s.thread,         s.moment, callers,   s.writes};
}
finding_side side_of(const json& j) {
  finding_side s{.action = j.at(0),
                 .place = place_of(j.at(1)),
                 .through = {},
                 .callers = {},
                 .block = {j.at(3), j.at(4), j.at(5)},
                 .thread = j.at(6),
                 .moment = j.at(7),
                 .writes = j.at(9)};
  for (const json& p : j.at(2)) s.through.push_back(place_of(p));
  for (const json& p : j.at(8)) s.callers.push_back(place_of(p));
  return s;
}
json to_json(const finding_schedule& s) {
  json lanes = json::array();
  for (const schedule_lane& l : s.lanes) {
    json events = json::array();
    for (const schedule_event& e : l.events)
      events.push_back({static_cast<int>(e.kind), e.action, to_json(e.place), e.times, e.begin, e.end,
                        static_cast<int>(e.mark), e.open});
    lanes.push_back({l.name, events});
  }
  return {s.end, lanes};
}
finding_schedule schedule_of(const json& j) {
  finding_schedule s{.lanes = {}, .end = j.at(0)};
  for (const json& l : j.at(1)) {
    schedule_lane& lane = s.lanes.emplace_back(schedule_lane{.name = l.at(0), .events = {}});
    for (const json& e : l.at(1))
      lane.events.push_back({.kind = static_cast<event_kind>(e.at(0).get<int>()),
                             .action = e.at(1),
                             .place = place_of(e.at(2)),
                             .times = e.at(3),
                             .begin = e.at(4),
                             .end = e.at(5),
                             .mark = static_cast<event_mark>(e.at(6).get<int>()),
                             .open = e.at(7)});
  }
  return s;
}
json to_json(const finding& f) {
  json remarks = json::array();
  for (const explanation& e : f.remarks) remarks.push_back(to_json(e));
  return {static_cast<int>(f.kind),
          f.kernel,
          f.memory,
          to_json(f.access),
          f.earlier ? to_json(*f.earlier) : json(),
          to_json(f.missing),
          f.times,
          to_json(f.drawn),
          to_json(f.in_practice),
          f.space ? static_cast<int>(*f.space) : -1,
          remarks};
}
finding finding_of(const json& j, const check_run& how) {
  finding f{.kind = static_cast<finding_kind>(j.at(0).get<int>()),
            .kernel = j.at(1),
            .memory = j.at(2),
            .access = side_of(j.at(3)),
            .earlier = {},
            .missing = explanation_of(j.at(5)),
            .in_practice = explanation_of(j.at(8)),
            .times = j.at(6),
            .first = how,
            .drawn = schedule_of(j.at(7))};
  if (!j.at(4).is_null()) f.earlier = side_of(j.at(4));
  if (const int space = j.at(9); space >= 0) f.space = static_cast<line_memory>(space);
  for (const json& e : j.at(10)) f.remarks.push_back(explanation_of(e));
  return f;
}
json json_of(const outcome& o, const schedule_script* script) {
  json j{{"accesses", o.accesses},    {"tracked", o.tracked},     {"kept", o.kept},
         {"findings", json::array()}, {"notes", o.notes},         {"counts", json::array()},
         {"timed", json::array()},    {"timed_out", o.timed_out}, {"unfinished", o.unfinished},
         {"tried", o.tried_change}};
  for (const timed_kernel& k : o.timed)
    j["timed"].push_back({to_json(k.drawn), k.grid.x, k.grid.y, k.grid.z, k.threads, k.shared_bytes,
                          k.resident, k.slot_bytes, k.by_roles, k.asynchronous, k.bulk, k.of_results,
                          k.step_ticks, k.compute_ticks, k.load_ticks, k.issue_ticks, k.load_bytes,
                          k.in_cache});
  for (const line_count& c : o.counts)
    j["counts"].push_back({c.kernel, to_json(c.place), static_cast<int>(c.memory), static_cast<int>(c.action),
                           c.requests, c.lanes, c.bytes, c.units, c.ideal});
  for (const finding& f : o.findings) j["findings"].push_back(to_json(f));
  if (o.refused != nullptr) try {
      std::rethrow_exception(o.refused);
    } catch (const bad_request& e) {
      j["bad_request"] = e.what();
    } catch (const bad_source& e) {
      j["bad_source"] = e.what();
    } catch (const std::exception& e) {
      j["not_supported"] = e.what();
    }
  if (script != nullptr)
    for (const auto& d : script->taken) j["taken"].push_back({d.candidates, d.chosen});
  return j;
}
outcome outcome_of(const json& j, schedule_script* script, const check_run& how) {
  outcome o{.findings = {},
            .notes = j.at("notes"),
            .accesses = j.at("accesses"),
            .tracked = j.at("tracked"),
            .kept = j.at("kept"),
            .refused = nullptr,
            .unfinished = j.at("unfinished"),
            .timed_out = j.at("timed_out"),
            .tried_change = j.at("tried")};
  for (const json& c : j.at("counts"))
    o.counts.push_back({.kernel = c.at(0),
                        .place = place_of(c.at(1)),
                        .memory = static_cast<line_memory>(c.at(2).get<int>()),
                        .action = static_cast<line_action>(c.at(3).get<int>()),
                        .requests = c.at(4),
                        .lanes = c.at(5),
                        .bytes = c.at(6),
                        .units = c.at(7),
                        .ideal = c.at(8)});
  for (const json& k : j.at("timed"))
    o.timed.push_back({.drawn = timeline_of(k.at(0).get<std::string>()),
                       .grid = {k.at(1), k.at(2), k.at(3)},
                       .threads = k.at(4),
                       .shared_bytes = k.at(5),
                       .resident = k.at(6),
                       .slot_bytes = k.at(7),
                       .by_roles = k.at(8),
                       .asynchronous = k.at(9),
                       .bulk = k.at(10),
                       .of_results = k.at(11),
                       .step_ticks = k.at(12),
                       .compute_ticks = k.at(13),
                       .load_ticks = k.at(14),
                       .issue_ticks = k.at(15),
                       .load_bytes = k.at(16),
                       .in_cache = k.at(17)});
  for (const json& f : j.at("findings")) o.findings.push_back(finding_of(f, how));
  if (j.contains("bad_request")) o.refused = std::make_exception_ptr(bad_request(j["bad_request"]));
  if (j.contains("bad_source")) o.refused = std::make_exception_ptr(bad_source(j["bad_source"]));
  if (j.contains("not_supported")) o.refused = std::make_exception_ptr(not_supported(j["not_supported"]));
  if (script != nullptr && j.contains("taken")) {
    script->taken.clear();
    for (const json& d : j["taken"]) script->taken.push_back({d.at(0), d.at(1)});
  }
  return o;
}

// A binary format: names of files need not be UTF-8.
std::string text_of(const json& j) {
  std::string all;
  json::to_msgpack(j, all);
  return all;
}

}  // namespace

std::string to_text(const outcome& o, const schedule_script* script) { return text_of(json_of(o, script)); }
std::string to_text(const finding& f) { return text_of(to_json(f)); }
outcome outcome_of(const std::string& text, schedule_script* script, const check_run& how) {
  return outcome_of(json::from_msgpack(text), script, how);
}
finding finding_of(const std::string& text, const check_run& how) {
  return finding_of(json::from_msgpack(text), how);
}

}  // namespace antiphase::checker_detail
