// SPDX-License-Identifier: Apache-2.0
#include "outcome.hpp"

#include <antiphase/core/error.hpp>
#include <antiphase/plain_cuda.hpp>
#include <concepts>
#include <nlohmann/json.hpp>
#include <tuple>
#include <type_traits>

namespace antiphase::checker_detail {
namespace {

using nlohmann::json;

// The members of which the text of a T consists, in its order: one list for writing and reading.
template <class T, class U>
concept either = std::same_as<std::remove_const_t<T>, U>;

auto members(either<code_place> auto& p) { return std::tie(p.file, p.line); }
auto members(either<extent3> auto& e) { return std::tie(e.x, e.y, e.z); }
auto members(either<explanation> auto& e) { return std::tie(e.row, e.values); }
auto members(either<finding_side> auto& s) {
  return std::tie(s.action, s.place, s.through, s.callers, s.block, s.thread, s.moment, s.writes);
}
auto members(either<schedule_event> auto& e) {
  return std::tie(e.kind, e.action, e.place, e.times, e.begin, e.end, e.mark, e.open);
}
auto members(either<schedule_lane> auto& l) { return std::tie(l.name, l.events); }
auto members(either<finding_schedule> auto& s) { return std::tie(s.lanes, s.end); }
auto members(either<finding> auto& f) {  // without `group` and `first`, which the reader knows
  return std::tie(f.kind, f.kernel, f.memory, f.space, f.access, f.earlier, f.missing, f.remarks,
                  f.in_practice, f.times, f.drawn);
}
auto members(either<timed_kernel> auto& k) {
  return std::tie(k.drawn, k.grid, k.threads, k.shared_bytes, k.resident, k.slot_bytes, k.by_roles,
                  k.asynchronous, k.bulk, k.of_results, k.early, k.step_ticks, k.compute_ticks, k.load_ticks,
                  k.issue_ticks, k.load_bytes, k.in_cache);
}
auto members(either<line_count> auto& c) {
  return std::tie(c.kernel, c.place, c.memory, c.action, c.requests, c.lanes, c.bytes, c.units, c.ideal);
}
auto members(either<schedule_script::decision> auto& c) { return std::tie(c.candidates, c.chosen); }
auto members(either<outcome> auto& o) {  // without `refused`, and `unlaunched`, which the reader knows
  return std::tie(o.findings, o.notes, o.accesses, o.tracked, o.kept, o.unfinished, o.timed_out,
                  o.tried_change, o.ended_at, o.counts, o.timed);
}

template <class T> json written(const T& x);
json written(const timeline& drawn) { return to_json(drawn); }
template <class T> json written(const std::optional<T>& x) { return x ? written(*x) : json(); }
template <class T> json written(const std::vector<T>& all) {
  json j = json::array();
  for (const T& x : all) j.push_back(written(x));
  return j;
}
template <class T> json written(const T& x) {
  if constexpr (std::is_enum_v<T>)
    return static_cast<int>(x);
  else if constexpr (requires { members(x); })
    return std::apply([](const auto&... m) { return json::array({written(m)...}); }, members(x));
  else
    return x;
}

template <class T> void read(const json& j, T& x);
void read(const json& j, timeline& drawn) { drawn = timeline_of(j.get<std::string>()); }
template <class T> void read(const json& j, std::optional<T>& x) {
  if (!j.is_null()) read(j, x.emplace());
}
template <class T> void read(const json& j, std::vector<T>& all) {
  for (const json& one : j) read(one, all.emplace_back());
}
template <class T> void read(const json& j, T& x) {
  if constexpr (std::is_enum_v<T>) {
    x = static_cast<T>(j.get<int>());
  } else if constexpr (requires { members(x); }) {
    std::size_t i = 0;
    std::apply([&](auto&... m) { (read(j.at(i++), m), ...); }, members(x));
  } else {
    j.get_to(x);
  }
}

json json_of(const outcome& o, const schedule_script* script) {
  json j{{"outcome", written(o)}};
  if (o.refused != nullptr) try {
      std::rethrow_exception(o.refused);
    } catch (const bad_request& e) {
      j["bad_request"] = e.what();
    } catch (const bad_source& e) {
      j["bad_source"] = e.what();
    } catch (const std::exception& e) {
      j["not_supported"] = e.what();
    }
  if (script != nullptr && !script->taken.empty()) j["taken"] = written(script->taken);
  return j;
}
finding finding_of(const json& j, const check_run& how) {
  finding f{};
  read(j, f);
  f.first = how;
  return f;
}
outcome outcome_of(const json& j, schedule_script* script, const check_run& how) {
  outcome o{};
  read(j.at("outcome"), o);
  for (finding& f : o.findings) f.first = how;
  if (j.contains("bad_request")) o.refused = std::make_exception_ptr(bad_request(j["bad_request"]));
  if (j.contains("bad_source")) o.refused = std::make_exception_ptr(bad_source(j["bad_source"]));
  if (j.contains("not_supported")) o.refused = std::make_exception_ptr(not_supported(j["not_supported"]));
  if (script != nullptr && j.contains("taken")) {
    script->taken.clear();
    read(j["taken"], script->taken);
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
std::string to_text(const finding& f) { return text_of(written(f)); }
outcome outcome_of(const std::string& text, schedule_script* script, const check_run& how) {
  return outcome_of(json::from_msgpack(text), script, how);
}
finding finding_of(const std::string& text, const check_run& how) {
  return finding_of(json::from_msgpack(text), how);
}

}  // namespace antiphase::checker_detail
