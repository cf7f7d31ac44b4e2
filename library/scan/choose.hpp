// SPDX-License-Identifier: Apache-2.0
// The table of the scan's policies, and the choice among them: what is special next to library/choice. A
// request is checked once; running it, explaining it and sizing its workspace share the choice.
#pragma once
#include <antiphase/executor/features.hpp>
#include <antiphase/scan/ladder.hpp>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "library/choice/choose.hpp"
#include "library/scan/request.hpp"

namespace antiphase::scans {

using candidate = choices::candidate<request>;
using plan_or_misfit = choices::plan_or_misfit<request>;
using choice = choices::choice<request>;  // refers to the problem and the keys of the request

// The columns that scans alone have. Rows are steps of the ladder, for short lines and for columns.
struct scan_traits {
  misfit (*suits)(const step& s, const request& r);  // apart from candidate::needs
  // Among candidates that suit, `auto` takes the cheapest. A rank, from measurements (docs/notebook/scan.md);
  // none: `auto` never takes it and does not mention it.
  std::optional<int> (*rank)(const candidate& row, const request& r);
  // Workspace in bytes: for a problem; and for it and all shorter ones that are otherwise equal.
  std::size_t (*workspace)(const step& s, const problem& p, const scan_keys* keys);
  std::size_t (*lasting)(const step& s, const problem& p, const scan_keys* keys);
  plan (*plan_for)(const step& s, const request& r);  // r must suit
  std::string (*text)(misfit why, const step& s, const request& r);
};
std::span<const candidate> candidates();
const candidate& candidate_of(const step& s);

// Why a candidate does not take the request, missing device features included; none: it takes it.
misfit misfit_of(const candidate& c, const request& r);

// Chooses by a policy: auto, or a step's name. Throws bad_request for an unknown name or an invalid problem;
// not_supported, with the reasons, if the step does not take it, or no step does. Composes text only when it
// throws. Nothing is planned for a problem without elements.
choice choose(const executor& on, const problem& p, const scan_keys* keys, std::string_view policy);
// The same for a given step.
choice choose(const executor& on, const problem& p, const scan_keys* keys, const step& s);

double error_units_of(const request& r);  // scan_choice::units

// Sentences about a choice: why this candidate, and why not others.
std::vector<std::string> why(const choice& c);
std::vector<std::string> refused(const choice& c);

// Workspace in bytes for a problem and all shorter ones that are otherwise equal, for whichever step `auto`
// takes on any device.
std::size_t lasting_workspace(const problem& p, const scan_keys* keys);

}  // namespace antiphase::scans
