// SPDX-License-Identifier: Apache-2.0
// Choosing the step for a request: one table of candidates, read by every call. A request is checked once;
// running it, explaining it and sizing its workspace share the choice.
#pragma once
#include <antiphase/executor/features.hpp>
#include <antiphase/scan/ladder.hpp>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/scan/request.hpp"

namespace antiphase::scans {

// A step of the ladder, for short lines or for columns, with the properties that the choice needs.
struct candidate {
  std::string_view name, summary;
  const step* how;
  device_features needs;
  misfit (*suits)(const step& how, const request& r);  // except for needs
  // Among candidates that suit, `auto` takes the cheapest. A rank, from measurements (docs/notebook/scan.md);
  // none: `auto` never takes it and does not mention it.
  std::optional<int> (*cost)(const candidate& c, const request& r);
  // Workspace in bytes: for a problem; and for it and all shorter ones that are otherwise equal.
  std::size_t (*workspace)(const step& how, const problem& p, const scan_keys* keys);
  std::size_t (*lasting)(const step& how, const problem& p, const scan_keys* keys);
  plan (*plan_for)(const step& how, const request& r);  // r must suit
  double (*promise)(const request& r);                  // scan_choice::units
  std::string (*words)(misfit why, const step& how, const request& r);
};
std::span<const candidate> candidates();
const candidate& candidate_of(const step& how);

// Why a candidate does not take the request, missing device features included; none: it takes it.
misfit judge(const candidate& c, const request& r);
// The candidate that `auto` takes. Throws not_supported, with the reasons, if none takes the request. Does
// not search for its kernel.
const candidate& cheapest(const request& r);

// A choice. It refers to the problem and the keys of the request.
struct choice {
  request of;
  const candidate* by;
  bool asked = false;  // for by name
  plan runs = {};      // empty if the problem has no elements
};
// Chooses by a policy: auto, or a step's name. Throws bad_request for an unknown name or an invalid problem;
// not_supported, with the reasons, if the step does not take it, or no step does. Composes text only when it
// throws.
choice choose(const executor& on, const problem& p, const scan_keys* keys, std::string_view policy);
// The same for a given step.
choice choose(const executor& on, const problem& p, const scan_keys* keys, const step& how);

// Sentences about a choice: why this candidate, and why not others.
std::vector<std::string> why(const choice& c);
std::vector<std::string> refused(const choice& c);

// Workspace in bytes for a problem and all shorter ones that are otherwise equal, for whichever step `auto`
// takes on any device.
std::size_t lasting_workspace(const problem& p, const scan_keys* keys);

}  // namespace antiphase::scans
