// SPDX-License-Identifier: Apache-2.0
// A candidate: one row of a family's table, from which every call of the family is chosen.
//
// A family's Request is a checked call. It has device(), its limits; `ladder_step`, a step of the family's
// ladder; and `traits`, further columns of the family's table.
#pragma once
#include <antiphase/executor/features.hpp>
#include <antiphase/executor/kernel.hpp>
#include <string>
#include <string_view>
#include <variant>

#include "library/choice/plan.hpp"

namespace antiphase::choices {

template <class Request> struct candidate;

// Why a candidate does not take a request. A sentence without full stop is made on demand: most are never
// read.
template <class Request> struct misfit {
  std::string (*text)(const candidate<Request>&, const Request&, const kernel&) = nullptr;
  kernel code = {};  // the kernel that the sentence is about, if any

  explicit operator bool() const { return text != nullptr; }
};
template <class Request> using plan_or_misfit = std::variant<misfit<Request>, plan>;

// Each function gets the row itself as its first argument.
template <class Request> struct candidate {
  std::string_view name = {}, summary = {};
  device_features needs = {};                             // required of the device
  const typename Request::ladder_step* ladder = nullptr;  // its step of the ladder
  // Whether `auto` considers it.
  bool (*considered)(const candidate&, const Request&);
  // Predicted seconds, from shape and device alone (scans: a rank); auto takes the least.
  double (*seconds)(const candidate&, const Request&);
  // What it launches, or why not, on a device that has what it needs.
  plan_or_misfit<Request> (*plan_for)(const candidate&, const Request&);
  typename Request::traits traits = {};
};

}  // namespace antiphase::choices
