// SPDX-License-Identifier: Apache-2.0
// The choice among a family's candidates: by name, or the one with the least predicted time that can run.
#pragma once
#include <fmt/format.h>

#include <antiphase/core/error.hpp>
#include <antiphase/executor/features.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "library/choice/candidate.hpp"

namespace antiphase::choices {

// The outcome for a request: all that running it, its workspace and explain() read.
template <class Request> struct choice {
  struct prediction {
    const choices::candidate<Request>* candidate;
    double seconds;     // corrected by the tuning
    double factor = 1;  // of the tuning
  };
  struct refusal {
    const choices::candidate<Request>* candidate;
    misfit<Request> why;
  };

  Request request;
  const choices::candidate<Request>* chosen = nullptr;
  plan runs = {};
  bool by_name = false;
  std::vector<prediction> considered = {};  // by auto, the fastest first
  std::vector<refusal> refusals = {};       // predicted to be faster than the chosen one; in order
};

template <class Request>
std::string text_of(const candidate<Request>& row, const misfit<Request>& why, const Request& r) {
  return why.text(row, r, why.code);
}
template <class Request>
std::string text_of(const typename choice<Request>::refusal& refused, const Request& r) {
  return fmt::format("{}: {}", refused.candidate->name, text_of(*refused.candidate, refused.why, r));
}

template <class Request> std::string asked_for(const choice<Request>& c) {
  return fmt::format("policy {} was asked for", c.chosen->name);
}

template <class Request>
std::string lacks_feature(const candidate<Request>& row, const Request& r, const kernel&) {
  return lacks(r.device(), row.needs).value();
}
// The row's plan_for(), if the device has what the row needs.
template <class Request> plan_or_misfit<Request> planned(const candidate<Request>& row, const Request& r) {
  if (first_missing(features_of(r.device()), row.needs) != nullptr)
    return misfit<Request>{lacks_feature<Request>};
  return row.plan_for(row, r);
}

template <class Request>
const candidate<Request>* find(std::span<const candidate<Request>> rows, std::string_view name) {
  for (const candidate<Request>& row : rows)
    if (row.name == name) return &row;
  return nullptr;
}

// predict(row): its prediction, for rows that are considered; nullopt leaves the row out. Ties keep the
// table's order.
template <class Request, class Predict>
void consider(choice<Request>& c, std::span<const candidate<Request>> rows, Predict predict) {
  for (const candidate<Request>& row : rows) {
    if (!row.considered(row, c.request)) continue;
    const std::optional<typename choice<Request>::prediction> here = predict(row);
    if (!here) continue;
    auto place = c.considered.end();
    while (place != c.considered.begin() && here->seconds < (place - 1)->seconds) --place;
    c.considered.insert(place, *here);
  }
}
// Takes the first of those considered that planned(row, request) has a plan for; whether there is one.
template <class Request, class Plan> bool take_fastest(choice<Request>& c, Plan planned) {
  for (const auto& one : c.considered) {
    plan_or_misfit<Request> found = planned(*one.candidate, c.request);
    if (plan* const made = std::get_if<plan>(&found)) {
      c.chosen = one.candidate, c.runs = std::move(*made);
      return true;
    }
    c.refusals.push_back({one.candidate, std::get<misfit<Request>>(found)});
  }
  return false;
}

}  // namespace antiphase::choices
