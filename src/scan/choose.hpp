// SPDX-License-Identifier: Apache-2.0
// Which step scans a request: one table, read by every call. A request is judged once, and its choice serves
// what runs it, what tells of it and what sizes its memory.
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

// A step of the ladder or for short lines, and what a choice among them asks.
struct candidate {
  std::string_view name, summary;
  const step* how;
  device_features needs;
  misfit (*suits)(const step& how, const request& r);  // needs aside
  // Among those that suit, `auto` takes the cheapest. Ranks, as measured (docs/notebook/scan.md); nothing:
  // not by itself, and not worth a word.
  std::optional<int> (*cost)(const candidate& c, const request& r);
  // Bytes of its working memory for a problem, and of one that also serves all that are shorter and otherwise
  // the same.
  std::size_t (*workspace)(const step& how, const problem& p, const scan_keys* keys);
  std::size_t (*lasting)(const step& how, const problem& p, const scan_keys* keys);
  plan (*plan_for)(const step& how, const request& r);  // of what suits
  double (*promise)(const request& r);                  // scan_choice::units
  std::string (*words)(misfit why, const step& how, const request& r);
};
std::span<const candidate> candidates();
const candidate& candidate_of(const step& how);

// Why a candidate does not take the request, the needs of its kernels among them; none: it does.
misfit judge(const candidate& c, const request& r);
// What `auto` takes. Throws not_supported, with the reasons, where nothing takes the request. No kernel is
// looked for.
const candidate& cheapest(const request& r);

// What was chosen. It refers to the problem and the keys of the request.
struct choice {
  request of;
  const candidate* by;
  bool asked = false;  // for, by name
  plan runs = {};      // nothing, where the problem has no elements
};
// By a policy: auto, or a step's name. Throws bad_request for a name that is none and a problem that makes no
// sense; not_supported, with the reasons, if the step does not take it, or no step does. No sentence is made
// otherwise.
choice choose(const executor& on, const problem& p, const scan_keys* keys, std::string_view policy);
// The same by a step.
choice choose(const executor& on, const problem& p, const scan_keys* keys, const step& how);

// Sentences about a choice: why it is that one, and why not others.
std::vector<std::string> why(const choice& c);
std::vector<std::string> refused(const choice& c);

// Bytes that serve a problem, and all that are shorter and otherwise the same, whichever step `auto` takes on
// whatever device.
std::size_t lasting_workspace(const problem& p, const scan_keys* keys);

}  // namespace antiphase::scans
