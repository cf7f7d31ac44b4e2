// SPDX-License-Identifier: Apache-2.0
// Exploring and shortening scripts, and scripts as text.
#include "core/executor/cpu/order/script.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <charconv>

namespace antiphase::cpu_detail {
namespace {

constexpr std::uint32_t most_decisions = 1 << 24;

[[noreturn]] void refuse(std::size_t at, const std::string& expected) {
  throw bad_request(fmt::format("script, character {}: expected {}", at + 1, expected));
}

std::uint32_t number(std::string_view text, std::size_t& at, std::uint32_t least, std::uint32_t most) {
  std::uint32_t value = 0;
  const char* begin = text.data() + at;
  const auto [end, failed] = std::from_chars(begin, text.data() + text.size(), value);
  if (failed != std::errc{} || value < least || value > most || (*begin == '0' && end - begin > 1))
    refuse(at, fmt::format("a number from {} to {}", least, most));
  at += static_cast<std::size_t>(end - begin);
  return value;
}

void drop_zeros(script_choices& choices) {
  while (!choices.empty() && choices.back() == 0) choices.pop_back();
}

bool runs_well(schedule_script& script, const scripted_run& run) {
  script.taken.clear();
  return run();
}

struct shortening {
  schedule_script& script;
  const scripted_run& run;
  unsigned limit, runs = 0;
  // the latest that failed: each attempt has fewer deviations, so it has the fewest
  schedule_script best;

  shortening(schedule_script& s, const scripted_run& r, unsigned most) : script(s), run(r), limit(most) {}

  // Keeps what was taken, not `choices`: these may have been too large or too many. It has no deviation that
  // they lack.
  bool fails(script_choices choices) {
    ++runs;
    script.choices = std::move(choices);
    if (runs_well(script, run)) return false;
    best.choices = taken(script);
    drop_zeros(best.choices);
    best.taken = script.taken;
    return true;
  }
  bool spent() const { return runs >= limit; }

  script_choices before(std::size_t decision) const {
    return {best.choices.begin(), best.choices.begin() + static_cast<std::ptrdiff_t>(decision)};
  }
  std::vector<std::size_t> deviations(std::size_t from = 0) const {
    std::vector<std::size_t> at;
    for (std::size_t i = from; i < best.choices.size(); ++i)
      if (best.choices[i] != 0) at.push_back(i);
    return at;
  }

  void drop_tail() {
    for (std::size_t needed = 0; needed < best.choices.size() && !spent();) {
      const std::size_t middle = needed + (best.choices.size() - needed) / 2;
      if (!fails(before(middle))) needed = middle + 1;
    }
  }

  void drop_chunks() {
    std::size_t chunk = deviations().size();
    for (bool found = true; !spent() && (found || chunk > 1);) {
      found = false;
      chunk = std::max<std::size_t>(chunk / 2, 1);
      for (std::size_t tried = 0; !spent();) {  // the deviations before this decision have been tried
        const auto at = deviations(tried);
        if (at.empty()) break;
        script_choices fewer = best.choices;
        const std::size_t end = std::min(chunk, at.size());
        for (std::size_t i = 0; i < end; ++i) fewer[at[i]] = 0;
        if (fails(std::move(fewer)))
          found = true;
        else
          tried = at[end - 1] + 1;
      }
    }
  }

  // Replaces several small deviations by a large one: threads passed over a few at a time, all at once.
  bool merge() {
    auto at = deviations();
    if (at.size() < 2) return false;
    at.pop_back();  // the last one has none after it to replace
    if (at[0] != 0) at.insert(at.begin(), 0);
    for (const std::size_t decision : at) {
      const std::uint32_t most = best.taken[decision].candidates;
      for (std::uint32_t choice = 1; choice < most && !spent(); choice *= 2) {
        script_choices fewer = before(decision);
        fewer.push_back(choice);
        if (fails(std::move(fewer))) return true;
      }
    }
    return false;
  }
};

}  // namespace

script_choices taken(const schedule_script& script) {
  script_choices choices;
  choices.reserve(script.taken.size());
  for (const auto& d : script.taken) choices.push_back(d.chosen);
  return choices;
}

std::string to_text(const script_choices& choices) {
  std::string text;
  for (std::size_t i = 0; i < choices.size(); ++i)
    if (choices[i] != 0) text += fmt::format("{}{}:{}", text.empty() ? "" : ",", i, choices[i]);
  return text;
}

script_choices from_text(std::string_view text) {
  script_choices choices;
  for (std::size_t at = 0; at < text.size();) {
    if (!choices.empty()) {
      if (text[at] != ',') refuse(at, "a comma");
      ++at;
    }
    const std::uint32_t decision =
        number(text, at, static_cast<std::uint32_t>(choices.size()), most_decisions - 1);
    if (at == text.size() || text[at] != ':') refuse(at, "a colon");
    ++at;
    choices.resize(decision);
    choices.push_back(number(text, at, 1, 0xFFFFFFFF));
  }
  return choices;
}

exploration explore(schedule_script& script, const scripted_run& run, std::uint64_t limit) {
  exploration result;
  script.choices.clear();
  while (result.schedules < limit) {
    ++result.schedules;
    if (!runs_well(script, run)) return result;
    script_choices next = taken(script);
    if (!std::equal(script.choices.begin(), script.choices.end(), next.begin(),
                    next.begin() + static_cast<std::ptrdiff_t>(std::min(next.size(), script.choices.size()))))
      throw bad_request(
          "explore: a run did not follow its script; are all its launches on the executor that has the "
          "script?");
    while (!next.empty() && next.back() + 1 >= script.taken[next.size() - 1].candidates) next.pop_back();
    if (next.empty()) {
      result.complete = true;
      return result;
    }
    ++next.back();
    script.choices = std::move(next);
  }
  return result;
}

unsigned shorten(schedule_script& script, const scripted_run& run, unsigned limit) {
  shortening s(script, run, limit);
  if (!s.fails(script.choices)) throw bad_request("shorten: the script does not fail");
  s.drop_tail();
  do s.drop_chunks();
  while (s.merge());
  script = s.best;
  return s.runs;
}

}  // namespace antiphase::cpu_detail
